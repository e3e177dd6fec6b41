package exchange

import (
	"crypto/rand"
	"testing"

	"tickhive/accounts"
	"tickhive/internal/durable"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// Readers see a change of the accounts when the stream has its record, and the loop shows the position of the market
// that the record names; always before a later position.
func TestReadersOfAccountsFollowTheStream(t *testing.T) {
	log, err := accounts.Recover(accounts.StoreOptions{
		State:  accounts.Options{Random: rand.Reader},
		Config: durable.Config{FS: vfstest.NewMem(), Dir: "accounts", Log: wal.Options{NoLock: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := beginAccounts(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.store.Close() }()
	do := func(cmd accounts.Command) uint64 {
		t.Helper()
		if _, err := a.store.Do(cmd); err != nil {
			t.Fatal(err)
		}
		return a.store.Log().LastSeq()
	}
	deposit := func(n uint64) uint64 {
		return do(accounts.Command{
			Kind: accounts.Deposit, User: 1, Currency: "USDT", Amount: units(n),
		})
	}
	do(accounts.Command{Kind: accounts.CreateUser})
	before := deposit(1)
	if a.shown, err = showAccounts(a); err != nil {
		t.Fatal(err)
	}
	view := a.shown.state.Shown()
	sees := func(users int, money uint64) {
		t.Helper()
		got := view.Balance(1, "USDT").Total
		if n := view.UserCount(); n != users || got != units(money).Wide() {
			t.Errorf("readers see %d users and %v, want %d and %d", n, got, users, money)
		}
	}
	sees(1, 1)
	second, third := deposit(2), do(accounts.Command{Kind: accounts.CreateUser})
	a.state.FoldEvents(nil, 7) // it decides, so it is ahead of the readers
	fourth := deposit(4)
	a.state.FoldEvents(nil, 9)
	fifth := deposit(8)
	sees(1, 1)
	a.shown.reach(before)
	sees(1, 1)
	a.shown.reach(second)
	sees(1, 3)
	a.shown.reach(fourth)
	sees(2, 3) // the loop does not show position 7
	a.shown.Fold(nil, 6)
	sees(2, 3)
	a.shown.Fold(nil, 7)
	sees(2, 7)
	if third >= fourth || a.shown.full() {
		t.Errorf("records %d and %d", third, fourth)
	}
	a.shown.Fold(nil, 9)
	sees(2, 7)
	a.shown.reach(fifth)
	sees(2, 15)
	last := deposit(16) // names position 9
	a.shown.Fold(nil, 10)
	sees(2, 31) // the stream has position 10, so it has the record before it
	a.shown.reach(last)
	sees(2, 31)
	for range maxUnshown {
		a.shown.waiting = append(a.shown.waiting, accounts.Record{})
	}
	if !a.shown.full() {
		t.Error("no bound")
	}
}
