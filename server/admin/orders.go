package admin

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
	"tickhive/server/json"
	"tickhive/server/objects"
)

// orderRoutes returns the routes that place, read and cancel orders.
func orderRoutes(s *Server) []*edge.Route {
	const orders = edge.InternalPrefix + "/orders"
	id := []json.Field{{Name: "id", Pattern: "^[0-9]{1,16}$"}}
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: orders, Handle: s.placeOrder, Schema: "PlaceOrder",
			Members: objects.OrderMembers,
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/batch", Handle: s.placeBatch, Schema: "Batch",
			Members: objects.BatchMembers,
		},
		{
			Method: fasthttp.MethodDelete, Path: orders, Handle: s.cancelAll,
			Params: []json.Field{{Name: "accountId", Kind: json.KindUUID}, edge.ParamPair(edge.PairName, false)},
		},
		{Method: fasthttp.MethodGet, Path: orders + "/{id}", Handle: s.getOrder, Params: id},
		{
			Method: fasthttp.MethodPatch, Path: orders + "/{id}", Handle: s.replaceOrder, Params: id,
			Schema: "ReplaceOrder", Members: objects.ReplaceForm.Members(),
		},
		{Method: fasthttp.MethodDelete, Path: orders + "/{id}", Handle: s.cancelOrder, Params: id},
	}
}

// orderBody is a request that carries orders, with memory that later requests reuse. It comes from a pool.
// Owner: one request at a time.
type orderBody struct {
	*entry.Request
	rendered []byte
}

// maxPooledBytes is the largest answer whose memory is kept for the next request.
const maxPooledBytes = 2 << 20

func (s *Server) takeBody() *orderBody {
	b := s.bodies.Get().(*orderBody)
	b.Request = s.opt.Entry.Acquire(0)
	return b
}

func (s *Server) releaseBody(b *orderBody) {
	s.opt.Entry.Release(b.Request)
	b.Request = nil
	if cap(b.rendered) > maxPooledBytes {
		b.rendered = nil
	}
	s.bodies.Put(b)
}

// placeOrder serves POST /orders.
func (s *Server) placeOrder(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	cmd := b.One()
	cmd.Kind = entry.PlaceOrder
	if err := objects.DecodeOrder(c.PostBody(), &cmd.Place); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// submitOne submits the request's only command and sends the order.
func (s *Server) submitOne(c *edge.Ctx, b *orderBody) *refuse.Refusal {
	if err := b.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(b.Answers[0].Seq))
	c.Private(appendOrder(make([]byte, 0, 1024), &b.Answers[0]))
	return nil
}

// placeBatch serves POST /orders/batch. It checks the shape of every command before the engine
// applies the first one.
func (s *Server) placeBatch(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	var err *refuse.Refusal
	if b.Commands, err = objects.DecodeBatch(c.PostBody(), b.Commands); err != nil {
		return err
	}
	if err := b.Submit(); err != nil {
		return err
	}
	out := append(b.rendered[:0], `{"results":[`...)
	for i := range b.Answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendResult(out, &b.Answers[i])
	}
	out, seq := objects.AppendSeqs(append(out, ']'), b.Answers)
	c.SetSeq(seq)
	b.rendered = append(out, '}')
	sendOwned(c, b.rendered)
	return nil
}

// sendOwned sends a copy of body, because the caller reuses the memory of body.
func sendOwned(c *edge.Ctx, body []byte) {
	c.Response.Header.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
	c.Response.Header.SetContentTypeBytes(edge.ValJSON)
	c.Response.SetBody(body)
}

// getOrder serves GET /orders/{id}.
func (s *Server) getOrder(c *edge.Ctx) *refuse.Refusal {
	a, err := s.opt.Entry.Order(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	c.Private(appendOrder(nil, &a))
	return nil
}

// cancelOrder serves DELETE /orders/{id}.
func (s *Server) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	id, _, err := s.opt.Entry.ParseOrder(0, c.PathParam("id"))
	if err != nil {
		return err
	}
	b := s.takeBody()
	defer s.releaseBody(b)
	*b.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	return s.submitOne(c, b)
}

// replaceOrder serves PATCH /orders/{id}.
func (s *Server) replaceOrder(c *edge.Ctx) *refuse.Refusal {
	b := s.takeBody()
	defer s.releaseBody(b)
	cmd := b.One()
	cmd.Kind = entry.ReplaceOrder
	if err := objects.ReplaceForm.Decode(c.PostBody(), &cmd.Replace); err != nil {
		return err
	}
	var err *refuse.Refusal
	if cmd.Order, _, err = s.opt.Entry.ParseOrder(0, c.PathParam("id")); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// cancelAll serves DELETE /orders?accountId=&currencyPairCode=.
func (s *Server) cancelAll(c *edge.Ctx) *refuse.Refusal {
	m := entry.MassCancel{Everyone: true, Pair: engine.ControlPair}
	accountText, err := c.Str("accountId")
	if err != nil {
		return err
	}
	code, err := c.Str("currencyPairCode")
	if err != nil {
		return err
	}
	uuid, ok := json.ParseUUID(accountText)
	switch {
	case accountText == "" && code == "":
		return refuse.Param("accountId", "At least one of accountId and currencyPairCode is required.")
	case accountText != "" && !ok:
		return refuse.Param("accountId", "The parameter accountId must be a UUID.")
	case code != "" && !engine.ValidPairCode(code):
		return refuse.Param("currencyPairCode",
			"The parameter currencyPairCode must be a pair code of the form BASE_QUOTE.")
	}
	if accountText != "" {
		m.Everyone = false
		if uuid != ([16]byte{}) {
			if m.Account, ok = s.opt.Entry.Find(uuid); !ok {
				return refuse.Missing("accountId", "There is no account %s.", accountText)
			}
		}
	}
	if code != "" {
		ins := s.opt.Entry.Instrument([]byte(code))
		if ins == nil {
			return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
		}
		m.Pair = ins.ID
	}
	canceled, err := s.opt.Entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(encode.AppendCanceled(canceled))
	return nil
}

// appendOrder appends the Order object of an answer. A member that does not apply is null
// (docs/contract/internal.md#orders).
func appendOrder(b []byte, a *entry.Answer) []byte {
	if !a.Found {
		return appendRefused(b, a)
	}
	r, ins := &a.Record, a.Instrument
	b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(r.ID), 10)
	b = encode.AppendNullable(append(b, `,"clientOrderId":`...), r.Client)
	b = encode.AppendUUID(append(b, `,"accountId":"`...), accounts.UserID(uint32(r.Account)))
	b = append(append(append(b, `","currencyPairCode":"`...), ins.Code...), '"')
	b = appendWords(b, r.Side, r.Type, r.TIF)
	market := r.Type == engine.Market || r.Type == engine.StopMarket
	b = encode.AppendUnits(append(b, `,"price":`...), r.Price, ins.DigitsPrice, !market)
	b = encode.AppendUnits(append(b, `,"amount":`...), r.Amount, ins.DigitsAmount, !r.ByQuote)
	b = append(b, `,"quoteAmount":`...)
	if r.ByQuote {
		b = fixed.AppendU128(b, r.Quote, ins.DigitsTotal())
	} else {
		b = append(b, "null"...)
	}
	b = encode.AppendUnits(append(b, `,"stopPrice":`...), r.Stop, ins.DigitsPrice, r.Stop != 0)
	b = encode.AppendUnits(append(b, `,"displayAmount":`...), r.Display, ins.DigitsAmount, r.Display != 0)
	b = appendFlags(b, r.PostOnly, r.STP, r.Status)
	b = encode.AppendUnits(append(b, `,"filledAmount":`...), r.Filled, ins.DigitsAmount, true)
	b = encode.AppendUnits(append(b, `,"remainingAmount":`...), r.Open+r.Canceled, ins.DigitsAmount, !r.ByQuote)
	b = encode.AppendUnits(append(b, `,"decrementedAmount":`...), r.Reduced, ins.DigitsAmount, !r.ByQuote)
	b = fixed.AppendU128(append(b, `,"filledQuoteAmount":`...), r.FilledQuote, ins.DigitsTotal())
	b = append(b, `,"averagePrice":`...)
	b = encode.AppendAveragePrice(b, r.FilledQuote, r.Filled, ins.DigitsPrice)
	b = strconv.AppendInt(append(b, `,"createdAtNs":`...), r.CreatedNs, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(r.Seq), 10)
	b = appendFills(append(b, `,"fills":`...), r.Fills, ins)
	return append(b, `,"rejectReason":null}`...)
}

// appendRefused appends the Order object of a refused order from the members of the request that could be read.
// A number that is no multiple of the pair's units is written as its shortest text.
func appendRefused(b []byte, a *entry.Answer) []byte {
	o := a.Place
	priceDigits, amountDigits, totalDigits := -1, -1, -1
	if a.Instrument != nil {
		ins := a.Instrument
		priceDigits, amountDigits, totalDigits = ins.DigitsPrice, ins.DigitsAmount, ins.DigitsTotal()
	}
	b = encode.AppendNullable(append(b, `{"orderId":null,"clientOrderId":`...), string(o.Client))
	b = encode.AppendUUID(append(b, `,"accountId":"`...), o.Account)
	b = append(append(append(b, `","currencyPairCode":"`...), o.Pair...), '"')
	b = appendWords(b, o.Side, o.Type, o.TIF)
	b = appendEcho(append(b, `,"price":`...), o.Price, priceDigits)
	b = appendEcho(append(b, `,"amount":`...), o.Amount, amountDigits)
	b = appendEcho(append(b, `,"quoteAmount":`...), o.Quote, totalDigits)
	b = appendEcho(append(b, `,"stopPrice":`...), o.Stop, priceDigits)
	b = appendEcho(append(b, `,"displayAmount":`...), o.Display, amountDigits)
	b = appendFlags(b, o.PostOnly, o.SelfTrade(o.Account != [16]byte{}), engine.Rejected)
	b = encode.AppendUnits(append(b, `,"filledAmount":`...), 0, max(amountDigits, 0), true)
	b = appendEcho(append(b, `,"remainingAmount":`...), o.Amount, amountDigits)
	b = encode.AppendUnits(append(b, `,"decrementedAmount":`...), 0, max(amountDigits, 0), o.Quote == nil)
	b = encode.AppendUnits(append(b, `,"filledQuoteAmount":`...), 0, max(totalDigits, 0), true)
	b = strconv.AppendInt(append(b, `,"averagePrice":null,"createdAtNs":`...), a.TimeNs, 10)
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(a.Seq), 10)
	b = append(append(b, `,"fills":[],"rejectReason":"`...), a.Reason.String()...)
	return append(b, `"}`...)
}

// appendResult appends the result of one command of a batch.
func appendResult(b []byte, a *entry.Answer) []byte {
	if a.Found || a.Place != nil {
		return appendOrder(b, a)
	}
	b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(a.Order), 10)
	b = append(append(b, `,"status":"Rejected","rejectReason":"`...), a.Reason.String()...)
	return append(b, `"}`...)
}

func appendWords(b []byte, side engine.Side, typ engine.OrderType, tif engine.TimeInForce) []byte {
	b = append(append(b, `,"side":"`...), side.String()...)
	b = append(append(b, `","type":"`...), typ.String()...)
	b = append(append(b, `","timeInForce":"`...), tif.String()...)
	return append(b, '"')
}

func appendFlags(b []byte, postOnly bool, stp engine.SelfTrade, status engine.Status) []byte {
	b = strconv.AppendBool(append(b, `,"postOnly":`...), postOnly)
	b = append(append(b, `,"selfTradePrevention":"`...), stp.String()...)
	b = append(append(b, `","status":"`...), status.String()...)
	return append(b, '"')
}

// appendEcho appends a decimal of a request with digits decimals. It appends the shortest text when the decimal
// has more, or when digits is negative because the pair is unknown.
func appendEcho(b, text []byte, digits int) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	d := fixed.MustText(text)
	if digits >= 0 {
		q, rest := d.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
		if rest == 0 {
			if d.Sign() < 0 {
				b = append(b, '-')
			}
			return fixed.AppendU128(b, q, digits)
		}
	}
	return fixed.AppendShortest(b, d, fixed.Scale)
}

func appendFills(b []byte, fills []marketdata.Fill, ins *engine.Instrument) []byte {
	b = append(b, '[')
	for i := range fills {
		f := &fills[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, `{"tradeId":`...), uint64(f.Trade), 10)
		b = fixed.AppendI64(append(b, `,"price":`...), f.Price, ins.DigitsPrice)
		b = fixed.AppendI64(append(b, `,"amount":`...), f.Amount, ins.DigitsAmount)
		b = encode.AppendFee(b, ins, f.Side, f.Fee, true)
		b = append(strconv.AppendBool(append(b, `,"isMaker":`...), f.IsMaker), '}')
	}
	return append(b, ']')
}
