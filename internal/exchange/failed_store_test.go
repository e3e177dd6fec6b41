package exchange_test

import (
	"testing"

	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// A failed sync leaves a record of unknown outcome in the journal, so a stop after that is not clean, and the
// next start takes the journal with the record.
func TestAStopAfterAFailedSyncIsNotClean(t *testing.T) {
	unknown := 0
	// The exchange also syncs records that no request asked for. After a failed sync it refuses every request. So
	// rounds follow until the record of a request is the first one whose sync fails: its outcome is unknown.
	for round := 0; round < 3 || unknown == 0 && round < 60; round++ {
		after := round % 3
		disk := vfstest.NewMem()
		o := exchangetest.Options("d")
		o.Machine.FS = disk
		x := exchangetest.Start(t, o)
		x.Pair("AA_BB")
		disk.Inject(vfstest.Injection{Class: vfstest.SyncError, Path: "d/engine/*.wal", After: after, Count: -1})
		a := x.Do("POST", x.Internal+"/users", `{"nickname":"ada"}`)
		disk.Disarm()
		x.Stop()
		o.Machine.FS = disk.Kill()
		again := exchangetest.Start(t, o)
		if a.Status == 504 {
			unknown++
			if again.Incidents() == 0 {
				t.Errorf("after %d syncs: no incident says that the end was not clean", after)
			}
		}
		if a := again.Do("POST", again.Internal+"/users", `{"nickname":"bob"}`); a.Status != 200 {
			t.Errorf("after %d syncs and the restart: %d %s", after, a.Status, a.Body)
		}
	}
	if unknown == 0 {
		t.Error("no outcome was unknown")
	}
}

// A start that ends because the disk is full does not note the journal as closed when its end could not be written: the
// next one, with space, starts.
func TestAStartAfterAStartOnAFullDisk(t *testing.T) {
	failed := 0
	for after := range 40 {
		disk := vfstest.NewMem()
		o := exchangetest.Options("d")
		o.Machine.FS = disk
		disk.Inject(vfstest.Injection{Class: vfstest.FullDisk, Path: "d/*/*", After: after, Count: 6})
		if err := refused(t, o); err == nil {
			continue
		}
		failed++
		disk = disk.Kill()
		disk.Disarm()
		o.Machine.FS = disk
		if err := refused(t, o); err != nil {
			t.Errorf("after %d operations: %v", after, err)
		}
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}

// A start that ends with a failed sync is followed by a sound one: a log that has more records than the start noted is
// not taken for one that was closed.
func TestAStartAfterAStartWithAFailedSync(t *testing.T) {
	failed := 0
	for after := range 3 {
		disk := vfstest.NewMem()
		o := exchangetest.Options("d")
		o.Machine.FS = disk
		disk.Inject(vfstest.Injection{Class: vfstest.SyncError, Path: "d/engine/*", After: after, Count: 1})
		if err := refused(t, o); err == nil {
			continue
		}
		failed++
		o.Machine.FS = disk.Kill()
		if err := refused(t, o); err != nil {
			t.Errorf("after %d syncs: %v", after, err)
		}
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}
