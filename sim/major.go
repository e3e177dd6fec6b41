package sim

import "github.com/tickhive/tickhive/engine"

// Parameters of the major pairs, which quote one tick and a book of a thousand levels.
const (
	// majorWeight is the weight from which a pair is a major one.
	majorWeight    = 40
	majorLevelsMin = 1100 // levels a side that the makers maintain
	majorLevelsMax = 1190
	majorGapMost   = 8      // mean distance of quotes near the touch, in ticks at most
	majorGapRate   = 30_000 // the same as a part of the reference price
	majorFarRate   = 60_000 // mean distance of quotes far from the touch, as a part of the reference price
	majorRefill    = 32     // most quotes that one step places between the old and the new touch
	majorNear      = 8      // quotes of a side that the makers keep near the touch
	leanRate       = 5_000  // mean distance of quotes in a lean book, as a part of the reference price
	majorTail      = 256    // quotes a side, far from the touch, that stay; most that one step cancels there
	// impactMemory is the time constant, in steps, with which the impact of the takers decays.
	impactMemory = 32
	// impactDoublings bounds the doublings of one order's impact.
	impactDoublings = 7
	// metaDoublings bounds the doublings of the length of a split order.
	metaDoublings = 7
)

// major carries out a step of a pair with a deep book. The makers quote the fair price to the tick: they cancel stale
// quotes, except for a few that arbitrageurs reach first. Most trades are parts of one trader's large order, so their
// sides are alike for a long time.
func (t *step) major() {
	a := t.a
	bid := max(1, t.fair>>8)
	t.stale(engine.Buy, bid+1)
	t.stale(engine.Sell, bid)
	noise := int64(12) // mean number of steps between two noise traders
	if t.night {
		noise = 6 // fewer trades of other kinds at a wide spread
		t.apart = (t.half/nightMajor + 1<<7) >> 8
		t.recede(bid-t.apart, bid+1+t.apart)
	}
	t.refill(engine.Buy, bid-t.apart, -1)
	t.refill(engine.Sell, bid+1+t.apart, 1)
	t.split(bid)
	if a.rng.below(noise) == 0 {
		t.noise(bid)
	}
}

// gap returns the mean distance of quotes near the touch, in ticks.
func (a *agents) gap() int64 { return min(max(a.Reference/majorGapRate, 1), majorGapMost) }

// stale removes the makers' quotes of a side up to a price that crosses the new touch. Other clients' orders at the
// touch are taken.
func (t *step) stale(side engine.Side, limit int64) {
	a := t.a
	l := &a.ladders[side]
	n := l.n
	for n > 0 && !better(side, limit, l.at(n-1).price) {
		n--
	}
	touch := t.bid
	if side == engine.Sell {
		touch = t.ask
	}
	lots := int64(0)
	eaten := 0
	if n < l.n && a.rng.below(8) == 0 {
		eaten = min(l.n-n, 1+int(a.rng.below(3)))
	}
	for i := n; i < l.n-eaten; i++ {
		t.cancel(l.at(i).id)
	}
	own := int64(0) // the makers' lots at the touch
	for i := l.n - 1; i >= 0 && l.at(i).price == touch.Price; i-- {
		own += l.at(i).open
	}
	for i := l.n - eaten; i < l.n; i++ {
		lots += l.at(i).open
	}
	if touch.Price != 0 && !better(side, limit, touch.Price) && touch.Shown > own {
		lots += min(touch.Shown-own, 8*a.typical)
	}
	if lots > 0 {
		t.place(side.Opposite(), engine.IOC, limit, lots)
	}
	t.cleared[side.Opposite()] = l.n - n
}

// refill places a quote at the new touch, several near it, and some between them and the best of the quotes that are
// left. away is the direction of worse prices. It thins out the quotes that the touch has left behind, and keeps their
// number within its bounds. Lean books have neither the near quotes nor a deep end.
func (t *step) refill(side engine.Side, best, away int64) {
	a, gap := t.a, t.a.gap()
	far := max(2*gap, a.Reference/majorFarRate)
	l := &a.ladders[side]
	zone, near, least := 12*gap, majorNear, majorLevelsMin
	if t.lean {
		near, least, far = 0, levelsMin, max(far, a.Reference/leanRate)
	}
	n := l.n - t.cleared[side.Opposite()]
	old := best + away*zone // the best quote left
	if n > 0 {
		old = l.at(n - 1).price
	}
	left := n
	if n == 0 || old != best && (!t.lean || (old-best)*away > far/2) {
		t.lay(side, best, 3)
		n++
	}
	for k := left - 1; k >= 0 && near > 0 && (l.at(k).price-best)*away < zone; k-- {
		near--
	}
	for ; near > 0; near-- {
		t.lay(side, best+away*(1+a.rng.below(zone)), 1)
		n++
	}
	wide := max(far, (old-best)*away/majorRefill)
	for p := best + away*(zone+a.rng.below(2*wide)); (old-p)*away > 0; p += away * (1 + a.rng.below(2*wide-1)) {
		t.lay(side, p, 1)
		n++
	}
	n -= t.thin(l, left, best+away*zone, away, far/2)
	worst := best
	if left > 0 {
		worst = l.at(0).price
	}
	for ; n < least; n++ {
		if worst += away * (1 + a.rng.below(2*far-1)); worst <= 0 {
			break
		}
		t.lay(side, worst, 2)
	}
	for k := 0; n > majorLevelsMax && k < majorTail; k++ {
		t.cancel(l.at(k).id)
		n--
	}
}

// thin cancels quotes among the n that are left, from a price on, that are nearer than least ticks to the one
// before. It looks at the first few, because the touch leaves them behind one step after the other. It returns the
// number of canceled quotes.
func (t *step) thin(l *ladder, n int, from, away, least int64) (canceled int) {
	k := n - 1
	for k >= 0 && (l.at(k).price-from)*away < 0 {
		k--
	}
	kept := from
	for looked := 0; k > majorTail && looked < majorRefill; looked++ {
		if price := l.at(k).price; (price-kept)*away < least {
			t.cancel(l.at(k).id)
			canceled++
		} else {
			kept = price
		}
		k--
	}
	return canceled
}

func (t *step) cancel(id engine.OrderID) {
	t.dst = append(t.dst, engine.Command{Kind: engine.Cancel, Pair: t.a.id, Order: id})
}

// lay places a quote of a random size: on average, times x 6 typical trades, and more on a coarse tick.
func (t *step) lay(side engine.Side, price, times int64) {
	if price > 0 {
		t.place(side, engine.GTC, price, t.a.rng.heavy(6*times*t.a.layer))
	}
}

// split places the next part of a large order. A new one has a random side and a length with a heavy tail.
func (t *step) split(bid int64) {
	a := t.a
	if a.meta == 0 {
		parts := 5 + a.rng.below(8)
		for k := 0; k < metaDoublings && a.rng.below(1000) < 354; k++ { // 2^-1.5
			parts *= 2
		}
		a.meta = parts
		if a.rng.below(2) == 0 {
			a.meta = -parts
		}
	}
	side, sign := engine.Buy, int64(1)
	if a.meta < 0 {
		side, sign = engine.Sell, -1
	}
	a.meta -= sign
	t.takeMajor(side, bid)
	// The order moves the price for a while, some orders far more than others.
	unit := (scaleExp2(t.fair, t.m.world.assets[a.base].sigma) - t.fair) * t.mood >> 8
	for k := 0; k < impactDoublings && a.rng.below(3) == 0; k++ {
		unit *= 2
	}
	a.impact += sign * unit / 4
}

func (t *step) noise(bid int64) { t.takeMajor(engine.Side(t.a.rng.below(2)), bid) }

// takeMajor trades at the touch.
func (t *step) takeMajor(side engine.Side, bid int64) {
	a := t.a
	reach := max(1, t.usual>>6) + t.apart
	limit := bid + 1 + reach
	if side == engine.Sell {
		limit = max(1, bid-reach)
	}
	lots := a.rng.heavy(max(1, a.typical*t.mood>>8))
	if a.rng.below(4) == 0 {
		lots = 4 * a.rng.heavy(max(1, a.typical*t.mood>>8))
	}
	t.place(side, engine.IOC, limit, lots)
}
