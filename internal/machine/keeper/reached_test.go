package keeper_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// waiting is a keeper whose snapshots wait until a position is reached.
type waiting struct {
	*run
	*keeper.Keeper
	reached uint64
	heads   []uint64 // positions for which a head was asked for
	failed  int
}

func newWaiting(t *testing.T, seed uint64) *waiting {
	w := &waiting{run: open(t, vfstest.NewMem(), seed)}
	w.Keeper = keeper.New(keeper.Options{
		Log: w.log, Dir: w.dir, Loop: w.loop, Extras: []machine.Extra{w.trader}, SnapshotBytes: 20_000,
		Clock: clock.NewManual(1), Digest: w.state.Digest, Failed: func(error) { w.failed++ },
		Reached: func() uint64 { return w.reached },
		Head: func(pos uint64) ([]byte, error) {
			w.heads = append(w.heads, pos)
			return fmt.Appendf(nil, "head of %d", pos), nil
		},
	})
	return w
}

// newest returns position and head of the newest snapshot on the disk.
func (w *waiting) newest() wal.SnapshotMeta {
	w.t.Helper()
	metas, err := w.log.Snapshots()
	if err != nil {
		w.t.Fatal(err)
	}
	if len(metas) == 0 {
		return wal.SnapshotMeta{}
	}
	return metas[0]
}

// A snapshot that is due waits until its position is reached. Meanwhile a state hash can be taken, and the log goes on.
func TestASnapshotWaitsUntilItsPositionIsReached(t *testing.T) {
	w := newWaiting(t, 31)
	defer w.stop()
	w.trade(3000)
	at := w.log.LastSeq()
	if p := w.Step(); !p.Worked {
		t.Fatal("no snapshot is begun")
	}
	w.trade(10)
	for _, w.reached = range []uint64{0, at - 1} {
		if p := w.Step(); p.Worked || p.NextNs <= 1 {
			t.Fatalf("reached %d of %d: %+v", w.reached, at, p)
		}
	}
	if _, err := w.Hash(); err != nil {
		t.Fatal(err)
	}
	if w.newest().Seq != 0 || len(w.heads) > 0 || w.Covered() != 0 {
		t.Fatalf("a snapshot at %d, heads of %v", w.newest().Seq, w.heads)
	}
	w.reached = at
	for n := 0; w.Covered() == 0 && n < 100; n++ {
		w.Step()
	}
	if m := w.newest(); m.Seq != at || string(m.Head) != fmt.Sprintf("head of %d", at) || len(w.heads) != 1 ||
		w.failed > 0 {
		t.Errorf("a snapshot at %d with the head %q, want %d; %d failures", m.Seq, m.Head, at, w.failed)
	}
}

// A snapshot that is asked for is not written before its position is reached. The next call takes it, and no other one.
func TestASnapshotOnRequestWaits(t *testing.T) {
	w := newWaiting(t, 32)
	defer w.stop()
	w.trade(300)
	at := w.log.LastSeq()
	for range 2 {
		if err := w.Snapshot(); !errors.Is(err, keeper.ErrNotReached) {
			t.Fatal(err)
		}
	}
	if w.failed != 0 {
		t.Errorf("%d failures are reported of a snapshot that waits", w.failed)
	}
	w.trade(30)
	w.reached = at
	if err := w.Snapshot(); err != nil || w.newest().Seq != at || w.Covered() != at {
		t.Errorf("%v, a snapshot at %d, want %d", err, w.newest().Seq, at)
	}
	w.reached = w.log.LastSeq()
	if err := w.Snapshot(); err != nil || w.newest().Seq != w.reached {
		t.Errorf("%v, a snapshot at %d, want %d", err, w.newest().Seq, w.reached)
	}
	if err := w.Snapshot(); err != nil || len(w.heads) != 2 {
		t.Errorf("%v, heads of %v: nothing is new", err, w.heads)
	}
}

// A head that cannot be made leaves no snapshot.
func TestASnapshotWithoutItsHeadIsNotWritten(t *testing.T) {
	x := open(t, vfstest.NewMem(), 33)
	defer x.stop()
	no := errors.New("no head")
	k := keeper.New(keeper.Options{
		Log: x.log, Dir: x.dir, Loop: x.loop, Extras: []machine.Extra{x.trader},
		Head: func(uint64) ([]byte, error) { return nil, no },
	})
	x.trade(300)
	if err := k.Snapshot(); !errors.Is(err, no) || k.Covered() != 0 {
		t.Errorf("%v, covered %d", err, k.Covered())
	}
}
