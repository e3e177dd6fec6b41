package keeper_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// trader is a fold with its own state: it counts trades.
type trader struct{ trades uint64 }

func (t *trader) Name() string { return "trader" }

func (t *trader) Fold(events []engine.Event, _ uint64) {
	for i := range events {
		if events[i].Kind == engine.EventTrade {
			t.trades++
		}
	}
}
func (t *trader) Publish(int64) {}
func (t *trader) NextNs() int64 { return 1<<63 - 1 }
func (t *trader) AppendState(dst []byte) []byte {
	return append(dst, byte(t.trades), byte(t.trades>>8), byte(t.trades>>16))
}

func (t *trader) DecodeState(state []byte) error {
	t.trades = uint64(state[0]) | uint64(state[1])<<8 | uint64(state[2])<<16
	return nil
}

// run is a journaled market over a file system in memory.
type run struct {
	t      *testing.T
	fs     *vfstest.Mem
	log    *wal.Log
	j      *sequencer.WALJournal
	loop   *sequencer.Loop
	core   *engine.Core
	feed   *marketdata.Feed
	trader *trader
	keeper *keeper.Keeper
	state  *machine.State
	dir    keeper.LogDir
	r      *rand.Rand
	clk    *clock.Manual
}

// open recovers the market of a directory and starts its loop.
func open(t *testing.T, fs *vfstest.Mem, seed uint64) *run {
	t.Helper()
	x := &run{t: t, fs: fs, trader: &trader{}, r: rand.New(rand.NewPCG(seed, 9))}
	x.dir = keeper.LogDir{FS: fs, Dir: "engine", Options: wal.Options{NoLock: true, SegmentBytes: 4096}}
	var err error
	if x.log, err = wal.Open(fs, x.dir.Dir, x.dir.Options); err != nil {
		t.Fatal(err)
	}
	rep, found, err := keeper.Load(machine.Options{Extras: []machine.Extra{x.trader}}, x.dir, keeper.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	rd, err := x.log.Reader(rep.Pos + 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Replay(rep, rd, 0, nil); err != nil {
		t.Fatal(err)
	}
	_ = rd.Close()
	x.core, x.feed, x.state = rep.Core, rep.Feed, rep
	x.j = sequencer.NewWALJournal(x.log, sequencer.SyncAlways)
	x.clk = clock.NewManual(max(rep.LastNs, 1_767_225_600_000_000_000))
	x.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: x.core, Clock: x.clk, Journal: x.j, Sinks: []sequencer.Sink{x.feed.Sink(), x.trader},
		Parts: machine.NewShown(rep), StartNs: rep.LastNs, StartPos: rep.Pos, Show: sequencer.Synced,
	})
	go x.loop.Run()
	x.keeper = keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Digest: rep.Digest, Extras: []machine.Extra{x.trader},
		Covered: found.Meta.Seq,
	})
	return x
}

func (x *run) stop() {
	x.loop.Stop()
	if err := x.j.Close(); err != nil {
		x.t.Fatal(err)
	}
}

// trade sends n random commands over two pairs, of the built-in account and of an unlimited one.
func (x *run) trade(n int) {
	x.t.Helper()
	if x.core.EndPair() == 0 {
		for _, code := range []string{"AA_USDT", "BB_USDT"} {
			x.submit(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &engine.Instrument{
				Code: code, Base: code[:2], Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2,
			}})
		}
		x.submit(engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair,
			Control: &engine.ControlRecord{Asset: &engine.Asset{
				Symbol: "AA", Name: "Aa", Digits: engine.DefaultDigits,
			}},
		})
		unlimited := true
		x.submit(sequencer.OtherCommand(machine.OfAccounts(&accounts.Command{
			Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{Unlimited: &unlimited},
		}, nil)))
	}
	for n > 0 {
		var cmds []engine.Command
		for range min(n, 1+x.r.IntN(20)) {
			c := engine.Command{
				Kind: engine.Place, Pair: engine.PairID(x.r.IntN(2)), Side: engine.Side(x.r.IntN(2)),
				Price: 1000 + x.r.Int64N(40), Amount: 1 + x.r.Int64N(50), Account: engine.AccountID(x.r.IntN(2)),
			}
			switch x.r.IntN(6) {
			case 0:
				c = engine.Command{
					Kind: engine.CancelAll, Pair: c.Pair, Flags: engine.FlagAllAccount,
					Order: engine.MakeOrderID(c.Pair, uint64(x.r.IntN(2000))),
				}
			case 1:
				c.Type, c.Stop = engine.StopLimit, c.Price+x.r.Int64N(9)-4
			case 2:
				c.Display = 1
			case 3:
				c.Client = &engine.ClientID{
					Text: "x", Hash: [2]uint64{x.r.Uint64(), 1},
					Content: [2]uint64{x.r.Uint64(), 2},
				}
			}
			cmds = append(cmds, c)
		}
		n -= len(cmds)
		x.clk.Set(x.clk.NowNs() + x.r.Int64N(30_000_000_000))
		x.submit(cmds...)
	}
}

func (x *run) submit(cmds ...engine.Command) {
	x.t.Helper()
	if err := x.loop.Submit(&sequencer.Batch{Commands: cmds}); err != nil {
		x.t.Fatal(err)
	}
}

// direct returns the hash of the live state.
func (x *run) direct() (h machine.MarketHash) {
	x.t.Helper()
	if err := x.loop.Query(func() { h = machine.HashMarket(x.core, x.feed) }); err != nil {
		x.t.Fatal(err)
	}
	return h
}

// docs/contract/matching.md#case-36: the running market, the log alone, and a snapshot with the
// tail after it have the same state and continue alike; so do the states of extras.
func TestCase36SnapshotAndTailGiveTheUninterruptedState(t *testing.T) {
	const seed = 3
	x := open(t, vfstest.NewMem(), seed)
	for round := range 6 {
		x.trade(400)
		if round%2 == 0 {
			if err := x.keeper.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		x.trade(100)
		want := x.direct()
		if got, err := x.keeper.Hash(); err != nil || got.Market.Hash != want.Hash || got.Market.Seq != want.Seq {
			t.Fatalf("seed %d round %d: follower %v (%v), live %v", seed, round, got, err, want)
		}
		trades := x.trader.trades
		x.stop()
		x = open(t, x.fs, seed+uint64(round))
		if got := x.direct(); got.Hash != want.Hash {
			t.Fatalf("seed %d round %d: after the restart %v, before %v", seed, round, got, want)
		}
		if x.trader.trades != trades {
			t.Fatalf("seed %d round %d: %d trades counted, %d before the restart", seed, round, x.trader.trades, trades)
		}
	}
	if first := x.log.Segments()[0].FirstSeq; first == 1 {
		t.Error("no segment was let go although two snapshots cover it")
	}
	x.stop()
}

// A flipped bit in the newest snapshot makes the start use the snapshot before it; nothing is
// lost, because the log reaches back to that snapshot.
func TestCase37DamagedSnapshotFallsBack(t *testing.T) {
	x := open(t, vfstest.NewMem(), 5)
	for range 3 {
		x.trade(300)
		if err := x.keeper.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	x.trade(50)
	want := x.direct()
	x.stop()
	names, err := x.fs.List("engine")
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	for _, n := range names {
		if len(n) > 5 && n[len(n)-5:] == ".snap" && n > newest {
			newest = n
		}
	}
	x.fs.Flip("engine/"+newest, 5000, 3)
	x = open(t, x.fs, 6)
	if got := x.direct(); got.Hash != want.Hash {
		t.Errorf("fell back to another state: %v, want %v", got, want)
	}
	x.stop()
}

// Without a new command no snapshot is written, and equal states write equal bodies.
func TestBodiesAreCanonical(t *testing.T) {
	x := open(t, vfstest.NewMem(), 8)
	defer x.stop()
	x.trade(500)
	if err := x.keeper.Snapshot(); err != nil {
		t.Fatal(err)
	}
	body := func() []byte {
		r, _, err := keeper.Load(machine.Options{}, x.dir, keeper.NoLimit)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.Write(&b, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if !bytes.Equal(body(), body()) {
		t.Error("one state writes two bodies")
	}
	covered := x.keeper.Covered()
	if err := x.keeper.Snapshot(); err != nil || x.keeper.Covered() != covered {
		t.Errorf("a snapshot of nothing new: %v", err)
	}
}

// A snapshot whose directory could not be synced ends the log in that directory: the loop
// accepts nothing more until the next start, which finds everything acknowledged.
func TestAFailedDirectorySyncOfASnapshotStopsTheLog(t *testing.T) {
	x := open(t, vfstest.NewMem(), 3)
	x.trade(300)
	if err := x.keeper.Snapshot(); err != nil {
		t.Fatal(err)
	}
	x.trade(300)
	want := x.direct()
	renamed, failed := false, false
	x.fs.Before(func(op vfstest.Op) vfstest.Fault {
		renamed = renamed || op.Kind == vfstest.OpRename
		if failed || !renamed || op.Kind != vfstest.OpSyncDir {
			return vfstest.Fault{}
		}
		failed = true
		return vfstest.Fault{Err: vfstest.ErrInjected}
	})
	covered := x.keeper.Covered()
	if err := x.keeper.Snapshot(); !errors.Is(err, wal.ErrStopped) || !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("snapshot: %v", err)
	}
	if err := x.log.Stopped(); !errors.Is(err, wal.ErrStopped) || !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("the log goes on: %v", err)
	}
	if x.keeper.Covered() != covered {
		t.Errorf("the snapshot counts: %d", x.keeper.Covered())
	}
	cmd := engine.Command{Kind: engine.Place, Price: 1000, Amount: 1}
	if err := x.loop.Submit(&sequencer.Batch{Commands: []engine.Command{cmd}}); !errors.Is(err, wal.ErrStopped) {
		t.Errorf("a command after it: %v", err)
	}
	if err := x.keeper.Snapshot(); !errors.Is(err, wal.ErrStopped) {
		t.Errorf("a snapshot after it: %v", err)
	}
	x.stop()
	x = open(t, x.fs.Crash(1), 4)
	if got := x.direct(); got.Hash != want.Hash {
		t.Errorf("after the restart %v, before %v", got, want)
	}
	x.stop()
}
