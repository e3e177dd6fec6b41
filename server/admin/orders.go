package admin

import (
	"math"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// The parameters of the routes of orders.
var (
	listID   = edge.Text("listId").Matches(entry.OrderPattern)
	listPair = objects.Pair(objects.PairName).Need() // of a path
	clientID = edge.Text("clientOrderId").Matches(objects.ClientOrderPattern)
	owner    = objects.User("accountId").Says("The account of the list; without it the built-in account.")
	onlyIf   = edge.Word("onlyIf", objects.Restrictions...).
			Says("Cancel the order only if it has no deal yet, or has one.")
	orderID   = edge.Text("id").Matches(entry.OrderPattern)
	ofAccount = objects.User("accountId").Says("One account only; without it all accounts.")
	ofPair    = objects.Pair(objects.PairName).Says("One pair only.")
)

// orderRoutes returns the routes that place, read and cancel orders.
func orderRoutes(s *Server) []*edge.Route {
	const orders = edge.InternalPrefix + "/orders"
	const list, clientList = orders + "/lists/{listId}", orders + "/lists/by-client-id/{" + objects.PairName +
		"}/{clientOrderId}"
	id, listIDs, byClient := edge.Params(orderID), edge.Params(listID), edge.Params(listPair, clientID, owner)
	return edge.Tagged("Orders", []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: orders, Handle: s.placeOrder, Schema: "PlaceOrder",
			Members: objects.OrderMembers,
			Name:    "placeInternalOrder", Summary: "Place an order; a refusal is 200 with status Rejected",
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/batch", Handle: s.placeBatch, Schema: "Batch",
			Members: objects.BatchMembers,
			Name:    "placeBatch", Summary: "Apply commands in order",
		},
		{
			Method: fasthttp.MethodDelete, Path: orders, Handle: s.cancelAll,
			Params: edge.Params(ofAccount, ofPair),
			Name:   "cancelAllOrders", Summary: "Cancel the orders of an account, of a pair, or both",
		},
		{
			Method: fasthttp.MethodGet, Path: orders + "/{id}", Handle: s.getOrder, Params: id,
			Name: "getInternalOrder", Summary: "One order",
		},
		{
			Method: fasthttp.MethodPatch, Path: orders + "/{id}", Handle: s.replaceOrder, Params: id,
			Schema: "ReplaceOrder", Members: objects.ReplaceForm.Members(),
			Name: "replaceOrder", Summary: "Change price, total amount, stop price or distance of an order",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodDelete, Path: orders + "/{id}", Handle: s.cancelOrder,
			Params: edge.Params(orderID, onlyIf),
			Name:   "cancelInternalOrder", Summary: "Cancel an order",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodGet, Path: orders + "/{id}/amendments", Handle: s.getAmendments, Params: id,
			Name: "getInternalAmendments", Summary: "The amendments of one order, oldest first",
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/lists", Handle: s.placeList, Schema: "PlaceOrderList",
			Members: objects.ListMembers,
			Name:    "placeInternalOrderList", Summary: "Place an order list, or none of its orders",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodGet, Path: list, Handle: s.getList, Params: listIDs,
			Name: "getInternalOrderList", Summary: "One order list",
		},
		{
			Method: fasthttp.MethodDelete, Path: list, Handle: s.cancelList, Params: listIDs,
			Name: "cancelInternalOrderList", Summary: "Cancel all orders of a list",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodGet, Path: clientList, Handle: s.getClientList, Params: byClient,
			Name: "getInternalOrderListByClientId", Summary: "One order list by its client id",
		},
		{
			Method: fasthttp.MethodDelete, Path: clientList, Handle: s.cancelClientList, Params: byClient,
			Name: "cancelInternalOrderListByClientId", Summary: "Cancel all orders of a list by its client id",
			Refuses: []int{409},
		},
	})
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
	sendOrder(c, &b.Answers[0])
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
	w := json.On(b.rendered[:0])
	w.Object()
	w.Name("results").List()
	for i := range b.Answers {
		writeResult(&w, &b.Answers[i])
	}
	w.EndList()
	c.SetSeq(objects.WriteSeqs(&w, b.Answers))
	w.EndObject()
	b.rendered = w.Bytes()
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
	text, err := orderID.Of(c)
	if err != nil {
		return err
	}
	a, err := s.opt.Entry.Order(0, text)
	if err != nil {
		return err
	}
	sendOrder(c, &a)
	return nil
}

func sendOrder(c *edge.Ctx, a *entry.Answer) {
	w := json.On(make([]byte, 0, 1024))
	writeOrder(&w, a)
	c.Private(w.Bytes())
}

// pathOrder returns the id of the order that the path names.
func (s *Server) pathOrder(c *edge.Ctx) (engine.OrderID, *refuse.Refusal) {
	text, err := orderID.Of(c)
	if err != nil {
		return 0, err
	}
	id, _, err := s.opt.Entry.ParseOrder(0, text)
	return id, err
}

// cancelOrder serves DELETE /orders/{id}.
func (s *Server) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	only, err := onlyIf.Of(c)
	if err != nil {
		return err
	}
	id, err := s.pathOrder(c)
	if err != nil {
		return err
	}
	b := s.takeBody()
	defer s.releaseBody(b)
	*b.One() = entry.Command{Kind: entry.CancelOrder, Order: id, Only: objects.Restriction(only)}
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
	if cmd.Order, err = s.pathOrder(c); err != nil {
		return err
	}
	return s.submitOne(c, b)
}

// cancelAll serves DELETE /orders?accountId=&currencyPairCode=.
func (s *Server) cancelAll(c *edge.Ctx) *refuse.Refusal {
	m := entry.MassCancel{Pair: engine.ControlPair}
	uuid, named, err := ofAccount.Find(c)
	if err != nil {
		return err
	}
	code, err := ofPair.Of(c)
	switch {
	case err != nil:
		return err
	case !named && code == nil:
		return refuse.Param("accountId", "At least one of accountId and currencyPairCode is required.")
	case named && uuid != [16]byte{}:
		if m.Account, named = s.opt.Entry.Find(uuid); !named {
			return refuse.Missing("accountId", "There is no account %s.", json.AppendUUID(nil, uuid))
		}
	}
	m.Everyone = !named
	if code != nil {
		ins := s.opt.Entry.Instrument(code)
		if ins == nil {
			return refuse.Missing("currencyPairCode", "There is no pair %s.", code)
		}
		m.Pair = ins.ID
	}
	canceled, err := s.opt.Entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(objects.Canceled(canceled))
	return nil
}

// writeOrder writes the Order object of an answer. A member that does not apply is null
// (docs/contract/internal.md#orders).
func writeOrder(w *json.Writer, a *entry.Answer) {
	if !a.Found {
		writeRefused(w, a)
		return
	}
	writeRecord(w, &a.Record, a.Instrument)
}

// writeRecord writes the Order object of an order of the history.
func writeRecord(w *json.Writer, r *marketdata.OrderRecord, ins *engine.Instrument) {
	market := r.Type.AtMarket()
	w.Object()
	w.Name("orderId").Uint(uint64(r.ID))
	w.Name("clientOrderId").TextOrNull(r.Client)
	w.Name("accountId").UUID(accounts.UserID(uint32(r.Account)))
	w.Name("currencyPairCode").Word(ins.Code)
	writeWords(w, r.Side, r.Type, r.TIF)
	w.Name("price").UnitsOrNull(r.Price, ins.DigitsPrice, !market)
	w.Name("amount").UnitsOrNull(r.Amount, ins.DigitsAmount, r.HasAmount())
	w.Name("quoteAmount").SumOrNull(r.Quote, ins.DigitsTotal(), r.ByQuote)
	w.Name("stopPrice").UnitsOrNull(r.Stop, ins.DigitsPrice, r.Stop != 0)
	w.Name("displayAmount").UnitsOrNull(r.Display, ins.DigitsAmount, r.Display != 0)
	writeFlags(w, r.PostOnly, r.STP, r.Status)
	w.Name("filledAmount").Units(r.Filled, ins.DigitsAmount)
	w.Name("remainingAmount").UnitsOrNull(r.Open+r.Canceled, ins.DigitsAmount, r.HasAmount())
	w.Name("decrementedAmount").UnitsOrNull(r.Reduced, ins.DigitsAmount, r.HasAmount())
	w.Name("filledQuoteAmount").Sum(r.FilledQuote, ins.DigitsTotal())
	w.Name("averagePrice").AverageOrNull(r.FilledQuote, r.Filled, ins.DigitsPrice)
	objects.WriteOrderMore(w, r)
	w.Name("listId").IntOrNull(int64(r.List), r.List != 0)
	w.Name("trailingTimeNs").IntOrNull(r.TrackNs, r.TrackNs != 0)
	w.Name("createdAtNs").Int(r.CreatedNs)
	w.Name("seq").Uint(uint64(r.Seq))
	w.Name("fills").List()
	for i := range r.Fills {
		f := &r.Fills[i]
		w.Object()
		w.Name("tradeId").Uint(uint64(f.Trade))
		w.Name("price").Units(f.Price, ins.DigitsPrice)
		w.Name("amount").Units(f.Amount, ins.DigitsAmount)
		objects.WriteFee(w, ins, f.Side, f.Fee, true)
		w.Name("isMaker").Bool(f.IsMaker)
		w.EndObject()
	}
	w.EndList()
	w.Name("rejectReason").Null()
	w.EndObject()
}

// writeRefused writes the Order object of a refused order from the members of the request that could be read.
// A number that is no multiple of the pair's units is written as its shortest text.
func writeRefused(w *json.Writer, a *entry.Answer) {
	o := a.Place
	priceDigits, amountDigits, totalDigits := -1, -1, -1
	if a.Instrument != nil {
		ins := a.Instrument
		priceDigits, amountDigits, totalDigits = ins.DigitsPrice, ins.DigitsAmount, ins.DigitsTotal()
	}
	w.Object()
	w.Name("orderId").Null()
	w.Name("clientOrderId").TextOrNull(string(o.Client))
	w.Name("accountId").UUID(o.Account)
	w.Name("currencyPairCode").Word(string(o.Pair))
	writeWords(w, o.Side, o.Type, o.TIF)
	writeEcho(w.Name("price"), o.Price, priceDigits)
	writeEcho(w.Name("amount"), o.Amount, amountDigits)
	writeEcho(w.Name("quoteAmount"), o.Quote, totalDigits)
	writeEcho(w.Name("stopPrice"), o.Stop, priceDigits)
	writeEcho(w.Name("displayAmount"), o.Display, amountDigits)
	writeFlags(w, o.PostOnly, o.SelfTrade(o.Account != [16]byte{}), engine.Rejected)
	w.Name("filledAmount").Units(0, max(amountDigits, 0))
	writeEcho(w.Name("remainingAmount"), o.Amount, amountDigits)
	w.Name("decrementedAmount").UnitsOrNull(0, max(amountDigits, 0), o.Quote == nil)
	w.Name("filledQuoteAmount").Units(0, max(totalDigits, 0))
	w.Name("averagePrice").Null()
	objects.WriteOrderMore(w, &marketdata.OrderRecord{
		Trail: uint16(min(max(o.Trail, 0), math.MaxUint16)), Strict: o.Strict, Expire: o.Expire,
		Strategy: o.Strategy, StrategyType: o.StrategyType,
	})
	w.Name("listId").Null()
	w.Name("trailingTimeNs").Null()
	w.Name("createdAtNs").Int(a.TimeNs)
	w.Name("seq").Uint(uint64(a.Seq))
	w.Name("fills").List()
	w.EndList()
	w.Name("rejectReason").Word(a.Reason.String())
	w.EndObject()
}

// writeResult writes the result of one command of a batch.
func writeResult(w *json.Writer, a *entry.Answer) {
	switch {
	case a.List != nil && !a.Found && a.Reason == engine.NotRejected:
		writeList(w, a.List)
		return
	case a.Found || a.Place != nil:
		writeOrder(w, a)
		return
	}
	w.Object()
	w.Name("orderId").IntOrNull(int64(a.Order), a.Order != 0)
	w.Name("status").Word("Rejected")
	w.Name("rejectReason").Word(a.Reason.String())
	w.EndObject()
}

func writeWords(w *json.Writer, side engine.Side, typ engine.OrderType, tif engine.TimeInForce) {
	w.Name("side").Word(side.String())
	w.Name("type").Word(typ.String())
	w.Name("timeInForce").Word(tif.String())
}

func writeFlags(w *json.Writer, postOnly bool, stp engine.SelfTrade, status engine.Status) {
	w.Name("postOnly").Bool(postOnly)
	w.Name("selfTradePrevention").Word(stp.String())
	w.Name("status").Word(status.String())
}

// writeEcho writes a decimal of a request with digits decimals, or null without one. It writes the shortest text when
// the decimal has more, or when digits is negative because the pair is unknown.
func writeEcho(w *json.Writer, text []byte, digits int) {
	if text == nil {
		w.Null()
		return
	}
	d := fixed.MustText(text)
	if digits >= 0 {
		if q, rest := d.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits]); rest == 0 {
			v := q.ToI128()
			if d.Sign() < 0 {
				v = v.Neg()
			}
			w.Signed(v, digits)
			return
		}
	}
	w.Shortest(d, fixed.Scale)
}
