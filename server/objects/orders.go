package objects

import (
	"fmt"
	"strconv"

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
func IsClientOrderID(s string) bool { return s != "" && clientOrderChars(s) }

// MaxTradingBatch is the largest number of commands in one batch of a signed request
// (docs/contract/trading.md#batches).
const MaxTradingBatch = 100

var tradingIDField = json.Field{Name: "orderId", Kind: json.KindOrderID, Required: true, Range: []int64{0, MaxOrderID}}

// TradingBatchMembers describes the body of POST /api/orders/batch.
var TradingBatchMembers = []json.Field{{
	Name: "commands", Kind: json.KindArray, Required: true, Range: []int64{1, MaxTradingBatch},
	Element: &json.Field{Kind: json.KindObject, Fields: []json.Field{
		{Name: "place", Kind: json.KindObject, Schema: "CreateOrderRequest", Fields: TradingMembers},
		{Name: "cancel", Kind: json.KindObject, Fields: []json.Field{tradingIDField}},
		{Name: "replace", Kind: json.KindObject, Fields: append([]json.Field{tradingIDField}, ReplaceForm.Members()...)},
	}},
}}

// DecodeTradingOrder reads the body of POST /api/orders.
func DecodeTradingOrder(text []byte, p *entry.Place) *refuse.Refusal {
	return json.Decode(text, func(r *json.Reader) *json.Error { return decodeTradingOrder(r, p) })
}

func decodeTradingOrder(r *json.Reader, p *entry.Place) *json.Error {
	readTradingOrder(r, p)
	return r.InOrder(TradingMembers)
}

// DecodeTradingBatch reads the body of POST /api/orders/batch into dst, whose memory it reuses.
func DecodeTradingBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, &tradingBatch)
}

// readTradingOrder reads an order object of a signed request.
func readTradingOrder(r *json.Reader, p *entry.Place) {
	*p = entry.Place{}
	o := orderReader{Place: p}
	wrong := len(r.Wrong)
	market, marketGiven := false, false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "isMarket":
			market, marketGiven = r.Boolean()
		case "accountId":
			r.Unknown() // the key says whose order it is
		default:
			readOrderMember(r, &o, key)
		}
	}
	if r.Err != nil || len(r.Wrong) != wrong {
		return
	}
	byType := o.Type == engine.Market || o.Type == engine.StopMarket
	switch {
	case !o.typeGiven:
		o.Type, o.typeGiven = typeOf(market, o.Stop != nil), true
	case marketGiven && market != byType:
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
		checkOrder(r, &o)
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

// orderReader reads the members of an order and tracks which required members it has read.
type orderReader struct {
	*entry.Place
	sideGiven, typeGiven, tifGiven bool
}

// The members of an order. readOrderMember is a switch, which is 8 % faster than a Form.
var (
	accountField = json.Field{Name: "accountId", Kind: json.KindUUID}
	pairField    = json.Field{Name: "currencyPairCode", Kind: json.KindPairCode, Required: true}
	sideField    = json.Field{Name: "side", Kind: json.KindWord, Required: true, Words: json.TextsOf(sides)}
	typeField    = json.Field{Name: "type", Kind: json.KindWord, Required: true, Words: json.TextsOf(orderTypes)}
	marketField  = json.Field{Name: "isMarket", Kind: json.KindBoolean, Default: false}
	tifField     = json.Field{Name: "timeInForce", Kind: json.KindWord, Words: json.TextsOf(timesInForce)}
	priceField   = json.Field{Name: "price", Kind: json.KindDecimal}
	amountField  = json.Field{Name: "amount", Kind: json.KindDecimal}
	quoteField   = json.Field{Name: "quoteAmount", Kind: json.KindDecimal}
	stopField    = json.Field{Name: "stopPrice", Kind: json.KindDecimal}
	displayField = json.Field{Name: "displayAmount", Kind: json.KindDecimal}
	postField    = json.Field{Name: "postOnly", Kind: json.KindBoolean, Default: false}
	selfField    = json.Field{Name: "selfTradePrevention", Kind: json.KindWord, Words: json.TextsOf(selfTrades)}
	clientField  = json.Field{Name: "clientOrderId", Kind: json.KindText, Pattern: ClientOrderPattern}
)

// OrderMembers and TradingMembers describe the bodies of POST /orders and POST /api/orders, each in the order
// of its table (docs/contract/internal.md#orders, docs/contract/trading.md#place-an-order).
var (
	OrderMembers = []json.Field{
		accountField, pairField, sideField, typeField, tifField, priceField, amountField, quoteField, stopField,
		displayField, postField, selfField, clientField,
	}
	TradingMembers = []json.Field{
		sideField, marketField, optional(nullable(typeField)), pairField, amountField,
		nullable(priceField), nullable(tifField),
		{Name: postField.Name, Kind: postField.Kind},
		nullable(clientField), nullable(stopField),
		nullable(displayField), nullable(selfField), nullable(quoteField),
	}
)

func nullable(f json.Field) json.Field {
	f.Nullable = true
	return f
}

func optional(f json.Field) json.Field {
	f.Required = false
	return f
}

// DecodeOrder reads the body of POST /orders.
func DecodeOrder(text []byte, o *entry.Place) *refuse.Refusal {
	return json.Decode(text, func(r *json.Reader) *json.Error { return decodeOrder(r, o) })
}

func decodeOrder(r *json.Reader, o *entry.Place) *json.Error {
	readOrder(r, o)
	return r.InOrder(OrderMembers)
}

// readOrder reads an order object.
func readOrder(r *json.Reader, p *entry.Place) {
	*p = entry.Place{}
	o := orderReader{Place: p}
	wrong := len(r.Wrong)
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		readOrderMember(r, &o, key)
	}
	if r.Err == nil && len(r.Wrong) == wrong {
		checkOrder(r, &o)
	}
}

// readOrderMember reads the member key of an order.
func readOrderMember(r *json.Reader, o *orderReader, key []byte) {
	switch string(key) {
	case "accountId":
		o.Account, _ = r.UUID()
	case "currencyPairCode":
		o.Pair = PairCode(r)
	case "side":
		o.Side, o.sideGiven = json.ReadWord(r, sides)
	case "type":
		o.Type, o.typeGiven = json.ReadWord(r, orderTypes)
	case "timeInForce":
		o.TIF, o.tifGiven = json.ReadWord(r, timesInForce)
	case "price":
		o.Price = r.Decimal()
	case "amount":
		o.Amount = r.Decimal()
	case "quoteAmount":
		o.Quote = r.Decimal()
	case "stopPrice":
		o.Stop = r.Decimal()
	case "displayAmount":
		o.Display = r.Decimal()
	case "postOnly":
		o.PostOnly, _ = r.Boolean()
	case "selfTradePrevention":
		o.STP, o.STPGiven = json.ReadWord(r, selfTrades)
	case "clientOrderId":
		o.Client = clientOrderID(r)
	default:
		r.Unknown()
	}
}

// checkOrder checks the conditions between members, in the order of the table, and sets the default of
// timeInForce.
func checkOrder(r *json.Reader, o *orderReader) {
	market := o.Type == engine.Market || o.Type == engine.StopMarket
	stop := o.Type == engine.StopLimit || o.Type == engine.StopMarket
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
var ReplaceForm = json.Of(
	json.Decimal("price", func(p *entry.Replace, v []byte) { p.Price = v }),
	json.Decimal("amount", func(p *entry.Replace, v []byte) { p.Amount = v }),
)

// MaxOrderID is the largest order id that a JSON number (a float64) holds exactly.
const MaxOrderID = 1<<53 - 1

var orderIDField = json.Field{Name: "orderId", Kind: json.KindInt64, Required: true, Range: []int64{0, MaxOrderID}}

// BatchMembers describes the body of POST /orders/batch.
var BatchMembers = []json.Field{{
	Name: "commands", Kind: json.KindArray, Required: true, Range: []int64{1, MaxBatch},
	Element: &json.Field{Kind: json.KindObject, Fields: []json.Field{
		{Name: "place", Kind: json.KindObject, Schema: "PlaceOrder", Fields: OrderMembers},
		{Name: "cancel", Kind: json.KindObject, Fields: []json.Field{orderIDField}},
		{Name: "replace", Kind: json.KindObject, Fields: append([]json.Field{orderIDField}, ReplaceForm.Members()...)},
		{Name: "at", Kind: json.KindInt64, Range: []int64{0}},
	}},
}}

// batchForm holds the differences between the two batch routes.
type batchForm struct {
	most    int // commands
	place   func(r *json.Reader, p *entry.Place)
	orderID func(r *json.Reader) (engine.OrderID, bool)
	at      bool // a command may have a time
}

var (
	internalBatch = batchForm{MaxBatch, readOrder, orderID, true}
	tradingBatch  = batchForm{MaxTradingBatch, readTradingOrder, textOrderID, false}
)

// DecodeBatch reads the body of POST /orders/batch into dst, whose memory it reuses.
func DecodeBatch(text []byte, dst []entry.Command) ([]entry.Command, *refuse.Refusal) {
	return pooledBatch(text, dst, &internalBatch)
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
	return &json.Error{Field: "commands", Message: fmt.Sprintf("The member commands must have 1 to %d elements.", f.most)}
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
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "place":
			if pick(r, c, entry.PlaceOrder) {
				f.place(r, &c.Place)
			}
		case "cancel":
			if pick(r, c, entry.CancelOrder) {
				readCancel(r, c, f)
			}
		case "replace":
			if pick(r, c, entry.ReplaceOrder) {
				readReplace(r, c, f)
			}
		case "at":
			if !f.at {
				r.Unknown()
				continue
			}
			c.AtNs, c.HasAt = r.Integer(0, 1<<63-1)
		default:
			r.Unknown()
		}
	}
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

func readCancel(r *json.Reader, c *entry.Command, f *batchForm) {
	given := false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		if string(key) != "orderId" {
			r.Unknown()
			continue
		}
		c.Order, given = f.orderID(r)
	}
	r.Require("orderId", given)
}

func readReplace(r *json.Reader, c *entry.Command, f *batchForm) {
	given := false
	if !r.Object() {
		return
	}
	for key, ok := r.Member(); ok; key, ok = r.Member() {
		switch string(key) {
		case "orderId":
			c.Order, given = f.orderID(r)
		case "price":
			c.Replace.Price = r.Decimal()
		case "amount":
			c.Replace.Amount = r.Decimal()
		default:
			r.Unknown()
		}
	}
	r.Require("orderId", given)
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
