package exchange_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tickhive/internal/cmdline"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
)

// The waiting stops of one account in one pair are bounded. A directory keeps the bound of its first start, because its
// records are replayed by that bound.
func TestStopsOfAnAccountAreBounded(t *testing.T) {
	const bound = 23
	o := exchangetest.Options(t.TempDir())
	o.Engine.AccountStops = bound
	first := exchangetest.Start(t, o)
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
		a := first.Do("POST", first.Internal+"/orders", fmt.Sprintf(
			`{"currencyPairCode":"AA_USDT","side":"sell","type":"stop_market","amount":"0.01","stopPrice":"0.01",`+
				`"accountId":%q}`, account))
		for _, word := range []string{`"status":"Created"`, `"rejectReason":"too_many_orders"`} {
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
	if got := stop(many); got != `"rejectReason":"too_many_orders"` {
		t.Errorf("one more stop: %s", got)
	}
	if got := stop(few); got != `"status":"Created"` {
		t.Errorf("another account's stop: %s", got)
	}
	hash := first.Hash()
	o.Dir = first.Kill()
	other := o
	other.Engine.AccountStops = bound + 1
	opened, err := exchange.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = opened.Recover(t.Context())
	opened.Stop(t.Context())
	if usage := (cmdline.UsageError{}); !errors.As(err, &usage) || !strings.Contains(err.Error(),
		fmt.Sprintf("engine.account_stops=%d", bound)) {
		t.Error(err)
	}
	if got := exchangetest.Start(t, o).Hash(); got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
}
