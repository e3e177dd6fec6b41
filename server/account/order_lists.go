package account

import (
	"math"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// The paths of order lists, and the parameters of their routes.
const (
	listsPath      = ordersPath + "/lists"
	listPath       = listsPath + "/{listId}"
	clientListPath = listsPath + "/by-client-id/{" + objects.PairName + "}/{clientOrderId}"
)

var (
	listOf = edge.Text("listId").Matches(entry.OrderPattern).Says("The list's id.") // of a path
	// listStatus has the values of marketdata.StatusFilter.
	listStatus    = edge.Word("status", "all", "executing", "done").Default(0).Says("Filter.")
	list          = edge.Params(listOf, edge.Decimals)
	preventedPair = objects.Pair(objects.PairName).Need()
	preventedOf   = edge.Text("orderId").Matches(entry.OrderPattern).Says("The matches of one order only.")
	preventedFrom = edge.Integer("from", 0, math.MaxInt64).Default(0).Says("The first number.")
	preventedSize = edge.Integer("pageSize", 1, edge.MaxPageSize).Default(edge.MaxPageSize).Says("Rows per page.")
)

func (s *Service) listRoutes() []*edge.Route {
	const del = fasthttp.MethodDelete
	return []*edge.Route{
		{
			Method: fasthttp.MethodPost, Path: listsPath, Handle: s.placeList, Schema: "CreateOrderListRequest",
			Members: objects.TradingListMembers, Params: edge.Params(edge.Decimals),
			Name: "createOrderList", Summary: "Place an order list, or none of its orders",
			Refuses: []int{409},
		},
		{
			Method: del, Path: listPath, Cancels: true, Handle: s.cancelList, Params: list,
			Name: "cancelOrderList", Summary: "Cancel all orders of a list",
			Refuses: []int{409},
		},
		{
			Method: del, Path: clientListPath, Cancels: true, Handle: s.cancelClientList, Params: byClient,
			Name: "cancelOrderListByClientId", Summary: "Cancel all orders of a list by its client id",
			Refuses: []int{409},
		},
	}
}

func (l lists) listRoutes() []*edge.Route {
	const get = fasthttp.MethodGet
	return []*edge.Route{
		{
			Method: get, Path: listPath, Handle: l.orderList, Params: list,
			Name: "getOrderList", Summary: "One order list",
		},
		{
			Method: get, Path: clientListPath, Handle: l.clientList, Params: byClient,
			Name: "getOrderListByClientId", Summary: "One order list by its client id",
		},
		{
			Method: get, Path: "/api/user/lists", Handle: l.userLists,
			Params: edge.Params(ofPair, listStatus, listPages, sinceDate, endDate, listRows, edge.Decimals),
			Name:   "getUserOrderLists", Summary: "The caller's order lists, newest first",
		},
		{
			Method: get, Path: orderPath + "/amendments", Handle: l.amendments, Params: order,
			Name: "getOrderAmendments", Summary: "The amendments of one order, oldest first",
		},
		{
			Method: get, Path: "/api/user/prevented-matches", Handle: l.preventedMatches,
			Params: edge.Params(preventedPair, preventedOf, preventedFrom, preventedSize, edge.Decimals),
			Name:   "getPreventedMatches",
			Summary: "The matches of the caller's orders in a pair that self-trade prevention has prevented, " +
				"by their numbers",
		},
	}
}

// placeList serves POST /api/orders/lists and sends the view of the list.
func (s *Service) placeList(c *edge.Ctx) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	cmd := req.One()
	cmd.Kind = entry.PlaceOrderList
	if err := objects.DecodeTradingList(c.PostBody(), &cmd.List); err != nil {
		return err
	}
	return s.submitList(c, req)
}

// cancelList serves DELETE /api/orders/lists/{listId} and sends the view of the list.
func (s *Service) cancelList(c *edge.Ctx) *refuse.Refusal {
	id, err := s.pathList(c)
	if err != nil {
		return err
	}
	return s.endList(c, id)
}

// pathList returns the id of the list that the path names.
func (s *Service) pathList(c *edge.Ctx) (engine.OrderID, *refuse.Refusal) {
	text, err := listOf.Of(c)
	if err != nil {
		return 0, err
	}
	return s.entry.ParseList(accountOf(c), text)
}

// cancelClientList serves DELETE /api/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId} and sends the view
// of the list.
func (s *Service) cancelClientList(c *edge.Ctx) *refuse.Refusal {
	l, err := s.listByClient(c)
	if err != nil {
		return err
	}
	return s.endList(c, l.ID)
}

func (s *Service) endList(c *edge.Ctx, id engine.OrderID) *refuse.Refusal {
	req := s.entry.Acquire(accountOf(c))
	defer s.entry.Release(req)
	*req.One() = entry.Command{Kind: entry.CancelOrder, Order: id, ByList: true}
	return s.submitList(c, req)
}

// submitList submits a command of a list and sends the view of the list.
func (s *Service) submitList(c *edge.Ctx, req *entry.Request) *refuse.Refusal {
	if err := req.SubmitOne(); err != nil {
		return err
	}
	c.SetSeq(uint64(req.Answers[0].Seq))
	return sendList(c, req.Answers[0].List)
}

func sendList(c *edge.Ctx, l *entry.OrderList) *refuse.Refusal {
	var w json.Writer
	writeList(&w, l, c.Principal.UserID)
	c.Private(w.Bytes())
	return nil
}

// orderList serves GET /api/orders/lists/{listId}.
func (l lists) orderList(c *edge.Ctx) *refuse.Refusal {
	id, err := l.pathList(c)
	if err != nil {
		return err
	}
	found, err := l.entry.List(accountOf(c), id)
	if err != nil {
		return err
	}
	return sendList(c, &found)
}

// clientList serves GET /api/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId}.
func (l lists) clientList(c *edge.Ctx) *refuse.Refusal {
	found, err := l.listByClient(c)
	if err != nil {
		return err
	}
	return sendList(c, &found)
}

// listByClient returns the caller's list that the path names by its client id.
func (s *Service) listByClient(c *edge.Ctx) (entry.OrderList, *refuse.Refusal) {
	pair, err := clientPair.Of(c)
	if err != nil {
		return entry.OrderList{}, err
	}
	client, err := clientID.Of(c)
	if err != nil {
		return entry.OrderList{}, err
	}
	v := s.opt.Board.Load().LookupAll(string(pair))
	if v == nil {
		return entry.OrderList{}, refuse.Missing(objects.PairName, "There is no pair %s.", pair)
	}
	return s.entry.ClientList(accountOf(c), v.Instrument.ID, client)
}

// userLists serves GET /api/user/lists.
func (l lists) userLists(c *edge.Ctx) *refuse.Refusal {
	q, err := l.listQuery(c, listStatus)
	if err != nil {
		return err
	}
	if q.After.Trade != 0 {
		return refuse.Param("cursor", "The parameter cursor is of a list of deals.")
	}
	found, next, err := l.entry.WholeLists(q)
	if err != nil {
		return err
	}
	setNextCursor(c, next)
	var w json.Writer
	w.List()
	for i := range found {
		writeList(&w, &found[i], c.Principal.UserID)
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// writeList writes the list view of docs/contract/trading.md#list-view.
func writeList(w *json.Writer, l *entry.OrderList, userID string) {
	w.Object()
	writeListHead(w, l)
	w.Name("orders").List()
	for i := range l.Orders {
		w.Object()
		writeOrder(w, &l.Orders[i], l.Instrument, userID)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
}

// writeListHead writes the members of a list but its orders.
func writeListHead(w *json.Writer, l *entry.OrderList) {
	w.Name("id").ID(uint64(l.ID))
	w.Name("kind").Word(l.Kind.String())
	w.Name("clientOrderId").TextOrNull(l.Client)
	w.Name("currencyPairCode").Word(l.Instrument.Code)
	w.Name("status").Word(objects.ListStatus(&l.ListRecord))
	w.Name("date").ISO(l.CreatedNs, 7)
	w.Name("dateChanged").ISO(l.ChangedNs, 7)
}

// amendments serves GET /api/orders/{orderId}/amendments.
func (l lists) amendments(c *edge.Ctx) *refuse.Refusal {
	a, err := l.byID(c)
	if err != nil {
		return err
	}
	rows, err := l.entry.Amendments(a.Record.ID, 0, objects.MaxAmendments)
	if err != nil {
		return err
	}
	var w json.Writer
	objects.WriteAmendments(&w, a.Instrument, rows)
	c.Private(w.Bytes())
	return nil
}

// preventedMatches serves GET /api/user/prevented-matches.
func (l lists) preventedMatches(c *edge.Ctx) *refuse.Refusal {
	code, err := preventedPair.Of(c)
	if err != nil {
		return err
	}
	text, err := preventedOf.Of(c)
	if err != nil {
		return err
	}
	from, err := preventedFrom.Of(c)
	if err != nil {
		return err
	}
	size, err := preventedSize.Of(c)
	if err != nil {
		return err
	}
	v := l.opt.Board.Load().LookupAll(string(code))
	if v == nil {
		return refuse.Missing(objects.PairName, "There is no pair %s.", code)
	}
	q := marketdata.PreventedQuery{
		Account: accountOf(c), Pair: v.Instrument.ID, From: uint64(from), Limit: int(size),
	}
	if text != "" {
		a, err := l.entry.Order(q.Account, text)
		if err != nil {
			return err
		}
		q.Order = a.Record.ID
	}
	rows, err := l.entry.PreventedMatches(q)
	if err != nil {
		return err
	}
	var w json.Writer
	objects.WritePrevented(&w, v.Instrument, rows)
	c.Private(w.Bytes())
	return nil
}
