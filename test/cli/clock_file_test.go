package cli

import (
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The journal has no record of a move of the virtual clock, but the response has confirmed it.
func TestAVirtualClockDoesNotGoBackWithTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.StartEmpty(t, "--data-dir", dir)
	first.Pair("BTC_USDT")
	first.Limit("BTC_USDT", "sell", "100", "1")
	first.Limit("BTC_USDT", "buy", "100", "1")
	first.Call(200, "POST", "/clock", `{"advance":"25h"}`)
	first.Call(200, "POST", "/clock", `{"advance":"1500ms"}`)
	window := first.Do("GET", first.Public+"/api/tickers?currencyPairCode=BTC_USDT", "").Body
	first.Signal(syscall.SIGKILL)
	<-first.Exited

	second := harness.StartEmpty(t, "--data-dir", dir)
	now := map[string]string{"now": "1767315601500"}
	expect(t, second.Call(200, "GET", "/clock", ""), now)
	if again := second.Do("GET", second.Public+"/api/tickers?currencyPairCode=BTC_USDT", "").Body; again != window {
		t.Errorf("the ticker after the restart is %s, before %s", again, window)
	}
	second.Refuse(400, "INVALID_PARAM", "to", "POST", "/clock", `{"to":1767315601499}`)
	second.Signal(syscall.SIGTERM)
	if code := second.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	expect(t, harness.StartEmpty(t, "--data-dir", dir).Call(200, "GET", "/clock", ""), now)
}
