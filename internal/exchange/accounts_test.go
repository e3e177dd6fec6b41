package exchange

import (
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/vfs"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// openTestAccounts recovers and starts the accounts of a directory.
func openTestAccounts(t *testing.T, dir string, clk clock.Clock, market *journal) *accountSide {
	t.Helper()
	o := accounts.StoreOptions{
		State:  accounts.Options{Random: rand.Reader},
		Config: durable.Config{FS: vfs.OS{}, Dir: dir, Clock: clk, Log: wal.Options{NoLock: true}},
	}
	if market != nil {
		o.EngineDurable, o.EngineLast = market.durable, market.log.LastSeq()
	}
	log, err := accounts.Recover(o)
	for err == nil {
		var rec *accounts.Record
		if rec, err = log.Next(); err == nil {
			log.Apply(rec)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	a, err := beginAccounts(log)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A change of the accounts is acknowledged, and a snapshot of them is written, only when the
// commands that they have seen are durable, even if the sync policy leaves syncs to the
// system.
func TestAccountsWaitForTheJournalUnderEveryPolicy(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncAlways, sequencer.SyncInterval, sequencer.SyncOff} {
		dir := keeper.LogDir{FS: vfstest.NewMem(), Dir: "engine", Options: EngineLogOptions()}
		m, err := openJournal(dir, policy, Machine{Clock: clock.Real{}},
			func(message, detail string) { t.Log(message, detail) })
		if err != nil {
			t.Fatal(err)
		}
		a := openTestAccounts(t, t.TempDir(), clock.NewManual(1), m)
		command := func() uint64 {
			pos, err := m.writer.Append([]*engine.Command{{Kind: engine.Cancel, Order: 1}})
			if err != nil {
				t.Fatal(err)
			}
			a.state.FoldEvents(nil, pos)
			return pos
		}
		pos := command()
		if _, err := a.store.Do(accounts.Command{Kind: accounts.CreateUser}); err != nil || m.log.DurableSeq() < pos {
			t.Errorf("policy %d: a user made after command %d, durable up to %d: %v", policy, pos, m.log.DurableSeq(),
				err)
		}
		pos = command()
		if err := a.store.Snapshot(); err != nil || m.log.DurableSeq() < pos {
			t.Errorf("policy %d: a snapshot after command %d, durable up to %d: %v", policy, pos, m.log.DurableSeq(),
				err)
		}
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
		if err := m.writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
