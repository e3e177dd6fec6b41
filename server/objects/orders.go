package objects

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/server/doc"
	"tickhive/server/json"
)

func compareDecimals(a, b []byte) int { return fixed.MustText(a).Cmp(fixed.MustText(b)) }

// The enumerations of order entry, with the engine's values.
var (
	sides        = json.WordsOf(engine.Buy, engine.Sell)
	orderTypes   = json.WordsOf(engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket)
	timesInForce = json.WordsOf(engine.GTC, engine.IOC, engine.FOK)
	PairStates   = json.WordsOf(engine.Online, engine.PostOnlyState, engine.CancelOnly, engine.Halted)
	selfTrades   = json.WordsOf(engine.SelfTradeNone, engine.CancelTaker, engine.CancelMaker,
		engine.CancelBoth, engine.Decrement)
)

// PairCode reads a member that must be a pair code
// (docs/contract/market-data.md#pair-codes-and-order-of-lists).
func PairCode(r *json.Reader) []byte {
	s := r.Text(engine.MaxPairCode)
	if s != nil && !engine.ValidPairCode(s) {
		r.Bad("must be a pair code of the form BASE_QUOTE, " + engine.CurrencyForm + " each.")
		return nil
	}
	return s
}

// clientOrderID reads a member of the form [A-Za-z0-9_.:-]{1,64}.
func clientOrderID(r *json.Reader) []byte {
	s := r.Text(1 << 10)
	if s == nil {
		return nil
	}
	if !clientOrderChars(s) {
		r.Bad("must be 1 to 64 characters of A-Z, a-z, 0-9, _, ., : and -.")
		return nil
	}
	return s
}

func clientOrderChars[T string | []byte](s T) bool {
	ok := len(s) <= 64
	for i := range len(s) {
		c := s[i]
		ok = ok && (c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 || c == '_' || c == '.' || c == ':' || c == '-')
	}
	return ok
}

// IsClientOrderID reports whether a text has the form of a client order id.
func IsClientOrderID[T string | []byte](s T) bool { return len(s) != 0 && clientOrderChars(s) }

// MaxTradingBatch is the largest number of commands in one batch of a signed request
// (docs/contract/trading.md#batches).
const MaxTradingBatch = 100

// DecodeTradingOrder reads the body of POST /api/orders.
func DecodeTradingOrder(text []byte, p *entry.Place) *refuse.Refusal {
	return json.Decode(text, func(r *json.Reader) *json.Error { return decodeTradingOrder(r, p) })
}

func decodeTradingOrder(r *json.Reader, p *entry.Place) *json.Error {
	readTradingOrder(r, p)
	return r.InOrder(tradingForm.Members())
}

// DecodeTradingBatch reads the body of POST /api/orders/batch into dst, whose memory it reuses.
func DecodeTradingBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, tradingBatch)
}

// readTradingOrder reads an order object of a signed request.
func readTradingOrder(r *json.Reader, p *entry.Place) {
	fillOrder(r, p, tradingForm, checkTradingOrder)
}

// checkTradingOrder derives type and isMarket from each other, and checks the conditions between members.
func checkTradingOrder(r *json.Reader, o *order) {
	wrong, market := len(r.Wrong), o.market
	byType := o.Type.AtMarket()
	switch {
	case !o.typeGiven:
		o.Type, o.typeGiven = typeOf(market, o.Stop != nil), true
	case o.marketGiven && market != byType:
		r.Rule("isMarket", "must agree with type.")
	default:
		market = byType
	}
	if market && o.Price != nil && json.DecimalSign(o.Price) == 0 {
		o.Price = nil // some clients always send a price, here 0
	}
	r.Require("side", o.sideGiven)
	r.Require("currencyPairCode", o.Pair != nil)
	if len(r.Wrong) == wrong {
		checkOrder(r, o)
	}
}

func typeOf(market, stop bool) engine.OrderType {
	switch {
	case market && stop:
		return engine.StopMarket
	case market:
		return engine.Market
	case stop:
		return engine.StopLimit
	}
	return engine.Limit
}

// textOrderID reads an order id, which signed routes send as a string: digits in a string, or an integer.
func textOrderID(r *json.Reader) (engine.OrderID, bool) {
	if r.Peek() != '"' {
		return orderID(r)
	}
	text := r.Text(16)
	v, err := strconv.ParseUint(string(text), 10, 64)
	if text != nil && (err != nil || v > MaxOrderID || text[0] == '+') {
		r.Bad("must be an order id.")
		return 0, false
	}
	return engine.OrderID(v), text != nil
}

// MaxBatch is the largest number of commands in one batch (docs/contract/internal.md#orders).
const MaxBatch = 1000

// ClientOrderPattern is the regular expression of a client order id.
const ClientOrderPattern = "^[A-Za-z0-9_.:-]{1,64}$"

// order is an order as its body gives it. A pool has its memory, because the functions of the forms keep no order.
type order struct {
	*entry.Place
	market                                      bool
	marketGiven, sideGiven, typeGiven, tifGiven bool
}

var orders = sync.Pool{New: func() any { return new(order) }}

// The members of an order. The forms add what differs between the two listeners: a signed request has null for what it
// does not give.
var (
	accountMember = json.Value("accountId", json.KindUUID, (*json.Reader).UUID,
		func(o *order, v [16]byte) { o.Account = v })
	pairMember = json.Read("currencyPairCode", json.KindPairCode, func(r *json.Reader, o *order) bool {
		o.Pair = PairCode(r)
		return o.Pair != nil
	}).As(required)
	sideMember = json.Choice("side", sides,
		func(o *order, v engine.Side) { o.Side, o.sideGiven = v, true }).As(required)
	typeMember = json.Choice("type", orderTypes, func(o *order, v engine.OrderType) { o.Type, o.typeGiven = v, true })

	marketMember = json.Flag("isMarket", func(o *order, v bool) { o.market, o.marketGiven = v, true }).As(off)

	tifMember = json.Choice("timeInForce", timesInForce,
		func(o *order, v engine.TimeInForce) { o.TIF, o.tifGiven = v, true })
	priceMember   = json.Decimal("price", func(o *order, v []byte) { o.Price = v })
	amountMember  = json.Decimal("amount", func(o *order, v []byte) { o.Amount = v })
	quoteMember   = json.Decimal("quoteAmount", func(o *order, v []byte) { o.Quote = v })
	stopMember    = json.Decimal("stopPrice", func(o *order, v []byte) { o.Stop = v })
	displayMember = json.Decimal("displayAmount", func(o *order, v []byte) { o.Display = v })
	postMember    = json.Flag("postOnly", func(o *order, v bool) { o.PostOnly = v })
	selfMember    = json.Choice("selfTradePrevention", selfTrades,
		func(o *order, v engine.SelfTrade) { o.STP, o.STPGiven = v, true })
	clientMember = json.Read("clientOrderId", json.KindText, func(r *json.Reader, o *order) bool {
		o.Client = clientOrderID(r)
		return o.Client != nil
	}).As(json.Field{Pattern: ClientOrderPattern})

	required = json.Field{Required: true} // checkOrder refuses an order without the member
	nullable = json.Field{Nullable: true}
	off      = json.Field{Default: false}
)

// The forms of POST /orders and POST /api/orders, each in the order of its table
// (docs/contract/internal.md#orders, docs/contract/trading.md#place-an-order).
var (
	orderForm = json.Of(accountMember, pairMember, sideMember, typeMember.As(required), tifMember, priceMember,
		amountMember, quoteMember, stopMember, displayMember, postMember.As(off), selfMember,
		clientMember)
	tradingForm = json.Of(sideMember, marketMember, typeMember.As(nullable), pairMember, amountMember,
		priceMember.As(nullable), tifMember.As(nullable), postMember,
		clientMember.As(nullable), stopMember.As(nullable),
		displayMember.As(nullable), selfMember.As(nullable), quoteMember.As(nullable))

	// OrderMembers describes the body of POST /orders.
	OrderMembers = orderForm.Members()
	// TradingMembers describes the body of POST /api/orders.
	TradingMembers = tradingForm.Members()
)

// fillOrder reads an order object by a form, and checks it when each member is right on its own.
func fillOrder(r *json.Reader, p *entry.Place, form *json.Form[order], check func(*json.Reader, *order)) {
	*p = entry.Place{}
	o := orders.Get().(*order)
	*o = order{Place: p}
	wrong := len(r.Wrong)
	if form.Fill(r, o); r.Err == nil && len(r.Wrong) == wrong {
		check(r, o)
	}
	o.Place = nil
	orders.Put(o)
}

// DecodeOrder reads the body of POST /orders.
func DecodeOrder(text []byte, o *entry.Place) *refuse.Refusal {
	return json.Decode(text, func(r *json.Reader) *json.Error { return decodeOrder(r, o) })
}

func decodeOrder(r *json.Reader, o *entry.Place) *json.Error {
	readOrder(r, o)
	return r.InOrder(orderForm.Members())
}

// readOrder reads an order object.
func readOrder(r *json.Reader, p *entry.Place) { fillOrder(r, p, orderForm, checkOrder) }

// checkOrder checks the conditions between members, in the order of the table, and sets the default of
// timeInForce.
func checkOrder(r *json.Reader, o *order) {
	market := o.Type.AtMarket()
	stop := o.Type.Waits()
	if !o.tifGiven && market {
		o.TIF = engine.IOC
	}
	byQuote := market && o.Side == engine.Buy && o.Quote != nil
	switch {
	case o.Pair == nil:
		r.Rule("currencyPairCode", "is required.")
	case !o.sideGiven:
		r.Rule("side", "is required.")
	case !o.typeGiven:
		r.Rule("type", "is required.")
	case market && o.TIF != engine.IOC:
		r.Rule("timeInForce", "must be ioc for an order at the market's price.")
	case !market && o.Price == nil:
		r.Rule("price", "is required for this type.")
	case market && o.Price != nil:
		r.Rule("price", "does not apply to an order at the market's price.")
	case o.Amount == nil && !byQuote && market && o.Side == engine.Buy:
		r.Rule("amount", "is required, or quoteAmount instead.")
	case o.Amount == nil && !byQuote:
		r.Rule("amount", "is required.")
	case o.Quote != nil && !byQuote:
		r.Rule("quoteAmount", "applies to buy orders at the market's price only.")
	case o.Quote != nil && o.Amount != nil:
		r.Rule("quoteAmount", "stands instead of amount: give one of the two.")
	case stop && o.Stop == nil:
		r.Rule("stopPrice", "is required for this type.")
	case !stop && o.Stop != nil:
		r.Rule("stopPrice", "applies to stop orders only.")
	case o.Display != nil && market:
		r.Rule("displayAmount", "does not apply to an order at the market's price.")
	case o.Display != nil && json.DecimalSign(o.Display) <= 0:
		r.Rule("displayAmount", "must be above zero.")
	case o.Display != nil && json.DecimalSign(o.Amount) > 0 && compareDecimals(o.Display, o.Amount) > 0:
		r.Rule("displayAmount", "must be at most amount.")
	case o.PostOnly && (market || o.TIF != engine.GTC):
		r.Rule("postOnly", "needs a gtc order with a limit price.")
	}
}

// ReplaceForm is the body of PATCH /orders/{id}.
var ReplaceForm = json.Of(replaceMembers(func(p *entry.Replace) *entry.Replace { return p })...)

func replaceMembers[T any](of func(*T) *entry.Replace) []json.Member[T] {
	return []json.Member[T]{
		json.Decimal("price", func(v *T, text []byte) { of(v).Price = text }),
		json.Decimal("amount", func(v *T, text []byte) { of(v).Amount = text }),
	}
}

// MaxOrderID is the largest order id that a JSON number (a float64) holds exactly.
const MaxOrderID = 1<<53 - 1

// batchForm is the form of a batch route.
type batchForm struct {
	most     int // commands
	commands *json.Form[entry.Command]
}

var (
	internalBatch = batchOf(MaxBatch, placeMember("PlaceOrder", orderForm, readOrder),
		json.Value("orderId", json.KindInt64, orderID, setOrder),
		json.Integer("at", 0, math.MaxInt64, func(c *entry.Command, v int64) { c.AtNs, c.HasAt = v, true }).
			As(json.Field{Kind: json.KindInt64, Range: []int64{0}}))
	tradingBatch = batchOf(MaxTradingBatch, placeMember("CreateOrderRequest", tradingForm, readTradingOrder),
		json.Value("orderId", json.KindOrderID, textOrderID, setOrder))

	// BatchMembers describes the body of POST /orders/batch.
	BatchMembers = internalBatch.members()
	// TradingBatchMembers describes the body of POST /api/orders/batch.
	TradingBatchMembers = tradingBatch.members()
)

func setOrder(c *entry.Command, id engine.OrderID) { c.Order = id }

func placeMember(schema string, form *json.Form[order], read func(*json.Reader, *entry.Place),
) json.Member[entry.Command] {
	return commandMember("place", entry.PlaceOrder, func(r *json.Reader, c *entry.Command) { read(r, &c.Place) }).
		As(json.Field{Schema: schema, Fields: form.Members()})
}

// commandMember returns the member of a command that makes it one of a kind.
func commandMember(name string, kind entry.Kind, read func(*json.Reader, *entry.Command)) json.Member[entry.Command] {
	return json.Read(name, json.KindObject, func(r *json.Reader, c *entry.Command) bool {
		picked := pick(r, c, kind)
		if picked {
			read(r, c)
		}
		return picked
	})
}

// batchOf returns the form of a batch whose commands have a member to place, the id of an order, and more members.
func batchOf(most int, place, id json.Member[entry.Command], more ...json.Member[entry.Command]) *batchForm {
	id = id.As(json.Field{Range: []int64{0, MaxOrderID}}).Need()
	cancel := json.Of(id)
	replace := json.Of(append([]json.Member[entry.Command]{id},
		replaceMembers(func(c *entry.Command) *entry.Replace { return &c.Replace })...)...)
	return &batchForm{most, json.Of(append([]json.Member[entry.Command]{
		place,
		commandMember("cancel", entry.CancelOrder, cancel.Fill).As(json.Field{Fields: cancel.Members()}),
		commandMember("replace", entry.ReplaceOrder, replace.Fill).As(json.Field{Fields: replace.Members()}),
	}, more...)...)}
}

// members describes the body.
func (f *batchForm) members() []json.Field {
	return []json.Field{{
		Name: "commands", Kind: json.KindArray, Required: true, Range: []int64{1, int64(f.most)},
		Element: &json.Field{Kind: json.KindObject, Fields: f.commands.Members()},
	}}
}

// DecodeBatch reads the body of POST /orders/batch into dst, whose memory it reuses.
func DecodeBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, internalBatch)
}

func pooledBatch(text []byte, dst []entry.Command, f *batchForm) ([]entry.Command, *refuse.Refusal) {
	refusal := json.Decode(text, func(r *json.Reader) (err *json.Error) {
		dst, err = decodeBatch(r, dst, f)
		return err
	})
	return dst, refusal
}

func decodeBatch(r *json.Reader, dst []entry.Command, f *batchForm) ([]entry.Command, *json.Error) {
	dst = dst[:0]
	given := false
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			if string(key) != "commands" {
				r.Unknown()
				continue
			}
			if r.Null() {
				continue
			}
			given = true
			dst = readCommands(r, dst, f)
		}
	}
	r.Require("commands", given)
	if err := r.Finish(); err != nil {
		return dst, err
	}
	if len(dst) == 0 {
		return dst, f.size()
	}
	return dst, nil
}

// size returns the error of a batch without commands or with too many.
func (f *batchForm) size() *json.Error {
	return &json.Error{
		Field: "commands", Message: fmt.Sprintf("The member commands must have 1 to %d elements.", f.most),
	}
}

func readCommands(r *json.Reader, dst []entry.Command, f *batchForm) []entry.Command {
	if !r.Array() {
		return dst
	}
	for r.Element() {
		if len(dst) == f.most {
			r.Err = f.size()
			return dst
		}
		if len(dst) < cap(dst) {
			dst = dst[:len(dst)+1]
		} else {
			dst = append(dst, entry.Command{})
		}
		readCommand(r, &dst[len(dst)-1], f)
	}
	return dst
}

func readCommand(r *json.Reader, c *entry.Command, f *batchForm) {
	*c = entry.Command{}
	wrong := len(r.Wrong)
	f.commands.Fill(r, c)
	if r.Err == nil && c.Kind == entry.None && len(r.Wrong) == wrong {
		r.Bad("must have one of place, cancel and replace.")
	}
}

// pick sets the kind of the command. It treats null as missing and refuses a second kind.
func pick(r *json.Reader, c *entry.Command, kind entry.Kind) bool {
	if r.Null() || r.Err != nil {
		return false
	}
	if c.Kind != entry.None {
		r.Fail("must not be given with another: a command has one of place, cancel and replace.")
		return false
	}
	c.Kind = kind
	return true
}

func orderID(r *json.Reader) (engine.OrderID, bool) {
	v, given := r.Integer(0, MaxOrderID)
	return engine.OrderID(v), given
}

// pairSeq is the last seq that the commands of a batch have in a pair.
type pairSeq struct {
	code string
	seq  engine.Seq
}

// WriteSeqs writes the member seqs of a batch's answer: by pair, the seq that a later read must reflect to show what
// the batch has done. Refused commands have none. only is this seq when the batch concerns one pair, else doc.NoSeq.
func WriteSeqs(w *json.Writer, answers []entry.Answer) (only uint64) {
	var few [4]pairSeq
	all, last := few[:0], -1
	for i := range answers {
		a := &answers[i]
		if a.Seq == 0 || a.Instrument == nil || a.Reason != engine.NotRejected {
			continue
		}
		if last < 0 || all[last].code != a.Instrument.Code {
			last = indexOf(all, a.Instrument.Code)
		}
		if last < 0 {
			last = len(all)
			all = append(all, pairSeq{code: a.Instrument.Code})
		}
		all[last].seq = max(all[last].seq, a.Seq)
	}
	w.Name("seqs").Object()
	for _, p := range all {
		w.Name(p.code).Uint(uint64(p.seq))
	}
	w.EndObject()
	if len(all) == 1 {
		return uint64(all[0].seq)
	}
	return doc.NoSeq
}

// indexOf returns the place of a pair, -1 for none. A batch has at most 1,000 commands.
func indexOf(all []pairSeq, code string) int {
	for i := range all {
		if all[i].code == code {
			return i
		}
	}
	return -1
}
