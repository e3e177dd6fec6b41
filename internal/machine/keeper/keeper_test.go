package keeper_test

import (
	"errors"
	"strings"
	"testing"

	"tickhive/internal/clock"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/vfs/vfstest"
)

// A snapshot of many steps is of the position at which it began. A hash in the middle ends it
// first, so that there is one follower at a time. A failure is reported and tried again.
func TestKeeperTakesSnapshotsByStep(t *testing.T) {
	x := open(t, vfstest.NewMem(), 21)
	defer x.stop()
	taken, failed := 0, 0
	clk := clock.NewManual(1_767_225_600_000_000_000)
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader}, SnapshotBytes: 20_000, Clock: clk,
		Taken: func() { taken++ }, Failed: func(error) { failed++ },
	})
	x.trade(10)
	if p := k.Step(); p.Worked {
		t.Fatalf("nothing is due: %+v", p)
	}
	x.trade(3000)
	began := x.log.LastSeq()
	steps := 0
	for ; taken == 0 && steps < 100; steps++ {
		if p := k.Step(); !p.Worked {
			t.Fatalf("step %d of a snapshot: %+v", steps, p)
		}
		x.trade(1)
	}
	if k.Covered() != began || steps < 4 {
		t.Errorf("a snapshot of %d in %d steps, it began at %d", k.Covered(), steps, began)
	}

	x.trade(3000)
	began = x.log.LastSeq()
	k.Step() // begins
	h, err := k.Hash()
	if want := x.direct(); err != nil || h.Market.Hash != want.Hash || taken != 2 || k.Covered() != began {
		t.Errorf("a hash in the middle: %v, %s, want %s; %d taken, the last of %d", err, h.Hash, want.Hash, taken,
			k.Covered())
	}

	x.trade(3000)
	x.fs.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpCreate {
			return vfstest.Fault{Err: errors.New("broken")}
		}
		return vfstest.Fault{}
	})
	for range 100 {
		if p := k.Step(); !p.Worked {
			if failed != 1 || p.NextNs <= clk.NowNs() {
				t.Errorf("%d failures, then %+v", failed, p)
			}
			break
		}
	}
	x.fs.Before(nil)
	for range 100 {
		k.Step()
	}
	if failed != 1 || taken != 3 || k.Covered() != x.log.LastSeq() {
		t.Errorf("%d failed, %d taken, the last of %d", failed, taken, k.Covered())
	}
}

// A snapshot replaces the older one only when the other store has reached the one between, which is then the oldest
// that a recovery can begin with. A state hash does not wait for it.
func TestAKeeperWaitsForTheOtherStore(t *testing.T) {
	x := open(t, vfstest.NewMem(), 22)
	defer x.stop()
	taken, reached := 0, uint64(0) // reached: by the other store
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader}, SnapshotBytes: 1, KeepAll: true,
		Clock: clock.NewManual(1_767_225_600_000_000_000), Taken: func() { taken++ },
		Ready: func(left uint64) bool { return left <= reached },
	})
	try := func() uint64 {
		x.trade(10)
		for range 100 {
			k.Step()
		}
		return k.Covered()
	}
	first := try()
	if taken != 1 || first == 0 {
		t.Fatalf("%d snapshots, the last of %d", taken, first)
	}
	for range 2 {
		if now := try(); now != first || taken != 1 {
			t.Errorf("a snapshot of %d, and the other store has not reached %d", now, first)
		}
		if h, err := k.Hash(); err != nil || h.Hash == "" {
			t.Errorf("a state hash while a snapshot waits: %+v, %v", h, err)
		}
	}
	reached = first
	second := try()
	if taken != 2 || second == first {
		t.Errorf("%d taken, the last of %d", taken, second)
	}
	if now := try(); now != second {
		t.Errorf("a snapshot of %d replaced the one of %d", now, first)
	}
}

// A follower that differs from the live market leaves no snapshot, and the older ones stay.
func TestAFollowerThatDiffersLeavesNoSnapshot(t *testing.T) {
	x := open(t, vfstest.NewMem(), 22)
	defer x.stop()
	x.trade(300)
	if err := x.keeper.Snapshot(); err != nil {
		t.Fatal(err)
	}
	before, covered := x.fs.Paths(), x.keeper.Covered()
	other := open(t, vfstest.NewMem(), 23) // the market that clients see
	defer other.stop()
	other.trade(300)
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Core: other.core, Extras: []machine.Extra{x.trader}, Covered: covered,
	})
	x.trade(300)
	if err := k.Snapshot(); err == nil || !strings.Contains(err.Error(), "differs from the market") ||
		k.Covered() != covered {
		t.Errorf("%v, covered %d", err, k.Covered())
	}
	snapshots := func(paths []string) (n int) {
		for _, name := range paths {
			if strings.Contains(name, ".snap") {
				n++
			}
		}
		return n
	}
	if now := snapshots(x.fs.Paths()); now != snapshots(before) || now == 0 {
		t.Errorf("%d snapshots", now)
	}
	if err := x.keeper.Snapshot(); err != nil {
		t.Errorf("the same market: %v", err)
	}
}
