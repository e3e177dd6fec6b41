package sim

import "tickhive/engine"

// FlagAgent marks the agents' orders among the orders of the built-in account. The accepted
// event carries it, so that the agents' quotes can be folded from events alone. The engine
// ignores it.
const FlagAgent uint8 = 1 << 7

// step returns the commands of the agents of one pair at one instant. The agents see the touch,
// their own quotes and fills, and the world's fair price; the engine applies the commands in
// this order, before any other command.
func (m *Market) step(a *agents, dst []engine.Command) []engine.Command {
	t := step{m: m, a: a, dst: dst, fair: a.fair(&m.world), mood: a.mood(&m.world)}
	t.half = max(1<<7, a.half(t.fair, t.mood))
	t.bid, t.ask = m.touch(a.id, engine.Buy), m.touch(a.id, engine.Sell)
	t.cleared[engine.Buy] = t.arbitrage(engine.Buy)
	t.cleared[engine.Sell] = t.arbitrage(engine.Sell)
	t.quotes()
	if a.rng.below(4) == 0 {
		t.resize()
	}
	// A market without trades looks dead: every step has a trade.
	if t.cleared[engine.Buy]+t.cleared[engine.Sell] == 0 || a.rng.below(100) < 45 {
		t.take()
	}
	a.slow += (t.fair - a.slow) / 32
	a.offset -= a.offset / 4096
	a.stock -= a.stock / 128 // the makers unwind the rest elsewhere
	return t.dst
}

// half returns half of the makers' spread, 2^-8 ticks: wider in volatile times.
func (a *agents) half(fair, mood int64) int64 {
	return fair * halfRate / priceUnits * (640 + 3*mood) / (640 + 3*256)
}

// step holds one step in progress.
type step struct {
	m    *Market
	a    *agents
	dst  []engine.Command
	fair int64 // 2^-8 ticks
	half int64 // 2^-8 ticks
	mood int64 // 2^-8
	// The touch when the step began, ticks and shown lots; price 0: empty side.
	bid, ask engine.DepthLevel
	// cleared counts, for the takers of each side, the best quotes of the opposite side that
	// they are about to fill.
	cleared [2]int
}

func (t *step) place(side engine.Side, tif engine.TimeInForce, price, lots int64) {
	a := t.a
	t.dst = append(t.dst, engine.Command{
		Kind: engine.Place, Pair: a.id, Side: side, Type: engine.Limit, TIF: tif, Flags: FlagAgent,
		Price: price, Amount: max(lots, a.least),
	})
}

// arbitrage takes the orders beyond the fair price, the makers' stale quotes and any others. It
// returns the number of makers' quotes that it fills.
func (t *step) arbitrage(side engine.Side) int {
	a := t.a
	limit := (t.fair - t.half/4) >> 8
	other := &a.ladders[side.Opposite()]
	touch := t.ask
	if side == engine.Sell {
		limit = (t.fair + t.half/4 + 255) >> 8
		touch = t.bid
	}
	if touch.Price == 0 || better(side, touch.Price, limit) {
		return 0
	}
	lots, n := int64(0), 0
	for n < other.n {
		q := other.at(other.n - 1 - n)
		if better(side, q.price, limit) {
			break
		}
		lots += q.open
		n++
	}
	if n == 0 || other.best().price != touch.Price { // another client's order is in front
		lots += min(touch.Shown, 8*a.typical)
	}
	t.place(side, engine.IOC, limit, lots)
	return n
}

// quotes moves both sides to the makers' target: up to the touch that the fair price, their
// stock and the volatility allow, and as deep as levelsMin.
func (t *step) quotes() {
	a := t.a
	// A stock of 40 typical trades would shift the quotes by half a spread against it. The
	// quotes stay on their side of the makers' own stale quotes, which the takers do not fill.
	shift := t.half * clamp(a.stock, 30*a.typical) / (40 * a.typical)
	centre := t.fair - shift
	down := ((centre - t.half) >> 8) / a.grid
	if a.gridPrice(down)<<8 > centre-t.half {
		down--
	}
	up := ((centre+t.half)>>8)/a.grid - 1
	for a.gridPrice(up)<<8 < centre+t.half {
		up++
	}
	t.side(engine.Buy, down, -1)
	t.side(engine.Sell, up, 1)
}

// side refills one side. near is the number of the best quote wanted, away the step to the next
// worse quote.
func (t *step) side(side engine.Side, near, away int64) {
	a := t.a
	l := &a.ladders[side]
	n := l.n - t.cleared[side.Opposite()]
	if n <= 0 {
		for i := range int64(levelsMin) {
			t.quote(side, near+i*away, i)
		}
		return
	}
	best := a.gridNumber(l.at(n - 1).price)
	for i, placed := best-away, 0; (near-i)*away <= 0 && placed < refillMost; i -= away {
		if i != near && a.rng.below(8) == 0 {
			continue // no book is full
		}
		t.quote(side, i, (i-near)*away)
		placed++
		n++
	}
	worst := a.gridNumber(l.at(0).price)
	for i := worst + away; n < levelsMin; i += away {
		t.quote(side, i, (i-near)*away)
		n++
	}
	for k := 0; n > levelsMax && k < farMost; k++ {
		t.dst = append(t.dst, engine.Command{Kind: engine.Cancel, Pair: a.id, Order: l.at(k).id})
		n--
	}
}

// gridNumber returns the number of the quote at a price.
func (a *agents) gridNumber(price int64) int64 { return price / a.grid }

// quote places the quote with number i, at position depth from the touch: deeper quotes are
// larger.
func (t *step) quote(side engine.Side, i, depth int64) {
	price := t.a.gridPrice(i)
	if price <= 0 {
		return
	}
	t.place(side, engine.GTC, price, t.size(depth))
}

func (t *step) size(depth int64) int64 {
	a := t.a
	unit := a.typical * (4 + min(max(depth, 0), 60)/4)
	return unit/2 + a.rng.below(unit)
}

// resize changes the amount of a quote near the touch.
func (t *step) resize() {
	a := t.a
	side := engine.Side(a.rng.below(2))
	depth := a.rng.below(16)
	l := &a.ladders[side]
	k := l.n - 1 - t.cleared[side.Opposite()] - int(depth)
	if k < 0 {
		return
	}
	t.dst = append(t.dst, engine.Command{Kind: engine.Cancel, Pair: a.id, Order: l.at(k).id})
	t.place(side, engine.GTC, l.at(k).price, t.size(depth))
}

// take places one trade at the touch, of a momentum trader or a noise trader.
func (t *step) take() {
	a := t.a
	side := engine.Side(a.rng.below(2))
	if a.rng.below(5) == 0 { // a momentum trader, if there is a trend
		switch trend := t.fair - a.slow; {
		case trend > 2*t.half:
			side = engine.Buy
		case trend < -2*t.half:
			side = engine.Sell
		}
	}
	reach := 6 * t.half // takers limit their price
	limit := (t.fair + reach) >> 8
	if side == engine.Sell {
		limit = max(1, (t.fair-reach)>>8)
	}
	t.place(side, engine.IOC, limit, a.rng.heavy(a.typical*t.mood>>8))
}
