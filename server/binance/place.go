package binance

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
)

// newOrder is an order as the request describes it.
type newOrder struct {
	view  *marketdata.View
	place entry.Place
	kind  string // ACK, RESULT or FULL
}

// orderTypes translates the types.
var orderTypes = map[string]engine.OrderType{
	"LIMIT": engine.Limit, "LIMIT_MAKER": engine.Limit, "MARKET": engine.Market,
	"STOP_LOSS": engine.StopMarket, "STOP_LOSS_LIMIT": engine.StopLimit,
	"TAKE_PROFIT": engine.TakeMarket, "TAKE_PROFIT_LIMIT": engine.TakeLimit,
}

var timesInForce = map[string]engine.TimeInForce{"GTC": engine.GTC, "IOC": engine.IOC, "FOK": engine.FOK}

// orderParams names the parameters of one order of a request.
type orderParams struct {
	side, kind, tif, price, stop, trail, iceberg, client, strategy, strategyType string

	quantity string // "": an order whose list gives it its quantity
	quote    string // "": no order by quote amount
	peg      string // what the names of a pegged order begin with; "": not among the parameters
	listed   bool   // an order of a list
}

var alone = orderParams{
	side: "side", kind: "type", tif: "timeInForce", price: "price", stop: "stopPrice", trail: "trailingDelta",
	iceberg: "icebergQty", client: "newClientOrderId", strategy: "strategyId", strategyType: "strategyType",
	quantity: "quantity", quote: "quoteOrderQty", peg: "peg",
}

// readOrder reads the parameters of a new order that is no part of a list.
func (q *call) readOrder() (o newOrder, err *failure) {
	if o.view, err = q.pair(); err != nil {
		return o, err
	}
	word, err := q.readOne(&alone, o.view.Instrument, &o.place)
	if err != nil {
		return o, err
	}
	if err = q.readSelfTrade(&o.place); err != nil {
		return o, err
	}
	words := []string{"ACK", "RESULT", "FULL"}
	if word == "LIMIT" || word == "MARKET" {
		words = []string{"FULL", "RESULT", "ACK"}
	}
	o.kind, err = q.word("newOrderRespType", words...)
	return o, err
}

// readOne reads the parameters of one order, checks which of them belong together, and returns the word of its type.
func (q *call) readOne(n *orderParams, in *engine.Instrument, p *entry.Place) (word string, err *failure) {
	if p.Side, err = q.side(n.side); err != nil {
		return "", err
	}
	if word, err = q.orderWord(n.kind); err != nil {
		return "", err
	}
	return word, q.readTerms(n, word, in, p)
}

// orderWord reads the word of a type.
func (q *call) orderWord(name string) (string, *failure) {
	word, err := q.required(name)
	if _, known := orderTypes[word]; err == nil && !known {
		err = fail(codeBadType, "Invalid orderType.")
	}
	return word, err
}

func (q *call) side(name string) (engine.Side, *failure) {
	side, err := q.required(name)
	switch {
	case err != nil:
		return 0, err
	case side == "BUY":
		return engine.Buy, nil
	case side == "SELL":
		return engine.Sell, nil
	}
	return 0, fail(codeBadSide, "Invalid side.")
}

// readTerms reads the parameters that depend on the type of an order. The rules of the interface are set in every
// order: a stop price that the market has passed is refused, what the book cannot fill expires, and a client id is free
// again when its order has ended.
func (q *call) readTerms(n *orderParams, word string, in *engine.Instrument, p *entry.Place) (err *failure) {
	p.Pair, p.Type, p.PostOnly = []byte(in.Code), orderTypes[word], word == "LIMIT_MAKER"
	p.ClientReusable = true
	for _, name := range []string{"PriceType", "OffsetType", "OffsetValue"} {
		if n.peg != "" && q.given(n.peg+name) {
			return fail(codeOrderRejected, "Pegged orders are not supported for this symbol.")
		}
	}
	if err = q.readTIF(n, p); err != nil {
		return err
	}
	p.Expire = p.Type.AtMarket() || p.TIF == engine.FOK
	market, waits := p.Type.AtMarket(), p.Type.Waits()
	byQuote, trails := n.quote != "" && q.given(n.quote), q.given(n.trail)
	stop := needIf(waits)
	if trails {
		if p.Trail, err = q.trail(n, waits); err != nil {
			return err
		}
		stop = maybe
	} else if waits && !q.given(n.stop) {
		return bothMissing(n.stop, n.trail)
	}
	p.Strict = waits && !trails
	for _, m := range []struct {
		name  string
		value *[]byte
		rule  need
	}{
		{n.quote, &p.Quote, needIf(market && byQuote)},
		{n.quantity, &p.Amount, needIf(!market || !byQuote)},
		{n.price, &p.Price, needIf(!market)},
		{n.stop, &p.Stop, stop},
	} {
		if m.name == "" {
			continue
		}
		if *m.value, err = q.decimal(m.name, m.rule); err != nil {
			return err
		}
	}
	if p.Quote, err = cutQuote(p.Quote, in); err != nil {
		return err
	}
	if err = q.readIceberg(n, p); err != nil {
		return err
	}
	return q.readLabels(n, p)
}

// trail reads how far behind the best price an order trails, in basis points.
func (q *call) trail(n *orderParams, waits bool) (int64, *failure) {
	if !waits {
		return 0, notRequired(n.trail)
	}
	v, err := q.number(n.trail, 0)
	if err == nil && v == 0 { // 0 means that an order does not trail
		err = reasonFailure(engine.TrailOutOfRange)
	}
	return v, err
}

// readTIF reads the time in force, which orders with a limit have.
func (q *call) readTIF(n *orderParams, p *entry.Place) *failure {
	text, given := q.text(n.tif)
	known, limit := true, !p.Type.AtMarket() && !p.PostOnly
	switch {
	case given && !limit:
		return notRequired(n.tif)
	case !given && limit:
		return missing(n.tif)
	case given:
		p.TIF, known = timesInForce[text]
	case p.Type.AtMarket():
		p.TIF = engine.IOC
	}
	if !known {
		return fail(codeBadTIF, "Invalid timeInForce.")
	}
	return nil
}

// readIceberg reads the amount that an order shows at a time.
func (q *call) readIceberg(n *orderParams, p *entry.Place) (err *failure) {
	switch {
	case !q.given(n.iceberg):
		return nil
	case p.Type.AtMarket():
		return notRequired(n.iceberg)
	case p.TIF != engine.GTC && n.listed:
		return fail(codeIcebergTIF, "Parameter '%s' is not supported if '%s' is not GTC.", n.iceberg, n.tif)
	case p.TIF != engine.GTC:
		return notRequired(n.iceberg)
	}
	if p.Display, err = q.decimal(n.iceberg, always); err != nil || p.Amount == nil {
		return err
	}
	shown, all := fixed.MustText(p.Display), fixed.MustText(p.Amount)
	if shown.Cmp(all) > 0 {
		return fail(codeOrderRejected, "IcebergQty exceeds QTY.")
	}
	return nil
}

// readLabels reads the client id and the labels of a strategy.
func (q *call) readLabels(n *orderParams, p *entry.Place) *failure {
	client, err := q.clientID(n.client)
	if err != nil {
		return err
	}
	if client != "" {
		p.Client = []byte(client)
	}
	if p.Strategy, err = q.label(n.strategy); err != nil {
		return err
	}
	if p.StrategyType, err = q.label(n.strategyType); err == nil && p.StrategyType != nil &&
		*p.StrategyType < minStrategyType {
		err = fail(codeBadStrategy, "%s was less than %d.", n.strategyType, minStrategyType)
	}
	return err
}

// minStrategyType is the smallest type of a strategy.
const minStrategyType = 1_000_000

// label returns a whole number, nil for a missing one.
func (q *call) label(name string) (*int64, *failure) {
	if !q.given(name) {
		return nil, nil
	}
	v, err := q.number(name, 0)
	return &v, err
}

// readSelfTrade reads the self-trade prevention of an order. Accounts share nothing here, so the mode TRANSFER, which
// moves money between accounts of one group, is DECREMENT.
func (q *call) readSelfTrade(p *entry.Place) *failure {
	p.STP, p.STPGiven = engine.CancelMaker, true
	mode, given := q.text("selfTradePreventionMode")
	if !given {
		return nil
	}
	i := slices.Index(selfTrades[:], mode)
	switch {
	case mode == transfer:
		p.STP = engine.Decrement
	case i < 0:
		return invalid("selfTradePreventionMode")
	default:
		p.STP = engine.SelfTrade(i)
	}
	return nil
}

func notRequired(name string) *failure {
	return fail(codeNotRequired, "Parameter '%s' sent when not required.", name)
}

func bothMissing(one, other string) *failure {
	return fail(codeMandatory, "Param '%s' or '%s' must be sent, but both were empty/null!", one, other)
}

const decimalForm = `^([0-9]{1,20})(\.[0-9]{1,20})?$`

var decimalText = regexp.MustCompile(decimalForm)

// need says whether a parameter is sent.
type need uint8

const (
	never need = iota
	maybe
	always
)

func needIf(yes bool) need {
	if yes {
		return always
	}
	return never
}

// decimal returns the text of a decimal, nil for a missing one.
func (q *call) decimal(name string, rule need) ([]byte, *failure) {
	text, given := q.text(name)
	switch {
	case !given && rule == always:
		return nil, missing(name)
	case !given:
		return nil, nil
	case rule == never:
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

// place serves POST /api/v3/order.
func place(q *call) ([]byte, *failure) {
	o, err := q.readOrder()
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	return q.submit(&o)
}

// submit places the order and returns the answer.
func (q *call) submit(o *newOrder) ([]byte, *failure) {
	if q.repeated(&o.place, o.view.Instrument) != 0 {
		return nil, reasonFailure(engine.DuplicateClientOrderID)
	}
	if err := q.reserve(1); err != nil {
		return nil, err
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	req.Records = true
	*req.One() = entry.Command{Kind: entry.PlaceOrder, Place: o.place}
	if refused := req.SubmitOne(); refused != nil {
		return nil, placeFailure(refused)
	}
	q.placed(&req.Answers[0])
	return q.result(&req.Answers[0], o.kind)
}

// result is the answer to a new order. It fails without the prevented matches, which are read behind the command.
func (q *call) result(a *entry.Answer, kind string) ([]byte, *failure) {
	r := &a.Record
	var matches []marketdata.PreventedMatch
	if r.Prevented != 0 && kind != "ACK" {
		var refused *refuse.Refusal
		if matches, refused = q.f.opt.Entry.PreventedMatches(marketdata.PreventedQuery{
			Account: q.account(), Pair: a.Instrument.ID, Order: r.ID, Limit: maxRows,
		}); refused != nil {
			return nil, fromRefusal(refused)
		}
	}
	w := q.writer()
	q.f.orders(&w, q.f.opt.Board.Load(), a.Instrument).result(r, kind, matches)
	return w.Bytes(), nil
}

// test serves POST /api/v3/order/test: it checks what can be checked without the money and the book.
func test(q *call) ([]byte, *failure) {
	rates, err := q.word("computeCommissionRates", "false", "true")
	if err != nil {
		return nil, err
	}
	weight := 1
	if rates == "true" {
		weight = 20
	}
	if err := q.pay(weight); err != nil {
		return nil, err
	}
	o, err := q.readOrder()
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	req := q.f.opt.Entry.Acquire(q.account())
	defer q.f.opt.Entry.Release(req)
	*req.One() = entry.Command{Kind: entry.PlaceOrder, Place: o.place}
	if refused := req.Test(); refused != nil {
		return nil, placeFailure(refused)
	}
	if rates == "false" {
		return []byte("{}"), nil
	}
	return q.testRates(o.view.Instrument, o.place.Side), nil
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
