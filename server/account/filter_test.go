package account_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// The lists of orders and deals have the rows of one side, type and state where a filter says so; pages by cursor leave
// none out.
func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	h, a, b := servertest.NewTradedExchange(t)
	const pair = `"currencyPairCode":"BTC_USDT",`
	for i := range 3 {
		a.Place(fmt.Sprintf(`{"side":"buy",%s"amount":1,"price":1%d}`, pair, i))
		a.Place(fmt.Sprintf(`{"side":"sell",%s"type":"stop_limit","amount":1,"price":5,"stopPrice":5.%d}`, pair, i))
	}
	b.Place(`{"side":"sell",` + pair + `"amount":1,"price":12}`)
	a.OK("DELETE", "/api/orders/"+a.Place(`{"side":"sell",`+pair+`"amount":1,"price":30}`), "")
	states := func(query string) string {
		var rows []struct {
			IsBid        bool
			Type, Status string
		}
		servertest.Parse(t, a.OK("GET", "/api/user/orders?"+query, "").Body, &rows)
		var out []string
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%t %s %s", r.IsBid, r.Type, r.Status))
		}
		return strings.Join(out, ", ")
	}
	for query, want := range map[string]string{
		"side=buy":                   "true limit Completed, true limit Created, true limit Created",
		"side=buy&status=active":     "true limit Created, true limit Created",
		"status=completed":           "true limit Completed",
		"status=ended":               "false limit Canceled, true limit Completed",
		"status=ended&side=sell":     "false limit Canceled",
		"status=completed&side=sell": "",
		"type=stop_limit&side=buy":   "",
		"type=stop_limit":            strings.Repeat("false stop_limit Created, ", 2) + "false stop_limit Created",
		"type=market":                "",
	} {
		if got := states(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := a.OK("GET", "/api/user/orders?side=buy&pageSize=2", "")
	cursor := first.Header.Get("X-Next-Cursor")
	if states("side=buy&pageSize=2&cursor="+cursor) != "true limit Created" {
		t.Errorf("the second page is %s", states("side=buy&pageSize=2&cursor="+cursor))
	}
	for query, want := range map[string]int{"side=buy": 1, "side=sell": 0, "pageSize=9": 1} {
		if got := strings.Count(a.OK("GET", "/api/user/deals?"+query, "").Body, `"tradeId"`); got != want {
			t.Errorf("deals, %s: %d rows, want %d", query, got, want)
		}
	}
	for target, field := range map[string]string{
		"/api/user/orders?side=both": "side", "/api/user/orders?type=oco": "type",
		"/api/user/orders?status=open": "status",
		"/api/user/deals?side=both":    "side",
	} {
		h.CheckRefusal(target, a.Call("GET", target, ""), 400, "INVALID_PARAM", field)
	}
}
