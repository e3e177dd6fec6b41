package binance

import (
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

type noUsers struct{ Users }

func (noUsers) Rows(engine.AccountID) []accounts.BalanceView { return nil }

func backlog(t *testing.T, messages int) (taken int, lost bool) {
	t.Helper()
	u := newUserFeed(&Options{Users: noUsers{}})
	s := &subscription{account: 7, wake: func() {}}
	u.subscribe(s)
	for range messages {
		u.Transferred(7, "BTC", fixed.FromI64(1))
	}
	u.Transferred(8, "BTC", fixed.FromI64(1)) // no subscription
	u.Publish(0)
	list, lost := u.take(s, 2*maxBacklog)
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
	s := &subscription{account: 7, wake: func() {}}
	u.subscribe(s)
	u.unsubscribe(s)
	u.Observe(&engine.Event{Kind: engine.EventAccepted, Account: 7, Order: engine.MakeOrderID(0, 1)}, history)
	u.BalanceChanged(7)
	u.Publish(0)
	if len(u.accounts)+len(u.changed)+len(u.reports)+len(u.transfers) != 0 || !u.idle() {
		t.Errorf("%+v", u)
	}
}

// While a command is unfinished, a publication costs what is new, however many reports wait for the end.
func TestAPublicationDoesNotCopyTheReportsThatWait(t *testing.T) {
	u := newUserFeed(&Options{Users: noUsers{}})
	s := &subscription{account: 7, wake: func() {}}
	u.subscribe(s)
	u.Withhold([]engine.PairID{3})
	const parts, each = 90, 100
	part := func(from int) {
		for i := range each {
			u.reports = append(u.reports, &userMessage{account: 7, order: &orderReport{
				event: engine.Event{Pair: 3, Seq: engine.Seq(from + i)},
			}})
		}
		u.Publish(0)
	}
	part(0)
	few := testing.AllocsPerRun(10, func() { u.Publish(0) })
	for n := 1; n < parts; n++ {
		part(n * each)
	}
	if many := testing.AllocsPerRun(10, func() { u.Publish(0) }); many > few {
		t.Errorf("a publication without news makes %.0f allocations while %d reports wait, and %.0f while %d do",
			many, parts*each, few, each)
	}
	if list, _ := u.take(s, 2*maxBacklog); len(list) != 0 {
		t.Errorf("%d reports of an unfinished command", len(list))
	}
	u.Withhold(nil)
	part(parts * each)
	list, lost := u.take(s, 2*maxBacklog)
	if len(list) != (parts+1)*each || lost {
		t.Fatalf("%d reports, lost %v", len(list), lost)
	}
	for i, m := range list {
		if m.order.event.Seq != engine.Seq(i) {
			t.Fatalf("report %d has seq %d", i, m.order.event.Seq)
		}
	}
}

// Money has all digits of its asset; without any, one zero.
func TestMoneyHasTheDigitsOfItsAsset(t *testing.T) {
	for _, c := range []struct {
		amount string
		digits int
		want   string
	}{
		{"5", 0, "5.0"},
		{"5.5", 1, "5.5"},
		{"1700000", 2, "1700000.00"},
		{"-0.00000001", 8, "-0.00000001"},
		{"0", 8, "0.00000000"},
		{"0.000000000000000001", 18, "0.000000000000000001"},
	} {
		v, err := fixed.Parse(c.amount)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendMoney(nil, v.Wide(), c.digits)); got != c.want {
			t.Errorf("%s with %d digits: %s, want %s", c.amount, c.digits, got, c.want)
		}
	}
	v := fixed.I192{W2: 5} // 5 x 2^128 = 1701411834604692317316873037158841057280
	if got := string(appendMoney(nil, v, 2)); got != "1701411834604692317316.87" {
		t.Error(got)
	}
}
