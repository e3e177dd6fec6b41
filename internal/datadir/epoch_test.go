package datadir

import (
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// A power cut begins a new epoch: a disk may have lied about a sync. A kill and a clean stop do not.
func TestAPowerCutBeginsANewEpoch(t *testing.T) {
	disk := vfstest.NewMem()
	start := func(boot string) *Dir {
		t.Helper()
		disk = disk.Kill()
		d, err := Open(Options{Path: "d", FS: disk, Boot: boot, Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	was := start("a").Epoch()
	if killed := start("a"); killed.Epoch() != was {
		t.Error("a kill begins a new epoch")
	} else if err := killed.Close(true); err != nil {
		t.Fatal(err)
	}
	if start("b").Epoch() != was {
		t.Error("a clean stop begins a new epoch")
	}
	if start("a").Epoch() == was {
		t.Error("a power cut begins no new epoch")
	}
}

// A failed sync begins a new epoch at the next start, and only there; a clean stop after it does not.
func TestAFailedSyncBeginsANewEpoch(t *testing.T) {
	disk := vfstest.NewMem()
	start := func() *Dir {
		t.Helper()
		disk = disk.Kill()
		d, err := Open(Options{Path: "d", FS: disk, Boot: "b", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	begun := start().Epoch()
	d := start()
	if d.Epoch() != begun {
		t.Fatal("a killed process begins a new epoch")
	}
	if err := d.NoteLostSync(true); err != nil || d.Epoch() != begun {
		t.Fatalf("the running process has epoch %s, %v", d.Epoch(), err)
	}
	next := start().Epoch()
	if next == begun || start().Epoch() != next {
		t.Errorf("epochs %s, %s, %s", begun, next, start().Epoch())
	}
}

// After a failed sync of the log the slots that it has written name another boot than the next starts, so that
// records which they tell of may be missing. The epoch stays when no client has seen them.
func TestAFailedSyncCountsAsAnotherBootForTheLog(t *testing.T) {
	disk := vfstest.NewMem()
	start := func() (*Dir, wal.ID) {
		t.Helper()
		disk = disk.Kill()
		d, err := Open(Options{Path: "d", FS: disk, Boot: "b", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		o, err := d.LogOptions(wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d, o.Boot
	}
	_, first := start()
	d, second := start()
	if err := d.NoteLostSync(false); err != nil {
		t.Fatal(err)
	}
	o, err := d.LogOptions(wal.Options{})
	again, third := start()
	_, fourth := start()
	if err != nil || second != first || o.Boot != first || third == first || fourth != third || third == (wal.ID{}) {
		t.Errorf("boots %x, %x, then %x, %x, %x, %v", first, second, o.Boot, third, fourth, err)
	}
	if again.Epoch() != d.Epoch() {
		t.Error("a new epoch")
	}
}

// A power cut begins no new epoch where neither process shows what the stream does not have: the start reads it there.
// One that finds nothing there begins it.
func TestAPowerCutKeepsTheEpochOfAStream(t *testing.T) {
	for _, c := range []struct{ before, now, keeps bool }{
		{true, true, true}, {false, true, false}, {true, false, false},
	} {
		disk := vfstest.NewMem()
		start := func(boot string, acked bool) *Dir {
			t.Helper()
			disk = disk.Kill()
			d, err := Open(Options{Path: "d", FS: disk, Boot: boot, Virtual: true, Acked: acked})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		was := start("a", c.before).Epoch()
		d := start("b", c.now)
		if kept := d.Epoch() == was; kept != c.keeps || d.Owed() != c.keeps {
			t.Errorf("%+v: the epoch was %s and is %s, owed %v", c, was, d.Epoch(), d.Owed())
		}
		if !c.keeps {
			continue
		}
		if err := d.BeginEpoch(); err != nil || d.Epoch() == was || d.Owed() {
			t.Errorf("a stream without records: epoch %s, %v", d.Epoch(), err)
		}
		if begun := d.Epoch(); start("b", true).Epoch() != begun {
			t.Error("the new epoch is not stored")
		}
	}
}
