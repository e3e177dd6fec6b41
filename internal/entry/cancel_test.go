package entry_test

import (
	"regexp"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// A mass cancel reaches the selected orders that were open when it was sequenced.
func TestAMassCancelReachesItsOrders(t *testing.T) {
	const every = engine.ControlPair
	for _, c := range []struct {
		name string
		m    entry.MassCancel
		want int
	}{
		{"a caller's", entry.MassCancel{Caller: 1}, 70},
		{"one account's", entry.MassCancel{Account: 2, Pair: every}, 5},
		{"the built-in account's", entry.MassCancel{Pair: every}, 1},
		{"everyone's of a pair", entry.MassCancel{Everyone: true}, 73},
		{"everyone's", entry.MassCancel{Everyone: true, Pair: every}, 76},
		{"of a pair without orders", entry.MassCancel{Caller: 1, Pair: 2}, 0},
		{"a caller's of every pair", entry.MassCancel{Caller: 2, Pair: every}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.pair("ETH_USDT", 2, 4)
			r.pair("XRP_USDT", 2, 4)
			a, b := r.user("1000", ""), r.user("1000", "")
			for range 70 { // more than one part
				r.placed(a, limit(engine.Buy, "1", "1"))
			}
			for range 3 {
				r.placed(b, limit(engine.Buy, "2", "1"))
			}
			r.placed(0, entry.Place{Pair: []byte("ETH_USDT"), Price: []byte("1"), Amount: []byte("1")})
			for range 2 {
				r.placed(b, entry.Place{Pair: []byte("XRP_USDT"), Price: []byte("1"), Amount: []byte("1")})
			}
			r.batches = nil
			if n, refusal := r.e.CancelAll(c.m); refusal != nil || n != c.want {
				t.Errorf("%d canceled, want %d: %v", n, c.want, refusal)
			}
			// A caller without open orders in a pair sends nothing to it.
			if c.m.Caller == 2 && len(r.batches) != 2 {
				t.Errorf("%d commands, want one for each pair with orders", len(r.batches))
			}
		})
	}
}

func TestAHaltedPairCancelsNothing(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	r.placed(u, limit(engine.Buy, "1", "1"))
	ins, _ := r.Core.Pair(0)
	next := *ins
	next.State = engine.Halted
	r.command(engine.Command{Kind: engine.SetPair, Pair: 0, Instrument: &next})
	for _, c := range []struct {
		m    entry.MassCancel
		code string
	}{
		{entry.MassCancel{Caller: u}, "PAIR_HALTED"},
		{entry.MassCancel{Everyone: true}, "CONFLICT"},
		{entry.MassCancel{Everyone: true, Pair: engine.ControlPair}, ""}, // it skips the pair
		{entry.MassCancel{Caller: u, Pair: engine.ControlPair}, ""},
	} {
		n, refusal := r.e.CancelAll(c.m)
		code := ""
		if refusal != nil {
			code = string(refusal.Code)
		}
		if n != 0 || code != c.code {
			t.Errorf("%+v: %d canceled, %q, want %q", c.m, n, code, c.code)
		}
	}
}

// A signed request finds its caller's orders alone.
func TestASignedRequestFindsOwnOrdersAlone(t *testing.T) {
	r := newRig(t)
	a, b := r.user("100", ""), r.user("100", "")
	r.placed(a, limit(engine.Buy, "1", "1"))
	got, notFound := r.e.Order(a, "1")
	if notFound != nil || got.Record.Account != a || got.Instrument.Code != "BTC_USDT" {
		t.Errorf("its own: %+v %v", got, notFound)
	}
	if _, refusal := r.e.Order(b, "1"); refusal == nil || refusal.Code != "NOT_FOUND" || refusal.Field != "orderId" {
		t.Errorf("another account's: %v", refusal)
	}
	cancel := entry.Command{Kind: entry.CancelOrder, Order: 1}
	if _, refusal := r.one(b, cancel); refusal != "NOT_FOUND orderId" {
		t.Errorf("a cancel of another account's: %s", refusal)
	}
	if got, refusal := r.one(a, cancel); refusal != "" || got.Record.Status != engine.Canceled {
		t.Errorf("a cancel of its own: %s %v", refusal, got.Record.Status)
	}
	if _, refusal := r.one(b, cancel); refusal != "NOT_FOUND orderId" {
		t.Errorf("a cancel of another account's closed order: %s", refusal)
	}
	form := regexp.MustCompile(entry.OrderPattern)
	for text, want := range map[string]string{
		"1": "", "01": "", "2": "", "99": "",
		"-1": "NOT_FOUND", "9007199254740992": "NOT_FOUND", "9999999999999999999": "NOT_FOUND",
		"": "INVALID_PARAM", "-": "INVALID_PARAM", "+1": "INVALID_PARAM", "1x": "INVALID_PARAM",
		"00000000000000000001": "INVALID_PARAM",
	} {
		code := ""
		if _, _, refusal := r.e.ParseOrder(0, text); refusal != nil {
			code = string(refusal.Code)
		}
		if code != want {
			t.Errorf("order %q: %q, want %q", text, code, want)
		}
		if form.MatchString(text) && code == "INVALID_PARAM" {
			t.Errorf("order %q has the form %s of the documents, and is refused for its form", text, entry.OrderPattern)
		}
	}
}
