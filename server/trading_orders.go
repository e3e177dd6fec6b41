package server

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/entry"
	"tickhive/internal/refuse"
)

func (d *AccountDesk) tradingRoutes() []*Route {
	const get, del = fasthttp.MethodGet, fasthttp.MethodDelete
	const orders = "/api/orders"
	page := []string{"pageNumber", "pageSize", "sinceDate", "endDate", "decimals"}
	l := lists{d}
	return []*Route{
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
func (d *AccountDesk) placeOrder(c *Ctx) *refuse.Refusal {
	req := d.entry.Take(c.account())
	defer d.entry.Give(req)
	cmd := req.One()
	cmd.Kind = entry.PlaceOrder
	var r bodyReader
	r.reset(c.PostBody())
	if err := r.decodeTradingOrder(&cmd.Place); err != nil {
		return badBody(err)
	}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.Private(append(strconv.AppendUint([]byte{'"'}, uint64(req.Answers[0].Order), 10), '"'))
	return nil
}

// cancelOrder serves DELETE /api/orders/{orderId} and sends the view of the order.
func (d *AccountDesk) cancelOrder(c *Ctx) *refuse.Refusal {
	id, ins, err := d.entry.ParseOrder(c.account(), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	req := d.entry.Take(c.account())
	defer d.entry.Give(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: id}
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.Private(append(appendUserOrder([]byte{'{'}, &req.Answers[0].Record, ins, c.Caller.UserID), '}'))
	return nil
}

// cancelOwn serves DELETE /api/orders?currencyPairCode=. It cancels the caller's orders that
// were open when it was sequenced.
func (d *AccountDesk) cancelOwn(c *Ctx) *refuse.Refusal {
	code, err := c.pairParam(pairName)
	if err != nil {
		return err
	}
	v := d.opt.Board.Load().Lookup(string(code))
	if v == nil {
		return refuse.Missing(pairName, "There is no pair %s.", code)
	}
	canceled, err := d.entry.CancelAll(entry.MassCancel{Caller: c.account(), Pair: v.Instrument.ID})
	if err != nil {
		return err
	}
	c.Private(appendCanceled(canceled))
	return nil
}
