package bench

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"tickhive/bench/limits/floor"
	"tickhive/bench/limits/floor/wl"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/engine"
)

// Rules of the measurements E1 to E5 (docs/internals/performance.md#measurement): one account, self-trade mode
// none, order ids as dense as the workload's. A replace is a cancel and a place, and counts as one operation.
// The measured time includes building the commands, reading every event once and hashing the fills.

// startNs is the time of the first command of a generated market, Unix ns at midnight.
const startNs = 20_000 * 86_400 * int64(time.Second)

func benchInstrument(code string) *engine.Instrument {
	return &engine.Instrument{Code: code + "_USDT", Base: code, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 0}
}

// coreRun applies a workload to a core. It passes the events to follow, unless that is nil.
type coreRun struct {
	core   *engine.Core
	events []engine.Event
	stats  wl.Stats
	sum    uint64 // checksum over the fields read from every event
	now    int64
	client engine.ClientID
	named  bool // orders have client order ids
	follow func(events []engine.Event)

	ids []engine.ClientID // of the newest orders of users; nil: all orders are of the built-in account

	one   engine.Command   // the next one, unless commands wait
	queue []engine.Command // commands that wait for each other; without capacity, none does
	ahead []*engine.Command
}

func newCoreRun(follow func([]engine.Event)) *coreRun {
	r := &coreRun{
		core: engine.NewCore(engine.Options{}), events: make([]engine.Event, 0, 1024), now: startNs,
		follow: follow,
	}
	r.apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: benchInstrument("BTC")})
	return r
}

func (r *coreRun) run(ops []wl.Op) {
	for i := range ops {
		o := &ops[i]
		switch o.Type {
		case wl.Limit:
			r.place(o, o.ID)
		case wl.Cancel:
			r.cancel(o)
		default:
			r.cancel(o)
			r.place(o, o.NewID)
		}
	}
	r.flush()
}

func (r *coreRun) place(o *wl.Op, id uint64) {
	cmd := r.next()
	cmd.Kind, cmd.Side, cmd.Price, cmd.Amount, cmd.Order = engine.Place, engine.Side(o.Side), o.Price, int64(o.Qty), 0
	if r.named {
		r.client = engine.ClientID{Hash: [2]uint64{id * 0x9E3779B97F4A7C15, id * 0xC2B2AE3D27D4EB4F}}
		cmd.Client = &r.client
	}
	if r.ids != nil {
		r.own(cmd, id)
	}
	r.submit()
}

func (r *coreRun) cancel(o *wl.Op) {
	cmd := r.next()
	cmd.Kind, cmd.Side, cmd.Price, cmd.Amount, cmd.Order = engine.Cancel, 0, 0, 0, engine.OrderID(o.ID)
	if r.ids != nil {
		cmd.Account = userOf(mixed(o.ID), engine.Side(o.Side))
	}
	r.submit()
}

func (r *coreRun) apply(cmd *engine.Command) {
	r.now += 1000 // a million commands a second of market time
	cmd.TimeNs = r.now
	events, sum := r.core.Apply(cmd, r.events[:0]), r.sum
	for i := range events {
		e := &events[i]
		if e.Kind == engine.EventTrade {
			r.stats.Add(uint64(e.Maker), e.Price, e.Amount)
		}
		sum += uint64(e.Seq) ^ uint64(e.Kind) ^ uint64(e.Amount)
	}
	r.sum, r.events = sum, events
	if r.follow != nil {
		r.follow(events)
	}
}

// checked returns an error when a run's fills and hash differ from the reference's.
func checked(name string, got, want wl.Stats) error {
	if got != want {
		return fmt.Errorf("%s: the fills differ: %+v, the floor has %+v", name, got, want)
	}
	if hash := floor.Expected[name].Hash; got.Hash != hash {
		return fmt.Errorf("%s: hash %x, not the anchor's %x", name, got.Hash, hash)
	}
	return nil
}

// coreTargets holds the targets of E1 and E5 by workload (docs/internals/performance.md#engine).
var coreTargets = map[string]struct{ core, folded float64 }{"w1": {3, 9}, "w2": {3.2, 16}, "w3": {3.3, 8}}

func runEngine(r *Run) error {
	for _, name := range floor.Names {
		r.say("%s: floor, core, core and feed", name)
		if err := engineWorkload(r, name); err != nil {
			return err
		}
	}
	r.say("E3, E4")
	coreMemory(r)
	if err := worstCommands(r); err != nil {
		return err
	}
	if err := engineLoop(r); err != nil {
		return err
	}
	return nil
}

func engineWorkload(r *Run, name string) error {
	w := floor.Generate(name)
	n := float64(len(w.Ops))
	aim := coreTargets[name]
	with := fmt.Sprintf("%d operations, %d preloaded", len(w.Ops), len(w.Preload))
	core := r.S.Cost(name+" core", "ns/op", with).Against("floor").Aim("E1", aim.core)
	alloc := r.S.Cost(name+" allocations, growth included", "mallocs/op", with).Aim("E2", 0.001)
	more := newCoreVariants(r, name, with)
	fold := r.S.Cost(name+" core + books, trades, candles, windows", "ns/op",
		with+", published every 64 commands").Against("floor").Aim("E5", aim.folded)
	orders := r.S.Cost(name+" the same and the order history", "ns/op",
		with+", published every 64 commands").Against("floor")
	for i := range r.cpuRounds() { // which takes minutes when others use the machine
		r.say("%s: round %d of %d", name, i+1, r.cpuRounds())
		book := floor.NewBook(name, w)
		floor.Run(book, w.Preload)
		base := proc.CPUNs(func() { floor.Run(book, w.Ops) }) / n

		c := newCoreRun(nil)
		c.run(w.Preload)
		before := proc.Mallocs()
		cost := proc.CPUNs(func() { c.run(w.Ops) }) / n
		alloc.Round(float64(proc.Mallocs()-before) / n)
		if err := checked(name, c.stats, book.St); err != nil {
			return err
		}
		core.Round(cost, base)
		if err := more.round(name, w, book.St, base, cost); err != nil {
			return err
		}
		for _, m := range []*report.Measure{fold, orders} {
			if m == orders && i >= r.Rounds {
				break // no goal depends on it
			}
			f := newFolded(m == fold)
			f.run(w.Preload)
			cost := proc.CPUNs(func() { f.run(w.Ops) }) / n
			if err := checked(name, f.stats, book.St); err != nil {
				return err
			}
			m.Round(cost, base)
		}
	}
	floorNs, coreNs := slices.Min(fold.Reference), slices.Min(core.Product)
	fold.Reason = fmt.Sprintf("the floor's best round is %.1f ns, the core's %.1f, and folding and publishing add "+
		"%.1f; the rounds' median is %.2fx",
		floorNs, coreNs, slices.Min(fold.Product)-coreNs, fold.Spread().Median)
	return nil
}

// coreMemory measures E3 (docs/internals/performance.md#e3): the memory of the resting orders of w2 with every
// index.
func coreMemory(r *Run) {
	w := floor.Generate("w2")
	for _, named := range []bool{false, true} {
		name, target := "w2 memory of a resting order", 120.
		if named {
			name, target = "w2 memory of a resting order with a client id", 180
		}
		m := r.S.Cost(name, "bytes", fmt.Sprintf("%d resting", len(w.Preload))).Aim("E3", target)
		before := heap()
		c := newCoreRun(nil)
		c.named = named
		c.run(w.Preload)
		m.Round(float64(heap()-before) / float64(c.core.OpenOrders(0)))
		runtime.KeepAlive(c)
	}
	r.S.Note("E3: one order that survives alone in its index page of 512 numbers keeps 2 KiB; without client id an " +
		"order is 64 + 24 + 4 bytes and its level's share")
}
