package entry_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// oco returns a list that sells 1.
func oco(client string) entry.PlaceList {
	limit, stop := limit(engine.Sell, "110", "1"), limit(engine.Sell, "89", "1")
	limit.PostOnly, limit.Client = true, []byte("a")
	stop.Type, stop.Stop, stop.Strict, stop.Client = engine.StopLimit, []byte("90"), true, []byte("b")
	return entry.PlaceList{
		Pair: []byte("BTC_USDT"), Kind: engine.OCO, Client: []byte(client), Orders: []entry.Place{stop, limit},
	}
}

// The orders of a list reach the engine in their order, with the account and the pair of the list.
func TestAListReachesTheEngine(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	l := oco("l")
	l.ClientReusable = true
	_, _ = r.one(u, entry.Command{Kind: entry.PlaceOrderList, List: l})
	cmd := r.newest()
	if cmd.Kind != engine.PlaceList || cmd.Account != u || cmd.List.Kind != engine.OCO || len(cmd.List.Orders) != 2 {
		t.Fatalf("%+v %+v", cmd, cmd.List)
	}
	for i, want := range []engine.Command{
		{Type: engine.StopLimit, Flags: engine.FlagStrict, Price: 8900, Stop: 9000},
		{Type: engine.Limit, Flags: engine.FlagPostOnly, Price: 11000},
	} {
		o := cmd.List.Orders[i]
		if o.Kind != engine.Place || o.Pair != cmd.Pair || o.Account != u || o.Side != engine.Sell ||
			o.Amount != 10000 || o.Type != want.Type || o.Flags != want.Flags || o.Price != want.Price ||
			o.Stop != want.Stop || o.Client.Text != string(l.Orders[i].Client) {
			t.Errorf("order %d: %+v", i, o)
		}
	}
	if id := cmd.Client; id.Text != "l" || !id.Reusable || id.Hash == [2]uint64{} || id.Content == [2]uint64{} {
		t.Errorf("%+v", id)
	}
}

// The client id of a list is not one of an order, and everything but it is the content of the list.
func TestTheClientIDOfAList(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	id := func(l entry.PlaceList) engine.ClientID {
		t.Helper()
		_, _ = r.one(u, entry.Command{Kind: entry.PlaceOrderList, List: l})
		return *r.newest().Client
	}
	first := id(oco("a"))
	if order := r.newest().List.Orders[1].Client; order.Text != "a" || order.Hash == first.Hash {
		t.Errorf("the list has the hash of the order with the id %s", order.Text)
	}
	if again := id(oco("a")); again != first {
		t.Errorf("%+v, want %+v", again, first)
	}
	if other := id(oco("b")); other.Hash == first.Hash || other.Content != first.Content {
		t.Errorf("another id: %+v, first %+v", other, first)
	}
	for what, change := range map[string]func(l *entry.PlaceList){
		"order":      func(l *entry.PlaceList) { l.Orders[0], l.Orders[1] = l.Orders[1], l.Orders[0] },
		"price":      func(l *entry.PlaceList) { l.Orders[0].Price = []byte("88") },
		"client id":  func(l *entry.PlaceList) { l.Orders[0].Client = []byte("c") },
		"no id":      func(l *entry.PlaceList) { l.Orders[1].Client = nil },
		"client ids": func(l *entry.PlaceList) { l.Orders[0].Client, l.Orders[1].Client = []byte("ba"), nil },
	} {
		l := oco("a")
		change(&l)
		if got := id(l); got.Hash != first.Hash || got.Content == first.Content {
			t.Errorf("another %s: %+v", what, got)
		}
	}
	works, sells := limit(engine.Buy, "90", "1"), limit(engine.Sell, "110", "1")
	sells.Amount = nil
	sold := entry.PlaceList{
		Pair: []byte("BTC_USDT"), Kind: engine.OPO, Client: []byte("c"), Orders: []entry.Place{works, sells},
	}
	opo := id(sold)
	if sold.Kind = engine.OTO; id(sold).Content == opo.Content {
		t.Errorf("another kind: %+v", opo)
	}
}

// A list whose orders do not fit its kind is refused before it is sequenced, with the order that does not fit.
func TestAListOfAnotherForm(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	for want, change := range map[string]func(l *entry.PlaceList){
		"INVALID_PARAM orders":    func(l *entry.PlaceList) { l.Orders = l.Orders[:1] },
		"INVALID_PARAM orders[0]": func(l *entry.PlaceList) { l.Kind = engine.OTO },
		"INVALID_PARAM orders[1]": func(l *entry.PlaceList) { l.Orders[1].Amount = []byte("2") },
	} {
		l := oco("a")
		change(&l)
		if _, refusal := r.one(u, entry.Command{Kind: entry.PlaceOrderList, List: l}); refusal != want {
			t.Errorf("%q, want %q", refusal, want)
		}
	}
	if _, refusal := r.one(u, entry.Command{Kind: entry.PlaceOrderList, List: oco("a")}); refusal !=
		"INSUFFICIENT_FUNDS orders[0]" { // it reaches the engine, and the account has no BTC
		t.Errorf("a list that fits: %q", refusal)
	}
}

// What does not exist is missing, by its name.
func TestAnUnknownListIsMissing(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	pair := r.e.Instrument([]byte("BTC_USDT")).ID
	for _, id := range []engine.OrderID{engine.MakeOrderID(pair, 1), engine.MakeOrderID(pair+1, 1)} {
		if _, refusal := r.e.List(u, id); refusal == nil || refusal.Field != "listId" {
			t.Errorf("list %d: %v", id, refusal)
		}
	}
	if _, refusal := r.e.ClientList(u, pair, "x"); refusal == nil || refusal.Field != "clientOrderId" {
		t.Errorf("%v", refusal)
	}
	l := oco("a")
	l.Pair = []byte("A_B")
	_, refusal := r.one(u, entry.Command{Kind: entry.PlaceOrderList, List: l})
	if refusal != "NOT_FOUND currencyPairCode" {
		t.Errorf("%s", refusal)
	}
}
