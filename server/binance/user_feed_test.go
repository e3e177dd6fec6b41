package binance

import (
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

type noUsers struct{ Users }

func (noUsers) Settled(engine.AccountID) []accounts.BalanceView { return nil }

func backlog(t *testing.T, messages int) (taken int, lost bool) {
	t.Helper()
	u := newUserFeed(&Options{Users: noUsers{}})
	s := &subscription{account: 7, wake: make(chan struct{}, 1)}
	u.subscribe(s)
	for range messages {
		u.Transferred(7, "BTC", fixed.FromI64(1))
	}
	u.Transferred(8, "BTC", fixed.FromI64(1)) // no subscription
	u.flush()
	list, lost := u.take(s)
	return len(list), lost
}

// A subscription whose backlog is full is lost as a whole, never cut.
func TestAFullBacklogLosesTheSubscription(t *testing.T) {
	if n, lost := backlog(t, maxBacklog); n != maxBacklog || lost {
		t.Errorf("%d messages, lost %v", n, lost)
	}
	if n, lost := backlog(t, maxBacklog+1); n != 0 || !lost {
		t.Errorf("%d messages, lost %v", n, lost)
	}
}

// Without subscriptions nothing is recorded, and an account is forgotten with its last subscription.
func TestOnlyWatchedAccountsAreRecorded(t *testing.T) {
	u := newUserFeed(&Options{Users: noUsers{}})
	history := marketdata.NewFeed(marketdata.Options{}).History()
	s := &subscription{account: 7, wake: make(chan struct{}, 1)}
	u.subscribe(s)
	u.unsubscribe(s)
	u.Observe(&engine.Event{Kind: engine.EventAccepted, Account: 7, Order: engine.MakeOrderID(0, 1)}, history)
	u.BalanceChanged(7)
	u.Publish(0)
	if len(u.accounts)+len(u.changed)+len(u.reports)+len(u.transfers) != 0 || !u.idle() {
		t.Errorf("%+v", u)
	}
}
