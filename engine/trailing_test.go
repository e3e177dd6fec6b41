package engine_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// trailFlow makes commands around orders that trail: the price goes up and down for a while, so that many extremes wait
// at once and then become one.
type trailFlow struct {
	r           *rand.Rand
	price, step int64
	ask         bool // the next trade has its sell
	last        engine.OrderID
}

func (f *trailFlow) next() engine.Command {
	if f.ask {
		f.ask = false
		return place(engine.Buy, f.price, 1+f.r.Int64N(2)) // what is left of it rests
	}
	switch x := f.r.IntN(100); {
	case x < 40:
		return f.place()
	case x < 76:
		if f.r.IntN(25) == 0 {
			f.step = f.r.Int64N(9) - 4
		}
		if f.price += f.step + f.r.Int64N(5) - 2; f.price < 900 || f.price > 1400 {
			f.step = -f.step
			f.price = max(900, min(1400, f.price))
		}
		f.ask = true
		return place(engine.Sell, f.price, 1)
	case x < 84:
		return engine.Command{Kind: engine.Cancel, Order: f.pick(), Flags: engine.FlagAllAccount}
	case x < 99:
		return f.replace()
	default:
		return engine.Command{Kind: engine.CancelAll, Account: engine.AccountID(f.r.IntN(4))}
	}
}

func (f *trailFlow) trail() uint16 {
	if f.r.IntN(3) == 0 {
		return []uint16{10, 50, 100, 400}[f.r.IntN(4)] // equal ones too
	}
	return uint16(engine.MinTrail + f.r.IntN(1500))
}

func (f *trailFlow) place() engine.Command {
	c := engine.Command{
		Account: engine.AccountID(f.r.IntN(4)), Side: engine.Side(f.r.IntN(2)),
		Type: engine.StopLimit + engine.OrderType(f.r.IntN(4)), Amount: 1 + f.r.Int64N(3), Trail: f.trail(),
	}
	if f.r.IntN(4) == 0 {
		c.Flags |= engine.FlagStrict
	}
	if f.r.IntN(2) == 0 {
		c.Stop = f.price + f.r.Int64N(61) - 30
	}
	if f.r.IntN(12) == 0 {
		c.Trail, c.Stop = 0, f.price+f.r.Int64N(61)-30
	}
	if !c.Type.AtMarket() {
		c.Price, c.TIF = f.price+f.r.Int64N(31)-15, engine.TimeInForce(f.r.IntN(3))
	} else if c.TIF = engine.IOC; f.r.IntN(3) == 0 {
		c.Flags |= engine.FlagQuote
		c.Amount, c.Quote = 0, fixed.FromU64(uint64(f.r.Int64N(5000)))
	}
	return c
}

func (f *trailFlow) replace() engine.Command {
	c := engine.Command{Kind: engine.Replace, Order: f.pick(), Flags: engine.FlagAllAccount}
	switch f.r.IntN(6) {
	case 0:
		c.Flags |= engine.FlagHasStop | engine.FlagHasTrail
		c.Stop, c.Trail = f.price+f.r.Int64N(61)-30, f.trail()
	case 3:
		c.Flags |= engine.FlagHasStop
		c.Stop = f.price + f.r.Int64N(61) - 30
	case 1:
		c.Flags |= engine.FlagHasAmount
		c.Amount = 1 + f.r.Int64N(4)
	case 2:
		c.Flags |= engine.FlagHasPrice
		c.Price = f.price + f.r.Int64N(31) - 15
	default:
		c.Flags |= engine.FlagHasTrail
		c.Trail = f.trail()
	}
	return c
}

func (f *trailFlow) pick() engine.OrderID {
	return max(1, f.last-engine.OrderID(f.r.Uint64N(min(uint64(f.last)+1, 30))))
}

// Every trailing order keeps its own extreme: the model says so, and groups, heaps and levels must not show. Parts,
// and states that are written and read between them and between commands, have no effect.
func TestTrailingOrdersAgreeWithTheModel(t *testing.T) {
	seeds, steps := uint64(60), 400
	if soak() {
		seeds, steps = 2000, 1000
	}
	opts := enginetest.RandomOptions()
	opts.AccountStops, opts.AccountOrders, opts.OpenOrders, opts.PairStops = 200, 400, 1000, 1000
	count := map[string]int{}
	for seed := range seeds {
		opts.PartEvents = []int{engine.MinPartEvents, engine.DefaultPartEvents}[seed%2]
		m := newPairOfMarkets(t, seed, opts)
		f := &trailFlow{r: enginetest.NewRand(seed), price: 1100}
		m.restarts = func() bool { return f.r.IntN(4) == 0 }
		for a := range engine.AccountID(2) {
			m.give(a+1, 400, 400_000)
		}
		m.given = m.purse.sums()
		for i := range steps {
			cmd := f.next()
			for _, e := range m.run(cmd) {
				switch o, _ := m.core.Order(e.Order); e.Kind {
				case engine.EventActivated:
					count["tracks"]++
				case engine.EventTriggered:
					count["triggered"]++
				case engine.EventReplaced:
					count[fmt.Sprintf("replaced waiting: %t", e.Type.Waits())]++
				case engine.EventCanceled:
					count["canceled"]++
				default:
					count["extremes"] += min(1, int(o.Extreme))
				}
			}
			f.last = m.core.LastOrderID(0)
			if i%8 == 0 {
				m.check()
				m.restore()
			}
		}
		m.check()
	}
	t.Log(count)
	for _, what := range []string{"tracks", "triggered", "replaced waiting: true", "canceled"} {
		if count[what] < int(seeds)*steps/50 {
			t.Errorf("%s: %d times only", what, count[what])
		}
	}
}

// The price that triggers a trailing order is exact at the ends of the range, and none where int64 has none.
func TestTrailsAtTheEndsOfTheRange(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	trade := func(price int64) []engine.Event {
		m.do(place(engine.Sell, price, 1))
		return m.do(place(engine.Buy, price, 1))
	}
	trail := func(side engine.Side, bp uint16) engine.StopState {
		m.do(engine.Command{
			Type: engine.StopLimit, Side: side, Price: 1 + 1<<62*int64(1-side), Amount: 1, Trail: bp,
		})
		for s := range m.core.Stops(0) {
			if s.ID == m.core.LastOrderID(0) {
				return s
			}
		}
		t.Fatal("it does not wait")
		return engine.StopState{}
	}
	trade(math.MaxInt64)
	if s := trail(engine.Buy, 10); s.Price != 0 || s.Extreme != math.MaxInt64 {
		t.Errorf("%+v", s)
	}
	end := new(big.Int).Div(product(math.MaxInt64, 9990), big.NewInt(10_000)).Int64()
	if s := trail(engine.Sell, 10); s.Price != end {
		t.Errorf("%+v, not %d", s, end)
	}
	trade(end + 1)
	if n := m.core.OpenOrders(0); n != 2 {
		t.Fatalf("%d orders wait", n)
	}
	if events := trade(end); len(events) < 4 || events[3].Kind != engine.EventTriggered || events[3].MakerOpen != end {
		t.Errorf("%+v", events)
	}
	m.do(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount})
	trade(1)
	if s := trail(engine.Sell, 2000); s.Price != 0 || s.Extreme != 1 {
		t.Errorf("%+v", s)
	}
	if s := trail(engine.Buy, 10); s.Price != 2 || s.Extreme != 1 {
		t.Errorf("%+v", s)
	}
	if events := trade(2); events[3].Kind != engine.EventTriggered || events[3].Side != engine.Buy {
		t.Errorf("%+v", events)
	}
}
