package account

import (
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

func (s *Service) tradingRoutes() []*edge.Route {
	const get, del = fasthttp.MethodGet, fasthttp.MethodDelete
	const orders = "/api/orders"
	pair := edge.ParamPair(edge.PairName, false)
	order := edge.Field{Name: "orderId", Pattern: "^[0-9]{1,16}$"}
	client := orders + "/by-client-id/{" + edge.PairName + "}/{clientOrderId}"
	decimals := edge.ParamDecimals
	byClient := []edge.Field{
		edge.ParamPair(edge.PairName, true), {Name: "clientOrderId", Pattern: body.ClientOrderPattern}, decimals,
	}
	page := slices.Concat(edge.ParamsPage("pageNumber", edge.KindInteger, edge.KindInteger, edge.MaxPageSize),
		edge.ParamsBetween(edge.KindDate, "sinceDate", "endDate"),
		[]edge.Field{edge.ParamCursor(cursorPattern), decimals})
	l := lists{s}
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: orders, Hot: true, Handle: s.placeOrder, Schema: "CreateOrderRequest",
			Members: body.TradingMembers,
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/batch", Handle: s.placeBatch, Schema: "OrderBatchRequest",
			Members: body.TradingBatchMembers,
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/cancel-all-after", Cancels: true, Handle: s.setSwitch,
			Schema: "CancelAllAfterRequest", Members: switchForm.Members(),
		},
		{
			Method: del, Path: orders, Cancels: true, Handle: s.cancelOwn,
			Params: []edge.Field{pair, {Name: "all", Kind: edge.KindBoolean, Default: false}},
		},
		{
			Method: del, Path: orders + "/{orderId}", Cancels: true, Handle: s.cancelOrder,
			Params: []edge.Field{order, decimals},
		},
		{
			Method: fasthttp.MethodPatch, Path: orders + "/{orderId}", Handle: s.replaceOrder,
			Params: []edge.Field{order, decimals}, Schema: "ReplaceOrderRequest", Members: body.ReplaceForm.Members(),
		},
		{Method: del, Path: client, Cancels: true, Handle: s.cancelByClientID, Params: byClient},
		{Method: get, Path: orders + "/{orderId}", Handle: l.order, Params: []edge.Field{order, decimals}},
		{Method: get, Path: client, Handle: l.clientOrder, Params: byClient},
		{Method: get, Path: orders + "/{orderId}/deals", Handle: l.orderDeals, Params: []edge.Field{order, decimals}},
		{
			Method: get, Path: "/api/user/orders", Handle: l.userOrders,
			Params: append([]edge.Field{pair, {
				Name: "status", Kind: edge.KindWord, Words: orderStatuses,
				Default: orderStatuses[0],
			}}, page...),
		},
		{
			Method: get, Path: "/api/user/deals", Handle: l.userDeals,
			Params: append([]edge.Field{pair, order}, page...),
		},
		{Method: get, Path: "/api/wallets/balances", Handle: l.balances, Params: []edge.Field{decimals}},
	}
}

// placeOrder serves POST /api/orders and sends the order's id.
func (s *Service) placeOrder(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.PlaceOrder
	if err := body.DecodeTradingOrder(c.PostBody(), &cmd.Place); err != nil {
		return err
	}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(req.Answers[0].Seq))
	c.Private(append(strconv.AppendUint([]byte{'"'}, uint64(req.Answers[0].Order), 10), '"'))
	return nil
}

// placeBatch serves POST /api/orders/batch. It checks the shape of every command before the engine applies the
// first one.
func (s *Service) placeBatch(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	req.Records = true
	var err *refuse.Refusal
	if req.Commands, err = body.DecodeTradingBatch(c.PostBody(), req.Commands); err != nil {
		return err
	}
	if err := req.Submit(); err != nil {
		return err
	}
	b := appendList([]byte(`{"results":`), req.Answers, func(b []byte, a *entry.Answer) []byte {
		return appendResult(b, a, c.Principal.UserID)
	})
	b, seq := body.AppendSeqs(b, req.Answers)
	c.SetSeq(seq)
	c.Private(append(b, '}'))
	return nil
}

// replaceOrder serves PATCH /api/orders/{orderId} and sends the view of the order.
func (s *Service) replaceOrder(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.ReplaceOrder
	if err := body.ReplaceForm.Decode(c.PostBody(), &cmd.Replace); err != nil {
		return err
	}
	if cmd.Replace.Price == nil && cmd.Replace.Amount == nil {
		return refuse.Param("price", "One of the members price and amount is required.")
	}
	var err *refuse.Refusal
	if cmd.Order, _, err = s.entry.ParseOrder(accountOf(c), c.PathParam("orderId")); err != nil {
		return err
	}
	return s.submit(c, req)
}

// cancelOrder serves DELETE /api/orders/{orderId} and sends the view of the order.
func (s *Service) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	id, _, err := s.entry.ParseOrder(accountOf(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	return s.cancel(c, id)
}

// cancelByClientID serves DELETE /api/orders/by-client-id/{currencyPairCode}/{clientOrderId} and sends the view of
// the order.
func (s *Service) cancelByClientID(c *edge.Ctx) *refuse.Refusal {
	a, err := s.byClientID(c)
	if err != nil {
		return err
	}
	return s.cancel(c, a.Order)
}

func (s *Service) cancel(c *edge.Ctx, id engine.OrderID) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	return s.submit(c, req)
}

// submit submits a cancel or replace and sends the view of its order.
func (s *Service) submit(c *edge.Ctx, req *entry.Request) *refuse.Refusal {
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(req.Answers[0].Seq))
	return sendOrder(c, &req.Answers[0])
}

// cancelOwn serves DELETE /api/orders?currencyPairCode= and ?all=true. It cancels the caller's orders that were open
// when it was sequenced.
func (s *Service) cancelOwn(c *edge.Ctx) *refuse.Refusal {
	all, err := c.Bool("all", false)
	if err != nil {
		return err
	}
	m := entry.MassCancel{Caller: accountOf(c), Pair: engine.ControlPair}
	if all {
		if code, err := c.Raw(edge.PairName); err != nil {
			return err
		} else if len(code) > 0 {
			return refuse.Param("all", "The parameters all and %s must not be given together.", edge.PairName)
		}
	} else {
		code, err := c.PairParam(edge.PairName)
		if err != nil {
			return err
		}
		v := s.opt.Board.Load().Lookup(string(code))
		if v == nil {
			return refuse.Missing(edge.PairName, "There is no pair %s.", code)
		}
		m.Pair = v.Instrument.ID
	}
	canceled, err := s.entry.CancelAll(m)
	if err != nil {
		return err
	}
	c.Private(encode.AppendCanceled(canceled))
	return nil
}
