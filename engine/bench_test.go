package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/bench/limits/floor"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// The measurement of docs/internals/performance.md#measurement: one account, self-trade mode none,
// ids dense as the workload's; a replace is a cancel and a place, counted as one operation;
// commands are built from the record inside the clock, every event is read once and the fills
// hashed. CPU time of the process, the reference and the core in turn.
const benchRounds = 7

func cpuNs() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// coreRun drives a core with a workload.
type coreRun struct {
	core   *engine.Core
	events []engine.Event
	stats  wl.Stats
	sum    uint64 // of what is read of every event
	client engine.ClientID
	named  bool // orders carry client ids
}

func newCoreRun() *coreRun {
	r := &coreRun{core: engine.NewCore(engine.Options{}), events: make([]engine.Event, 0, 1024)}
	inst := enginetest.Instrument()
	r.core.Apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst}, nil)
	return r
}

func (r *coreRun) run(ops []wl.Op) {
	for i := range ops {
		o := &ops[i]
		switch o.Type {
		case wl.Limit:
			r.place(o.Side, o.ID, o.Price, o.Qty, int64(i))
		case wl.Cancel:
			r.cancel(o.ID, int64(i))
		default:
			r.cancel(o.ID, int64(i))
			r.place(o.Side, o.NewID, o.Price, o.Qty, int64(i))
		}
	}
}

func (r *coreRun) place(side uint8, id uint64, price int64, qty uint32, now int64) {
	cmd := engine.Command{
		TimeNs: now, Kind: engine.Place, Side: engine.Side(side), Price: price, Amount: int64(qty),
	}
	if r.named {
		r.client = engine.ClientID{Text: "x", Hash: [2]uint64{id * 0x9E3779B97F4A7C15, id * 0xC2B2AE3D27D4EB4F}}
		cmd.Client = &r.client
	}
	cmd.First = true
	r.events = r.core.Apply(&cmd, r.events[:0])
	r.Read()
}

func (r *coreRun) cancel(id uint64, now int64) {
	cmd := engine.Command{TimeNs: now, Kind: engine.Cancel, Order: engine.OrderID(id)}
	cmd.First = true
	r.events = r.core.Apply(&cmd, r.events[:0])
	r.Read()
}

func (r *coreRun) Read() {
	for i := range r.events {
		e := &r.events[i]
		if e.Kind == engine.EventTrade {
			r.stats.Add(uint64(e.Maker), e.Price, e.Amount)
		}
		r.sum += uint64(e.Seq) ^ uint64(e.Kind) ^ uint64(e.Amount)
	}
}

// BenchmarkE1 is the complete core against the floor on the three workloads; -benchtime=1x.
func BenchmarkE1(b *testing.B) {
	for _, name := range floor.Names {
		b.Run(name, func(b *testing.B) {
			w := floor.Generate(name)
			for b.Loop() {
				compareRounds(b, name, w)
			}
		})
	}
}

func compareRounds(b *testing.B, name string, w *wl.Workload) {
	var ratios, ours, floors []float64
	n := float64(len(w.Ops))
	for range benchRounds {
		book := floor.NewBook(name, w)
		floor.Run(book, w.Preload)
		runtime.GC()
		c := cpuNs()
		floor.Run(book, w.Ops)
		base := float64(cpuNs() - c)

		r := newCoreRun()
		r.run(w.Preload)
		runtime.GC()
		c = cpuNs()
		r.run(w.Ops)
		cost := float64(cpuNs() - c)
		if r.stats != book.St {
			b.Fatalf("%s: fills differ: %+v, the floor has %+v", name, r.stats, book.St)
		}
		if want := floor.Expected[name]; r.stats.Hash != want.Hash {
			b.Fatalf("%s: hash %x, not the anchor's %x", name, r.stats.Hash, want.Hash)
		}
		ratios = append(ratios, cost/base)
		ours = append(ours, cost/n)
		floors = append(floors, base/n)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[0], "x-floor-min")
	b.ReportMetric(ratios[len(ratios)/2], "x-floor-median")
	b.ReportMetric(ratios[len(ratios)-1], "x-floor-max")
	b.ReportMetric(slices.Min(ours), "cpu-ns/op-min")
	b.ReportMetric(slices.Min(floors), "floor-ns/op-min")
	b.ReportMetric(slices.Min(ours)/slices.Min(floors), "x-best-rounds")
}

// heapBytes returns the size of the live heap after a collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkE2 is the allocations an operation of a whole run, growth included.
func BenchmarkE2(b *testing.B) {
	for _, name := range floor.Names {
		b.Run(name, func(b *testing.B) {
			w := floor.Generate(name)
			for b.Loop() {
				r := newCoreRun()
				r.run(w.Preload)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r.run(w.Ops)
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(len(w.Ops)), "mallocs/op")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(w.Ops)), "bytes/op")
			}
		})
	}
}

// BenchmarkE3 is the memory of a resting order of w2's preloaded book, everything counted.
func BenchmarkE3(b *testing.B) {
	for _, named := range []bool{false, true} {
		b.Run(fmt.Sprintf("client=%v", named), func(b *testing.B) {
			w := floor.Generate("w2")
			for b.Loop() {
				before := heapBytes()
				r := newCoreRun()
				r.named = named
				r.run(w.Preload)
				b.ReportMetric(float64(heapBytes()-before)/float64(r.core.OpenOrders(0)), "bytes/order")
				r.run(w.Ops)
				b.ReportMetric(float64(heapBytes()-before)/float64(r.core.OpenOrders(0)), "bytes/order-after-ops")
				runtime.KeepAlive(r)
			}
		})
	}
}

// BenchmarkCore is the core alone, for profiles.
func BenchmarkCore(b *testing.B) { benchmarkCore(b, nil) }

// BenchmarkCoreAsks asks for money that never ends.
func BenchmarkCoreAsks(b *testing.B) { benchmarkCore(b, &enough{}) }

func benchmarkCore(b *testing.B, f engine.Funds) {
	for _, name := range floor.Names {
		b.Run(name, func(b *testing.B) {
			w := floor.Generate(name)
			best := int64(1) << 62
			for b.Loop() {
				b.StopTimer()
				r := newCoreRun()
				r.core.SetFunds(f)
				r.run(w.Preload)
				runtime.GC()
				b.StartTimer()
				c := cpuNs()
				r.run(w.Ops)
				best = min(best, cpuNs()-c)
			}
			b.ReportMetric(float64(best)/float64(len(w.Ops)), "cpu-ns/op-min")
		})
	}
}
