package exchange_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// onDisk returns the options of an exchange on a disk in memory, with one pair.
func onDisk(t *testing.T, sync sequencer.SyncPolicy, disk *vfstest.Mem) exchange.Options {
	o := exchangetest.Options(t.TempDir())
	o.Journal.Sync, o.Journal.FS = sync, disk
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5}}
	return o
}

// killed ends the process x as kill -9 does, and returns the disk that it leaves. The directory keeps the present
// meta.json.
func killed(t *testing.T, x *exchangetest.Rig, dir string, disk *vfstest.Mem) *vfstest.Mem {
	t.Helper()
	meta, err := os.ReadFile(filepath.Join(x.Kill(), "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	disk = disk.Kill()
	x.Stop()
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o600); err != nil {
		t.Fatal(err)
	}
	return disk
}

// place submits an order.
func place(t *testing.T, x *exchangetest.Rig) {
	t.Helper()
	b := sequencer.Batch{Commands: []engine.Command{{Kind: engine.Place, Price: 1000, Amount: 1000}}}
	if err := x.Submit(&b); err != nil {
		t.Fatal(err)
	}
}

// A kill right after a failed sync of the journal begins a new epoch at the next start, because clients were shown
// commands that may be missing. A kill without one does not.
func TestAKillAfterAFailedSyncBeginsANewEpoch(t *testing.T) {
	disk := vfstest.NewMem()
	o := onDisk(t, sequencer.SyncInterval, disk)
	first := exchangetest.Start(t, o)
	begun := epochOf(t, first)
	disk = killed(t, first, o.Dir, disk)
	o.Journal.FS = disk
	second := exchangetest.Start(t, o)
	if epochOf(t, second) != begun {
		t.Error("a kill begins a new epoch")
	}
	disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	place(t, second)
	for noted := false; !noted; { // the sync of the interval fails, and meta.json says so
		meta, err := os.ReadFile(filepath.Join(o.Dir, "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		noted = bytes.Contains(meta, []byte(`"boot": ""`))
	}
	o.Journal.FS = killed(t, second, o.Dir, disk)
	if third := exchangetest.Start(t, o); epochOf(t, third) == begun {
		t.Error("a failed sync begins no new epoch")
	}
}

// A start whose own sync of the journal fails may lose what the process before it had shown: the system forgets it. So
// the start after it begins a new epoch, whatever the sync policy is now.
func TestAStartThatCannotSyncTheJournalEndsTheEpoch(t *testing.T) {
	for _, now := range []sequencer.SyncPolicy{sequencer.SyncOff, sequencer.SyncAlways} {
		disk := vfstest.NewMem()
		o := onDisk(t, sequencer.SyncOff, disk)
		first := exchangetest.Start(t, o)
		begun := epochOf(t, first)
		place(t, first)
		disk = killed(t, first, o.Dir, disk)
		disk.Before(vfstest.FailNthKind(vfstest.OpSync, 1, vfstest.Fault{Err: vfstest.ErrInjected}))
		o.Journal.Sync, o.Journal.FS = now, disk
		opened, err := exchange.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = opened.Recover(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
			t.Fatalf("the start ends with %v", err)
		}
		opened.Stop(t.Context())
		o.Journal.FS = disk.Kill()
		if third := exchangetest.Start(t, o); epochOf(t, third) == begun {
			t.Errorf("the epoch goes on, policy %s", now)
		}
	}
}
