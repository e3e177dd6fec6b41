package sim

import "tickhive/engine"

// FlagAgent marks the agents' orders among the orders of the built-in account. The Accepted event carries it,
// so that the agents' quotes can be folded from events alone. The engine ignores it.
const FlagAgent uint8 = 1 << 7

// step returns the commands of one pair's agents at one instant. The agents decide by the touch, their own
// quotes and fills, and the world's fair price. The engine applies the commands in this order, before any other
// command.
func (m *Market) step(a *agents, dst []engine.Command) []engine.Command {
	t := step{m: m, a: a, dst: dst, fair: a.fair(&m.world), mood: a.mood(&m.world)}
	t.usual = max(1<<7, a.half(t.fair, t.mood))
	t.half = t.usual
	t.night = m.world.scenario.night(m.world.ns)
	if t.night {
		t.half = t.half*nightWide + a.grid<<7
	}
	t.bid, t.ask = m.touch(a.id, engine.Buy), m.touch(a.id, engine.Sell)
	if a.Weight >= majorWeight {
		t.lean = m.world.ns < m.full || t.night
		t.major()
		a.settle(t.fair)
		return t.dst
	}
	t.cleared[engine.Buy] = t.arbitrage(engine.Buy)
	t.cleared[engine.Sell] = t.arbitrage(engine.Sell)
	arbitraged := t.cleared[engine.Buy]+t.cleared[engine.Sell] > 0
	t.quotes()
	if a.rng.below(4) == 0 {
		t.resize()
	}
	// Every step has a trade, because a market without trades looks dead.
	if !arbitraged || t.night || a.rng.below(100) < 45 {
		t.take()
	}
	a.settle(t.fair)
	return t.dst
}

// settle lets the averages decay at the end of a step.
func (a *agents) settle(fair int64) {
	a.slow += (fair - a.slow) / 32
	a.offset -= a.offset / 4096
	a.impact -= a.impact / impactMemory
	a.stock -= a.stock / 128 // the makers reduce their stock outside of this market
}

// half returns half of the makers' spread in 2^-8 ticks. It grows with the volatility (mood).
func (a *agents) half(fair, mood int64) int64 {
	return fair * halfRate / priceUnits * (640 + 3*mood) / (640 + 3*256)
}

// step holds the data of one step while its commands are made.
type step struct {
	m     *Market
	a     *agents
	dst   []engine.Command
	fair  int64 // 2^-8 ticks
	half  int64 // half of the makers' spread, 2^-8 ticks
	usual int64 // half without a scenario
	apart int64 // ticks by which the quotes of a major pair stay away from the fair price
	mood  int64 // 2^-8
	lean  bool  // the book of a major pair is lean
	night bool  // the market is thin
	// bid and ask hold the touch at the beginning of the step: ticks and shown lots; price 0: empty side.
	bid, ask engine.DepthLevel
	// cleared counts, for the takers of each side, the makers' best quotes that these takers fill, or the makers
	// cancel, in this step.
	cleared [2]int
}

func (t *step) place(side engine.Side, tif engine.TimeInForce, price, lots int64) {
	a := t.a
	t.dst = append(t.dst, engine.Command{
		Kind: engine.Place, Pair: a.id, Side: side, Type: engine.Limit, TIF: tif, Flags: FlagAgent,
		Price: price, Amount: max(lots, a.least),
	})
}

// arbitrage takes all orders that are better than the fair price: stale quotes of the makers, and other
// clients' orders. It returns the number of makers' quotes that it fills.
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
	for n < other.n && (!t.night || n < nightStale) {
		q := other.at(other.n - 1 - n)
		if better(side, q.price, limit) {
			break
		}
		lots += q.open
		n++
	}
	// another client's order is at this price too, or at a better one
	if n == 0 || other.best().price != touch.Price {
		lots += min(touch.Shown, 8*a.typical)
	}
	t.place(side, engine.IOC, limit, lots)
	return n
}

// quotes moves the makers' quotes on both sides. The best one is as near to the fair price as stock and
// volatility allow, and each side gets at least levelsMin quotes.
func (t *step) quotes() {
	a := t.a
	// A stock of 40 typical trades would move both quotes by half a spread, to reduce the stock. A quote must
	// not cross the makers' own stale quotes on the other side, which the takers leave.
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
	if t.night {
		t.recede(a.gridPrice(down), a.gridPrice(up))
	}
	t.side(engine.Buy, down, -1)
	t.side(engine.Sell, up, 1)
}

// side places and cancels quotes of one side. near is the number of the best quote wanted; away is +1 or -1,
// the step to the next worse quote.
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
			continue // leave a gap: no real book has an order at every price
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

// gridNumber returns the number of the quote at this price.
func (a *agents) gridNumber(price int64) int64 { return price / a.grid }

// quote places the quote with number i. depth is its distance from the touch in quotes; quotes farther away are
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

// take makes one trade at the touch, by a momentum trader or a noise trader.
func (t *step) take() {
	a := t.a
	side := engine.Side(a.rng.below(2))
	if a.rng.below(5) == 0 { // a momentum trader trades if there is a trend
		switch trend := t.fair - a.slow; {
		case trend > 2*t.half:
			side = engine.Buy
		case trend < -2*t.half:
			side = engine.Sell
		}
	}
	reach := t.half + 5*t.usual // limit of the taker's price, as a distance from the fair price
	limit := (t.fair + reach) >> 8
	if side == engine.Sell {
		limit = max(1, (t.fair-reach)>>8)
	}
	t.place(side, engine.IOC, limit, a.rng.heavy(a.typical*t.mood>>8))
}
