package exchange_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs"
)

// A kill right after a failed sync of the journal begins a new epoch at the next start, because clients were shown
// commands that may be missing. A kill without one does not.
func TestAKillAfterAFailedSyncBeginsANewEpoch(t *testing.T) {
	disk := vfs.NewMem()
	o := exchangetest.Options(t.TempDir())
	o.Journal.Sync, o.Journal.FS = sequencer.SyncInterval, disk
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
	first := exchangetest.Start(t, o)
	begun := epochOf(t, first)

	// killed ends the process x: the directory keeps the present meta.json.
	killed := func(x *exchangetest.Rig) {
		meta, err := os.ReadFile(filepath.Join(x.Kill(), "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		disk = disk.Kill()
		o.Journal.FS = disk
		x.Stop()
		if err := os.WriteFile(filepath.Join(o.Dir, "meta.json"), meta, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	killed(first)
	second := exchangetest.Start(t, o)
	if epochOf(t, second) != begun {
		t.Error("a kill begins a new epoch")
	}
	disk.Before(func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpSync {
			return vfs.Fault{Err: vfs.ErrInjected}
		}
		return vfs.Fault{}
	})
	b := sequencer.Batch{Commands: []engine.Command{{Kind: engine.Place, Price: 1000, Amount: 1000}}}
	if err := second.Submit(&b); err != nil {
		t.Fatal(err)
	}
	for noted := false; !noted; { // the sync of the interval fails, and meta.json says so
		meta, err := os.ReadFile(filepath.Join(o.Dir, "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		noted = bytes.Contains(meta, []byte(`"boot": ""`))
	}
	killed(second)
	if third := exchangetest.Start(t, o); epochOf(t, third) == begun {
		t.Error("a failed sync begins no new epoch")
	}
}

// A start whose own sync of the journal fails may lose what the process before it had shown: the system forgets it. So
// the start after it begins a new epoch, whatever the sync policy is now.
func TestAStartThatCannotSyncTheJournalEndsTheEpoch(t *testing.T) {
	for _, now := range []sequencer.SyncPolicy{sequencer.SyncOff, sequencer.SyncAlways} {
		disk := vfs.NewMem()
		o := exchangetest.Options(t.TempDir())
		o.Journal.Sync, o.Journal.FS = sequencer.SyncOff, disk
		o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
		first := exchangetest.Start(t, o)
		begun := epochOf(t, first)
		b := sequencer.Batch{Commands: []engine.Command{{Kind: engine.Place, Price: 1000, Amount: 1000}}}
		if err := first.Submit(&b); err != nil {
			t.Fatal(err)
		}
		meta, err := os.ReadFile(filepath.Join(first.Kill(), "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		disk = disk.Kill()
		first.Stop()
		if err := os.WriteFile(filepath.Join(o.Dir, "meta.json"), meta, 0o600); err != nil {
			t.Fatal(err)
		}
		disk.Before(vfs.FailNthKind(vfs.OpSync, 1, vfs.Fault{Err: vfs.ErrInjected}))
		o.Journal.Sync, o.Journal.FS = now, disk
		opened, err := exchange.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = opened.Recover(t.Context()); !errors.Is(err, vfs.ErrInjected) {
			t.Fatalf("the start ends with %v", err)
		}
		opened.Stop(t.Context())
		o.Journal.FS = disk.Kill()
		if third := exchangetest.Start(t, o); epochOf(t, third) == begun {
			t.Errorf("the epoch goes on, policy %d", now)
		}
	}
}
