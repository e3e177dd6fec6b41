package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// pairOfMarkets is a core and the model of it, each with a purse.
type pairOfMarkets struct {
	*market
	naive *model
	seed  uint64
}

func newPairOfMarkets(t *testing.T, seed uint64, opts engine.Options) *pairOfMarkets {
	m := newMarket(t, opts, enginetest.Instrument())
	m.quick = true
	start, _ := m.core.Pair(0)
	p := &pairOfMarkets{m, &model{opts: opts, inst: *start, seq: 1, purse: newPurse(t)}, seed}
	p.naive.purse.inst, p.naive.purse.seqs[0] = start, 1
	m.fund().endow()
	p.naive.purse.endow()
	return p
}

// give sets a balance in both purses; the account has no open order.
func (p *pairOfMarkets) give(a engine.AccountID, lots, quote int64) {
	p.purse.give(a, lots, quote)
	p.naive.purse.give(a, lots, quote)
}

// events halts an account for a while, takes its free money away for a while, or gives back what it has.
func (p *pairOfMarkets) events(r *rand.Rand) {
	account := engine.AccountID(1 + r.IntN(3))
	what := r.IntN(600)
	for _, x := range []*purse{p.purse, p.naive.purse} {
		switch {
		case what == 0:
			x.halted[account] = true
		case what < 20:
			clear(x.halted)
		case what < 60:
			x.repay()
		case what < 80:
			x.lend(account)
		}
		for a := range x.lent { // what it earned meanwhile
			x.lend(a)
		}
	}
	p.given = p.purse.sums()
}

// run applies a command to both and compares the events.
func (p *pairOfMarkets) run(c engine.Command) []engine.Event {
	p.t.Helper()
	c.TimeNs = p.now + 1
	want := p.naive.apply(c)
	got := p.do(c)
	if !enginetest.EqualEvents(got, want) {
		p.t.Fatalf("seed %d, %+v:\n%s", p.seed, c, cmp.Diff(want, got, cmpopts.EquateComparable(engine.ClientID{})))
	}
	return got
}

// Takers among few orders of their own account and of others, with and without reserves, get what the model says: a
// fill-or-kill order all or nothing, a market buy what its money covers. Small books make each way to end frequent.
func TestTakersAmongFewOwnOrders(t *testing.T) {
	const seed, books = 38, 15_000
	rnd := enginetest.NewRand(seed)
	p := newPairOfMarkets(t, seed, enginetest.RandomOptions())
	ends := map[string]int{}
	for range books {
		p.give(1, 40, rnd.Int64N(60))
		p.give(2, 40, 400)
		takes := engine.Side(rnd.IntN(2))
		p.run(engine.Command{Side: engine.Sell, Price: 5, Amount: 1})
		p.run(engine.Command{Price: 5, Amount: 1}) // the last trade, for stops
		for range 1 + rnd.IntN(6) {
			c := engine.Command{
				Account: engine.AccountID(1 + rnd.IntN(2)), Side: takes.Opposite(), Price: 4 + rnd.Int64N(3),
				Amount: 1 + rnd.Int64N(3),
			}
			if rnd.IntN(3) == 0 {
				c.Display = 1
			}
			p.run(c)
		}
		c := engine.Command{
			Account: 1, Side: takes, STP: engine.SelfTrade(rnd.IntN(5)), Amount: 1 + rnd.Int64N(7),
		}
		switch rnd.IntN(4) {
		case 0:
			c.TIF, c.Price = engine.FOK, 4+rnd.Int64N(3)
		case 1:
			c.Type, c.Stop = engine.StopMarket, 5
			if takes == engine.Buy { // it holds less than it costs
				c.Stop = 1 + rnd.Int64N(5)
			}
			if rnd.IntN(3) == 0 { // waits first
				c.Stop = 6 - 2*int64(takes)
			}
		default:
			c.Type = engine.Market
		}
		p.sum(ends, &c, p.run(c))
		if rnd.IntN(2) == 0 { // a trade at the stop price
			p.run(engine.Command{Side: engine.Sell, Price: c.Stop + 1, Amount: 1, Account: 2})
			p.sum(ends, &c, p.run(engine.Command{Price: c.Stop + 1, Amount: 1}))
		}
		p.run(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount, Order: p.core.LastOrderID(0)})
		if err := p.purse.agree(p.core, p.given); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	p.check()
	t.Logf("seed %d: %v", seed, ends)
	for _, end := range []string{
		"limit fok filled", "limit fok fok_unfilled", "market filled", "market insufficient_funds", "market self-trade",
		"market remainder", "market own canceled", "stop_market filled", "stop_market funds", "stop_market self-trade",
		"stop_market remainder",
	} {
		if ends[end] < books/500 {
			t.Errorf("%s: %d times only", end, ends[end])
		}
	}
}

// sum counts how the taker of account 1 ended.
func (p *pairOfMarkets) sum(ends map[string]int, c *engine.Command, events []engine.Event) {
	what := c.Type.String()
	if c.Type == engine.Limit {
		what += " fok"
	}
	for _, e := range events {
		switch {
		case e.Account != 1:
		case e.Kind == engine.EventRejected:
			ends[what+" "+e.Reason.String()]++
		case e.Kind == engine.EventTrade && e.OpenAmount == 0:
			ends[what+" filled"]++
		case e.Kind == engine.EventCanceled && e.Price != 0:
			ends[what+" own canceled"]++
		case e.Kind == engine.EventCanceled:
			ends[what+" "+causes[e.Cause]]++
		}
	}
}
