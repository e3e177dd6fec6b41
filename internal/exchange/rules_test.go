package exchange_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"tickhive/internal/cmdline"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
)

func isOld(t *testing.T, x *exchangetest.Rig, w exchangetest.State) {
	t.Helper()
	for path, want := range map[string]string{"/state-hash": w.StateHash, "/totals": w.Totals} {
		if got := x.Do("GET", x.Internal+path, "").Body; got != want {
			t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
		}
	}
	for id, want := range w.Users {
		got := x.Do("GET", x.Internal+"/users/"+id, "").Body
		if got = strings.Replace(got, `"halted":false,`, "", 1); got != want { // a member that the old program lacked
			t.Errorf("user %s is\n%s\nwant\n%s", id, got, want)
		}
	}
}

// A directory of older rules is replayed by those rules. It has the same state and the same
// balances, from its snapshots and from the first record, and it accepts new commands.
func TestADirectoryOfOldRulesKeepsItsState(t *testing.T) {
	w := exchangetest.OldState(t, exchangetest.Rules0)
	dir := exchangetest.OldDirectory(t, exchangetest.Rules0)
	first := exchangetest.Start(t, exchangetest.Options(dir))
	isOld(t, first, w)
	order := first.Do("POST", first.Internal+"/orders",
		`{"currencyPairCode":"AA_USDT","side":"buy","type":"limit","price":"1","amount":"1"}`)
	if order.Status != 200 || !strings.Contains(order.Body, `"status":"Created"`) {
		t.Fatalf("%d %s", order.Status, order.Body)
	}
	hash := first.Hash()
	again := exchangetest.Start(t, exchangetest.Options(first.Kill()))
	if got := again.Hash(); got != hash {
		t.Errorf("%s, want %s", got, hash)
	}

	for _, name := range []string{"engine", "accounts"} {
		if len(exchangetest.Files(t, exchangetest.OldDirectory(t, exchangetest.Rules0), name+"/*.snap")) == 0 {
			t.Fatalf("%s of the directory has no snapshot", name)
		}
	}
	dir = exchangetest.OldDirectory(t, exchangetest.Rules0)
	for _, pattern := range []string{"engine/*.snap", "accounts/*.snap"} {
		for _, s := range exchangetest.Files(t, dir, pattern) {
			if err := os.Remove(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	isOld(t, exchangetest.Start(t, exchangetest.Options(dir)), w)
}

// New commands are limited in the stops of one account in one pair. A directory of a program
// without this limit starts with all its stops, adopts the limit of the first start that has
// one, and keeps it.
func TestStopsOfAnAccountAreBounded(t *testing.T) {
	w := exchangetest.OldState(t, exchangetest.Rules0)
	dir := exchangetest.OldDirectory(t, exchangetest.Rules0)
	o := exchangetest.Options(dir)
	o.Engine.AccountStops = 230
	first := exchangetest.Start(t, o)
	isOld(t, first, w)
	var many, few string // the account with 210 waiting stops, and another one
	for id, body := range w.Users {
		if strings.Contains(body, `"nickname":"user0"`) {
			many = id
		} else if strings.Contains(body, `"nickname":"user1"`) {
			few = id
		}
	}
	stop := func(x *exchangetest.Rig, account string) string {
		t.Helper()
		a := x.Do("POST", x.Internal+"/orders", fmt.Sprintf(
			`{"currencyPairCode":"AA_USDT","side":"sell","type":"stop_market","amount":"0.01","stopPrice":"0.01",`+
				`"accountId":%q}`, account))
		if a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, word := range []string{`"status":"Created"`, `"rejectReason":"too_many_orders"`} {
			if strings.Contains(a.Body, word) {
				return word
			}
		}
		t.Fatal(a.Body)
		return ""
	}
	taken := 0
	for stop(first, many) == `"status":"Created"` {
		if taken++; taken > 230 {
			t.Fatal("no bound")
		}
	}
	if taken == 0 || taken > 20 { // 230 less 210 and the stops of the random orders
		t.Errorf("%d more stops were taken", taken)
	}
	if got := stop(first, few); got != `"status":"Created"` {
		t.Errorf("another account's stop: %s", got)
	}
	hash := first.Hash()
	o.Dir = first.Kill()
	other := o
	other.Engine.AccountStops = 0
	opened, err := exchange.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = opened.Recover(t.Context())
	opened.Stop(t.Context())
	if usage := (cmdline.UsageError{}); !errors.As(err, &usage) || !strings.Contains(err.Error(),
		"engine.account_stops=230") {
		t.Error(err)
	}
	if got := exchangetest.Start(t, o).Hash(); got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
}
