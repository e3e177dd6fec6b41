package account

import (
	"math"
	"slices"
	"strings"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// lists serves the lists of the caller's orders, deals and balances.
type lists struct{ *Service }

// orderStatuses lists the values of the parameter status, in the order of marketdata.StatusFilter.
var orderStatuses = []string{"all", "active", "canceled"}

// listQuery reads the parameters that the lists of orders and deals share.
func (d lists) listQuery(c *edge.Ctx, statuses bool) (q marketdata.Query, err *refuse.Refusal) {
	code, err := c.Raw(edge.PairName)
	if err != nil {
		return q, err
	}
	if len(code) > 0 && !edge.ValidPairCode(code) {
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
	page, size, err := c.Page("pageNumber", edge.MaxPageSize)
	if err != nil {
		return q, err
	}
	if err := between(c, &q); err != nil {
		return q, err
	}
	if len(code) > 0 {
		v := d.opt.Board.Load().Lookup(string(code))
		if v == nil {
			return q, refuse.Missing(edge.PairName, "There is no pair %s.", code)
		}
		q.Pair = v.Instrument.ID
	}
	if page-1 > maxListOffset/size { // the page is beyond all retained records
		return q, nil
	}
	q.Offset, q.Limit = int((page-1)*size), int(size)
	return q, nil
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
func (d lists) userOrders(c *edge.Ctx) *refuse.Refusal {
	q, err := d.listQuery(c, true)
	if err != nil {
		return err
	}
	found, qerr := d.opt.History.Orders(q, d.opt.Exchange.Query)
	if qerr != nil {
		return entry.NotApplied(qerr)
	}
	root := d.opt.Board.Load()
	c.Private(appendList(nil, found, func(b []byte, r *marketdata.OrderRecord) []byte {
		return append(appendUserOrder(append(b, '{'), r, root.View(r.ID.Pair()).Instrument, c.Principal.UserID), '}')
	}))
	return nil
}

// userDeals serves GET /api/user/deals.
func (d lists) userDeals(c *edge.Ctx) *refuse.Refusal {
	q, err := d.listQuery(c, false)
	if err != nil {
		return err
	}
	found, qerr := d.opt.History.Fills(q, d.opt.Exchange.Query)
	if qerr != nil {
		return entry.NotApplied(qerr)
	}
	root := d.opt.Board.Load()
	c.Private(appendList(nil, found, func(b []byte, f *marketdata.Fill) []byte {
		return append(appendFillDeal(append(b, '{'), f, root.View(f.Pair).Instrument), '}')
	}))
	return nil
}

// orderDeals serves GET /api/orders/{orderId}/deals: the order and its deals, newest first.
func (d lists) orderDeals(c *edge.Ctx) *refuse.Refusal {
	a, err := d.entry.Order(accountOf(c), c.PathParam("orderId"))
	if err != nil {
		return err
	}
	rec, ins := &a.Record, a.Instrument
	slices.Reverse(rec.Fills)
	b := appendUserOrder([]byte{'{'}, rec, ins, c.Principal.UserID)
	b = appendList(append(b, `,"deals":`...), rec.Fills, func(b []byte, f *marketdata.Fill) []byte {
		return append(appendFillFee(appendFillDeal(append(b, '{'), f, ins), f, ins), '}')
	})
	c.Private(append(b, '}'))
	return nil
}

// balances serves GET /api/wallets/balances.
func (d lists) balances(c *edge.Ctx) *refuse.Refusal {
	b := appendList([]byte(`{"balances":`), d.balancesOf(uint32(accountOf(c))), appendBalance)
	c.Private(append(b, '}'))
	return nil
}

// balancesOf returns the non-zero balances of an account, including those in the ledger,
// ordered by currency code.
func (d *Service) balancesOf(n uint32) []accounts.BalanceView {
	all := d.view.Balances(n)
	if d.opt.Ledger == nil {
		return all
	}
	_, address := d.view.Level(n)
	all = append(all, d.opt.Ledger.Balances(address)...)
	sortBalances(all)
	return all
}

func sortBalances(rows []accounts.BalanceView) {
	slices.SortFunc(rows, func(a, b accounts.BalanceView) int {
		return strings.Compare(a.CurrencyCode,
			b.CurrencyCode)
	})
}
