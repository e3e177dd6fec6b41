package entry

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Place is a new order as the client sent it. Decimals are text of valid form, because the pair's digits are
// not known yet. The slices may alias the body of the request.
type Place struct {
	Account  [16]byte // zero: the built-in account; ignored in a signed request, whose own account places the order
	Pair     []byte   // the pair's code
	Side     engine.Side
	Type     engine.OrderType
	TIF      engine.TimeInForce
	STP      engine.SelfTrade
	STPGiven bool // false: the account's default applies
	PostOnly bool
	Price    []byte // the decimal members are nil when they are not given
	Amount   []byte
	Quote    []byte
	Stop     []byte
	Display  []byte
	Client   []byte // the client order id; nil: none

	// ClientReusable: the id is unique among the open orders alone (docs/contract/matching.md#client-order-ids).
	ClientReusable bool

	Trail  int64 // basis points; 0: none
	Strict bool  // refuse an order that would trigger at once
	Expire bool  // accept and cancel what the book would refuse
	// Strategy and StrategyType are labels that the order keeps; nil: none.
	Strategy, StrategyType *int64
	// Follows: the order is placed only if the command before it was not refused, in a request that is Together.
	Follows bool
}

// PlaceList is a new order list as the client sent it.
type PlaceList struct {
	Account        [16]byte // as in Place; the account of all orders
	Pair           []byte   // the code of the pair of all orders
	Kind           engine.ListKind
	Client         []byte // the client id of the list; nil: none
	ClientReusable bool
	Orders         []Place // in the order of their ids: the working order first; of two legs either
}

// SelfTrade returns the order's self-trade prevention: by default a user's order does not
// trade with the user's other orders.
func (p *Place) SelfTrade(user bool) engine.SelfTrade {
	if !p.STPGiven && user {
		return engine.CancelTaker
	}
	return p.STP
}

// Replace holds the members of an order that change.
type Replace struct {
	Price, Amount, Stop []byte // nil: not given
	Trail               int64  // basis points; 0: not given
	SmallerOnly         bool   // an amendment: the amount alone, below what it is; it keeps its place
	Client              []byte // amendment: the order's new client id; nil: it keeps its id
	ClientReusable      bool   // of Client, as in Place
}

// Kind selects what a Command does.
type Kind uint8

// The kinds. The zero value is no kind.
const (
	None Kind = iota
	PlaceOrder
	CancelOrder
	ReplaceOrder
	PlaceOrderList
)

// Only restricts a cancel to orders of a state.
type Only uint8

// The restrictions.
const (
	AnyState    Only = iota
	OnlyNew          // orders without fills
	OnlyPartial      // orders with fills
)

// Command is one command of a request, independent of how it was sent.
type Command struct {
	Kind    Kind
	Place   Place
	List    PlaceList
	Order   engine.OrderID // CancelOrder, ReplaceOrder
	Replace Replace
	Client  string // CancelOrder: the cancel's own id; "": none
	ByList  bool   // CancelOrder: Order is the id of a list
	Only    Only   // CancelOrder: cancels the order in this state alone
	AtNs    int64  // time of the command, on a virtual clock only
	HasAt   bool
}

// buildPlace fills cmd from an order of the pair. Faults that only the text shows (off tick,
// beyond int64) set cmd.Refuse, so that the engine sequences the refusal.
func buildPlace(cmd *engine.Command, p *Place, ins *engine.Instrument, account engine.AccountID) {
	*cmd = engine.Command{
		Kind: engine.Place, Pair: ins.ID, Account: account,
		Side: p.Side, Type: p.Type, TIF: p.TIF, STP: p.SelfTrade(account != 0),
	}
	for _, f := range [...]struct {
		set bool
		bit uint8
	}{
		{p.PostOnly, engine.FlagPostOnly},
		{p.Strict, engine.FlagStrict},
		{p.Expire, engine.FlagExpire},
		{p.Follows, engine.FlagFollows},
	} {
		if f.set {
			cmd.Flags |= f.bit
		}
	}
	if p.Price != nil {
		cmd.Price = readPrice(cmd, p.Price, ins.DigitsPrice)
	}
	if p.Stop != nil {
		cmd.Stop = readPrice(cmd, p.Stop, ins.DigitsPrice)
	}
	if p.Amount != nil {
		cmd.Amount = readAmount(cmd, p.Amount, ins.DigitsAmount)
	}
	if p.Quote != nil {
		cmd.Flags |= engine.FlagQuote
		cmd.Quote = readQuote(cmd, p.Quote, ins.DigitsTotal())
	}
	if p.Display != nil {
		cmd.Display = readAmount(cmd, p.Display, ins.DigitsAmount)
	}
	cmd.Trail = readTrail(cmd, p.Trail)
	if p.Client != nil || p.Strategy != nil || p.StrategyType != nil {
		cmd.Client = newClientID(cmd, p)
	}
}

// buildList fills cmd from an order list of the pair. What refuses an order alone is found by the engine, in the order
// of the orders.
func buildList(cmd *engine.Command, p *PlaceList, ins *engine.Instrument, account engine.AccountID) {
	list := &engine.List{Kind: p.Kind, Orders: make([]engine.Command, len(p.Orders))}
	*cmd = engine.Command{Kind: engine.PlaceList, Pair: ins.ID, Account: account, List: list}
	var buf [256]byte
	b := append(buf[:0], byte(p.Kind))
	for i := range p.Orders {
		o := &p.Orders[i]
		buildPlace(&list.Orders[i], o, ins, account)
		b = append(appendContent(b, &list.Orders[i], o), byte(len(o.Client)))
		b = append(b, o.Client...)
	}
	if p.Client != nil {
		text := string(p.Client)
		cmd.Client = &engine.ClientID{
			Text: text, Hash: listHash(account, ins.ID, text), Content: hash128(b), Reusable: p.ClientReusable,
		}
	}
}

// buildReplace fills cmd from a replace of an order of the pair, but for its new client id.
func buildReplace(cmd *engine.Command, p *Replace, ins *engine.Instrument) {
	cmd.Kind = engine.Replace
	if p.Price != nil {
		cmd.Flags |= engine.FlagHasPrice
		cmd.Price = readPrice(cmd, p.Price, ins.DigitsPrice)
	}
	if p.Amount != nil {
		cmd.Flags |= engine.FlagHasAmount
		cmd.Amount = readAmount(cmd, p.Amount, ins.DigitsAmount)
	}
	if p.Stop != nil {
		cmd.Flags |= engine.FlagHasStop
		cmd.Stop = readPrice(cmd, p.Stop, ins.DigitsPrice)
	}
	if p.Trail != 0 {
		cmd.Flags |= engine.FlagHasTrail
		cmd.Trail = readTrail(cmd, p.Trail)
	}
	if p.SmallerOnly {
		cmd.Flags |= engine.FlagSmallerOnly
	}
}

// readTrail returns how far an order trails, in basis points.
func readTrail(cmd *engine.Command, trail int64) uint16 {
	if trail < 0 || trail > math.MaxUint16 {
		setReason(cmd, engine.TrailOutOfRange)
		return 0
	}
	return uint16(trail)
}

func readPrice(cmd *engine.Command, text []byte, digits int) int64 {
	v, negative, res := fixed.TextUnits(text, digits)
	switch {
	case negative || v == 0 && res == fixed.UnitsExact:
		setReason(cmd, engine.PriceNotPositive)
	case res == fixed.UnitsOff:
		setReason(cmd, engine.PriceOffTick)
	case res == fixed.UnitsTooMany:
		setReason(cmd, engine.PriceOutOfRange)
	}
	return v
}

func readAmount(cmd *engine.Command, text []byte, digits int) int64 {
	v, negative, res := fixed.TextUnits(text, digits)
	switch {
	case negative || v == 0 && res == fixed.UnitsExact:
		setReason(cmd, engine.AmountNotPositive)
	case res == fixed.UnitsOff:
		setReason(cmd, engine.AmountOffLot)
	case res == fixed.UnitsTooMany:
		setReason(cmd, engine.AmountOutOfRange)
	}
	return v
}

// readQuote returns a quote amount in product units (price units times amount units).
func readQuote(cmd *engine.Command, text []byte, digitsTotal int) fixed.U128 {
	d := fixed.MustText(text)
	if d.Sign() <= 0 {
		setReason(cmd, engine.AmountNotPositive)
		return fixed.U128{}
	}
	q, rest := d.Abs().DivMod64(fixed.Pow10[fixed.Scale-digitsTotal])
	if rest != 0 {
		setReason(cmd, engine.AmountOffLot)
	}
	return q
}

// setReason sets the reason unless cmd has one: members are read in the order of
// docs/contract/errors.md#order-refusals, so the first reason wins.
func setReason(cmd *engine.Command, r engine.Reason) {
	if cmd.Refuse == engine.NotRejected {
		cmd.Refuse = r
	}
}

// newClientID returns the client order id and the labels of a complete Place command: the text, the hash that makes it
// unique and the hash of the content (docs/contract/matching.md#client-order-ids). An order that has labels alone has
// no hashes. Stamped values (rates, limits) are no content: a repeat stays equal when they change.
func newClientID(cmd *engine.Command, p *Place) *engine.ClientID {
	id := &engine.ClientID{
		Text: string(p.Client), Reusable: p.ClientReusable, Strategy: p.Strategy, StrategyType: p.StrategyType,
	}
	if !id.Named() {
		return id
	}
	id.Hash = clientHash(cmd.Account, cmd.Pair, id.Text)
	var buf [128]byte
	id.Content = hash128(appendContent(buf[:0], cmd, p))
	return id
}

// appendContent appends every member of an order but its client id.
func appendContent(b []byte, cmd *engine.Command, p *Place) []byte {
	const content = engine.FlagPostOnly | engine.FlagQuote | engine.FlagStrict | engine.FlagExpire
	b = append(b, byte(cmd.Side), byte(cmd.Type), byte(cmd.TIF), byte(cmd.STP))
	b = append(b, cmd.Flags&content, byte(cmd.Refuse))
	for _, v := range [...]uint64{
		uint64(cmd.Price), uint64(cmd.Amount), uint64(cmd.Stop), uint64(cmd.Display), cmd.Quote.Hi, cmd.Quote.Lo,
		uint64(p.Trail),
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	for _, label := range [...]*int64{p.Strategy, p.StrategyType} {
		if label == nil {
			b = append(b, 0)
		} else {
			b = binary.BigEndian.AppendUint64(append(b, 1), uint64(*label))
		}
	}
	return b
}

// clientHash returns the hash that makes a client order id unique.
func clientHash(account engine.AccountID, pair engine.PairID, text string) [2]uint64 {
	var buf [128]byte
	b := binary.BigEndian.AppendUint32(buf[:0], uint32(account))
	b = binary.BigEndian.AppendUint32(b, uint32(pair))
	return hash128(append(b, text...))
}

// listHash returns the hash that makes the client id of a list unique. No client order id has it: none begins with a 0.
func listHash(account engine.AccountID, pair engine.PairID, text string) [2]uint64 {
	return clientHash(account, pair, "\x00"+text)
}

func hash128(b []byte) [2]uint64 {
	sum := sha256.Sum256(b)
	return [2]uint64{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}
