package keeper_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// A snapshot of many steps is of the position at which it began. A hash in the middle ends it
// first, so that there is one follower at a time. A failure is reported and tried again.
func TestKeeperTakesSnapshotsByStep(t *testing.T) {
	x := open(t, vfstest.NewMem(), 21)
	defer x.stop()
	failed := 0
	clk := clock.NewManual(1_767_225_600_000_000_000)
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader}, SnapshotBytes: 20_000, Clock: clk,
		Failed: func(error) { failed++ },
	})
	x.trade(10)
	if p := k.Step(); p.Worked {
		t.Fatalf("nothing is due: %+v", p)
	}
	x.trade(3000)
	began := x.log.LastSeq()
	steps := 0
	for ; k.Covered() == 0 && steps < 100; steps++ {
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
	if want := x.direct(); err != nil || h.Market.Hash != want.Hash || k.Covered() != began {
		t.Errorf("a hash in the middle: %v, %s, want %s; the last snapshot of %d", err, h.Hash, want.Hash, k.Covered())
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
	if failed != 1 || k.Covered() != x.log.LastSeq() {
		t.Errorf("%d failed, the last of %d", failed, k.Covered())
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
	var failures []error
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Digest: other.state.Digest, Extras: []machine.Extra{x.trader},
		Covered: covered, Failed: func(err error) { failures = append(failures, err) },
	})
	x.trade(300)
	if err := k.Snapshot(); err == nil || !strings.Contains(err.Error(), "differs from the running exchange") ||
		k.Covered() != covered || len(failures) != 1 || failures[0] != err {
		t.Errorf("%v, covered %d, reported %v", err, k.Covered(), failures)
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
