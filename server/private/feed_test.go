package private

import (
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// newFeed returns a feed whose balances are what they are called.
func newFeed() *Feed {
	balance := func(_ engine.AccountID, currency string) accounts.BalanceView {
		return accounts.BalanceView{CurrencyCode: currency, Digits: 5}
	}
	return New(marketdata.NewFeed(marketdata.Options{}).History(), balance)
}

// follow returns a subscription that counts in woken how often there is something to take.
func follow(f *Feed, account engine.AccountID, woken *int) *Subscription {
	return f.Subscribe(account, func() { *woken++ })
}

// report records an event of an order of account 7.
func report(f *Feed, pair engine.PairID, seq int) {
	f.orders = append(f.orders, &Event{Account: 7, Order: &Order{
		Event: engine.Event{Pair: pair, Seq: engine.Seq(seq)},
	}})
}

// seqs returns the seqs of all queued events.
func seqs(t *testing.T, s *Subscription) (list []int) {
	t.Helper()
	events, lost := s.Take(2 * MaxQueued)
	for _, m := range events {
		list = append(list, int(m.Order.Event.Seq))
	}
	if lost {
		t.Error("events were lost")
	}
	return list
}

// inOrder checks that a list counts from 0 to n.
func inOrder(t *testing.T, list []int, n int) {
	t.Helper()
	if len(list) != n {
		t.Fatalf("%d events, want %d", len(list), n)
	}
	for i, seq := range list {
		if seq != i {
			t.Fatalf("event %d has seq %d, want %d", i, seq, i)
		}
	}
}

// A subscription whose queue is full is lost as a whole, never cut, and goes on behind the loss.
func TestAFullQueueLosesTheSubscription(t *testing.T) {
	for _, c := range []struct {
		events, want int
		lost         bool
	}{{MaxQueued, MaxQueued, false}, {MaxQueued + 1, 0, true}} {
		f, woken := newFeed(), 0
		s := follow(f, 7, &woken)
		for range c.events {
			f.Transferred(7, "BTC", fixed.FromI64(1))
		}
		f.Transferred(8, "BTC", fixed.FromI64(1)) // no subscription
		f.Publish(0)
		if list, lost := s.Take(2 * MaxQueued); len(list) != c.want || lost != c.lost || woken == 0 {
			t.Errorf("of %d events %d, lost %v, want %d and %v", c.events, len(list), lost, c.want, c.lost)
		}
		f.Transferred(7, "BTC", fixed.FromI64(1))
		f.Publish(0)
		if list, lost := s.Take(1); len(list) != 1 || lost {
			t.Errorf("behind the loss: %d events, lost %v, want 1 and false", len(list), lost)
		}
	}
}

// Without subscriptions nothing is recorded, and an account is forgotten with its last subscription.
func TestOnlyWatchedAccountsAreRecorded(t *testing.T) {
	f, woken := newFeed(), 0
	follow(f, 7, &woken).End()
	f.Observe(&engine.Event{Kind: engine.EventAccepted, Account: 7, Order: engine.MakeOrderID(0, 1)})
	f.BalanceChanged(7, "BTC")
	f.Publish(0)
	if len(f.subscriptions)+len(f.changed)+len(f.orders)+len(f.transfers)+woken != 0 || !f.idle() {
		t.Errorf("%+v", f)
	}
}

// Every subscription of an account gets each event once and in order, in pieces of any size, also across publications.
func TestEachSubscriptionHasEveryEventOnce(t *testing.T) {
	f, woken := newFeed(), 0
	a, b := follow(f, 7, &woken), follow(f, 7, &woken)
	var pieces []int
	for n := range 1000 {
		report(f, 1, n)
		if n%7 == 0 {
			f.Publish(0)
		}
		if n%3 == 0 {
			list, _ := a.Take(2)
			for _, m := range list {
				pieces = append(pieces, int(m.Order.Event.Seq))
			}
		}
	}
	f.Publish(0)
	inOrder(t, append(pieces, seqs(t, a)...), 1000)
	inOrder(t, seqs(t, b), 1000)
}

// The events of a publication come in the order orders, transfers each before the balance that it has changed, other
// balances; a balance comes once.
func TestTheOrderWithinAPublication(t *testing.T) {
	f, woken := newFeed(), 0
	s := follow(f, 7, &woken)
	f.BalanceChanged(7, "ETH")
	f.BalanceChanged(7, "BTC")
	f.BalanceChanged(7, "ABC")
	f.Transferred(7, "BTC", fixed.FromI64(1))
	f.Transferred(7, "BTC", fixed.FromI64(2))
	report(f, 1, 0)
	f.Publish(0)
	got := ""
	list, _ := s.Take(MaxQueued)
	for _, m := range list {
		switch {
		case m.Order != nil:
			got += "order "
		case m.Transfer != nil:
			got += "transfer:" + m.Transfer.Currency + " "
		}
		for _, row := range m.Balances {
			got += "balance:" + row.CurrencyCode + " "
		}
	}
	if want := "order transfer:BTC balance:BTC transfer:BTC balance:ABC balance:ETH "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if list[1].Transfer.Digits != 5 {
		t.Errorf("a transfer with %d digits, want those of the balance, 5", list[1].Transfer.Digits)
	}
}

// While a command is unfinished, its events are not queued and those of other pairs are; a publication costs what is
// new, however many events wait for the end.
func TestEventsWaitForTheEndOfTheirCommand(t *testing.T) {
	f, woken := newFeed(), 0
	s := follow(f, 7, &woken)
	f.Withhold([]engine.PairID{3})
	const parts, each = 90, 100
	part := func(from int) {
		for i := range each {
			report(f, 3, from+i)
		}
		f.Publish(0)
	}
	part(0)
	few := testing.AllocsPerRun(10, func() { f.Publish(0) })
	for n := 1; n < parts; n++ {
		part(n * each)
	}
	if many := testing.AllocsPerRun(10, func() { f.Publish(0) }); many > few {
		t.Errorf("a publication without news makes %.0f allocations while %d events wait, and %.0f while %d do",
			many, parts*each, few, each)
	}
	inOrder(t, seqs(t, s), 0)
	report(f, 4, 0)
	f.Publish(0)
	inOrder(t, seqs(t, s), 1)
	f.Withhold(nil)
	part(parts * each)
	inOrder(t, seqs(t, s), (parts+1)*each)
}

// A purchase by quote amount ends behind its last trade, which has the state in which the purchase ends, also when its
// command has several parts. An event that was recorded before the end stays as it was.
func TestALastTradeHasTheEndOfItsOrder(t *testing.T) {
	for _, held := range []bool{false, true} {
		f, woken := newFeed(), 0
		s := follow(f, 7, &woken)
		id := engine.MakeOrderID(3, 1)
		trade := func(seq engine.Seq) {
			f.orders = append(f.orders, &Event{Account: 7, Order: &Order{
				Event: engine.Event{Kind: engine.EventTrade, Pair: 3, Seq: seq, Account: 7},
				Order: marketdata.OrderRecord{ID: id, Seq: seq},
			}})
		}
		trade(1)
		trade(2)
		if held {
			f.Withhold([]engine.PairID{3})
			f.Publish(0)
			f.Withhold(nil)
		}
		end := marketdata.OrderRecord{ID: id, Seq: 3}
		if !f.endTrade(&engine.Event{Pair: 3, Account: 7, Order: id}, &end) {
			t.Fatal("the last trade is not found")
		}
		f.Publish(0)
		list, _ := s.Take(MaxQueued)
		if len(list) != 2 || list[0].Order.Final != nil || list[1].Order.Final != &end || list[1].Order.Order.Seq != 2 {
			t.Errorf("held %v: the trades are %+v, want the end at the second alone", held, list)
		}
	}
}

// A subscriber to which nothing has happened does not wait for the feed.
func TestTakingNothingTakesNoLock(t *testing.T) {
	f := newFeed()
	woken := 0
	s := follow(f, 7, &woken)
	idle := func() {
		t.Helper()
		f.mu.Lock() // as the sequencer holds it
		defer f.mu.Unlock()
		if list, lost := s.Take(1); s.Waiting() || list != nil || lost {
			t.Errorf("%d events, lost %v, and nothing has happened", len(list), lost)
		}
	}
	idle()
	for i := range 3 {
		report(f, 1, i)
	}
	f.Publish(0)
	for left := 2; left >= 0; left-- {
		list, lost := s.Take(1)
		if len(list) != 1 || lost || s.Waiting() != (left > 0) {
			t.Fatalf("%d events, lost %v, waiting %v, and %d are left", len(list), lost, s.Waiting(), left)
		}
	}
	idle()
}
