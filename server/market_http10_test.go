package server_test

import (
	"strconv"
	"testing"

	"tickhive/engine"
)

// A large answer is written in chunks, which HTTP/1.0 does not have.
func TestHTTP10GetsLargeAnswersWithoutChunks(t *testing.T) {
	m := newMarket(t)
	m.pair("BTC_USDT", 2, 8)
	for id := int64(1); id <= 5000; id++ {
		m.trade("BTC_USDT", engine.Side(id%2), 100+id%7, id)
	}
	for _, query := range []string{"", "&decimals=string"} {
		target := agg + "/historical_trades?ticker_id=BTC_USDT" + query
		want := m.get(target)
		old := m.raw("192.0.2.9", "GET "+target+" HTTP/1.0\r\nHost: x\r\n\r\n")
		if old.header.Get("Content-Length") != strconv.Itoa(len(want.body)) || old.body != want.body {
			t.Errorf("%s: %d bytes with headers %v, want %d bytes", target, len(old.body), old.header, len(want.body))
		}
		if old.header.Get("ETag") != want.header.Get("ETag") {
			t.Errorf("%s: another tag for the same bytes", target)
		}
	}
}
