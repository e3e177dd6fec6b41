package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tickhive/engine"
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
	// The bounds of Options.Intensity.
	minIntensity, usualIntensity, maxIntensity = 10, 100, 1000
	maxPairs                                   = 10_000
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
	// Intensity is the activity in per cent of the usual one, 10 to 1000; 0: 100.
	Intensity int64
	Scenario  Scenario
}

// Validate reports the first invalid member.
func (o *Options) Validate() error {
	if o.Core == nil {
		return errors.New("sim: no core")
	}
	if len(o.Pairs) > maxPairs {
		return fmt.Errorf("sim: %d pairs exceed the limit of %d", len(o.Pairs), maxPairs)
	}
	if o.Intensity != 0 && (o.Intensity < minIntensity || o.Intensity > maxIntensity) {
		return fmt.Errorf("sim: intensity: %d must be from %d to %d per cent", o.Intensity, minIntensity, maxIntensity)
	}
	if !o.Scenario.valid() {
		return fmt.Errorf("sim: scenario: %q is unknown", o.Scenario)
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
// units of 2^-8 ticks must fit into int64 with room for products.
const (
	minReference = 1_000
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
	full  int64 // Options.FullNs

	intensity int64 // per cent
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
	m := &Market{core: o.Core, full: o.FullNs, intensity: cmp.Or(o.Intensity, usualIntensity)}
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
	if m.next == nil {
		return math.MaxInt64
	}
	return m.next.dueNs
}

// Act appends the commands of the next step, which is due at nowNs.
func (m *Market) Act(nowNs int64, dst []engine.Command) []engine.Command {
	a := m.next
	if a == nil || a.dueNs > nowNs {
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
	if m.world.scenario.halted(a.dueNs) {
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
	busy := int64(min(a.Weight, fullWeight))
	mean := stepQuiet - (stepQuiet-stepBusy)*busy*busy/(fullWeight*fullWeight)
	mean = mean * usualIntensity / m.intensity
	if m.world.scenario.night(a.dueNs) {
		mean = mean * nightSlow / usualIntensity
	}
	return mean/2 + a.rng.below(mean+1)
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
