package account

import (
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

func (d *Service) tradingRoutes() []*edge.Route {
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
		[]edge.Field{{Name: cursorName, Pattern: cursorPattern}, decimals})
	l := lists{d}
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: orders, Handle: d.placeOrder, Schema: "CreateOrderRequest",
			Members: body.TradingMembers,
		},
		{
			Method: fasthttp.MethodPost, Path: orders + "/cancel-all-after", Cancels: true, Handle: d.setSwitch,
			Schema: "CancelAllAfterRequest", Members: switchForm.Members(),
		},
		{
			Method: del, Path: orders, Cancels: true, Handle: d.cancelOwn,
			Params: []edge.Field{edge.ParamPair(edge.PairName, true)},
		},
		{
			Method: del, Path: orders + "/{orderId}", Cancels: true, Handle: d.cancelOrder,
			Params: []edge.Field{order, decimals},
		},
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
func (d *Service) placeOrder(c *edge.Ctx) *refuse.Refusal {
	req := d.entry.Acquire(accountOf(c))
	defer d.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.PlaceOrder
	var r body.Reader
	r.Reset(c.PostBody())
	if err := decodeTradingOrder(&r, &cmd.Place); err != nil {
		return body.Refusal(err)
	}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.Private(append(strconv.AppendUint([]byte{'"'}, uint64(req.Answers[0].Order), 10), '"'))
	return nil
}

// cancelOrder serves DELETE /api/orders/{orderId} and sends the view of the order.
func (d *Service) cancelOrder(c *edge.Ctx) *refuse.Refusal {
	id, ins, err := d.entry.ParseOrder(accountOf(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	req := d.entry.Acquire(accountOf(c))
	defer d.entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.Private(append(appendUserOrder([]byte{'{'}, &req.Answers[0].Record, ins, c.Principal.UserID), '}'))
	return nil
}

// cancelOwn serves DELETE /api/orders?currencyPairCode=. It cancels the caller's orders that
// were open when it was sequenced.
func (d *Service) cancelOwn(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(edge.PairName)
	if err != nil {
		return err
	}
	v := d.opt.Board.Load().Lookup(string(code))
	if v == nil {
		return refuse.Missing(edge.PairName, "There is no pair %s.", code)
	}
	canceled, err := d.entry.CancelAll(entry.MassCancel{Caller: accountOf(c), Pair: v.Instrument.ID})
	if err != nil {
		return err
	}
	c.Private(encode.AppendCanceled(canceled))
	return nil
}
