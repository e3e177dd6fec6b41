package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// The engine's limits determine the meaning of the journal. A replay with other limits would
// accept and refuse different commands and lose acknowledged ones. A start with other limits
// is refused and changes nothing; a start with the directory's limits succeeds.
func TestADirectoryIsReplayedByItsOwnLimits(t *testing.T) {
	dir := t.TempDir()
	first := startEmpty(t, "--data-dir", dir)
	first.pair("BTC_USDT")
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited
	for _, limit := range []string{"engine.account_orders=1", "engine.open_orders=16777216", "engine.account_stops=201"} {
		other := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir,
			"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--set", limit)
		key, _, _ := strings.Cut(limit, "=")
		if code := other.wait(); code != 2 || !strings.Contains(other.stderr.String(), key) {
			t.Errorf("%s: exit code %d: %s", limit, code, other.stderr.String())
		}
	}
	again := startEmpty(t, "--data-dir", dir, "--set", "engine.account_orders=1048576", "--set", "engine.account_stops=0")
	if got := again.do("GET", again.internal+"/state-hash", "").body; got != hash {
		t.Errorf("state %s, was %s", got, hash)
	}
}

// New commands are limited in the stops of one account in one pair. A directory of a program
// without this limit starts with all its stops, adopts the limit of the first start that has
// one, and keeps it.
func TestStopsOfAnAccountAreBounded(t *testing.T) {
	w, dir := wantOld(t), unpackOld(t)
	first := startEmpty(t, "--data-dir", dir, "--set", "engine.account_stops=230")
	first.isOld(w)
	var many, few string // the account with 210 waiting stops, and another one
	for id, body := range w.Users {
		if strings.Contains(body, `"nickname":"user0"`) {
			many = id
		} else if strings.Contains(body, `"nickname":"user1"`) {
			few = id
		}
	}
	stop := func(in *instance, account string) string {
		t.Helper()
		a := in.do("POST", in.internal+"/orders", fmt.Sprintf(
			`{"currencyPairCode":"AA_USDT","side":"sell","type":"stop_market","amount":"0.01","stopPrice":"0.01","accountId":%q}`, account))
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, word := range []string{`"status":"Created"`, `"rejectReason":"too_many_orders"`} {
			if strings.Contains(a.body, word) {
				return word
			}
		}
		t.Fatal(a.body)
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
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited
	other := tryDir(t, dir)
	if said := other.failsToStart(2); !strings.Contains(said, "engine.account_stops=230") {
		t.Error(said)
	}
	again := startEmpty(t, "--data-dir", dir, "--set", "engine.account_stops=230")
	if got := again.do("GET", again.internal+"/state-hash", "").body; got != hash {
		t.Errorf("%s, was %s", got, hash)
	}
}
