package keeper_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// watch replaces the keeper of a run by one with a clock of the test.
func (x *run) watch(bytes int64, every time.Duration) *clock.Manual {
	clk := clock.NewManual(1_767_225_600_000_000_000)
	covered := x.keeper.Covered()
	x.keeper = keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader}, Covered: covered,
		CoveredBytes:  x.log.BytesWritten() - x.log.BytesSince(covered),
		SnapshotBytes: bytes, SnapshotEvery: every, Clock: clk,
	})
	return clk
}

func (x *run) snapshot() {
	x.t.Helper()
	if err := x.keeper.Snapshot(); err != nil {
		x.t.Fatal(err)
	}
}

// Due measures the log from the last snapshot, not from the beginning of the snapshot's segment:
// a segment may be larger than the limit between two snapshots.
func TestASnapshotIsDueByTheBytesSinceTheLast(t *testing.T) {
	x := open(t, vfstest.NewMem(), 11)
	defer x.stop()
	const limit = 1500 // of segments of 4096
	x.trade(5)
	x.watch(limit, 0)
	snapshots := 0
	for last := x.log.BytesWritten() - x.log.BytesSince(0); snapshots < 30; {
		x.trade(1)
		since := x.log.BytesWritten() - last
		if due := x.keeper.Due(); due != (since >= limit) {
			t.Fatalf("after %d snapshots, %d bytes since the last: due %t", snapshots, since, due)
		}
		if since >= limit {
			last = x.log.BytesWritten()
			x.snapshot()
			snapshots++
		}
	}
}

// A snapshot is due by time as well, but not for less than a tenth of a second of replay.
func TestASnapshotIsDueByTime(t *testing.T) {
	x := open(t, vfstest.NewMem(), 12)
	defer x.stop()
	const every = 5 * time.Minute
	clk := x.watch(1<<40, every)
	pass := func(d time.Duration) { clk.Set(clk.NowNs() + int64(d)) }
	due := func(want bool, when string) {
		t.Helper()
		if got := x.keeper.Due(); got != want {
			t.Fatalf("%s: due %t", when, got)
		}
	}
	until := func(commands uint64) {
		for end := x.keeper.Covered() + commands; x.log.LastSeq() < end; {
			cmds := make([]engine.Command, min(5000, end-x.log.LastSeq()))
			for i := range cmds {
				cmds[i].Kind = engine.CancelAll
			}
			x.submit(cmds...)
		}
	}
	x.trade(1) // makes the pairs
	until(keeper.TimedCommands - 1)
	pass(every)
	due(false, "one command too few")
	x.trade(1)
	due(true, "enough commands, enough time")
	x.snapshot()
	until(keeper.TimedCommands)
	due(false, "at once")
	pass(every - 1)
	due(false, "too early")
	pass(-time.Hour)
	due(false, "the clock went back")
	pass(every - 1)
	due(false, "the time counts from where the clock went back to")
	pass(1)
	due(true, "the time has passed again")

	off := x.watch(1<<40, 0)
	off.Set(off.NowNs() + int64(1000*every))
	due(false, "switched off")
	clk = x.watch(1<<40, every)
	due(false, "a start begins the time over")
	pass(every)
	due(true, "commands from before the start count")
	x.snapshot()
	pass(10 * every)
	due(false, "nothing happened since")
}

// Commands of many events take little of the log and long to replay: a snapshot is due by the
// events since the last one, too.
func TestASnapshotIsDueByEvents(t *testing.T) {
	x := open(t, vfstest.NewMem(), 13)
	defer x.stop()
	x.trade(5)
	events := uint64(0)
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader}, SnapshotBytes: 1 << 40,
		Events: func() uint64 { return events },
	})
	for range 3 {
		events += keeper.SnapshotEvents - 1
		if k.Due() {
			t.Error("due by too few events")
		}
		if events++; !k.Due() {
			t.Error("not due by events")
		}
		if err := k.Snapshot(); err != nil || k.Due() {
			t.Errorf("due after a snapshot: %v", err)
		}
		x.trade(1)
	}
}
