package sim

import (
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Pair is a pair that the simulated market trades.
type Pair struct {
	Code      string
	Reference int64 // ticks; the first price, to which the price reverts over weeks
	Weight    int   // 1 to 1000: trading activity relative to the other pairs
}

// Parameters of the agents. The unit is 10^-5 of the price unless a comment says otherwise.
const (
	gridRate     = 22 // distance between two quotes
	halfRate     = 11 // half of the usual spread
	priceUnits   = 100_000
	levelsMin    = 64 // quotes a side that the makers maintain; the contract requires 50 at any time
	levelsMax    = 88
	refillMost   = 48 // most quotes a side that one step places near the touch
	farMost      = 72 // most quotes a side that one step places or cancels far from the touch
	typicalTimes = 3  // size of a typical trade of a pair with weight 10, in smallest orders of the pair
)

// agents holds the state of the agents of one pair: the makers' quotes and stock, and the averages that the
// takers use. Owner: the Market.
type agents struct {
	Pair
	base, quote int // indexes in world.assets
	id          engine.PairID
	found       bool

	rng     rng
	dueNs   int64
	ladders [2]ladder
	stock   int64 // lots that the makers have bought minus lots that they have sold
	slow    int64 // slow average of the fair price in 2^-8 ticks; momentum traders compare it with the fair price
	offset  int64 // 2^-8 ticks added to the fair price after Skip; it decays to 0
	last    int64 // price in ticks of the pair's last trade by any client
	impact  int64 // 2^-8 ticks by which recent takers of a major pair moved the price; it decays to 0
	meta    int64 // parts left of the large order of a major pair; below 0: of a sell
	seq     engine.Seq

	grid    int64 // ticks between two quotes
	typical int64 // lots of a typical trade
	layer   int64 // typical, or more where a coarse tick keeps quotes apart: lots from which their sizes are made
	least   int64 // lots of the smallest order that the engine accepts
	salt    uint64
}

func newAgents(seed uint64, p Pair, w *world) *agents {
	base, quoted, _ := strings.Cut(p.Code, "_")
	r := newRNG(seed, "pair "+p.Code)
	return &agents{
		Pair: p, base: w.find(base), quote: w.find(quoted), rng: r, salt: uint64(newRNG(0, p.Code)),
	}
}

// measure computes the sizes that depend on the pair's digits and its smallest order.
func (a *agents) measure(ins *engine.Instrument) {
	a.grid = max(1, a.Reference*gridRate/priceUnits)
	smallest := ins.MinQuote
	if !ins.HasMinQuote || smallest.IsZero() {
		smallest = defaultSmallest(ins)
	}
	lots, rest := smallest.DivMod64(uint64(max(a.Reference/2, 1))) // the price may fall to half of the reference
	if rest != 0 {
		lots = lots.Add(fixed.FromU64(1))
	}
	if lots.Hi != 0 || lots.Lo > maxLots {
		lots = fixed.FromU64(maxLots)
	}
	a.least = max(1, int64(lots.Lo))
	a.typical = max(a.least*typicalTimes*int64(a.Weight)/10, a.least*3/2)
	fine := int64(priceUnits / gridRate) // ticks of a reference price whose quotes are at the intended distance
	if a.Weight >= majorWeight {
		fine = majorGapRate
	}
	a.layer = a.typical * max(16, 16*fine/a.Reference) / 16
}

// maxLots limits the smallest order, so that sizes computed from it cannot overflow int64.
const maxLots = 1 << 40

// defaultSmallest returns the value of the smallest order to assume for a pair without a minimum: 5 units of the quote
// currency, as for a dollar. For BTC, ETH and BNB, which are worth more, it returns about the same value.
func defaultSmallest(ins *engine.Instrument) fixed.U128 {
	unit := fixed.FromU64(1)
	for range ins.DigitsTotal() {
		unit, _ = unit.MulCheck(10)
	}
	switch ins.Quote {
	case "BTC":
		q, _ := unit.DivMod64(10_000)
		return q
	case "ETH", "BNB":
		q, _ := unit.DivMod64(500)
		return q
	}
	five, _ := unit.MulCheck(5)
	return five
}

// gridPrice returns the price of the quote with number i. The distances between quotes vary slightly, as in a
// real book, but equal numbers always give equal prices.
func (a *agents) gridPrice(i int64) int64 {
	price := i * a.grid
	if wide := a.grid / 2; wide > 0 {
		price += int64(mix(uint64(i)^a.salt) % uint64(wide+1))
	}
	return price
}

// fair returns the fair price, in 2^-8 ticks.
func (a *agents) fair(w *world) int64 {
	level := w.assets[a.base].level - w.assets[a.quote].level + w.shift(a)
	return max(1<<8, scaleExp2(a.Reference<<8, level)+a.offset+a.impact)
}

// mood returns the pair's volatility divided by the volatility of calm times, in units of 2^-8, from 64 to
// 1024.
func (a *agents) mood(w *world) int64 {
	return min(max(scaleExp2(1<<8, clamp(w.shared+w.assets[a.base].vol, volBound)<<16), 64), 1024)
}

// Capacities of a ladder in quotes; powers of two. The makers place far fewer than ladderMost.
const (
	ladderFirst = 256
	ladderMost  = 4096
)

// quote is a resting order of the market makers.
type quote struct {
	id    engine.OrderID
	price int64 // ticks
	open  int64 // lots
}

// ladder holds the makers' quotes on one side of a pair, from the worst (0) to the best (n-1). It is a ring,
// because quotes are added and removed at both ends. The ring grows up to ladderMost.
type ladder struct {
	ring []quote
	head int
	n    int
}

func (l *ladder) at(i int) *quote { return &l.ring[(l.head+i)&(len(l.ring)-1)] }

// best returns the quote nearest to the other side, nil when there is none.
func (l *ladder) best() *quote {
	if l.n == 0 {
		return nil
	}
	return l.at(l.n - 1)
}

// find returns the index of an order, -1 when it is not on the ladder. No price of the order is worse than price. It
// searches from the best quote, because most lookups are for quotes near it.
func (l *ladder) find(side engine.Side, id engine.OrderID, price int64) int {
	for i := l.n - 1; i >= 0; i-- {
		q := l.at(i)
		if q.id == id {
			return i
		}
		if better(side, price, q.price) {
			break
		}
	}
	return -1
}

// insert inserts a quote by its price. It returns false when the ladder is full.
func (l *ladder) insert(side engine.Side, q quote) bool {
	if l.n == len(l.ring) && !l.grow() {
		return false
	}
	i := l.n
	if i > 0 && !better(side, q.price, l.at(i-1).price) && !better(side, q.price, l.at(0).price) {
		i = 0 // worse than all others: the second most frequent case after a new best quote
		l.head = (l.head - 1) & (len(l.ring) - 1)
		l.n++
		*l.at(0) = q
		return true
	}
	for i > 0 && better(side, l.at(i-1).price, q.price) {
		i--
	}
	l.n++
	for k := l.n - 1; k > i; k-- {
		*l.at(k) = *l.at(k - 1)
	}
	*l.at(i) = q
	return true
}

// grow doubles the ring. It returns false when the ring has its largest size.
func (l *ladder) grow() bool {
	if len(l.ring) == ladderMost {
		return false
	}
	ring := make([]quote, max(ladderFirst, 2*len(l.ring)))
	for i := range l.n {
		ring[i] = *l.at(i)
	}
	l.ring, l.head = ring, 0
	return true
}

func (l *ladder) remove(i int) {
	if i == 0 {
		l.head = (l.head + 1) & (len(l.ring) - 1)
		l.n--
		return
	}
	for ; i < l.n-1; i++ {
		*l.at(i) = *l.at(i + 1)
	}
	l.n--
}

// better reports whether price a is nearer to the other side than price b.
func better(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a > b
	}
	return a < b
}
