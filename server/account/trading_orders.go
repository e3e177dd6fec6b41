package account

import (
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
	page := []string{"pageNumber", "pageSize", "sinceDate", "endDate", "decimals"}
	l := lists{d}
	return []*edge.Route{
		{Method: fasthttp.MethodPost, Path: orders, Handle: d.placeOrder},
		{Method: del, Path: orders, Cancels: true, Handle: d.cancelOwn, Query: []string{"currencyPairCode"}},
		{Method: del, Path: orders + "/{orderId}", Cancels: true, Handle: d.cancelOrder, Query: []string{"decimals"}},
		{Method: get, Path: orders + "/{orderId}/deals", Handle: l.orderDeals, Query: []string{"decimals"}},
		{Method: get, Path: "/api/user/orders", Handle: l.userOrders, Query: append([]string{"currencyPairCode", "status"}, page...)},
		{Method: get, Path: "/api/user/deals", Handle: l.userDeals, Query: append([]string{"currencyPairCode"}, page...)},
		{Method: get, Path: "/api/wallets/balances", Handle: l.balances, Query: []string{"decimals"}},
	}
}

// placeOrder serves POST /api/orders and sends the order's id.
func (d *Service) placeOrder(c *edge.Ctx) *refuse.Refusal {
	req := d.entry.Acquire(callerAccount(c))
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
	id, ins, err := d.entry.ParseOrder(callerAccount(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	req := d.entry.Acquire(callerAccount(c))
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
	canceled, err := d.entry.CancelAll(entry.MassCancel{Caller: callerAccount(c), Pair: v.Instrument.ID})
	if err != nil {
		return err
	}
	c.Private(encode.AppendCanceled(canceled))
	return nil
}
