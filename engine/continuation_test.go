package engine_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// sliced is a core with small parts beside one without parts. Both get the same commands; between
// two parts the sliced core is sometimes encoded, thrown away and decoded.
type sliced struct {
	t           *testing.T
	opts        engine.Options
	whole, core *engine.Core
	purses      [2]*purse // of whole and of core
	reader      *enginetest.Reader
	now         int64
	crash       func() bool

	parts, most, crashes int // parts beyond the first, most parts of a command
	visits               int // most visits of a part
	kinds                map[string]int
}

func newSliced(t *testing.T, opts engine.Options, parts int) *sliced {
	s := &sliced{t: t, opts: opts, reader: enginetest.NewReader(0), now: enginetest.DayNs, kinds: map[string]int{}}
	s.crash = func() bool { return true }
	opts.PartEvents = 1 << 28
	s.whole = engine.NewCore(opts)
	s.opts.PartEvents = parts
	s.core = engine.NewCore(s.opts)
	s.purses = [2]*purse{newPurse(t), newPurse(t)}
	s.whole.SetFunds(s.purses[0])
	s.core.SetFunds(s.purses[1])
	inst := enginetest.Instrument()
	s.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst})
	return s
}

// do applies a command to both cores, compares them, and checks the work of each part.
func (s *sliced) do(cmd engine.Command) (want []engine.Event) {
	s.t.Helper()
	s.now++
	cmd.TimeNs, cmd.First = s.now, true
	want = s.whole.Apply(&cmd, nil)
	s.purses[0].checkFolded(want)
	got := s.bounded(&cmd, s.core.Apply(&cmd, nil))
	parts := 1
	for ; s.core.Unfinished(cmd.Pair); parts++ {
		s.kinds[fmt.Sprintf("%d %s %s", cmd.Kind, cmd.Type, cmd.TIF)]++
		if s.crash() {
			s.restore()
		}
		next := engine.Command{
			TimeNs: s.now, Kind: engine.Continue, First: true, Pair: cmd.Pair,
		}
		got = append(got, s.bounded(&cmd, s.core.Apply(&next, nil))...)
	}
	s.parts, s.most = s.parts+parts-1, max(s.most, parts)
	if !enginetest.EqualEvents(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				s.t.Logf("event %d\n got %+v\nwant %+v", i, got[i], want[i])
			} else {
				s.t.Logf("%s", describe(&got[i]))
			}
		}
		s.t.Fatalf("%+v in %d parts makes %d events, %d at once", cmd, parts, len(got), len(want))
	}
	if err := s.reader.Read(got); err != nil {
		s.t.Fatal(err)
	}
	if (parts > 1 || s.now%256 == 0) && s.whole.HashPair(0, nil) != s.core.HashPair(0, nil) {
		s.t.Fatalf("%+v in %d parts leaves another state", cmd, parts)
	}
	if parts > 1 {
		if err := s.core.Check(); err != nil {
			s.t.Fatalf("%+v in %d parts: %v", cmd, parts, err)
		}
	}
	return want
}

func (s *sliced) bounded(cmd *engine.Command, events []engine.Event) []engine.Event {
	s.t.Helper()
	s.purses[1].checkFolded(events)
	visits := s.core.Visits(0)
	if len(events) > s.opts.PartEvents || visits > 4*s.opts.PartEvents {
		s.t.Fatalf("a part of %+v makes %d events and %d visits, at most %d and %d", *cmd, len(events), visits,
			s.opts.PartEvents, 4*s.opts.PartEvents)
	}
	s.visits = max(s.visits, visits)
	return events
}

// restore does what a crash between two parts does.
func (s *sliced) restore() {
	s.t.Helper()
	s.crashes++
	state := s.core.EncodePair(nil, 0)
	if err := s.core.Check(); err != nil {
		s.t.Fatal(err)
	}
	back := engine.NewCore(s.opts)
	if _, err := back.DecodePair(state); err != nil {
		s.t.Fatal(err)
	}
	if err := back.Check(); err != nil {
		s.t.Fatal("restored: ", err)
	}
	if again := back.EncodePair(nil, 0); !bytes.Equal(again, state) || !back.Unfinished(0) {
		s.t.Fatal("the restored core has another state")
	}
	back.SetFunds(s.purses[1])
	s.core = back
}

// Random commands have the same effect in parts as at once, wherever a part ends and whether or not
// the core is restored there, and no part does more work than it may.
func TestPartsHaveTheEffectOfTheWhole(t *testing.T) {
	n := 15_000
	if soak() {
		n = 1_000_000
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSliced(t, enginetest.RandomOptions(), engine.MinPartEvents+int(seed))
			for _, p := range s.purses {
				p.endow()
			}
			given := s.purses[0].sums()
			f := &enginetest.Flow{R: enginetest.NewRand(seed), Reader: s.reader, Lists: seed%2 == 0}
			f.Init()
			s.crash = func() bool { return f.R.IntN(2) == 0 }
			for range n {
				s.do(f.Next())
				f.Last = s.core.LastOrderID(0)
			}
			for i, c := range []*engine.Core{s.whole, s.core} {
				if err := s.purses[i].agree(c, given); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("seed %d: %d parts beyond the first, at most %d of a command, %d restored, %v", seed, s.parts,
				s.most, s.crashes, s.kinds)
			if s.parts < n/200 || s.crashes < n/800 {
				t.Fatalf("%d parts, %d restored: the run shows nothing", s.parts, s.crashes)
			}
		})
	}
}

// hostile are commands whose work grows with the book, each after the commands that prepare it.
var hostile = map[string]struct {
	prepare func(s *sliced, n int64)
	cmd     engine.Command
	events  int64 // a command of n makes at least n times as many
}{
	"sweep of a level": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(int64) int64 { return 100 }) },
		engine.Command{Amount: 1 << 40, Price: 200, TIF: engine.IOC},
		1,
	},
	"sweep of levels": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i }) },
		engine.Command{Amount: 1 << 40, Type: engine.Market, TIF: engine.IOC},
		2,
	},
	"the move of an amended order": {
		func(s *sliced, n int64) {
			s.do(place(engine.Buy, 50, 10))
			s.do(engine.Command{
				Kind: engine.Replace, Order: 1, Amount: 9, Flags: engine.FlagHasAmount | engine.FlagSmallerOnly,
			})
			s.rest(engine.Sell, n, func(int64) int64 { return 100 })
		},
		engine.Command{
			Kind: engine.Replace, Order: 1, Price: 200, Amount: 1 << 40,
			Flags: engine.FlagHasPrice | engine.FlagHasAmount,
		},
		1,
	},
	"icebergs": {
		func(s *sliced, n int64) {
			for range n / 100 {
				s.do(engine.Command{Side: engine.Sell, Price: 100, Amount: 100, Display: 1})
			}
		},
		engine.Command{Amount: 1 << 40, Price: 100},
		1,
	},
	"self-trades": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i%7 }) },
		engine.Command{Amount: 1 << 40, Price: 200, Account: 3, STP: engine.CancelMaker},
		1,
	},
	"decrements": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i%7 }) },
		engine.Command{Amount: 1 << 40, Price: 200, Account: 3, STP: engine.Decrement},
		3,
	},
	"stops": {func(s *sliced, n int64) { s.stops(n, engine.GTC) }, engine.Command{Amount: 1, Price: 1000}, 2},
	"fill-or-kill stops": {
		func(s *sliced, n int64) { s.stops(n, engine.FOK) }, engine.Command{Amount: 1, Price: 1000}, 2,
	},
	"orders that begin to track": {
		func(s *sliced, n int64) {
			s.trails(n, func(i int64) (stop, price int64) { return 900 + i%100, 0 })
			s.do(place(engine.Buy, 900, 1))
		},
		place(engine.Sell, 900, 1),
		1,
	},
	"extremes that become one": {
		func(s *sliced, n int64) {
			s.trails(n, func(i int64) (stop, price int64) { return 0, 20_000 - i })
			s.do(place(engine.Sell, 20_000, 1))
		},
		place(engine.Buy, 20_000, 1),
		0,
	},
	"trailing orders of one extreme": {
		func(s *sliced, n int64) {
			s.do(place(engine.Sell, 1000, 1))
			s.do(place(engine.Buy, 1000, 1))
			s.trails(n, func(int64) (stop, price int64) { return 0, 0 })
			s.do(place(engine.Buy, 1, 1))
		},
		place(engine.Sell, 1, 1),
		2,
	},
	"trailing orders of many extremes": {
		func(s *sliced, n int64) {
			s.trails(n, func(i int64) (stop, price int64) { return 0, 20_000 - i/3 })
			s.do(place(engine.Buy, 1, 1))
		},
		place(engine.Sell, 1, 1),
		2,
	},
	"fill-or-kill": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i }) },
		engine.Command{Amount: 1 << 40, Price: 1 << 36, TIF: engine.FOK},
		0,
	},
	"fill-or-kill beside the account's orders": {
		func(s *sliced, n int64) {
			s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i/1000 })
			s.do(engine.Command{Side: engine.Buy, Price: 1, Amount: 1, Account: 5})
		},
		engine.Command{Amount: 1 << 40, Price: 1 << 20, TIF: engine.FOK, Account: 5, STP: engine.CancelBoth},
		0,
	},
	"market buy": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i }) },
		engine.Command{Amount: 1 << 40, Type: engine.Market, Account: 5},
		2,
	},
	"market buy beside the account's orders": {
		func(s *sliced, n int64) {
			s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i/1000 })
			s.do(engine.Command{Side: engine.Buy, Price: 1, Amount: 1, Account: 5})
		},
		engine.Command{Amount: 1 << 40, Type: engine.Market, Account: 5, STP: engine.CancelBoth},
		1,
	},
	"triggered market buy beside the account's orders": {
		func(s *sliced, n int64) {
			s.do(engine.Command{
				Side: engine.Buy, Type: engine.StopMarket, Stop: 50, Amount: 1 << 40, Account: 5, STP: engine.Decrement,
			})
			for i := range n {
				cmd := place(engine.Sell, 100+i%7, 1)
				cmd.Account = engine.AccountID(3 + 2*(i%2)) // every second one is its own
				s.do(cmd)
			}
		},
		engine.Command{Amount: 1, Price: 100, Account: 4},
		2,
	},
	"mass cancel": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i }) },
		engine.Command{Kind: engine.CancelAll, Account: 3},
		2,
	},
	"mass cancel of the built-in account": {
		func(s *sliced, n int64) { s.rest(engine.Sell, n, func(i int64) int64 { return 100 + i }) },
		engine.Command{Kind: engine.CancelAll},
		0,
	},
	"mass cancel of all": {
		func(s *sliced, n int64) { s.stops(n, engine.GTC) },
		engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount},
		1,
	},
}

func (s *sliced) rest(side engine.Side, n int64, price func(i int64) int64) {
	for i := range n {
		cmd := place(side, price(i), 1)
		cmd.Account = 3
		s.do(cmd)
	}
}

// trails lets n sells wait that trail, each behind a trade at price, 0: none.
func (s *sliced) trails(n int64, at func(i int64) (stop, price int64)) {
	for i := range n {
		stop, price := at(i)
		if price != 0 {
			s.do(place(engine.Sell, price, 1))
			s.do(place(engine.Buy, price, 1))
		}
		s.do(engine.Command{
			Type: engine.StopMarket, Side: engine.Sell, TIF: engine.IOC, Amount: 1, Stop: stop,
			Trail: uint16(1900 + i%100),
		})
	}
}

// stops makes the last trade 1000 and parks n stops that a trade at 1000 does not reach yet.
func (s *sliced) stops(n int64, tif engine.TimeInForce) {
	for i := range n {
		s.do(engine.Command{
			Type: engine.StopLimit, Side: engine.Buy, TIF: tif, Price: 1 + i%50, Amount: 1,
			Stop: 900 + i%100, Account: engine.AccountID(1 + i/200),
		})
	}
	s.do(engine.Command{Side: engine.Sell, Price: 1000, Amount: 1})
}

// The work of a part is bounded for each command whose work can grow with the book, and its effect
// is the effect of the whole command.
func TestHostileCommandsAreBounded(t *testing.T) {
	const n = 5000
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSliced(t, engine.Options{}, engine.DefaultPartEvents)
			c.prepare(s, n)
			if s.parts != 0 {
				t.Fatalf("the preparation takes %d parts", s.parts)
			}
			cmd := c.cmd
			events := len(s.do(cmd))
			t.Logf("%d events in %d parts, at most %d visits in one", events, s.most, s.visits)
			if int64(events) < n*c.events || s.most < 2 || s.crashes != s.parts {
				t.Fatalf("%d events in %d parts, %d restored", events, s.most, s.crashes)
			}
		})
	}
}

// The events of a slice are bounded too: once they are made, or a command has left work, the rest
// of the slice is void until the next record with First.
func TestSliceEnds(t *testing.T) {
	for name, more := range map[string]int64{"by its work": 5, "by an unfinished command": 40} {
		t.Run(name, func(t *testing.T) {
			s := newSliced(t, engine.Options{}, 32)
			s.rest(engine.Sell, 200, func(int64) int64 { return 100 })
			events, void := 0, 0
			for i := range 5 {
				cmd := place(engine.Buy, 100, more)
				cmd.First, cmd.TimeNs = i == 0, s.now
				if s.core.Void(&cmd) {
					void++
				}
				before := s.core.HashPair(0, nil)
				made := len(s.core.Apply(&cmd, nil))
				if void > 0 && (made > 0 || s.core.HashPair(0, nil) != before) {
					t.Fatalf("a void command makes %d events", made)
				}
				events += made
			}
			if void == 0 || events == 0 || events > 3*32 {
				t.Fatalf("%d events, %d void", events, void)
			}
			if unfinished := s.core.AppendUnfinished(nil); (len(unfinished) == 1) != (more > 32) {
				t.Fatal(unfinished)
			}
			cmd := place(engine.Buy, 90, 1)
			cmd.First = true
			if s.core.Void(&cmd) || len(s.core.Apply(&cmd, nil)) == 0 || s.core.Unfinished(0) {
				t.Fatal("a new slice, which finishes the command before its own, does nothing")
			}
		})
	}
}

// An unfinished command that was damaged on the way is refused, or is another valid state; it never
// panics.
func TestDamagedPartIsNoPart(t *testing.T) {
	s := newSliced(t, engine.Options{}, engine.MinPartEvents)
	s.stops(30, engine.GTC)
	cmd := place(engine.Buy, 1000, 1)
	cmd.First = true
	s.core.Apply(&cmd, nil)
	for len(s.core.AppendUnfinished(nil)) == 0 {
		t.Fatal("nothing is unfinished")
	}
	state := s.core.EncodePair(nil, 0)
	refused := 0
	for i := range state {
		for bit := range 8 {
			bad := bytes.Clone(state)
			bad[i] ^= 1 << bit
			back := engine.NewCore(s.opts)
			if _, err := back.DecodePair(bad); err != nil {
				refused++
				continue
			}
			for k := 0; back.Unfinished(0) && k < 1000; k++ {
				back.Apply(&engine.Command{Kind: engine.Continue, First: true}, nil)
			}
		}
	}
	if refused == 0 {
		t.Fatal("no damage was found")
	}
}
