package datadir

import (
	"testing"

	"tickhive/internal/vfs"
)

// A failed sync begins a new epoch at the next start, and only there; a clean stop after it does not.
func TestAFailedSyncBeginsANewEpoch(t *testing.T) {
	disk := vfs.NewMem()
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
	if err := d.MayLose(); err != nil || d.Epoch() != begun {
		t.Fatalf("the running process has epoch %s, %v", d.Epoch(), err)
	}
	next := start().Epoch()
	if next == begun || start().Epoch() != next {
		t.Errorf("epochs %s, %s, %s", begun, next, start().Epoch())
	}
}
