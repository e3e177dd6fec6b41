package binance

import (
	"fmt"
	"net/netip"
	"strconv"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/server/json"
)

const minuteNs = 60_000_000_000

// maxLimited bounds the remembered addresses, and the remembered accounts; beyond it the least recently seen one is
// dropped.
const maxLimited = 100_000

// rateLimit is a limit on what is counted in an interval. The count begins again with every interval of the machine's
// clock, as on the other exchange.
type rateLimit struct {
	kind, interval string
	intervals      int64 // the interval's multiplier
	limit          int64
	lengthNs       int64
	header         string
}

// weightLimit limits the weight that the requests of an address have.
var weightLimit = rateLimit{"REQUEST_WEIGHT", "MINUTE", 1, WeightPerMinute, minuteNs, "X-MBX-USED-WEIGHT-1M"}

// WeightPerMinute is the weight that an address may use in a minute of the clock.
const WeightPerMinute = 6000

// orderLimits limit the new orders of an account that have no fill yet.
var orderLimits = [...]rateLimit{
	{"ORDERS", "SECOND", 10, 100, 10e9, "X-MBX-ORDER-COUNT-10S"},
	{"ORDERS", "DAY", 1, 200_000, 24 * 60 * minuteNs, "X-MBX-ORDER-COUNT-1D"},
}

// noCount is in place of a count that is not shown.
const noCount = -1

// write writes the limit and a count.
func (l *rateLimit) write(w *json.Writer, count int64) {
	w.Object()
	w.Name("rateLimitType").Word(l.kind)
	w.Name("interval").Word(l.interval)
	w.Name("intervalNum").Int(l.intervals)
	w.Name("limit").Int(l.limit)
	if count != noCount {
		w.Name("count").Int(count)
	}
	w.EndObject()
}

// endNs returns the end of the present interval.
func (l *rateLimit) endNs(nowNs int64) int64 { return (nowNs/l.lengthNs + 1) * l.lengthNs }

// tally is the count of one limit in one interval.
type tally struct{ interval, count int64 }

// at begins a new interval if the former one is over.
func (t *tally) at(l *rateLimit, nowNs int64) {
	if interval := nowNs / l.lengthNs; t.interval != interval {
		*t = tally{interval: interval}
	}
}

// add adds n, which may be negative; a count never falls below 0.
func (t *tally) add(n int64) { t.count = max(0, t.count+n) }

// weights counts the weight of the requests of each address in the current minute. Any goroutine may use it.
type weights struct {
	mu      sync.Mutex
	clients *simplelru.LRU[netip.Addr, *tally]
}

// newLRU returns an empty table of what is limited.
func newLRU[K comparable, V any]() *simplelru.LRU[K, V] {
	table, err := simplelru.NewLRU[K, V](maxLimited, nil)
	if err != nil {
		panic("BUG: binance: table of limits: " + err.Error())
	}
	return table
}

func newWeights() *weights { return &weights{clients: newLRU[netip.Addr, *tally]()} }

// add counts a request and returns the weight that the address has used in this minute. A request above the limit
// is not counted; ok is false. A negative weight takes back what was counted.
func (w *weights) add(addr netip.Addr, weight int64, nowNs int64, limited bool) (used int64, ok bool) {
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			addr = p.Addr() // one client has the whole network
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c, known := w.clients.Get(addr)
	if !known {
		c = &tally{}
		w.clients.Add(addr, c)
	}
	c.at(&weightLimit, nowNs)
	if limited && c.count+weight > weightLimit.limit {
		return c.count, false
	}
	c.add(weight)
	return c.count, true
}

// pay counts the weight of the call, or refuses it.
func (q *call) pay(weight int) *failure {
	now, ok := q.f.opt.MachineNs(), false
	if q.used, ok = q.f.weights.add(q.from.addr, int64(weight), now, !q.from.unlimited); ok {
		q.paid += int64(weight)
		return nil
	}
	q.f.stats.overWeight.Add(1)
	end := weightLimit.endNs(now)
	return &failure{
		status: fasthttp.StatusTooManyRequests, code: codeTooManyWeight, retryAfter: (end-now)/1e9 + 1,
		msg: fmt.Sprintf("Too much request weight used; current limit is %d request weight per 1 MINUTE. "+
			"Please use WebSocket Streams for live updates to avoid polling the API.", weightLimit.limit),
		again: &again{serverMs: now / msNs, retryMs: end / msNs},
	}
}

// orderCounts counts the unfilled new orders of each account. It belongs to this process: no snapshot has it. Any
// goroutine may use it.
type orderCounts struct {
	mu       sync.Mutex
	accounts *simplelru.LRU[engine.AccountID, *orderCount]
}

// orderFigures are the counts of an account, one for each of orderLimits.
type orderFigures [len(orderLimits)]int64

type orderCount struct {
	tallies [len(orderLimits)]tally
	credit  uint32 // Entry.FillCredit up to which fills are subtracted
}

// of returns the count of an account, without the former one of an interval that is over. An account without a count
// begins at 0, with the fills up to credit. The caller holds mu.
func (o *orderCounts) of(account engine.AccountID, credit uint32, nowNs int64) *orderCount {
	c, known := o.accounts.Get(account)
	if !known {
		c = &orderCount{credit: credit}
		o.accounts.Add(account, c)
	}
	for i := range c.tallies {
		c.tallies[i].at(&orderLimits[i], nowNs)
	}
	return c
}

func (c *orderCount) add(n int64) {
	for i := range c.tallies {
		c.tallies[i].add(n)
	}
}

// fills returns what the fills since the last look take from the count, up to credit, which may be from before that.
func (c *orderCount) fills(credit uint32) int64 {
	n := int32(credit - c.credit) // the difference of two counters that wrap
	if n <= 0 {
		return 0
	}
	c.credit = credit
	return int64(n)
}

func (c *orderCount) figures() (out orderFigures) {
	for i := range c.tallies {
		out[i] = c.tallies[i].count
	}
	return out
}

// look returns the figures of an account after its fills up to credit.
func (o *orderCounts) look(account engine.AccountID, credit uint32, nowNs int64) orderFigures {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.of(account, credit, nowNs)
	c.add(-c.fills(credit))
	return c.figures()
}

// reserve counts n new orders of an account after its fills up to credit. If they do not fit, it counts none of them
// and returns the limit that they exceed, the longest one.
func (o *orderCounts) reserve(account engine.AccountID, n int64, credit uint32, nowNs int64, limited bool) (
	figures orderFigures, exceeded *rateLimit,
) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.of(account, credit, nowNs)
	c.add(-c.fills(credit))
	for i := range c.tallies {
		if limited && c.tallies[i].count+n > orderLimits[i].limit {
			exceeded = &orderLimits[i]
		}
	}
	if exceeded == nil {
		c.add(n)
	}
	return c.figures(), exceeded
}

// placed returns the figures of an account after n reserved orders were placed, of which some were filled at once.
// credit is the account's right behind them, so the other fills up to it come before these orders.
func (o *orderCounts) placed(account engine.AccountID, n, filled int64, credit uint32, nowNs int64) orderFigures {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.of(account, credit, nowNs)
	c.add(-n)
	c.add(filled - c.fills(credit))
	c.add(n - filled)
	return c.figures()
}

// last returns the credit up to which the fills of an account are subtracted.
func (o *orderCounts) last(account engine.AccountID) (credit uint32, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, known := o.accounts.Get(account)
	if known {
		credit = c.credit
	}
	return credit, known
}

// reserve counts n orders that the call is about to place, or refuses them. Unless placed follows, the end of the call
// takes them back.
func (q *call) reserve(n int) *failure {
	counts, now := &q.f.unfilled, q.f.opt.MachineNs()
	credit, known := counts.last(q.account())
	for {
		if !known {
			var err *failure
			if credit, err = q.credit(); err != nil {
				return err
			}
		}
		figures, exceeded := counts.reserve(q.account(), int64(n), credit, now, !q.from.unlimited)
		q.orders = &figures
		switch {
		case exceeded == nil:
			q.reserved = int64(n)
			return nil
		case !known:
			return tooManyOrders(exceeded, now)
		}
		known = false // look at the fills since the last order
	}
}

// credit returns the account's present credit of fills.
func (q *call) credit() (uint32, *failure) {
	credit, refused := q.f.opt.Entry.FillCredit(q.account())
	if refused != nil {
		return 0, fromRefusal(refused)
	}
	return credit, nil
}

// tooManyOrders is the refusal of an order beyond a limit. The other exchange sends no Retry-After with it.
func tooManyOrders(l *rateLimit, nowNs int64) *failure {
	return &failure{
		status: fasthttp.StatusTooManyRequests, code: codeTooManyOrders,
		msg:   fmt.Sprintf("Too many new orders; current limit is %d orders per %s.", l.limit, l.period()),
		again: &again{serverMs: nowNs / msNs, retryMs: l.endNs(nowNs) / msNs},
	}
}

// period returns the text of the interval in messages.
func (l *rateLimit) period() string { return strconv.FormatInt(l.intervals, 10) + " " + l.interval }

// placed keeps the reserved orders, which a is the answer to. An accepted order has no weight.
func (q *call) placed(a *entry.Answer) {
	filled := int64(0)
	if a.Record.Filled > 0 {
		filled++
	}
	if a.List != nil {
		for i := range a.List.Orders {
			if a.List.Orders[i].Filled > 0 {
				filled++
			}
		}
	}
	now := q.f.opt.MachineNs()
	figures := q.f.unfilled.placed(q.account(), q.reserved, filled, a.Credit, now)
	q.orders, q.reserved = &figures, 0
	q.used, _ = q.f.weights.add(q.from.addr, -q.paid, now, false)
}

// takeBack takes back the orders that were reserved and not placed.
func (q *call) takeBack() {
	if q.reserved == 0 {
		return
	}
	credit, _ := q.f.unfilled.last(q.account())
	figures, _ := q.f.unfilled.reserve(q.account(), -q.reserved, credit, q.f.opt.MachineNs(), false)
	q.orders, q.reserved = &figures, 0
}

// headers sets the headers that show what is counted.
func (q *call) headers(h *fasthttp.ResponseHeader) {
	if q.used > 0 || q.paid > 0 {
		text := strconv.FormatInt(q.used, 10)
		for _, name := range weightHeaders {
			h.Set(name, text)
		}
	}
	if q.orders != nil {
		for i := range orderLimits {
			h.Set(orderLimits[i].header, strconv.FormatInt(q.orders[i], 10))
		}
	}
}

// weightHeaders name the weight that the client's address has used in this minute.
var weightHeaders = [...]string{"X-MBX-USED-WEIGHT", weightLimit.header}

// writeLimits writes the member rateLimits of an answer over a socket.
func (q *call) writeLimits(w *json.Writer) {
	w.Name("rateLimits").List()
	if q.orders != nil {
		for i := range orderLimits {
			orderLimits[i].write(w, q.orders[i])
		}
	}
	weightLimit.write(w, q.used)
	w.EndList()
}

// unfilled serves GET /api/v3/rateLimit/order.
func unfilled(q *call) ([]byte, *failure) {
	credit, err := q.credit()
	if err != nil {
		return nil, err
	}
	figures := q.f.unfilled.look(q.account(), credit, q.f.opt.MachineNs())
	var w json.Writer
	w.List()
	for i := range orderLimits {
		orderLimits[i].write(&w, figures[i])
	}
	w.EndList()
	return w.Bytes(), nil
}

// again says when a request that a limit has refused may be repeated; an answer over a socket has it.
type again struct{ serverMs, retryMs int64 }
