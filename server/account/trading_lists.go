package account

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// lists serves the lists of the caller's orders, deals and balances.
type lists struct{ *Service }

// orderStatuses lists the values of the parameter status, in the order of marketdata.StatusFilter.
var orderStatuses = []string{"all", "active", "canceled"}

// listQuery reads the parameters that the lists of orders and deals share.
func (l lists) listQuery(c *edge.Ctx, statuses bool) (q marketdata.Query, err *refuse.Refusal) {
	code, err := c.Raw(edge.PairName)
	if err != nil {
		return q, err
	}
	if len(code) > 0 && !engine.ValidPairCode(code) {
		return q, refuse.Param(edge.PairName, "The parameter %s must be a pair code such as BTC_USDT.", edge.PairName)
	}
	q = marketdata.Query{
		Account: accountOf(c), Pair: engine.ControlPair,
		SinceNs: math.MinInt64, UntilNs: math.MaxInt64,
	}
	if statuses {
		i, err := c.Enum("status", orderStatuses...)
		if err != nil {
			return q, err
		}
		q.Status = marketdata.StatusFilter(max(i, 0))
	}
	if err := paging(c, &q); err != nil {
		return q, err
	}
	if err := between(c, &q); err != nil {
		return q, err
	}
	if len(code) > 0 {
		v := l.opt.Board.Load().Lookup(string(code))
		if v == nil {
			return q, refuse.Missing(edge.PairName, "There is no pair %s.", code)
		}
		q.Pair = v.Instrument.ID
	}
	return q, nil
}

// paging reads pageNumber or cursor, and pageSize.
func paging(c *edge.Ctx, q *marketdata.Query) *refuse.Refusal {
	page, size, err := c.Page("pageNumber", edge.MaxPageSize)
	if err != nil {
		return err
	}
	text, err := c.Cursor("pageNumber")
	switch {
	case err != nil:
		return err
	case text != "":
		var ok bool
		if q.After, ok = parseCursor(text); !ok {
			return edge.BadCursor()
		}
	case page-1 > maxListOffset/size: // the page is beyond all retained records
		return nil
	}
	q.Offset, q.Limit = int((page-1)*size), int(size)
	return nil
}

// A cursor is written as its time, order and trade with dots in between, an order's without the trade.
const cursorPattern = `^-?[0-9]{1,19}\.[0-9]{1,16}(\.[0-9]{1,19})?$`

func appendCursor(b []byte, at marketdata.Cursor) []byte {
	b = appendID(append(strconv.AppendInt(b, at.TimeNs, 10), '.'), uint64(at.Order))
	if at.Trade != 0 {
		b = appendID(append(b, '.'), uint64(at.Trade))
	}
	return b
}

// parseCursor reads what appendCursor writes, and nothing else.
func parseCursor(text string) (at marketdata.Cursor, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return at, false
	}
	at.TimeNs, _ = strconv.ParseInt(parts[0], 10, 64)
	order, _ := strconv.ParseUint(parts[1], 10, 64)
	at.Order = engine.OrderID(order)
	if len(parts) == 3 {
		trade, _ := strconv.ParseUint(parts[2], 10, 64)
		at.Trade = engine.TradeID(trade)
	}
	return at, at.Order != 0 && string(appendCursor(nil, at)) == text
}

// setNextCursor sets the header of a page that is not the last.
func setNextCursor(c *edge.Ctx, next marketdata.Cursor) {
	if next != (marketdata.Cursor{}) {
		c.NextCursor(appendCursor(nil, next))
	}
}

// maxListOffset is greater than the number of orders and fills that can be retained.
const maxListOffset = 1 << 31

// between reads sinceDate and endDate, which are compared with the printed dates.
func between(c *edge.Ctx, q *marketdata.Query) *refuse.Refusal {
	since, hasSince, err := c.Date("sinceDate")
	if err != nil {
		return err
	}
	end, hasEnd, err := c.Date("endDate")
	if err != nil {
		return err
	}
	if hasSince && hasEnd && since.After(end) {
		return refuse.Param("sinceDate", "The parameter sinceDate must not be after endDate.")
	}
	if hasSince {
		q.SinceNs = since.CeilNs(edge.DealUnitNs)
	}
	if hasEnd {
		q.UntilNs = end.FloorNs(edge.DealUnitNs) + edge.DealUnitNs - 1
	}
	return nil
}

// userOrders serves GET /api/user/orders.
func (l lists) userOrders(c *edge.Ctx) *refuse.Refusal {
	q, err := l.listQuery(c, true)
	if err != nil {
		return err
	}
	if q.After.Trade != 0 {
		return refuse.Param("cursor", "The parameter cursor is of a list of deals.")
	}
	found, next, err := l.entry.Orders(q)
	if err != nil {
		return err
	}
	root := l.opt.Board.Load()
	setNextCursor(c, next)
	c.Private(appendList(nil, found, func(b []byte, r *marketdata.OrderRecord) []byte {
		return append(appendUserOrder(append(b, '{'), r, root.View(r.ID.Pair()).Instrument, c.Principal.UserID), '}')
	}))
	return nil
}

// userDeals serves GET /api/user/deals.
func (l lists) userDeals(c *edge.Ctx) *refuse.Refusal {
	q, err := l.listQuery(c, false)
	if err != nil {
		return err
	}
	if q.After.Order != 0 && q.After.Trade == 0 {
		return refuse.Param("cursor", "The parameter cursor is of a list of orders.")
	}
	if text, err := c.Str("orderId"); err != nil {
		return err
	} else if text != "" {
		a, err := l.entry.Order(q.Account, text)
		if err != nil {
			return err
		}
		q.Order = a.Record.ID
		if q.After.Order != 0 && q.After.Order != q.Order {
			return refuse.Param("cursor", "The parameter cursor is of a list of other deals.")
		}
	}
	found, next, err := l.entry.Fills(q)
	if err != nil {
		return err
	}
	root := l.opt.Board.Load()
	setNextCursor(c, next)
	c.Private(appendList(nil, found, func(b []byte, f *marketdata.Fill) []byte {
		return append(appendFill(append(b, '{'), f, root.View(f.Pair).Instrument), '}')
	}))
	return nil
}

// sendOrder sends the view of an order.
func sendOrder(c *edge.Ctx, a *entry.Answer) *refuse.Refusal {
	c.Private(append(appendUserOrder([]byte{'{'}, &a.Record, a.Instrument, c.Principal.UserID), '}'))
	return nil
}

// order serves GET /api/orders/{orderId}.
func (l lists) order(c *edge.Ctx) *refuse.Refusal {
	a, err := l.entry.Order(accountOf(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	return sendOrder(c, &a)
}

// clientOrder serves GET /api/orders/by-client-id/{currencyPairCode}/{clientOrderId}.
func (l lists) clientOrder(c *edge.Ctx) *refuse.Refusal {
	a, err := l.byClientID(c)
	if err != nil {
		return err
	}
	return sendOrder(c, &a)
}

// byClientID returns the caller's order that the path names by its client order id.
func (s *Service) byClientID(c *edge.Ctx) (entry.Answer, *refuse.Refusal) {
	pair, client := c.PathParam(edge.PairName), c.PathParam("clientOrderId")
	if !engine.ValidPairCode(pair) {
		return entry.Answer{}, refuse.Param(edge.PairName,
			"The parameter %s must be a pair code such as BTC_USDT.", edge.PairName)
	}
	if !body.IsClientOrderID(client) {
		return entry.Answer{}, refuse.Param("clientOrderId",
			"The parameter clientOrderId must have 1 to 64 characters of A-Z, a-z, 0-9, _, ., : and -.")
	}
	return s.entry.ClientOrder(accountOf(c), pair, client)
}

// orderDeals serves GET /api/orders/{orderId}/deals: the order and its newest deals, newest first. X-Truncated says
// that there are older ones, which GET /api/user/deals lists.
func (l lists) orderDeals(c *edge.Ctx) *refuse.Refusal {
	a, err := l.entry.Order(accountOf(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	rec, ins := &a.Record, a.Instrument
	slices.Reverse(rec.Fills)
	missing := rec.Filled
	for i := range rec.Fills {
		missing -= rec.Fills[i].Amount
	}
	if missing != 0 {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
	b := appendUserOrder([]byte{'{'}, rec, ins, c.Principal.UserID)
	b = appendList(append(b, `,"deals":`...), rec.Fills, func(b []byte, f *marketdata.Fill) []byte {
		return append(appendFill(append(b, '{'), f, ins), '}')
	})
	c.Private(append(b, '}'))
	return nil
}

// balances serves GET /api/wallets/balances.
func (l lists) balances(c *edge.Ctx) *refuse.Refusal {
	b := appendList([]byte(`{"balances":`), l.balancesOf(uint32(accountOf(c))), appendBalance)
	c.Private(append(b, '}'))
	return nil
}

// balancesOf returns the non-zero balances of an account, including those in the ledger,
// ordered by currency code.
func (s *Service) balancesOf(n uint32) []accounts.BalanceView {
	all := s.view.Balances(n)
	if s.opt.Ledger == nil {
		return all
	}
	_, address := s.view.Level(n)
	all = append(all, s.opt.Ledger.Balances(address)...)
	sortBalances(all)
	return all
}

func sortBalances(rows []accounts.BalanceView) {
	slices.SortFunc(rows, func(a, b accounts.BalanceView) int {
		return strings.Compare(a.CurrencyCode,
			b.CurrencyCode)
	})
}
