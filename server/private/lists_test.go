package private

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// apply has the market data fold the events of one pair, and the feed observe them.
func apply(md *marketdata.Feed, seq *engine.Seq, events ...engine.Event) {
	for i := range events {
		*seq++
		events[i].Seq = *seq
	}
	md.Fold(events)
}

// A list begins before its orders, has their client ids, and ends; a new id of an order is an event of the list too.
// The events of a command have one number, which no other command has.
func TestEventsOfAList(t *testing.T) {
	f, md, seq, woken := (*Feed)(nil), marketdata.NewFeed(marketdata.Options{}), engine.Seq(0), 0
	f = New(md.History(), nil)
	md.Observe(f.Observe)
	apply(md, &seq, engine.Event{Kind: engine.EventPair, Instrument: markettest.Instrument("BTC_USDT", 2, 5)})
	s := follow(f, 7, &woken)
	first, second := engine.MakeOrderID(0, 1), engine.MakeOrderID(0, 2)
	name := func(text string) *engine.ClientID { return &engine.ClientID{Text: text} }
	accepted := func(id engine.OrderID, client string) engine.Event {
		return engine.Event{
			Kind: engine.EventAccepted, Account: 7, Order: id, Maker: first, Side: engine.Sell, Price: 9, Amount: 5,
			OpenAmount: 5, Client: name(client),
		}
	}
	apply(
		md, &seq,
		engine.Event{Kind: engine.EventList, Account: 7, Order: first, List: engine.OCO, Amount: 2, Client: name("l")},
		accepted(first, "a"), accepted(second, "b"),
	)
	apply(md, &seq, engine.Event{
		Kind: engine.EventReplaced, Account: 7, Order: second, Flags: engine.FlagSmallerOnly, Side: engine.Sell,
		Price: 9, Amount: 4, OpenAmount: 4, MakerOpen: 9, Display: 5, Client: name("c"),
	})
	canceled := engine.Event{
		Kind: engine.EventCanceled, Account: 7, Side: engine.Sell, Price: 9, Amount: 5, Status: engine.Canceled,
	}
	one, other := canceled, canceled
	one.Order, other.Order, other.Amount = first, second, 4
	apply(md, &seq, one, other, engine.Event{Kind: engine.EventListEnded, Account: 7, Order: first})
	f.Publish(0)
	list, lost := s.Take(MaxQueued)
	got, commands := "", map[uint64]bool{}
	for _, m := range list {
		if commands[m.Command] = true; m.List == nil {
			got += fmt.Sprintf("%d:%d ", m.Command, m.Order.Event.Kind)
		} else {
			got += fmt.Sprintf("%d:%d%v%v ", m.Command, m.List.Event.Kind, m.List.Clients, m.List.List.Done)
		}
	}
	const want = "1:13[a b]false 1:1 1:1 2:6 2:6[a c]false 3:5 4:5 4:14[a c]true "
	if got != want || lost {
		t.Errorf("%s\nwant %s, lost %v", got, want, lost)
	}
}

// What is kept from trading is what both orders could have traded. The event that says what it has taken from an order
// names the other order; an event of another command does not.
func TestAPreventedMatch(t *testing.T) {
	md, seq, woken := marketdata.NewFeed(marketdata.Options{}), engine.Seq(0), 0
	f := New(md.History(), nil)
	md.Observe(f.Observe)
	apply(md, &seq, engine.Event{Kind: engine.EventPair, Instrument: markettest.Instrument("BTC_USDT", 2, 5)})
	s := follow(f, 7, &woken)
	maker, taker := engine.MakeOrderID(0, 1), engine.MakeOrderID(0, 2)
	accepted := func(id engine.OrderID, side engine.Side, lots int64) engine.Event {
		return engine.Event{
			Kind: engine.EventAccepted, Account: 7, Order: id, Side: side, Price: 9, Amount: lots, OpenAmount: lots,
		}
	}
	apply(md, &seq, accepted(maker, engine.Sell, 8))
	apply(
		md, &seq, accepted(taker, engine.Buy, 3),
		engine.Event{
			Kind: engine.EventPrevented, Account: 7, Order: taker, Maker: maker, Trade: 1, Side: engine.Buy, Price: 9,
			OpenAmount: 8, STP: engine.CancelMaker,
		},
		engine.Event{
			Kind: engine.EventCanceled, Account: 7, Order: maker, Side: engine.Sell, Price: 9, Amount: 8,
			Status: engine.Canceled, Cause: engine.CauseSelfTrade,
		},
	)
	apply(md, &seq, engine.Event{
		Kind: engine.EventCanceled, Account: 7, Order: taker, Side: engine.Buy, Price: 9, Amount: 3,
		Status: engine.Canceled,
	})
	f.Publish(0)
	list, _ := s.Take(MaxQueued)
	if len(list) != 4 {
		t.Fatalf("%d events", len(list))
	}
	for i, m := range list {
		want := Prevented{Number: 1, Counter: taker, Price: 9, Lots: 3}
		if p := m.Order.Prevented; (p != nil) != (i == 2) || p != nil && *p != want {
			t.Errorf("event %d: %+v", i, p)
		}
	}
}
