package main

import (
	"syscall"
	"testing"
)

// The journal has no record of a move of the virtual clock, but the response has confirmed it.
func TestAVirtualClockDoesNotGoBackWithTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startEmpty(t, "--data-dir", dir)
	first.pair("BTC_USDT")
	first.limit("BTC_USDT", "sell", "100", "1")
	first.limit("BTC_USDT", "buy", "100", "1")
	first.call(200, "POST", "/clock", `{"advance":"25h"}`)
	first.call(200, "POST", "/clock", `{"advance":"1500ms"}`)
	window := first.do("GET", first.public+"/api/tickers?currencyPairCode=BTC_USDT", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited

	second := startEmpty(t, "--data-dir", dir)
	now := map[string]string{"now": "1767315601500"}
	expect(t, second.call(200, "GET", "/clock", ""), now)
	if again := second.do("GET", second.public+"/api/tickers?currencyPairCode=BTC_USDT", "").body; again != window {
		t.Errorf("the ticker after the restart is %s, before %s", again, window)
	}
	second.refuse(400, "INVALID_PARAM", "to", "POST", "/clock", `{"to":1767315601499}`)
	second.signal(syscall.SIGTERM)
	if code := second.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	expect(t, startEmpty(t, "--data-dir", dir).call(200, "GET", "/clock", ""), now)
}
