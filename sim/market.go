package sim

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/setting"
)

// The time between two steps of a pair is stepBusy on average for the busiest pairs and stepQuiet for the
// quietest. It varies by up to half of the average in both directions.
const (
	stepBusy  = int64(1 * time.Second)
	stepQuiet = int64(5 * time.Second)
	// stepFirst is the time between the first steps of two pairs, so that the first steps do not come all at
	// once.
	stepFirst = int64(20 * time.Millisecond)
	// stepRetry is the time until the next step when the pair does not exist yet or is halted.
	stepRetry = int64(time.Second)
	// fullWeight is the weight from which a pair has the shortest time between steps.
	fullWeight = 100
	// maxWeight and maxPairs limit the members of Options.
	maxWeight = 1000
	maxPairs  = 10_000
	// usualIntensity is the intensity to which the figures of this package belong, in per cent.
	usualIntensity = 100
)

// Options configures a Market. Core must be the core of the loop that runs the market, which reads pairs and
// the touch from it on the loop's goroutine.
type Options struct {
	Core    *engine.Core
	Seed    uint64
	StartNs int64 // time at which the market opens, Unix ns of the loop's clock
	Pairs   []Pair
	// FullNs is the time, Unix ns, before which the major pairs have lean books: a history is then quick to simulate,
	// and the books that people see are deep.
	FullNs int64
	Config
}

// Config says how the market behaves: a part of the section sim of the configuration. A zero value is the built-in one.
type Config struct {
	Intensity int64    `toml:"intensity" default:"100" range:"10 1000" help:"activity of the simulated market in per cent, 10 to 1000"`
	Scenario  Scenario `toml:"scenario" default:"none" oneof:"none, flash-crash, trend, halt, thin-night" help:"pattern that the simulated market follows, by the time of day"`
}

// Validate reports the first invalid member.
func (o *Options) Validate() error {
	if o.Core == nil {
		return errors.New("sim: no core")
	}
	if len(o.Pairs) > maxPairs {
		return fmt.Errorf("sim: %d pairs exceed the limit of %d", len(o.Pairs), maxPairs)
	}
	behaviour := o.Config
	setting.Fill(&behaviour)
	if err := setting.Check("sim.", &behaviour); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range o.Pairs {
		switch {
		case !engine.ValidPairCode(p.Code) || seen[p.Code]:
			return fmt.Errorf("sim: pair %q must be a pair code and must not be listed twice", p.Code)
		case p.Reference < minReference || p.Reference > maxReference:
			return fmt.Errorf("sim: pair %s: the reference price of %d ticks must be from %d to %d",
				p.Code, p.Reference, minReference, maxReference)
		case p.Weight < 1 || p.Weight > maxWeight:
			return fmt.Errorf("sim: pair %s: weight %d must be from 1 to %d", p.Code, p.Weight, maxWeight)
		}
		seen[p.Code] = true
	}
	return nil
}

// Limits of a pair's reference price. A ladder of levelsMax ticks must fit below it, and twice the price in
// units of 2^-8 ticks must fit into int64 with room for products. A price may fall to half of its reference.
const (
	minReference = 500
	maxReference = 1 << 40
)

// Market is the simulated market. As a sequencer.Source its agents place and cancel orders at times of the
// clock; as a sequencer.Observer it receives the resulting events. Owner: the loop's goroutine.
//
//	m := sim.New(sim.Options{Core: core, Seed: 1, StartNs: clk.NowNs(), Pairs: pairs})
//	// after a restart: m.DecodeState(state) over the restored core, then m.Fold(events, pos) for the journal's tail
//	loop := sequencer.NewLoop(sequencer.LoopOptions{..., Sources: []sequencer.Source{m}})
//
// The loop recognizes it as an Observer, so it need not be among the sinks. One Market serves one loop at a time and
// may move to the next (a backfill on a virtual clock, then the process clock). m.AppendState(nil) belongs in the
// snapshot; the caller calls it on the loop's goroutine (loop.Query). A backfill calls loop.AdvanceQuietly in steps:
// one publication per step instead of one per agents' step.
//
// In the simulated world a factor that all currencies share drives their values, and volatility clusters. Ordinary
// pairs have 64 to 88 quotes a side. The major pairs, of weight 40 and more, quote one tick and 1,100 to 1,190 levels a
// side: their makers cancel most stale quotes before arbitrageurs take them, and most of their trades are parts of
// large orders, whose lengths have a heavy tail and which move the price for a while. Every pair has a step, and in it
// a trade, every 1.5 to 7.5 seconds.
type Market struct {
	core  *engine.Core
	world world
	full  int64  // Options.FullNs
	seed  uint64 // of Past

	intensity int64 // per cent
	paused    bool
	pairs     []*agents
	byID      []*agents // by PairID; nil: a pair without agents
	next      *agents   // the agents whose step is next
	depth     []engine.DepthLevel
}

// New returns a market that opens at o.StartNs. It panics on options that Validate refuses,
// because the caller checks them when it reads the configuration.
func New(o Options) *Market {
	if err := o.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	setting.Fill(&o.Config)
	m := &Market{core: o.Core, full: o.FullNs, seed: o.Seed, intensity: o.Intensity}
	m.world = world{ns: o.StartNs, rng: newRNG(o.Seed, "world"), scenario: o.Scenario}
	for _, p := range o.Pairs {
		base, quoted, _ := strings.Cut(p.Code, "_")
		for _, symbol := range []string{base, quoted} {
			if m.world.find(symbol) < 0 {
				m.world.assets = append(m.world.assets, newAsset(o.Seed, symbol))
			}
		}
		a := newAgents(o.Seed, p, &m.world)
		a.dueNs = o.StartNs + int64(len(m.pairs))*stepFirst
		m.pairs = append(m.pairs, a)
	}
	m.choose()
	return m
}

// choose sets next to the agents with the earliest step. When times are equal, the pair that comes first in
// Options wins.
func (m *Market) choose() {
	m.next = nil
	for _, a := range m.pairs {
		if m.next == nil || a.dueNs < m.next.dueNs {
			m.next = a
		}
	}
}

// NextNs returns the time of the next step, Unix ns.
func (m *Market) NextNs() int64 {
	if m.next == nil || m.paused {
		return math.MaxInt64
	}
	return m.next.dueNs
}

// Act appends the commands of the next step, which is due at nowNs.
func (m *Market) Act(nowNs int64, dst []engine.Command) []engine.Command {
	a := m.next
	if a == nil || a.dueNs > nowNs || m.paused {
		return dst
	}
	m.world.advance(a.dueNs)
	if !a.found {
		m.setUp(a)
	}
	ins, ok := m.core.Pair(a.id)
	if !a.found || !ok || ins.State != engine.Online {
		a.dueNs += stepRetry
		m.choose()
		return dst
	}
	if m.world.scenario.halted(m.world.pattern(a.dueNs)) {
		a.dueNs += stepRetry
		dst = a.withdraw(dst)
		m.choose()
		return dst
	}
	a.dueNs += m.pause(a)
	dst = m.step(a, dst)
	m.choose()
	return dst
}

// setUp prepares the agents of a pair once the core has the pair.
func (m *Market) setUp(a *agents) {
	id, ok := m.core.PairByCode(a.Code)
	if !ok {
		return
	}
	ins, ok := m.core.Pair(id)
	if !ok {
		return // the pair belongs to another loop
	}
	a.id, a.found = id, true
	for int(id) >= len(m.byID) {
		m.byID = append(m.byID, nil)
	}
	m.byID[id] = a
	a.measure(ins)
	a.slow = a.fair(&m.world)
}

// pause returns the time until the pair's next step. The mean falls with the square of the weight: the many
// quiet pairs step rarely, so a simulated day takes only a second, and the busiest pairs step all the time.
func (m *Market) pause(a *agents) int64 {
	mean := m.mean(a, a.dueNs)
	return mean/2 + a.rng.below(mean+1)
}

// mean returns the mean time between two steps of a pair around atNs.
func (m *Market) mean(a *agents, atNs int64) int64 {
	busy := int64(min(a.Weight, fullWeight))
	mean := stepQuiet - (stepQuiet-stepBusy)*busy*busy/(fullWeight*fullWeight)
	mean = mean * usualIntensity / m.intensity
	if m.world.scenario.night(m.world.pattern(atNs)) {
		mean = mean * nightSlow / usualIntensity
	}
	return mean
}

// touch returns the best level of a side; price 0 when the side is empty.
func (m *Market) touch(id engine.PairID, side engine.Side) engine.DepthLevel {
	m.depth = m.core.AppendDepth(m.depth[:0], id, side, 1)
	if len(m.depth) == 0 {
		return engine.DepthLevel{}
	}
	return m.depth[0]
}

// Skip tells the market that it did not run until nowNs. Nothing happened meanwhile: there are no trades, the
// world's values did not move, and the fair price continues from the last trade.
func (m *Market) Skip(nowNs int64) {
	m.world.ns = nowNs
	for i, a := range m.pairs {
		a.dueNs = nowNs + int64(i)*stepFirst
		if a.last == 0 {
			continue
		}
		a.offset, a.impact = 0, 0
		a.offset = a.last<<8 - a.fair(&m.world)
	}
	m.choose()
}

// FlagAgent marks the agents' orders among the orders of the built-in account. The Accepted event carries it,
// so that the agents' quotes can be folded from events alone. The engine ignores it.
const FlagAgent uint8 = 1 << 7

// step returns the commands of one pair's agents at one instant. The agents decide by the touch, their own
// quotes and fills, and the world's fair price. The engine applies the commands in this order, before any other
// command.
func (m *Market) step(a *agents, dst []engine.Command) []engine.Command {
	t := step{m: m, a: a, dst: dst, fair: a.fair(&m.world), mood: a.mood(&m.world)}
	t.half = a.half(t.fair, t.mood)
	t.usual = max(1<<7, t.half)
	t.night = m.world.scenario.night(m.world.pattern(m.world.ns))
	if t.night {
		t.half = t.usual*nightWide + a.grid<<7
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
	usual int64 // half without a scenario, at least half a tick
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
	unit := a.layer * (4 + min(max(depth, 0), 60)/4)
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

// Observe folds the events of a command immediately after it was applied (sequencer.Observer). A sink would be
// later when the loop waits for durability, and the agents' decisions must not depend on the speed of a disk.
func (m *Market) Observe(events []engine.Event) {
	for i := range events {
		ev := &events[i]
		if ev.Pair == engine.ControlPair {
			continue
		}
		if a := m.agents(ev.Pair); a != nil && ev.Seq > a.seq {
			a.seq = ev.Seq
			a.see(ev)
		} else if a == nil && ev.Kind == engine.EventAccepted && ev.Flags&FlagAgent != 0 {
			m.adopt(ev)
		}
	}
}

func (m *Market) agents(id engine.PairID) *agents {
	if uint64(id) >= uint64(len(m.byID)) {
		return nil
	}
	return m.byID[id]
}

// adopt sets up a pair's agents from the pair's events: after a restart these arrive before the first step.
func (m *Market) adopt(ev *engine.Event) {
	for _, a := range m.pairs {
		if a.found {
			continue
		}
		if ins, ok := m.core.Pair(ev.Pair); ok && ins.Code == a.Code {
			m.setUp(a)
			a.seq = ev.Seq
			a.see(ev)
		}
	}
}

// Fold runs Observe for the events of a recovered journal. It skips events that the market has already folded.
func (m *Market) Fold(events []engine.Event, _ uint64) { m.Observe(events) }

func (a *agents) see(ev *engine.Event) {
	switch ev.Kind {
	case engine.EventAccepted:
		if ev.Flags&FlagAgent != 0 && ev.TIF == engine.GTC {
			a.ladders[ev.Side].insert(ev.Side, quote{ev.Order, ev.Price, ev.Amount})
		}
	case engine.EventTrade:
		a.trade(ev)
	case engine.EventCanceled:
		a.setOpen(ev.Side, ev.Order, anyPrice[ev.Side], 0)
	case engine.EventReduced:
		a.setOpen(engine.Buy, ev.Order, anyPrice[engine.Buy], ev.OpenAmount)
		a.setOpen(engine.Sell, ev.Order, anyPrice[engine.Sell], ev.OpenAmount)
	case engine.EventReplaced:
		// Agents do not replace orders, so another authorized client did. The ladder identifies quotes by price;
		// it drops this one and leaves the order in the book.
		a.setOpen(ev.Side, ev.Order, anyPrice[ev.Side], 0)
	default: // levels, refusals and changes of the pair do not affect quotes
	}
}

// trade updates the makers' stock and quotes after a trade.
func (a *agents) trade(ev *engine.Event) {
	a.last = ev.Price
	if a.setOpen(ev.Side.Opposite(), ev.Maker, ev.Price, ev.MakerOpen) {
		a.stock += signed(ev.Side.Opposite(), ev.Amount)
	}
	// A quote that matched on arrival was the taker of the trade.
	if a.setOpen(ev.Side, ev.Order, ev.Price, ev.OpenAmount) {
		a.stock += signed(ev.Side, ev.Amount)
	}
}

func signed(side engine.Side, lots int64) int64 {
	if side == engine.Sell {
		return -lots
	}
	return lots
}

// anyPrice holds, by side, a price that no order of the side is worse than.
var anyPrice = [2]int64{engine.Buy: 0, engine.Sell: math.MaxInt64}

// setOpen sets the open amount of a quote; 0 removes the quote from the ladder. It returns false when the order
// is not a quote.
func (a *agents) setOpen(side engine.Side, id engine.OrderID, price, open int64) bool {
	l := &a.ladders[side]
	i := l.find(side, id, price)
	if i < 0 {
		return false
	}
	if open > 0 {
		l.at(i).open = open
	} else {
		l.remove(i)
	}
	return true
}
