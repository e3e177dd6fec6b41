package main

import (
	"errors"
	"io"
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/vfs"
	"tickhive/marketdata/replica"
)

// openTestAccounts recovers and starts the accounts of a directory.
func openTestAccounts(t *testing.T, dir string, clk clock.Clock, market *marketLog) *accountSide {
	t.Helper()
	r, err := recoverAccounts(defaultConfig(), dir, clk, market, t.Logf)
	for err == nil {
		var rec *accounts.Record
		if rec, err = r.Next(); err == nil {
			r.Apply(rec)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	a, err := openAccounts(r, t.Logf)
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
		dir := replica.LogDir{FS: vfs.NewMem(), Dir: "engine", Options: engineLog("").Options}
		m, err := openMarketLog(dir, func(string) {}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a := openTestAccounts(t, t.TempDir(), clock.NewManual(1), m)
		if err := m.begin(policy); err != nil {
			t.Fatal(err)
		}
		command := func() uint64 {
			pos, err := m.journal.Append([]*engine.Command{{Kind: engine.Cancel, Order: 1}})
			if err != nil {
				t.Fatal(err)
			}
			a.state.FoldEvents(nil, pos)
			return pos
		}
		pos := command()
		if _, err := a.store.Do(accounts.Command{Kind: accounts.CreateUser}); err != nil || m.log.DurableSeq() < pos {
			t.Errorf("policy %d: a user made after command %d, durable up to %d: %v", policy, pos, m.log.DurableSeq(), err)
		}
		pos = command()
		if err := a.store.Snapshot(); err != nil || m.log.DurableSeq() < pos {
			t.Errorf("policy %d: a snapshot after command %d, durable up to %d: %v", policy, pos, m.log.DurableSeq(), err)
		}
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
		if err := m.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
