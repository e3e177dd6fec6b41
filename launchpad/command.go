package launchpad

import "tickhive/internal/refuse"

// Command is a request to the ledger: one of the plain structs below, complete and in
// integers. Tokens are named by their workerId (View.Find returns it for a path id).
type Command interface{ command() }

// Begin creates the ledger. The time at which it is sequenced is the genesis, block 1.
// Store sends it once, before every other command.
type Begin struct{}

// Spawn makes a token, its pool and its worker for Owner (docs/contract/launchpad.md#spawn). Zero
// values mean members that were not sent.
type Spawn struct {
	Owner       Address
	Name        string
	Symbol      string
	TotalSupply string // decimal digits, whole tokens; "" is 1000000000
	Decimals    int    // 0 is 18
	PoolSide    Side
	Metadata    string // a JSON object, kept as sent; "" is none
}

// Deposit credits NATIVE or USBI from outside the ledger.
type Deposit struct {
	To       Address
	Currency Currency
	Amount   Amount // > 0
}

// Withdraw takes NATIVE or USBI out of the ledger.
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

// AddLiquidity moves tokens and quote currency into a pool; there is no way back.
type AddLiquidity struct {
	Token       uint32
	From        Address
	TokenAmount Amount // > 0
	QuoteAmount Amount // > 0
}

// Swap trades with a pool: a buy pays quote for tokens, a sell the other way round.
type Swap struct {
	Token    uint32
	From     Address
	Sell     bool
	AmountIn Amount // > 0, quote for a buy, token for a sell
	MinOut   Amount // refuse when less comes out; 0 takes everything
}

// BuyBoost extends a token's boost by the tier's time.
type BuyBoost struct {
	Token uint32
	Tier  Tier
}

// InjectFault makes the next Count spawns fail with SPAWNER_FAILED, on top of those
// still to fail.
type InjectFault struct{ Count uint64 }

// Tick applies the changes that are due by time alone; Due makes it.
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
func (Tick) command()         {}

// Side is the quote currency of a pool.
type Side uint8

// The pool sides of docs/contract/api.md.
const (
	USBI Side = iota
	WNative
	sides = 2
)

func (s Side) String() string { return [...]string{"USBI", "wNATIVE"}[s] }

// Currency returns the currency that a pool of this side holds besides its token. One wNATIVE is
// one NATIVE, so the ledger keeps one balance for both.
func (s Side) Currency() Currency {
	if s == WNative {
		return NATIVE
	}
	return USBICoin
}

// parseSide finds a side by its wire name.
func parseSide(name string) (Side, bool) {
	for s := range Side(sides) {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Currency is one of the ledger's own two currencies.
type Currency uint8

// The currencies.
const (
	NATIVE Currency = iota
	USBICoin
	currencies = 2
)

func (c Currency) String() string { return [...]string{"NATIVE", "USBI"}[c] }

// ParseCurrency finds a currency of the ledger by its code.
func ParseCurrency(code string) (Currency, bool) {
	for c := range Currency(currencies) {
		if c.String() == code {
			return c, true
		}
	}
	return 0, false
}

// RecordKind says what a Record did.
type RecordKind uint8

// The records, one for each command that changes something. RecFault is a spawn that an
// injected fault refused.
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
	recordKinds
)

// Record is one accepted command with everything that was decided about it, so that
// Apply asks nothing but the state. Members that do not belong to the kind are zero.
type Record struct {
	Kind   RecordKind
	TimeNs int64

	Seed  uint64 // begin
	Spawn *Spawn // spawn: every default filled in
	Fee   Amount // spawn: NATIVE taken

	Token    uint32   // transfer, liquidity, swap, boost
	From, To Address  // who pays, who gets
	Currency Currency // deposit, withdraw
	Sell     bool     // swap
	In       Amount   // deposit, withdraw, transfer; swap: in; liquidity: tokens
	Out      Amount   // swap: out; liquidity: quote
	Tier     Tier     // boost
	Count    uint64   // inject
}

// Result holds the complete outcome of a command for its caller: a View that is read
// afterwards may show a later state.
type Result struct {
	Refused *refuse.Refusal // RecFault: the outcome is a refusal that was recorded
	Token   *Token          // spawn, liquidity, swap, boost: after the command
	In, Out Amount          // swap: paid and received
	Price   Amount          // swap: quote per token
	Block   int64           // swap
	Balance Amount          // deposit, withdraw: of the account, after the command
	TxHash  Hash            // spawn, transfer, liquidity, swap
	// Fact is the change for the hive to fold; nil when no token changed.
	Fact *Fact
}
