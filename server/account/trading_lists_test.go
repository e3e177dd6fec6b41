package account_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/servertest"
)

// queries is an exchange that counts its queries and places an order after each, which
// ends at once. The queries of the canceler are none of these: it asks in its own time, on its own goroutine.
type queries struct {
	entry.Exchange
	n     int
	after func()
}

func (q *queries) Query(fn func()) error {
	err := q.Exchange.Query(fn)
	if byCanceler() {
		return err
	}
	if q.n++; q.after != nil {
		q.after()
	}
	return err
}

func byCanceler() bool {
	callers := make([]uintptr, 4)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "entry.(*Canceler).") {
			return true
		}
		if !more {
			return false
		}
	}
}

// Reading an account with many closed orders takes many queries. All pages together hold the
// account's orders, newest first, while it places and closes more orders.
func TestDeepPagesTakeManyQueriesAndLoseNoOrder(t *testing.T) {
	var q *queries
	h, a, _ := servertest.NewTradedExchange(t, func(o *exchange.Options) {
		o.Hooks.Account = func(a *account.Options) {
			q = &queries{Exchange: a.Exchange}
			a.Exchange = q
		}
	})
	one := fmt.Sprintf(`{"place":{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit",`+
		`"timeInForce":"ioc","price":1,"amount":1}}`, a.ID)
	for range 3 {
		h.CallInternal("POST", "/orders/batch", `{"commands":[`+strings.Repeat(one+",", 999)+one+`]}`)
	}
	list := func(query string) []struct{ ID string } {
		var out []struct{ ID string }
		servertest.Parse(t, a.OK("GET", "/api/user/orders?"+query, "").Body, &out)
		return out
	}
	next := 3000
	for page := 1; page <= 30; page++ {
		q.n = 0
		rows := list(fmt.Sprintf("pageNumber=%d", page))
		if len(rows) != 100 {
			t.Fatalf("page %d has %d rows", page, len(rows))
		}
		for _, r := range rows {
			if want := fmt.Sprint(engine.MakeOrderID(0, uint64(next))); r.ID != want {
				t.Fatalf("page %d: order %s, want %s", page, r.ID, want)
			}
			next--
		}
		if page == 30 && q.n < 4 {
			t.Errorf("the last page took %d queries", q.n)
		}
	}
	for query, most := range map[string]int{"pageNumber=31": 1, "pageNumber=99999&pageSize=1": 1, "status=active": 1} {
		if q.n = 0; len(list(query)) > 100 || q.n > most {
			t.Errorf("%s took %d queries", query, q.n)
		}
	}
	placed := 0
	q.after = func() {
		placed++
		h.CallInternal("POST", "/orders/batch", `{"commands":[`+one+`]}`)
	}
	if rows := list("pageNumber=30"); len(rows) != 100 ||
		rows[99].ID != fmt.Sprint(engine.MakeOrderID(0, 1)) || placed < 4 {
		t.Errorf("%d rows after %d orders more", len(rows), placed)
	}
}
