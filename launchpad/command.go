package launchpad

import "tickhive/internal/refuse"

// Command is a request to the ledger: one of the structs below, with amounts as integers. A command identifies
// a token by its workerId (View.Find returns the token of a path id).
type Command interface{ command() }

// Begin creates the ledger. Its time is the genesis, the start of block 1. Store sends it once, before every
// other command.
type Begin struct{}

// Spawn makes a token, its pool and its worker for Owner (docs/contract/launchpad.md#spawn). A zero member was
// not sent and gets its default.
type Spawn struct {
	Owner       Address
	Name        string
	Symbol      string
	TotalSupply string // whole tokens as decimal digits; "" means 1000000000
	Decimals    int    // 0 means 18
	PoolSide    Side
	Metadata    string // a JSON object, retained as sent; "" means none
}

// Deposit credits NATIVE or USBI that come from outside the ledger.
type Deposit struct {
	To       Address
	Currency Currency
	Amount   Amount // > 0
}

// Withdraw debits NATIVE or USBI that leave the ledger.
type Withdraw struct {
	From     Address
	Currency Currency
	Amount   Amount // > 0
}

// Transfer moves agent tokens between two accounts.
type Transfer struct {
	Token    uint32
	From, To Address
	Amount   Amount // > 0
}

// AddLiquidity moves tokens and quote currency into a pool. Liquidity cannot be removed again.
type AddLiquidity struct {
	Token       uint32
	From        Address
	TokenAmount Amount // > 0
	QuoteAmount Amount // > 0
}

// Swap trades with a pool: a buy pays quote currency for tokens, a sell pays tokens for quote currency.
type Swap struct {
	Token    uint32
	From     Address
	Sell     bool
	AmountIn Amount // > 0; quote currency for a buy, tokens for a sell
	MinOut   Amount // the swap is refused when less comes out; 0: no minimum
}

// BuyBoost extends a token's boost by the tier's time.
type BuyBoost struct {
	Token uint32
	Tier  Tier
}

// InjectFault makes the next Count spawns fail with SPAWNER_FAILED, in addition to the injected faults that
// remain.
type InjectFault struct{ Count uint64 }

// Checkpoint makes the ledger remember what every account holds of a token at that moment, for CheckpointSec.
type Checkpoint struct{ Token uint32 }

// Tick applies the changes that time alone makes due, such as the end of a boost. State.Due returns the Tick.
type Tick struct{}

func (Begin) command()        {}
func (Spawn) command()        {}
func (Deposit) command()      {}
func (Withdraw) command()     {}
func (Transfer) command()     {}
func (AddLiquidity) command() {}
func (Swap) command()         {}
func (BuyBoost) command()     {}
func (InjectFault) command()  {}
func (Checkpoint) command()   {}
func (Tick) command()         {}

// Side selects the quote currency of a pool.
type Side uint8

// The pool sides of docs/contract/api.md.
const (
	USBI Side = iota
	WNative
	sides = 2
)

func (s Side) String() string { return [...]string{"USBI", "wNATIVE"}[s] }

// Currency returns the quote currency of a pool of this side. One wNATIVE is one NATIVE, so the ledger keeps
// one balance for both.
func (s Side) Currency() Currency {
	if s == WNative {
		return NATIVE
	}
	return USBICoin
}

// parseSide returns the side with this wire name.
func parseSide(name string) (Side, bool) {
	for s := range Side(sides) {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Currency is one of the two currencies that the ledger holds besides tokens.
type Currency uint8

// The currencies.
const (
	NATIVE Currency = iota
	USBICoin
	currencies = 2
)

func (c Currency) String() string { return [...]string{"NATIVE", "USBI"}[c] }

// ParseCurrency returns the currency with this code.
func ParseCurrency(code string) (Currency, bool) {
	for c := range Currency(currencies) {
		if c.String() == code {
			return c, true
		}
	}
	return 0, false
}

// RecordKind is the kind of a Record.
type RecordKind uint8

// The kinds of records: one for each command that changes the ledger, and RecFault for a spawn that an injected
// fault refused.
const (
	RecBegin RecordKind = iota
	RecSpawn
	RecFault
	RecDeposit
	RecWithdraw
	RecTransfer
	RecLiquidity
	RecSwap
	RecBoost
	RecInject
	RecTick
	RecCheckpoint
	recordKinds
)

// Record is one accepted command with every decision that Plan made, so that Apply needs only the record and
// the state. Members that do not belong to the kind are zero.
type Record struct {
	Kind   RecordKind
	TimeNs int64

	Seed  uint64 // kind begin
	Spawn *Spawn // kind spawn; every default is filled in
	Fee   Amount // kind spawn: NATIVE that the owner pays

	Token    uint32   // kinds transfer, liquidity, swap, boost, checkpoint: workerId
	From, To Address  // the account that pays; the account that receives
	Currency Currency // kinds deposit, withdraw
	Sell     bool     // kind swap
	In       Amount   // kinds deposit, withdraw, transfer: the amount; swap: paid in; liquidity: tokens
	Out      Amount   // kind swap: paid out; liquidity: quote currency
	Tier     Tier     // kind boost
	Count    uint64   // kind inject: number of faults
}

// Result holds the complete outcome of a command for its caller. A View that is read afterwards may already
// show a later state.
type Result struct {
	Refused *refuse.Refusal // kind RecFault: the refusal that was recorded
	Token   *Token          // spawn, liquidity, swap, boost: the token after the command
	In, Out Amount          // swap: the amounts paid and received
	Price   Amount          // swap: quote currency per token
	Block   int64           // swap: the block
	Balance Amount          // deposit, withdraw: the account's balance after the command
	TxHash  Hash            // spawn, transfer, liquidity, swap
	// The name of the checkpoint (View.HeldAt), and the Unix second until which it lasts.
	Checkpoint uint64
	EndSec     int64
	// Fact is the change that the hive must fold; nil when no token changed.
	Fact *Fact
}
