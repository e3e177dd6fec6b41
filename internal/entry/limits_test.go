package entry_test

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// An order that is one too many says how many are allowed. As many as that are accepted.
func TestOneOrderTooManySaysTheLimit(t *testing.T) {
	stop := limit(engine.Sell, "90", "1")
	stop.Type, stop.Stop = engine.StopLimit, []byte("90")
	iceberg := limit(engine.Sell, "110", "10000")
	iceberg.Display = []byte("1")
	list := entry.Command{Kind: entry.PlaceOrderList, List: entry.PlaceList{
		Pair: []byte("BTC_USDT"), Kind: engine.OTO,
		Orders: []entry.Place{limit(engine.Buy, "0.01", "1"), limit(engine.Buy, "0.01", "1")},
	}}
	own := func(n int, what string, all int) string {
		return fmt.Sprintf("An account may have at most %d %s in a pair, and all accounts together %d.", n, what, all)
	}
	for _, c := range []struct {
		name string
		next func(r *rig) entry.Command
		most int
		want string
	}{
		{
			"stops", func(*rig) entry.Command { return place(stop) }, 200,
			"TOO_MANY_STOPS: " + own(200, "waiting and pending orders", 20_000),
		},
		{
			"lists", func(*rig) entry.Command { return list }, 20,
			"TOO_MANY_LISTS: " + own(20, "open order lists", 2_000),
		},
		{
			"slices", func(*rig) entry.Command { return place(iceberg) }, (1 << 18) / 9_999,
			"TOO_MANY_SLICES: The icebergs of a pair may have at most 262144 slices in reserve.",
		},
		{
			"amends", amendments(), 11, // the order, and its amendments
			"TOO_MANY_AMENDS: An order may be amended at most 10 times.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			u := r.user("1000", "1000000")
			for n := range c.most + 1 {
				req := r.e.Acquire(u)
				*req.One() = c.next(r)
				refusal, got := req.SubmitOne(), ""
				r.e.Release(req)
				if refusal != nil {
					got = string(refusal.Code) + ": " + refusal.Message
				}
				if n < c.most && got != "" || n == c.most && got != c.want {
					t.Fatalf("number %d: %q, want %q behind %d", n+1, got, c.want, c.most)
				}
			}
		})
	}
}

// amendments returns an order, and then its amendments.
func amendments() func(r *rig) entry.Command {
	n := 0
	return func(r *rig) (c entry.Command) {
		if n++; n == 1 {
			return place(limit(engine.Sell, "110", "100"))
		}
		if err := r.loop.Query(func() {
			c = replace(r.Core.LastOrderID(r.e.Instrument([]byte("BTC_USDT")).ID), "", fmt.Sprint(101-n))
		}); err != nil {
			r.t.Fatal(err)
		}
		c.Replace.SmallerOnly = true
		return c
	}
}

// A refusal names the limits that the program runs with. The built-in account has none of its own.
func TestALimitIsTheOneOfTheSettings(t *testing.T) {
	l := engine.Limits{OpenOrders: 7, AccountOrders: 6, AccountStops: 5, AccountLists: 4}
	const most = "An account may have at most "
	for r, want := range map[engine.Reason][2]string{
		engine.TooManyOrders: {
			most + "6 open orders in a pair, and all accounts together 7. " +
				"At most 1000000 of them may have a client order id.",
			"A pair may have at most 7 open orders. At most 1000000 of them may have a client order id.",
		},
		engine.TooManyStops: {
			most + "5 waiting and pending orders in a pair, and all accounts together 20000.",
			"A pair may have at most 20000 waiting and pending orders.",
		},
		engine.TooManyLists: {
			most + "4 open order lists in a pair, and all accounts together 2000.",
			"A pair may have at most 2000 open order lists.",
		},
		engine.PairHalted: {},
	} {
		for account, want := range want {
			account = 1 - account
			if got := entry.TooMany(r, engine.AccountID(account), &l); got != want {
				t.Errorf("%s of account %d: %q, want %q", r, account, got, want)
			}
		}
	}
}
