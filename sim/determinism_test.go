package sim

import (
	"crypto/sha256"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// hash returns the hash of the state of engine, market data and agents.
func (b *bench) hash(t testing.TB) [32]byte {
	t.Helper()
	h := sha256.New()
	err := b.loop.Query(func() {
		for _, id := range b.ids {
			e, f := b.Core.HashPair(id, nil), b.Feed.HashPair(id, nil)
			h.Write(e[:])
			h.Write(f[:])
		}
		h.Write(b.market.AppendState(nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	return [32]byte(h.Sum(nil))
}

func (b *bench) advance(t testing.TB, span time.Duration) {
	t.Helper()
	if err := b.loop.AdvanceTo(testStart + int64(span)); err != nil {
		t.Fatal(err)
	}
}

func TestTheSameSeedGivesTheSameStateAndAnotherSeedAnother(t *testing.T) {
	t.Parallel()
	const span = 2 * time.Hour
	var got [3][32]byte
	for i, seed := range []uint64{7, 7, 8} {
		b := newBench(t, seed, testPairs())
		b.advance(t, span)
		got[i] = b.hash(t)
	}
	if got[0] != got[1] {
		t.Error("two runs of one seed differ")
	}
	if got[0] == got[2] {
		t.Error("two seeds give the same state")
	}
}

func TestGOMAXPROCSDoesNotMatter(t *testing.T) {
	const span = time.Hour
	var got [2][32]byte
	for i := range got {
		old := runtime.GOMAXPROCS(i + 1)
		b := newBench(t, 3, testPairs())
		b.advance(t, span)
		got[i] = b.hash(t)
		runtime.GOMAXPROCS(old)
	}
	if got[0] != got[1] {
		t.Error("one processor and two give different states")
	}
}

func TestABackfillGivesTheStateOfTheSlowRun(t *testing.T) {
	t.Parallel()
	const span = 25 * time.Hour / 5
	slow := newBench(t, 5, testPairs())
	for at := time.Duration(0); at < span; at += 700 * time.Millisecond {
		slow.advance(t, at)
	}
	slow.advance(t, span)
	fast := newBench(t, 5, testPairs())
	if err := fast.loop.AdvanceQuietly(testStart + int64(span)); err != nil {
		t.Fatal(err)
	}
	if slow.hash(t) != fast.hash(t) {
		t.Error("the backfill's state is not the slow run's")
	}
	v, w := slow.Feed.Board().Load().View(0), fast.Feed.Board().Load().View(0)
	if v.Ticker != w.Ticker {
		t.Errorf("tickers differ: slow %+v, backfill %+v", v.Ticker, w.Ticker)
	}
}

// slowDisk is a journal under sync always that becomes durable only now and then.
type slowDisk struct {
	pos, durable uint64
	wake         chan struct{}
}

func (d *slowDisk) Append(cmds []*engine.Command) (uint64, error) {
	d.pos += uint64(len(cmds))
	if d.pos%7 == 0 {
		d.durable = d.pos
	}
	return d.pos, nil
}

func (d *slowDisk) Reached(sequencer.Mark) uint64 { return d.durable }
func (d *slowDisk) Want(sequencer.Mark, uint64)   {}
func (d *slowDisk) SealedNs() int64               { return math.MaxInt64 }
func (d *slowDisk) Err() error                    { return nil }

// Wake implements sequencer.Journal: the loop calls it when it is idle. It makes everything durable.
func (d *slowDisk) Wake() <-chan struct{} {
	d.durable = d.pos
	return d.wake
}

func TestASlowDiskDoesNotMatter(t *testing.T) {
	t.Parallel()
	const span = 30 * time.Minute
	plain := newBench(t, 4, testPairs()[:3])
	plain.advance(t, span)
	disk := &slowDisk{wake: make(chan struct{})}
	close(disk.wake)
	slow := newBenchWith(t, 4, testPairs()[:3], disk)
	slow.advance(t, span)
	if plain.hash(t) != slow.hash(t) {
		t.Error("agents behave differently when the disk is slow")
	}
}

func TestPairsOnSeveralLoopsBehaveAsOnOne(t *testing.T) {
	t.Parallel()
	const span = time.Hour
	one := newBench(t, 6, testPairs()[:4])
	one.advance(t, span)
	a := newBench(t, 6, testPairs()[:1])
	a.advance(t, span)
	whole, alone := one.Feed.Board().Load().View(0), a.Feed.Board().Load().View(0)
	if whole.Seq != alone.Seq || whole.Ticker != alone.Ticker {
		t.Errorf("BTC_USDT among four: seq %d %+v; alone: seq %d %+v", whole.Seq, whole.Ticker, alone.Seq, alone.Ticker)
	}
}

func TestAMarketRestoredFromItsStateGoesOnAsIfItNeverStopped(t *testing.T) {
	t.Parallel()
	const span = time.Hour
	b := newBench(t, 9, testPairs())
	b.advance(t, span)
	var state []byte
	if err := b.loop.Query(func() { state = b.market.AppendState(nil) }); err != nil {
		t.Fatal(err)
	}
	// The same core and feed on a new loop, with a market that knows only the state.
	b.loop.Stop()
	again := New(Options{Core: b.Core, Seed: 1234, StartNs: 0, Pairs: testPairs()})
	if err := again.DecodeState(state); err != nil {
		t.Fatal(err)
	}
	restored := &bench{Market: b.Market, market: again, ids: b.ids}
	restored.start(t, testStart+int64(span), nil)
	restored.advance(t, 2*span)
	whole := newBench(t, 9, testPairs())
	whole.advance(t, 2*span)
	if restored.hash(t) != whole.hash(t) {
		t.Error("the restored market went another way")
	}
	for cut := 0; cut < len(state); cut += 1 + cut/16 {
		m := New(Options{Core: b.Core, Seed: 1, StartNs: 0, Pairs: testPairs()})
		if m.DecodeState(state[:cut]) == nil {
			t.Fatalf("a state cut to %d of %d bytes was taken", cut, len(state))
		}
	}
}

func TestAfterAPauseNoTradeIsInventedAndThePriceGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, testPairs()[:2])
	b.advance(t, time.Hour)
	before := b.Feed.Board().Load().View(0)
	now := testStart + int64(20*time.Hour)
	if err := b.loop.Query(func() { b.market.Skip(now) }); err != nil {
		t.Fatal(err)
	}
	b.advance(t, 20*time.Hour-time.Second)
	if v := b.Feed.Board().Load().View(0); v.Trades.Last() != before.Trades.Last() {
		t.Errorf("%d trades while the market slept", v.Trades.Last()-before.Trades.Last())
	}
	b.advance(t, 20*time.Hour+2*time.Second)
	v := b.Feed.Board().Load().View(0)
	if v.Trades.Last() == before.Trades.Last() {
		t.Error("no trade within two seconds after the pause")
	}
	if d := v.Ticker.Last - before.Ticker.Last; d*d > before.Ticker.Last*before.Ticker.Last/40_000 {
		t.Errorf("the price jumped from %d to %d", before.Ticker.Last, v.Ticker.Last)
	}
}
