package public_test

import (
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

// A large answer is written in chunks, which HTTP/1.0 does not have.
func TestHTTP10GetsLargeAnswersWithoutChunks(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for id := int64(1); id <= 5000; id++ {
		trade(m, "BTC_USDT", engine.Side(id%2), 100+id%7, id)
	}
	for _, query := range []string{"", "&decimals=string"} {
		target := servertest.Agg + "/historical_trades?ticker_id=BTC_USDT" + query
		want := m.Get(target)
		old := m.Raw("192.0.2.9", "GET "+target+" HTTP/1.0\r\nHost: x\r\n\r\n")
		if old.Header.Get("Content-Length") != strconv.Itoa(len(want.Body)) || old.Body != want.Body {
			t.Errorf("%s: %d bytes with headers %v, want %d bytes", target, len(old.Body), old.Header, len(want.Body))
		}
		if old.Header.Get("ETag") != want.Header.Get("ETag") {
			t.Errorf("%s: another tag for the same bytes", target)
		}
	}
}
