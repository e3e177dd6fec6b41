package objects

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/json"
)

func compareDecimals(a, b []byte) int { return fixed.MustText(a).Cmp(fixed.MustText(b)) }

// The enumerations of order entry, with the engine's values.
var (
	sides      = json.WordsOf(engine.Buy, engine.Sell)
	orderTypes = json.WordsOf(engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket, engine.TakeLimit,
		engine.TakeMarket)
	listKinds    = json.WordsOf(engine.OCO, engine.OTO, engine.OTOCO, engine.OPO, engine.OPOCO)
	clientScopes = []json.Word[bool]{{Text: "recent"}, {Text: "open", Value: true}}
	timesInForce = json.WordsOf(engine.GTC, engine.IOC, engine.FOK)
	PairStates   = json.WordsOf(engine.Online, engine.PostOnlyState, engine.CancelOnly, engine.Halted)
	selfTrades   = json.WordsOf(engine.SelfTradeNone, engine.CancelTaker, engine.CancelMaker,
		engine.CancelBoth, engine.Decrement)
)

// OrderTypes has the words of the order types, in the order of the engine's values.
var OrderTypes = func() (texts []string) {
	for _, w := range orderTypes {
		texts = append(texts, w.Text)
	}
	return texts
}()

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
		o.Type, o.typeGiven = typeOf(market, o.Stop != nil || o.Trail != 0), true
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
	brings                                      bool // of a list, which may set its amount
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
	trailMember   = trail(func(o *order) *int64 { return &o.Trail })
	strictMember  = json.Flag("strictTrigger", func(o *order, v bool) { o.Strict = v })
	expireMember  = json.Flag("expireUnfilled", func(o *order, v bool) { o.Expire = v })
	postMember    = json.Flag("postOnly", func(o *order, v bool) { o.PostOnly = v })
	selfMember    = json.Choice("selfTradePrevention", selfTrades,
		func(o *order, v engine.SelfTrade) { o.STP, o.STPGiven = v, true })
	clientMember   = client(func(o *order) *[]byte { return &o.Client })
	scopeMember    = scope(func(o *order) *bool { return &o.ClientReusable })
	strategyMember = label("strategyId", func(o *order) **int64 { return &o.Strategy })
	kindMember     = label("strategyType", func(o *order) **int64 { return &o.StrategyType })

	required = json.Field{Required: true} // checkOrder refuses an order without the member
	nullable = json.Field{Nullable: true}
	off      = json.Field{Default: false}
)

// client returns the member with a client id.
func client[T any](at func(*T) *[]byte) json.Member[T] {
	return json.Read("clientOrderId", json.KindText, func(r *json.Reader, v *T) bool {
		*at(v) = clientOrderID(r)
		return *at(v) != nil
	}).As(json.Field{Pattern: ClientOrderPattern})
}

// scope returns the member that says among which orders a client id is unique.
func scope[T any](at func(*T) *bool) json.Member[T] {
	return json.Choice("clientIdScope", clientScopes, func(v *T, open bool) { *at(v) = open }).
		As(json.Field{Default: "recent"})
}

// trail returns the member that says how far an order trails. 0 is the absence of the member, so the exchange refuses
// a given 0 as it refuses every number that is out of range: by the reason trail_out_of_range.
func trail[T any](at func(*T) *int64) json.Member[T] {
	return json.Integer("trailingDelta", math.MinInt64, math.MaxInt64, func(v *T, delta int64) {
		*at(v) = cmp.Or(delta, -1)
	}).As(json.Field{Range: []int64{10, 2_000}})
}

// label returns a member that the order keeps.
func label(name string, at func(*order) **int64) json.Member[order] {
	return json.Integer(name, math.MinInt64, math.MaxInt64, func(o *order, v int64) { *at(o) = &v }).
		As(json.Field{Kind: json.KindInt64, Range: []int64{}})
}

// The forms of POST /orders and POST /api/orders, each in the order of its table
// (docs/contract/internal.md#orders, docs/contract/trading.md#place-an-order).
var (
	orderForm = json.Of(append([]json.Member[order]{accountMember, pairMember}, orderMembers...)...)
	// An order of a list has no account and no pair of its own.
	orderMembers = []json.Member[order]{
		sideMember, typeMember.As(required), tifMember, priceMember,
		amountMember, quoteMember, stopMember, trailMember, strictMember.As(off), displayMember, postMember.As(off),
		expireMember.As(off), selfMember, clientMember, scopeMember, strategyMember, kindMember,
	}
	tradingForm    = json.Of(slices.Insert(slices.Clone(tradingMembers), 3, pairMember)...)
	tradingMembers = []json.Member[order]{
		sideMember, marketMember, typeMember.As(nullable), amountMember,
		priceMember.As(nullable), tifMember.As(nullable), postMember,
		clientMember.As(nullable), scopeMember, stopMember.As(nullable), trailMember.As(nullable), strictMember.As(off),
		displayMember.As(nullable), expireMember.As(off), selfMember.As(nullable), quoteMember.As(nullable),
		strategyMember.As(nullable), kindMember.As(nullable),
	}

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
	fill(r, o, form, check)
}

func fill(r *json.Reader, o *order, form *json.Form[order], check func(*json.Reader, *order)) {
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
	byQuote := market && o.Quote != nil
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
	case o.Quote != nil && !byQuote:
		r.Rule("quoteAmount", "applies to orders at the market's price only.")
	case o.Amount == nil && !byQuote && market && !o.brings:
		r.Rule("amount", "is required, or quoteAmount instead.")
	case o.Amount == nil && !byQuote && !o.brings:
		r.Rule("amount", "is required.")
	case o.Quote != nil && o.Amount != nil:
		r.Rule("quoteAmount", "stands instead of amount: give one of the two.")
	case stop && o.Stop == nil && o.Trail == 0:
		r.Rule("stopPrice", "is required for this type, or trailingDelta.")
	case !stop && o.Stop != nil:
		r.Rule("stopPrice", "applies to orders that wait for a price only: stops and take profits.")
	case !stop && o.Trail != 0:
		r.Rule("trailingDelta", "applies to orders that wait for a price only: stops and take profits.")
	case !stop && o.Strict:
		r.Rule("strictTrigger", "applies to orders that wait for a price only: stops and take profits.")
	case o.Expire && o.TIF != engine.FOK && (!market || byQuote):
		r.Rule("expireUnfilled", "applies to fok orders, and to orders at the market's price by amount.")
	case o.Display != nil && market:
		r.Rule("displayAmount", "does not apply to an order at the market's price.")
	case o.Display != nil && json.DecimalSign(o.Display) <= 0:
		r.Rule("displayAmount", "must be above zero.")
	case o.Display != nil && o.Amount != nil && json.DecimalSign(o.Amount) > 0 &&
		compareDecimals(o.Display, o.Amount) > 0:
		r.Rule("displayAmount", "must be at most amount.")
	case o.PostOnly && (market || o.TIF != engine.GTC):
		r.Rule("postOnly", "needs a gtc order with a limit price.")
	}
}

// ReplaceForm is the body of PATCH /orders/{id}.
var ReplaceForm = replaceForm(func(p *entry.Replace) *entry.Replace { return p })

// replaceForm returns the form of a replace that has more members before its own.
func replaceForm[T any](of func(*T) *entry.Replace, more ...json.Member[T]) *json.Form[T] {
	const alone = "does not apply with keepPriority, which changes the amount alone."
	rule := func(name, text string, broken func(p *entry.Replace) bool) func(f *json.Form[T]) {
		return func(f *json.Form[T]) { f.Rule(name, text, func(v *T) bool { return !broken(of(v)) }) }
	}
	f := json.Of(append(more,
		json.Decimal("price", func(v *T, text []byte) { of(v).Price = text }),
		json.Decimal("amount", func(v *T, text []byte) { of(v).Amount = text }),
		json.Decimal("stopPrice", func(v *T, text []byte) { of(v).Stop = text }),
		trail(func(v *T) *int64 { return &of(v).Trail }),
		json.Flag("keepPriority", func(v *T, keep bool) { of(v).SmallerOnly = keep }).As(off),
		client(func(v *T) *[]byte { return &of(v).Client }),
		scope(func(v *T) *bool { return &of(v).ClientReusable }),
	)...)
	for _, add := range []func(*json.Form[T]){
		rule("price", alone, func(p *entry.Replace) bool { return p.SmallerOnly && p.Price != nil }),
		rule("amount", "is required with keepPriority.", func(p *entry.Replace) bool {
			return p.SmallerOnly && p.Amount == nil
		}),
		rule("stopPrice", alone, func(p *entry.Replace) bool { return p.SmallerOnly && p.Stop != nil }),
		rule("trailingDelta", alone, func(p *entry.Replace) bool { return p.SmallerOnly && p.Trail != 0 }),
		rule("clientOrderId", "needs keepPriority: only an amendment gives an order another client id.",
			func(p *entry.Replace) bool { return !p.SmallerOnly && p.Client != nil }),
	} {
		add(f)
	}
	return f
}

// Changes reports whether a replace has a member that changes the order.
func Changes(p *entry.Replace) bool {
	return p.Price != nil || p.Amount != nil || p.Stop != nil || p.Trail != 0
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
		listMember("PlaceOrderList", listForm),
		json.Value("orderId", json.KindInt64, orderID, setOrder),
		json.Integer("at", 0, math.MaxInt64, func(c *entry.Command, v int64) { c.AtNs, c.HasAt = v, true }).
			As(json.Field{Kind: json.KindInt64, Range: []int64{0}}))
	tradingBatch = batchOf(MaxTradingBatch, placeMember("CreateOrderRequest", tradingForm, readTradingOrder),
		listMember("CreateOrderListRequest", tradingListForm),
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

// batchOf returns the form of a batch whose commands have members to place an order and a list, the id of an order, and
// more members.
func batchOf(most int, place, list, id json.Member[entry.Command], more ...json.Member[entry.Command]) *batchForm {
	id = id.As(json.Field{Range: []int64{0, MaxOrderID}}).Need()
	cancel := json.Of(id, json.Choice("onlyIf", restrictions, func(c *entry.Command, v entry.Only) { c.Only = v }))
	replace := replaceForm(func(c *entry.Command) *entry.Replace { return &c.Replace }, id)
	return &batchForm{most, json.Of(append([]json.Member[entry.Command]{
		place,
		list,
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
		r.Bad("must have one of place, placeList, cancel and replace.")
	}
}

// pick sets the kind of the command. It treats null as missing and refuses a second kind.
func pick(r *json.Reader, c *entry.Command, kind entry.Kind) bool {
	if r.Null() || r.Err != nil {
		return false
	}
	if c.Kind != entry.None {
		r.Fail("must not be given with another: a command has one of place, placeList, cancel and replace.")
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
