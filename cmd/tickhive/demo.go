package main

import (
	"math"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fixed"
)

// demoFlow is a simple seeded flow of orders over the configured pairs: enough that every
// route answers with moving figures. It decides with integers from its own state and the
// core's, on the loop's goroutine, so the same seed and times give the same orders.
type demoFlow struct {
	core  *engine.Core
	pairs []demoPair
	rng   uint64
	dueNs int64
}

type demoPair struct {
	code   string
	mid    int64 // ticks that the flow wanders around
	weight int
	typ    int64 // typical amount in lots
	id     engine.PairID
	found  bool
}

// demoStep is the time between two turns of the flow; demoLevels how many prices a side
// has after the first one.
const (
	demoStep   = 100 * time.Millisecond
	demoLevels = 60
	demoTurn   = 1000 // notional of a typical order in units of the quote's typical price
)

// sources are the sources of orders that the configuration asks for.
func (x *exchange) sources(c clock.Clock) []engine.Source {
	if !x.cfg.Sim.Enabled || x.cfg.Market.Pairs == pairsNone {
		return nil
	}
	f := &demoFlow{core: x.core, rng: uint64(x.cfg.Sim.Seed)*0x9E3779B97F4A7C15 + 1, dueNs: c.NowNs()}
	for i := range x.cfg.Pairs {
		if p, ok := demoPairOf(&x.cfg.Pairs[i]); ok {
			f.pairs = append(f.pairs, p)
		}
	}
	return []engine.Source{f}
}

func demoPairOf(p *PairConfig) (demoPair, bool) {
	mid, _, fits := fixed.Units(p.Reference.value(), p.DigitsPrice)
	if !fits || mid < 1000 || p.Weight < 1 {
		return demoPair{}, false
	}
	// An order is worth some hundred smallest orders.
	lots := int64(1)
	if p.MinQuote.given() {
		want := p.MinQuote.value().Abs()
		perLot, _ := fixed.Mul64(uint64(mid), 1).MulCheck(fixed.Pow10[fixed.Scale-p.DigitsPrice-p.DigitsAmount])
		n, _ := want.DivMod(perLot)
		if n.Hi == 0 && n.Lo < math.MaxInt32 {
			lots = max(1, int64(n.Lo)*20)
		}
	}
	return demoPair{code: p.Code, mid: mid, weight: p.Weight, typ: lots}, true
}

// DueNs is when the flow next acts.
func (f *demoFlow) DueNs() int64 { return f.dueNs }

// Skip passes over time that went by without the flow.
func (f *demoFlow) Skip(nowNs int64) { f.dueNs = nowNs }

// Act appends the orders of one turn.
func (f *demoFlow) Act(nowNs int64, dst []engine.Command) []engine.Command {
	f.dueNs = nowNs + int64(demoStep)
	for i := range f.pairs {
		p := &f.pairs[i]
		if !p.found {
			if p.id, p.found = f.core.PairByCode(p.code); !p.found {
				continue
			}
		}
		if f.core.OpenOrders(p.id) < demoLevels {
			dst = f.ladder(p, dst)
		}
		if f.below(100) < uint64(p.weight) {
			dst = f.turn(p, dst)
		}
	}
	return dst
}

// ladder fills both sides.
func (f *demoFlow) ladder(p *demoPair, dst []engine.Command) []engine.Command {
	for n := int64(1); n <= demoLevels; n++ {
		step := p.mid * n / 5000
		dst = append(dst, f.order(p, engine.Buy, engine.GTC, p.mid-step-1), f.order(p, engine.Sell, engine.GTC, p.mid+step+1))
	}
	return dst
}

// turn moves the price a little, takes now and then, and renews the ladder.
func (f *demoFlow) turn(p *demoPair, dst []engine.Command) []engine.Command {
	span := max(p.mid/2000, 2)
	p.mid = max(1000, p.mid+int64(f.below(uint64(2*span+1)))-span)
	side := engine.Side(f.below(2))
	if f.below(3) == 0 {
		limit := p.mid + span
		if side == engine.Sell {
			limit = p.mid - span
		}
		return append(dst, f.order(p, side, engine.IOC, limit))
	}
	away := int64(f.below(uint64(p.mid/100 + 1)))
	price := p.mid - away
	if side == engine.Sell {
		price = p.mid + away
	}
	dst = append(dst, f.order(p, side, engine.GTC, max(1, price)))
	if f.core.OpenOrders(p.id) > 4*demoLevels {
		last := f.core.LastOrderID(p.id)
		dst = append(dst, engine.Command{Kind: engine.CancelAll, Pair: p.id, Order: last - min(last-1, demoLevels)})
	}
	return dst
}

func (f *demoFlow) order(p *demoPair, side engine.Side, tif engine.TimeInForce, price int64) engine.Command {
	return engine.Command{
		Kind: engine.Place, Pair: p.id, Side: side, Type: engine.Limit, TIF: tif,
		Price: max(1, price), Amount: p.typ/4 + 1 + int64(f.below(uint64(2*p.typ+1))),
	}
}

// below is a number from 0 to n-1 (splitmix64).
func (f *demoFlow) below(n uint64) uint64 {
	f.rng += 0x9E3779B97F4A7C15
	z := f.rng
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return (z ^ z>>31) % n
}
