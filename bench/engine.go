package bench

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tickhive/tickhive/bench/limits/floor"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// Rules of the measurements E1 to E5 (docs/internals/performance.md#measurement): one account, self-trade mode
// none, order ids as dense as the workload's. A replace is a cancel and a place, and counts as one operation.
// The measured time includes building the commands, reading every event once and hashing the fills.

// startNs is the time of the first command of a generated market, Unix ns at midnight.
const startNs = 20_000 * 86_400 * int64(time.Second)

func benchInstrument(code string) *engine.Instrument {
	return &engine.Instrument{
		Code: code + "_USDT", Base: code, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 0,
		MakerFee: 100_000, TakerFee: 200_000,
	}
}

// runEngine measures E1 to E6.
func runEngine(r *Run) error {
	for _, name := range floor.Names {
		if err := engineWorkload(r, name); err != nil {
			return err
		}
	}
	if err := coreMemory(r); err != nil {
		return err
	}
	if err := worstCommands(r); err != nil {
		return err
	}
	return engineLoop(r)
}

// engineWorkload measures E1, E1a, E2 and E5 on a workload: the floor, the core, the core with the orders of users, and
// core and feed.
func engineWorkload(r *Run, name string) error {
	w := floor.Generate(name)
	n := float64(len(w.Ops))
	var done wl.Stats // of the floor, in this round
	applied := func(c *coreRun) (ns, mallocs float64, err error) {
		c.run(w.Preload)
		before := proc.Mallocs()
		ns = proc.CPUNs(func() { c.run(w.Ops) })
		return ns / n, float64(proc.Mallocs()-before) / n, checked(name, c.stats, done)
	}
	return r.rounds(name, r.cpuRounds(), func(f figures) error {
		book := floor.NewBook(name, w)
		floor.Run(book, w.Preload)
		f["floor"] = proc.CPUNs(func() { floor.Run(book, w.Ops) }) / n
		done = book.St
		return nil
	}, func(f figures) error {
		ns, mallocs, err := applied(newCoreRun(nil))
		f[name+" core"], f["built-in account"], f[name+" allocations, growth included"] = ns, ns, mallocs
		return err
	}, func(f figures) (err error) {
		f[name+" core, orders of users"], _, err = applied(newCoreRun(nil).withUsers())
		return err
	}, func(f figures) (err error) {
		f[name+" core + books, trades, candles, windows"], _, err = applied(newFolded())
		return err
	})
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
	cmd engine.Command    // the next one; each use sets every member that commands of the run differ in
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
}

func (r *coreRun) place(o *wl.Op, id uint64) {
	cmd := &r.cmd
	cmd.Kind, cmd.Side, cmd.Price, cmd.Amount, cmd.Order = engine.Place, engine.Side(o.Side), o.Price, int64(o.Qty), 0
	if r.named {
		r.client = engine.ClientID{Text: "x", Hash: [2]uint64{id * 0x9E3779B97F4A7C15, id * 0xC2B2AE3D27D4EB4F}}
		cmd.Client = &r.client
	}
	if r.ids != nil {
		r.own(cmd, id)
	}
	r.apply(cmd)
}

func (r *coreRun) cancel(o *wl.Op) {
	cmd := &r.cmd
	cmd.Kind, cmd.Side, cmd.Price, cmd.Amount, cmd.Order = engine.Cancel, 0, 0, 0, engine.OrderID(o.ID)
	if r.ids != nil {
		cmd.Account = userOf(mixed(o.ID), engine.Side(o.Side))
	}
	r.apply(cmd)
}

func (r *coreRun) apply(cmd *engine.Command) {
	r.now += 1000 // a million commands a second of market time
	cmd.TimeNs, cmd.First = r.now, true
	r.read(r.core.Apply(cmd, r.events[:0]))
	for r.core.Unfinished(cmd.Pair) {
		rest := engine.Command{Kind: engine.Continue, Pair: cmd.Pair, TimeNs: r.now, First: true}
		r.read(r.core.Apply(&rest, r.events[:0]))
	}
}

// read reads the events of a command, or of a part of one.
func (r *coreRun) read(events []engine.Event) {
	sum := r.sum
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

// users is the number of accounts of E1a (docs/internals/performance.md#e1a).
const users = 100

// withUsers gives the orders accounts and client ids, as trading clients send them. Buyers and sellers have different
// accounts, so every order trades that would trade without accounts; half of the orders have client ids.
func (r *coreRun) withUsers() *coreRun {
	r.ids = make([]engine.ClientID, 4096)
	return r
}

// userOf returns the account of an order whose number has the hash h.
func userOf(h uint64, side engine.Side) engine.AccountID {
	return engine.AccountID(1 + h%(users/2) + users/2*uint64(side))
}

// own gives an order an account, the account's settings and, if its number is even, a client id.
func (r *coreRun) own(cmd *engine.Command, id uint64) {
	h := mixed(id)
	cmd.Account = userOf(h, cmd.Side)
	cmd.STP = engine.CancelTaker
	if cmd.Client = nil; id%2 == 0 {
		cmd.Client = &r.ids[id/2%uint64(len(r.ids))]
		*cmd.Client = engine.ClientID{Text: "x", Hash: [2]uint64{h, ^h}}
	}
}

// mixed returns a hash of an order's number whose bits are all well mixed (the finalizer of SplitMix64).
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// publishEvery is the number of commands between two publications of views
// (docs/internals/performance.md#e5).
const publishEvery = 64

// newFolded returns a core run whose events are folded by a feed without order history.
func newFolded() *coreRun {
	feed := marketdata.NewFeed(marketdata.Options{NoOrders: true})
	n := 0
	return newCoreRun(func(events []engine.Event) {
		feed.Fold(events)
		if n++; n%publishEvery == 0 {
			feed.Publish(events[0].TimeNs)
		}
	})
}

// coreMemory measures E3 (docs/internals/performance.md#e3): the memory of the resting orders of w2 with every
// index. One order that survives alone in its index page of 512 numbers keeps 2 KiB; without client id an order is
// 64 + 24 + 4 bytes and its level's share.
func coreMemory(r *Run) error {
	w := floor.Generate("w2")
	of := func(name string, named bool) turn {
		return func(f figures) error {
			before := heap()
			c := newCoreRun(nil)
			c.named = named
			c.run(w.Preload)
			f[name] = float64(heap()-before) / float64(c.core.OpenOrders(0))
			runtime.KeepAlive(c)
			return nil
		}
	}
	return r.rounds("memory", 1, of("w2 memory of a resting order", false),
		of("w2 memory of a resting order with a client id", true))
}

// worstCase compares one large command with the same work in many small commands.
type worstCase struct {
	name    string
	account engine.AccountID
	n       int
	price   func(i int64) int64
	one     func(c *coreRun, account engine.AccountID, i int)
	all     func(c *coreRun, account engine.AccountID)
}

// worstCommands measures how long one large command holds the loop, compared with the same work in small
// commands (docs/internals/performance.md#e4).
func worstCommands(r *Run) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spread := func(i int64) int64 { return 1 + i*7919%400 }
	for _, x := range []worstCase{
		{"sweep of 5,000 orders", 0, 5000, func(int64) int64 { return 1000 }, sweepOne, sweepAll},
		{"mass cancel of 10,000, built-in account", 0, 10_000, spread, cancelOne, massCancel},
		{"mass cancel of 10,000, one account of two", 3, 10_000, spread, cancelOne, massCancel},
	} {
		var single, whole *coreRun
		err := r.rounds(x.name, 3*r.Rounds, func(figures) error {
			single, whole = x.build(), x.build()
			runtime.GC()
			return nil
		}, func(f figures) error {
			start := proc.ThreadCPU()
			for i := range x.n {
				x.one(single, x.account, i)
			}
			f["one by one"] = float64(proc.ThreadCPU()-start) / 1e3
			return nil
		}, func(f figures) error {
			start := proc.ThreadCPU()
			x.all(whole, x.account)
			f[x.name] = float64(proc.ThreadCPU()-start) / 1e3
			if whole.core.OpenOrders(0) != single.core.OpenOrders(0) || whole.stats != single.stats {
				return fmt.Errorf("%s: the work is not the same", x.name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// build returns a book of n orders. For a mass cancel, as many orders of another account lie between them.
func (x *worstCase) build() *coreRun {
	c := newCoreRun(nil)
	c.events = make([]engine.Event, 0, 32<<10)
	for i := range int64(x.n) {
		for _, account := range []engine.AccountID{x.account, 9} {
			if account == 9 && x.price(0) == x.price(1) {
				continue
			}
			c.apply(&engine.Command{Side: engine.Buy, Price: x.price(i), Amount: 1, Account: account})
		}
	}
	return c
}

func sweepOne(c *coreRun, _ engine.AccountID, _ int) {
	c.apply(&engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 1000, Amount: 1})
}

func sweepAll(c *coreRun, _ engine.AccountID) {
	c.apply(&engine.Command{Kind: engine.Place, Side: engine.Sell, Price: 1000, Amount: 5000})
}

func cancelOne(c *coreRun, account engine.AccountID, i int) {
	c.apply(&engine.Command{Kind: engine.Cancel, Order: engine.OrderID(2*i + 1), Account: account})
}

func massCancel(c *coreRun, account engine.AccountID) {
	c.apply(&engine.Command{Kind: engine.CancelAll, Account: account})
}
