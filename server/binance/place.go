package binance

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"regexp"
	"slices"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/objects"
)

// newOrder is an order as the request describes it.
type newOrder struct {
	view  *marketdata.View
	place entry.Place
	kind  string // ACK, RESULT or FULL
}

// orderTypes translates the types; those without a counterpart are refused.
var orderTypes = map[string]engine.OrderType{
	"LIMIT": engine.Limit, "LIMIT_MAKER": engine.Limit, "MARKET": engine.Market,
	"STOP_LOSS": engine.StopMarket, "STOP_LOSS_LIMIT": engine.StopLimit,
}

var timesInForce = map[string]engine.TimeInForce{"GTC": engine.GTC, "IOC": engine.IOC, "FOK": engine.FOK}

// readOrder reads the parameters of a new order and checks which of them belong together.
func (q *call) readOrder() (o newOrder, err *failure) {
	if o.view, err = q.pair(); err != nil {
		return o, err
	}
	o.place.Pair = []byte(o.view.Instrument.Code)
	side, err := q.required("side")
	if err != nil {
		return o, err
	}
	switch side {
	case "BUY":
		o.place.Side = engine.Buy
	case "SELL":
		o.place.Side = engine.Sell
	default:
		return o, fail(codeBadSide, "Invalid side.")
	}
	name, err := q.required("type")
	if err != nil {
		return o, err
	}
	if name == "TAKE_PROFIT" || name == "TAKE_PROFIT_LIMIT" {
		return o, fail(codeOrderRejected, "Take profit orders are not supported for this symbol.")
	}
	known := false
	if o.place.Type, known = orderTypes[name]; !known {
		return o, fail(codeBadType, "Invalid orderType.")
	}
	if err := q.readTerms(&o, name); err != nil {
		return o, err
	}
	return o, q.readOptions(&o, name)
}

// readTerms reads the decimals and the time in force of an order of a type.
func (q *call) readTerms(o *newOrder, name string) (err *failure) {
	p := &o.place
	limit := name == "LIMIT" || name == "STOP_LOSS_LIMIT"
	market := name == "MARKET" || name == "STOP_LOSS"
	text, given := q.text("timeInForce")
	switch {
	case given && !limit:
		return notRequired("timeInForce")
	case !given && limit:
		return missing("timeInForce")
	case given:
		if p.TIF, given = timesInForce[text]; !given {
			return fail(codeBadTIF, "Invalid timeInForce.")
		}
	case market:
		p.TIF = engine.IOC
	}
	p.PostOnly = name == "LIMIT_MAKER"
	_, byQuote := q.text("quoteOrderQty")
	for _, m := range []struct {
		name  string
		value *[]byte
		rule  bool // required; otherwise not permitted
	}{
		{"quoteOrderQty", &p.Quote, market && byQuote},
		{"quantity", &p.Amount, !market || !byQuote},
		{"price", &p.Price, !market},
		{"stopPrice", &p.Stop, name == "STOP_LOSS" || name == "STOP_LOSS_LIMIT"},
	} {
		if *m.value, err = q.decimal(m.name, m.rule); err != nil {
			return err
		}
	}
	if byQuote && p.Side == engine.Sell {
		return fail(codeUnsupported, "This operation is not supported: a sell order by quoteOrderQty.")
	}
	if p.Quote, err = cutQuote(p.Quote, o.view.Instrument); err != nil {
		return err
	}
	if _, iceberg := q.text("icebergQty"); iceberg {
		if market || p.TIF != engine.GTC {
			return notRequired("icebergQty")
		}
		p.Display, err = q.decimal("icebergQty", true)
	}
	return err
}

// readOptions reads the parameters that every type may have.
func (q *call) readOptions(o *newOrder, name string) (err *failure) {
	client, err := q.clientID("newClientOrderId")
	if err != nil {
		return err
	}
	if client != "" {
		o.place.Client, o.place.ClientReusable = []byte(client), true
	}
	if mode, given := q.text("selfTradePreventionMode"); given {
		i := slices.Index(selfTrades[:], mode)
		if i < 0 {
			return invalid("selfTradePreventionMode")
		}
		o.place.STP, o.place.STPGiven = engine.SelfTrade(i), true
	}
	words := []string{"ACK", "RESULT", "FULL"}
	if name == "LIMIT" || name == "MARKET" {
		words = []string{"FULL", "RESULT", "ACK"}
	}
	o.kind, err = q.word("newOrderRespType", words...)
	return err
}

func notRequired(name string) *failure {
	return fail(codeNotRequired, "Parameter '%s' sent when not required.", name)
}

const decimalForm = `^([0-9]{1,20})(\.[0-9]{1,20})?$`

var decimalText = regexp.MustCompile(decimalForm)

// decimal returns the text of a decimal, nil for a missing one. With required it must be given, otherwise it
// must not.
func (q *call) decimal(name string, required bool) ([]byte, *failure) {
	text, given := q.text(name)
	switch {
	case !given && required:
		return nil, missing(name)
	case !given:
		return nil, nil
	case !required:
		return nil, notRequired(name)
	case !decimalText.MatchString(text):
		return nil, illegal(name, decimalForm)
	}
	if _, err := fixed.Parse(text); err != nil {
		return nil, fail(codeTooPrecise, "Parameter '%s' has too much precision.", name)
	}
	return []byte(text), nil
}

// cutQuote drops those digits of a quote amount that no sum of the pair's trades has: a program may spend a whole
// balance, which has the digits of the currency.
func cutQuote(text []byte, in *engine.Instrument) ([]byte, *failure) {
	point := bytes.IndexByte(text, '.')
	if point < 0 {
		return text, nil
	}
	if len(bytes.TrimRight(text[point+1:], "0")) > in.QuoteDigits {
		return nil, fail(codeTooPrecise, "Parameter 'quoteOrderQty' has too much precision.")
	}
	return bytes.TrimSuffix(text[:min(len(text), point+1+in.DigitsTotal())], []byte{'.'}), nil
}

// orderAlone reads a new order and refuses every other parameter.
func (q *call) orderAlone() (newOrder, *failure) {
	o, err := q.readOrder()
	if err == nil {
		err = q.unread()
	}
	return o, err
}

// place serves POST /api/v3/order.
func place(q *call) ([]byte, *failure) {
	o, err := q.orderAlone()
	if err != nil {
		return nil, err
	}
	return q.submit(&o)
}

// submit places the order and returns the answer.
func (q *call) submit(o *newOrder) ([]byte, *failure) {
	if q.repeats(o) {
		return nil, reasonFailure(engine.DuplicateClientOrderID)
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	req.Records = true
	*req.One() = entry.Command{Kind: entry.PlaceOrder, Place: o.place}
	if refused := req.SubmitOne(); refused != nil {
		return nil, placeFailure(refused)
	}
	a := &req.Answers[0]
	return q.f.result(q.f.opt.Board.Load(), a.Instrument, &a.Record, o.kind), nil
}

// test serves POST /api/v3/order/test: it checks what can be checked without the money and the book.
func test(q *call) ([]byte, *failure) {
	o, err := q.orderAlone()
	if err != nil {
		return nil, err
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.PlaceOrder, Place: o.place}
	if refused := req.Test(); refused != nil {
		return nil, placeFailure(refused)
	}
	return []byte("{}"), nil
}

// reasonFailure translates a reason for which the engine refuses an order.
func reasonFailure(r engine.Reason) *failure { return placeFailure(refuse.New(entry.Code(r), "", "")) }

// placeFailure translates the refusal of a new order.
func placeFailure(r *refuse.Refusal) *failure {
	row := refuse.RowOf(r.Code)
	switch {
	case row.Order != "" && row.Binance.Message != "":
		return fail(row.Binance.Number, "%s", row.Binance.Message)
	case r.Code == refuse.InvalidParam:
		return fail(codeUnsupported, "This operation is not supported: %s", r.Message)
	}
	return fromRefusal(r)
}

// clientIDs makes the ids of orders and cancels that were sent without one, as the other exchange does:
//
//	order id u64, use u64  --AES-128-->  128 bits  --base 62-->  22 characters
//
// So nothing is stored: the id of an order is computed wherever the order is shown, and read back where a request names
// it. The key depends on the seed of the directory, which a restart, a restored copy and a later writer of a cluster
// have too. It is no secret that protects anything: who guesses the id of an order still needs the account's key.
//
// Owner: immutable; any goroutine may use it.
type clientIDs struct{ cipher cipher.Block }

// idUse says what an id is for.
type idUse uint64

const (
	ofOrder  idUse = iota
	ofCancel       // of the request that canceled the order, of which there is one at most
)

// generatedLen is the length of a generated id, and digitChunk as many digits as fit into 64 bits.
const (
	generatedLen = 22
	digitChunk   = 10
)

const digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// pow62 is 62^digitChunk.
const pow62 = 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62

func newClientIDs(seed uint64) clientIDs {
	key := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("tickhive generated client order ids"), seed))
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic("BUG: binance: " + err.Error()) // no other length
	}
	return clientIDs{block}
}

// generate returns the id for an order.
func (c clientIDs) generate(id engine.OrderID, use idUse) string {
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint64(b[:8], uint64(id))
	binary.BigEndian.PutUint64(b[8:], uint64(use))
	c.cipher.Encrypt(b[:], b[:])
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var text [generatedLen]byte
	for at := generatedLen; at > 0; {
		var chunk uint64
		high, chunk = high/pow62, high%pow62
		low, chunk = bits.Div64(chunk, low, pow62)
		for range min(digitChunk, at) {
			at--
			text[at] = digits62[chunk%62]
			chunk /= 62
		}
	}
	return string(text[:])
}

// order returns the order for which an id was generated, false: the id is none of an order.
func (c clientIDs) order(text string) (engine.OrderID, bool) {
	if len(text) != generatedLen {
		return 0, false
	}
	var high, low uint64
	for i := range len(text) {
		digit := text[i]
		switch {
		case digit >= 'a':
			digit -= 'a' - 36
		case digit >= 'A':
			digit -= 'A' - 10
		default:
			digit -= '0'
		}
		if digit >= 62 || digits62[digit] != text[i] {
			return 0, false
		}
		over, top := bits.Mul64(high, 62)
		carry, next := bits.Mul64(low, 62)
		var c1, c2 uint64
		low, c1 = bits.Add64(next, uint64(digit), 0)
		if high, c2 = bits.Add64(top, carry, c1); over|c2 != 0 {
			return 0, false // above 2^128
		}
	}
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low)
	c.cipher.Decrypt(b[:], b[:])
	return engine.OrderID(binary.BigEndian.Uint64(b[:8])), idUse(binary.BigEndian.Uint64(b[8:])) == ofOrder
}

// orderID returns the client order id of an order: the one that was sent, or a generated one.
func (f *Facade) orderID(r *marketdata.OrderRecord) string {
	if r.Client != "" {
		return r.Client
	}
	return f.ids.generate(r.ID, ofOrder)
}

// cancelID returns the id of the request that has canceled an order: the one that was sent, or a generated one.
func (f *Facade) cancelID(r *marketdata.OrderRecord, sent string) string {
	if sent != "" {
		return sent
	}
	return f.ids.generate(r.ID, ofCancel)
}

const clientIDForm = `^[\.A-Z\:a-z0-9_-]{1,64}$`

// clientID reads a client order id, "" for none.
func (q *call) clientID(name string) (string, *failure) {
	client, given := q.text(name)
	if given && !objects.IsClientOrderID(client) {
		return "", illegal(name, clientIDForm)
	}
	return client, nil
}

// repeats reports whether a new order has the id that was generated for an open order of the caller: the engine knows
// the ids alone that were sent. An order that ends right after this look could have been refused just before its end.
func (q *call) repeats(o *newOrder) bool {
	id, ok := q.f.ids.order(string(o.place.Client))
	if !ok || id.Pair() != o.view.Instrument.ID {
		return false
	}
	a, refused := q.f.opt.Entry.Order(q.account(), strconv.FormatUint(uint64(id), 10))
	return refused == nil && a.Record.Client == "" && a.Record.Status.Open()
}
