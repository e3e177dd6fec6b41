package launchpad

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tickhive/tickhive/internal/rawjson"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/wire"
)

// Command is a request to the ledger: one of the structs below, with amounts as integers. A command identifies
// a token by its workerId (View.Find returns the token of a path id).
type Command interface{ command() }

// Begin creates the ledger. Its time is the genesis, the start of block 1. It comes once, before every
// other command.
type Begin struct{ Seed uint64 }

// Spawn makes a token, its pool and its worker for Owner (docs/contract/launchpad.md#spawn). A zero member was
// not sent and gets its default.
type Spawn struct {
	Owner       Address
	Name        string
	Symbol      string
	TotalSupply string // whole tokens as decimal digits; "" means 1000000000
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

func (Begin) command()        {}
func (Spawn) command()        {}
func (Deposit) command()      {}
func (Withdraw) command()     {}
func (Transfer) command()     {}
func (AddLiquidity) command() {}
func (Swap) command()         {}
func (BuyBoost) command()     {}
func (InjectFault) command()  {}

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

// Result holds the complete outcome of a command for its caller. A View that is read afterwards may already
// show a later state.
type Result struct {
	Due     int             // number of changes that were due and came first; also beside a refusal
	Refused *refuse.Refusal // spawn: the refusal by an injected fault, which it used up
	Token   *Token          // spawn, liquidity, swap, boost: the token after the command
	In, Out Amount          // swap: the amounts paid and received
	Sell    bool            // swap: In is tokens, Out quote currency
	Block   int64           // swap: the block
	Balance Amount          // deposit, withdraw: the account's balance after the command
	TxHash  Hash            // spawn, transfer, liquidity, swap
	// Fact is the change that the hive must fold; nil when no token changed.
	Fact *Fact
}

// Price returns the price of a swap: quote currency per token. The reader computes it, not the machine's goroutine.
func (r *Result) Price() Amount {
	if r.Sell {
		return quotient(r.Out, r.In)
	}
	return quotient(r.In, r.Out)
}

// maxText limits each text of a command and of a snapshot, in bytes. It is at least the limit of every form.
const maxText = MaxMetadata

// kinds holds how commands are encoded, by the number that stands before their members. Numbers never change.
var kinds = wire.Kinds[Command]{
	wire.KindOf[Command]((*Begin).code), wire.KindOf[Command]((*Spawn).code),
	wire.KindOf[Command]((*Deposit).code), wire.KindOf[Command]((*Withdraw).code),
	wire.KindOf[Command]((*Transfer).code), wire.KindOf[Command]((*AddLiquidity).code),
	wire.KindOf[Command]((*Swap).code), wire.KindOf[Command]((*BuyBoost).code),
	wire.KindOf[Command]((*InjectFault).code),
}

// AppendCommand appends the encoding of a command for the journal.
func AppendCommand(dst []byte, cmd Command) []byte { return kinds.Append(dst, cmd) }

// DecodeCommand decodes the result of AppendCommand. Any other bytes are an error. Do carries out or refuses every
// command that decodes.
func DecodeCommand(b []byte) (Command, error) { return kinds.Decode(b, "launchpad: command") }

func (b *Begin) code(c *wire.Coder) { c.U64(&b.Seed) }

func (s *Spawn) code(c *wire.Coder) {
	c.Fixed(s.Owner[:])
	c.Text(&s.Name, maxText)
	c.Text(&s.Symbol, maxText)
	c.Text(&s.TotalSupply, maxText)
	c.U8((*uint8)(&s.PoolSide), sides-1)
	c.Text(&s.Metadata, maxText)
}

func (d *Deposit) code(c *wire.Coder) {
	c.Fixed(d.To[:])
	c.U8((*uint8)(&d.Currency), currencies-1)
	d.Amount.code(c)
}

func (w *Withdraw) code(c *wire.Coder) {
	c.Fixed(w.From[:])
	c.U8((*uint8)(&w.Currency), currencies-1)
	w.Amount.code(c)
}

func (t *Transfer) code(c *wire.Coder) {
	c.U32(&t.Token)
	c.Fixed(t.From[:])
	c.Fixed(t.To[:])
	t.Amount.code(c)
}

func (l *AddLiquidity) code(c *wire.Coder) {
	c.U32(&l.Token)
	c.Fixed(l.From[:])
	l.TokenAmount.code(c)
	l.QuoteAmount.code(c)
}

func (s *Swap) code(c *wire.Coder) {
	c.U32(&s.Token)
	c.Fixed(s.From[:])
	c.Bool(&s.Sell)
	s.AmountIn.code(c)
	s.MinOut.code(c)
}

func (b *BuyBoost) code(c *wire.Coder) {
	c.U32(&b.Token)
	c.U8((*uint8)(&b.Tier), uint8(tiers)-1)
}

func (f *InjectFault) code(c *wire.Coder) { c.U64(&f.Count) }

// SpawnForm holds the members of a spawn's body as JSON text; nil for a missing member. The handler has already
// refused unknown and duplicate members.
type SpawnForm struct {
	Name, Symbol, TotalSupply, Decimals, PoolSide, Metadata json.RawMessage
}

// Parse reads the members in the order of docs/contract/api.md and refuses the first wrong one. The caller sets
// Owner of the result.
func (f SpawnForm) Parse() (Spawn, *refuse.Refusal) {
	var s Spawn
	var ok bool
	if s.Name, ok = rawjson.Text(f.Name); !ok {
		return s, nameWrong()
	}
	if rej := checkName(s.Name); rej != nil {
		return s, rej
	}
	if s.Symbol, ok = rawjson.Text(f.Symbol); !ok {
		return s, refuse.Param("symbol", "symbol is required: a string of 3 to 5 capital letters.")
	}
	if rej := checkSymbol(s.Symbol); rej != nil {
		return s, rej
	}
	if s.TotalSupply, _ = rawjson.Text(f.TotalSupply); s.TotalSupply == "" && !rawjson.Absent(f.TotalSupply) {
		return s, supplyWrong()
	}
	if rej := checkSupply(s.TotalSupply); rej != nil {
		return s, rej
	}
	if !rawjson.Absent(f.Decimals) && string(f.Decimals) != strconv.Itoa(Decimals) {
		return s, refuse.Param("decimals", "decimals is fixed: 18.")
	}
	if !rawjson.Absent(f.PoolSide) {
		name, _ := rawjson.Text(f.PoolSide)
		if s.PoolSide, ok = parseSide(name); !ok {
			return s, sideWrong()
		}
	}
	if !rawjson.Absent(f.Metadata) {
		s.Metadata = string(f.Metadata)
	}
	if rej := checkMetadata(s.Metadata); rej != nil {
		return s, rej
	}
	return s, nil
}

// check applies the rules of Parse to a Spawn that does not come from JSON (simulation).
func (s *Spawn) check() *refuse.Refusal {
	for _, rej := range []*refuse.Refusal{checkName(s.Name), checkSymbol(s.Symbol), checkSupply(s.TotalSupply)} {
		if rej != nil {
			return rej
		}
	}
	if s.PoolSide >= sides {
		return sideWrong()
	}
	return checkMetadata(s.Metadata)
}

func nameWrong() *refuse.Refusal {
	return refuse.Param("name", "name is required: a string of 1 to 50 characters without control and "+
		"format characters, and without spaces at its ends.")
}

func checkName(name string) *refuse.Refusal {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > 50 || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return nameWrong()
	}
	for _, r := range name {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return nameWrong()
		}
	}
	return nil
}

var symbolForm = regexp.MustCompile(`^[A-Z]{3,5}$`)

func checkSymbol(symbol string) *refuse.Refusal {
	if !symbolForm.MatchString(symbol) {
		return refuse.New(refuse.InvalidSymbol, "symbol", "symbol must be 3 to 5 capital letters, [A-Z]{3,5}.")
	}
	return nil
}

func supplyWrong() *refuse.Refusal {
	return refuse.Param("totalSupply", "totalSupply is a string of the form [1-9][0-9]*, at most 10^30.")
}

// DefaultSupply of a spawn, in whole tokens.
const DefaultSupply = "1000000000"

var maxSupply, _ = ParseAmount("1000000000000000000000000000000")

func checkSupply(supply string) *refuse.Refusal {
	if supply == "" {
		return nil
	}
	if a, err := ParseAmount(supply); err != nil || !isDigits(supply) || supply[0] == '0' || maxSupply.Less(a) {
		return supplyWrong()
	}
	return nil
}

func sideWrong() *refuse.Refusal { return refuse.Param("poolSide", "poolSide is USBI or wNATIVE.") }

// checkMetadata refuses metadata that is no object, is longer than 4 KiB, or has a known member of a wrong
// form.
func checkMetadata(raw string) *refuse.Refusal {
	if raw == "" {
		return nil
	}
	if len(raw) > MaxMetadata {
		return refuse.Param("metadata", "metadata is at most %d bytes.", MaxMetadata)
	}
	var members map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal([]byte(raw), &members) != nil {
		return refuse.Param("metadata", "metadata is an object.")
	}
	for _, name := range []string{"description", "logoUri", "website"} {
		member := bytes.TrimSpace(members[name])
		if rawjson.Absent(member) {
			continue
		}
		text, ok := rawjson.Text(member)
		if !ok {
			return refuse.Param("metadata."+name, "metadata.%s is a string.", name)
		}
		if name != "description" && text != "" && !isPublicURI(text) {
			return refuse.Param("metadata."+name, "metadata.%s is an http, https or ipfs URI.", name)
		}
	}
	return nil
}

// isPublicURI reports whether text has the form of a public URI. The program never fetches it.
func isPublicURI(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "ipfs":
		return u.Host != "" || u.Opaque != "" || len(u.Path) > 1
	}
	return false
}
