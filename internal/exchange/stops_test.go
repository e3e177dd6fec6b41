package exchange_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// The waiting stops of one account in one pair are bounded. The bound is a part of the state: a start with another one
// writes a record, behind which it counts, and a replay takes each bound from the records, whatever is configured.
func TestStopsOfAnAccountAreBounded(t *testing.T) {
	const bound = 23
	o := exchangetest.Options(t.TempDir())
	o.Engine.AccountStops = bound
	x := exchangetest.Start(t, o)
	first := x
	first.Pair("AA_USDT")
	first.Limit("AA_USDT", "buy", "1", "1")
	first.Limit("AA_USDT", "sell", "1", "1") // stops wait for a price to leave
	user := func(name string) string {
		t.Helper()
		id := first.Call("POST", "/users", fmt.Sprintf(`{"nickname":%q}`, name))["id"].(string)
		first.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"AA","amount":"100"}`)
		return id
	}
	many, few := user("many"), user("few")
	stop := func(account string) string {
		t.Helper()
		a := x.Do("POST", x.Internal+"/orders", fmt.Sprintf(
			`{"currencyPairCode":"AA_USDT","side":"sell","type":"stop_market","amount":"0.01","stopPrice":"0.01",`+
				`"accountId":%q}`, account))
		for _, word := range []string{`"status":"Created"`, `"rejectReason":"too_many_stops"`} {
			if a.Status == 200 && strings.Contains(a.Body, word) {
				return word
			}
		}
		t.Fatal(a)
		return ""
	}
	for i := range bound {
		if got := stop(many); got != `"status":"Created"` {
			t.Fatalf("stop %d: %s", i+1, got)
		}
	}
	if got := stop(many); got != `"rejectReason":"too_many_stops"` {
		t.Errorf("one more stop: %s", got)
	}
	if got := stop(few); got != `"status":"Created"` {
		t.Errorf("another account's stop: %s", got)
	}
	restart := func(bound int, snapshot int64) {
		t.Helper()
		hash := marketOf(x.Hash())
		o.Dir, o.Engine.AccountStops, o.Journal.SnapshotBytes = x.Kill(), bound, snapshot
		x.Stop()
		x = exchangetest.Start(t, o)
		if got := marketOf(x.Hash()); got != hash {
			t.Errorf("bound %d: %s, was %s", bound, got, hash)
		}
	}
	const created, refused = `"status":"Created"`, `"rejectReason":"too_many_stops"`
	expect := func(what string, want ...string) {
		t.Helper()
		for i, w := range want {
			if got := stop(many); got != w {
				t.Errorf("%s, stop %d: %s", what, i+1, got)
			}
		}
	}
	restart(bound+1, 0)
	expect("a higher bound", created, refused)
	restart(bound-1, 4096) // from now on with snapshots
	expect("a lower bound", refused)
	for n := 0; x.Covered() == 0; n++ {
		x.Limit("AA_USDT", "buy", "0.5", "1")
	}
	expect("behind a snapshot", refused)
	restart(bound+3, 4096)
	expect("a higher bound again", created, created, refused)
	position := x.Loop().Position()
	restart(bound+3, 4096)
	if got := x.Loop().Position(); got != position {
		t.Errorf("a start with the same settings writes %d records", got-position)
	}
}

// marketOf returns the market's part of the answer of GET /state-hash, which a record of settings does not change.
func marketOf(answer string) string {
	_, market, _ := strings.Cut(answer, `"market":"`)
	hash, _, _ := strings.Cut(market, `"`)
	return hash
}

// A replica that follows takes a changed setting from its record: it executes by the new limit what the restarted
// writer accepted by it.
func TestAChangedSettingReachesARunningReplica(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string, orders int) exchange.Options {
		o := exchangetest.Options(dir)
		o.Clock, o.Engine.AccountOrders = exchange.ClockOptions{}, orders
		return o
	}
	o := options(t.TempDir(), 1)
	o.Cluster.Key = clusterRing()
	o.Stream = exchange.StreamOptions{
		Sim:  exchange.SimOff,
		Open: func(context.Context, string) (jet.Log, func(), error) { return mem.Connect(), func() {}, nil },
	}
	x := exchangetest.Start(t, o)
	x.Pair("AA_USDT")
	user := x.Call("POST", "/users", "{}")["id"].(string)
	x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":"100"}`)
	order := func(want string) {
		t.Helper()
		a := x.Do("POST", x.Internal+"/orders", fmt.Sprintf(`{"currencyPairCode":"AA_USDT","side":"buy",`+
			`"type":"limit","price":1,"amount":1,"accountId":%q}`, user))
		if !strings.Contains(a.Body, want) {
			t.Errorf("an order: %s, want %s", a.Body, want)
		}
	}
	order(`"status":"Created"`)
	order(`"rejectReason":"too_many_orders"`)
	log := mem.Connect()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	r := options("", 7) // its own limit says nothing
	r.Follow = &exchange.FollowOptions{Log: log, Keys: clusterKeys(), Genesis: genesis, MaxLag: time.Hour}
	follows(t, r, func(internal string) {
		for _, orders := range []int{3, 2} {
			x.Stop()
			o.Engine.AccountOrders = orders
			x = exchangetest.Start(t, o)
			if orders == 3 {
				order(`"status":"Created"`)
				order(`"status":"Created"`)
			}
			order(`"rejectReason":"too_many_orders"`)
			want := marketOf(x.Hash())
			waitFor(t, "the replica has the writer's state", func() bool {
				return marketOf(x.Do("GET", internal+"/state-hash", "").Body) == want
			})
		}
	})
}
