package keeper_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// script returns a fixed run of batches; the same seed gives the same commands.
func script(seed uint64, batches int) [][]engine.Command {
	r := rand.New(rand.NewPCG(seed, 21))
	out := [][]engine.Command{{{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &engine.Instrument{
		Code: "AA_USDT", Base: "AA", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2,
	}}}}
	at := int64(1_767_225_600_000_000_000)
	for range batches {
		var b []engine.Command
		for range 1 + r.IntN(4) {
			at += r.Int64N(2_000_000_000)
			b = append(b, engine.Command{
				Kind: engine.Place, Side: engine.Side(r.IntN(2)), Price: 100 + r.Int64N(6), Amount: 1 +
					r.Int64N(9), TimeNs: at,
			})
		}
		out = append(out, b)
	}
	for i := range out[0] {
		out[0][i].TimeNs = at - 1<<40
	}
	return out
}

// states returns the hashes after each command of a run, by position.
func states(batches [][]engine.Command) []string {
	r := machine.New(machine.Options{})
	hashes := []string{machine.HashMarket(r.Core, r.Feed).Hash}
	var events []engine.Event
	for _, b := range batches {
		for i := range b {
			c := b[i]
			c.First = true
			events = r.Core.Apply(&c, events[:0])
			r.Feed.Fold(events)
			hashes = append(hashes, machine.HashMarket(r.Core, r.Feed).Hash)
		}
	}
	return hashes
}

// recovered returns the state that a start recovers from a file system.
func recovered(fs *vfstest.Mem) (pos uint64, hash string, err error) {
	dir := keeper.LogDir{FS: fs, Dir: "engine", Options: crashLog}
	log, err := wal.Open(fs, dir.Dir, dir.Options)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = log.Close() }()
	r, _, err := keeper.Load(machine.Options{}, dir, keeper.NoLimit)
	if err != nil {
		return 0, "", err
	}
	if r.Pos > log.LastSeq() {
		return 0, "", fmt.Errorf("snapshot at %d, log ends at %d", r.Pos, log.LastSeq())
	}
	rd, err := log.Reader(r.Pos + 1)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = rd.Close() }()
	if err := keeper.Replay(r, rd, 0, nil); err != nil {
		return 0, "", err
	}
	return r.Pos, machine.HashMarket(r.Core, r.Feed).Hash, nil
}

var crashLog = wal.Options{NoLock: true, SegmentBytes: 2048, PreallocBytes: 1024}

// outcome holds what the loop reported to a run.
type outcome struct {
	acked  uint64 // position of the last acknowledged command
	failed error  // the first error after which the loop accepts no command
}

// drive runs the script over fs. It sends a refused batch again, as its sender would.
func drive(
	t *testing.T, fs *vfstest.Mem, policy sequencer.SyncPolicy, batches [][]engine.Command, acked func(pos uint64),
) (o outcome) {
	t.Helper()
	dir := keeper.LogDir{FS: fs, Dir: "engine", Options: crashLog}
	log, err := wal.Open(fs, dir.Dir, dir.Options)
	if err != nil {
		return outcome{failed: err}
	}
	j := sequencer.NewWALJournal(log, policy)
	core, feed := engine.NewCore(engine.Options{}), marketdata.NewFeed(marketdata.Options{})
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: core, Clock: clock.NewManual(1), Journal: j, Show: policy.Shows(), Sinks: []sequencer.Sink{feed.Sink()},
	})
	go l.Run()
	defer func() {
		l.Stop()
		_ = j.Close()
	}()
	keeper := keeper.New(keeper.Options{Log: log, Dir: dir, Loop: l})
	for i, b := range batches {
		for try := 0; ; try++ {
			cmds := append([]engine.Command(nil), b...)
			err := l.Submit(&sequencer.Batch{Commands: cmds, Stamped: true})
			if err == nil {
				break
			}
			if !errors.Is(err, sequencer.ErrUnavailable) && !errors.Is(err, sequencer.ErrOutcomeUnknown) {
				t.Errorf("batch %d: %v", i, err)
			}
			if errors.Is(err, wal.ErrStopped) || try == 3 {
				o.failed = err
				return o
			}
		}
		o.acked += uint64(len(b))
		acked(o.acked)
		if i%15 == 14 {
			_ = keeper.Snapshot() // one that fails changes nothing
		}
	}
	return o
}

// docs/contract/matching.md#case-37: a power cut after any write, sync, rename or removal may
// lose anything that was not synced; the start finds a prefix of the run that holds everything
// acknowledged.
func TestCase37PowerCutAfterEveryOperation(t *testing.T) {
	const seed, subsets = 4, 3
	batches := script(seed, 60)
	want := states(batches)
	type cut struct {
		fs    *vfstest.Mem
		acked uint64
	}
	var cuts []cut
	fs := vfstest.NewMem()
	var told uint64
	fs.After(func(op vfstest.Op) {
		switch op.Kind {
		case vfstest.OpWrite, vfstest.OpSync, vfstest.OpRename, vfstest.OpRemove, vfstest.OpSyncDir,
			vfstest.OpTruncate, vfstest.OpCreate:
			for s := range uint64(subsets) {
				cuts = append(cuts, cut{fs.Crash(uint64(op.N)*subsets + s), told})
			}
		}
	})
	// Operations of the syncing and the snapshot goroutine are ordered by their answers:
	// one batch is under way at a time.
	o := drive(t, fs, sequencer.SyncAlways, batches, func(pos uint64) { told = pos })
	if o.failed != nil || int(o.acked) != len(want)-1 {
		t.Fatalf("the run itself: %+v of %d", o, len(want)-1)
	}
	longer := 0
	for i, c := range cuts {
		pos, hash, err := recovered(c.fs)
		if err != nil {
			t.Fatalf("cut %d: %v", i, err)
		}
		if pos < c.acked || hash != want[pos] {
			t.Fatalf("cut %d: recovered to %d (right state: %v), acknowledged up to %d", i, pos, hash == want[pos],
				c.acked)
		}
		if pos > c.acked {
			longer++
		}
	}
	t.Logf("%d power cuts: every recovery is a prefix with all that was acknowledged, %d of them with more",
		len(cuts), longer)
}

// Whichever operation of the file system fails, there is no panic, no deadlock and no false
// acknowledgement. The run continues where it may, and every acknowledged command survives.
func TestEveryOperationFailing(t *testing.T) {
	const seed = 6
	batches := script(seed, 40)
	want := states(batches)
	quiet := func(uint64) {}
	probe := vfstest.NewMem()
	drive(t, probe, sequencer.SyncAlways, batches, quiet)
	total := probe.Operations()
	stride := 3
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		stride = 1
	}
	runs, stopped := 0, 0
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncAlways, sequencer.SyncInterval} {
		for n := 1; n <= total; n += stride {
			fs := vfstest.NewMem()
			fs.Before(vfstest.FailNth(n, vfstest.ErrInjected))
			o := drive(t, fs, policy, batches, quiet)
			runs++
			if o.failed != nil {
				stopped++
			}
			after := fs.Kill()
			pos, hash, err := recovered(after)
			if err != nil {
				t.Fatalf("operation %d of %d failed, and the start after it too: %v", n, total, err)
			}
			if pos < o.acked || hash != want[pos] {
				t.Fatalf("operation %d failed: recovered to %d (right state: %v), acknowledged up to %d", n, pos,
					hash == want[pos], o.acked)
			}
		}
	}
	t.Logf("%d runs with one failed operation each (of %d): %d ended their store, none lost or invented anything",
		runs, total, stopped)
}

// A full disk only refuses commands; once there is space the run continues without a gap.
func TestFullDiskRefusesAndRecovers(t *testing.T) {
	fs := vfstest.NewMem()
	log, err := wal.Open(fs, "engine", crashLog)
	if err != nil {
		t.Fatal(err)
	}
	j := sequencer.NewWALJournal(log, sequencer.SyncInterval)
	feed := marketdata.NewFeed(marketdata.Options{})
	l := sequencer.NewLoop(sequencer.LoopOptions{
		Core: engine.NewCore(engine.Options{}), Clock: clock.NewManual(1), Journal: j,
		Sinks: []sequencer.Sink{feed.Sink()},
	})
	go l.Run()
	batches := script(9, 200)
	accepted := [][]engine.Command{}
	full, refused := false, 0
	for i, b := range batches {
		if i == 50 {
			fs.SetCapacity(fs.Used() + 300)
			full = true
		}
		if refused > 20 && full {
			fs.SetCapacity(0)
			full = false
		}
		err := l.Submit(&sequencer.Batch{Commands: append([]engine.Command(nil), b...), Stamped: true})
		switch {
		case err == nil:
			accepted = append(accepted, b)
		case full && errors.Is(err, sequencer.ErrUnavailable):
			refused++
			if feed.Board().Load().Len() != 1 {
				t.Fatal("reads stopped with the disk full")
			}
		default:
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	l.Stop()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if refused == 0 || full {
		t.Fatalf("the disk was never full, or never had space again: %d refused", refused)
	}
	want := states(accepted)
	pos, hash, err := recovered(fs)
	if err != nil || int(pos) != len(want)-1 || hash != want[pos] {
		t.Fatalf("recovered to %d of %d: %v", pos, len(want)-1, err)
	}
	t.Logf("%d commands refused while the disk was full, %d accepted before and after, all there", refused, len(want)-1)
}
