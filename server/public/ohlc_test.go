package public_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

type candle struct {
	Date                                      string
	Open, Max, Min, Close, Volume, VolumeBase json.Number
}

const (
	dateForm = "2006-01-02T15:04:05"
	ohlcPath = "/api/ohlc?currencyPairCode=BTC_USDT&interval="
)

// newCandles trades at minute 0, 1, 5 and 125 of the year, two trades each.
func newCandles(t *testing.T) *servertest.Market {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	at := int64(0)
	for i, minute := range []int64{0, 1, 5, 125} {
		m.Advance((minute - at) * 60 * servertest.SecondNs)
		at = minute
		trade(m, "BTC_USDT", engine.Buy, int64(200+i), 3)
		trade(m, "BTC_USDT", engine.Sell, int64(100+i), 4)
	}
	m.Advance(10 * 60 * servertest.SecondNs)
	return m
}

// Candles have exact boundaries, volume in quote, and exist only for intervals with trades.
// start and end select a candle by its date.
func TestCandles(t *testing.T) {
	m := newCandles(t)
	var k []candle
	m.OK(ohlcPath+"minute&start=2026-01-01&end=2026-01-02", &k)
	if len(k) != 4 {
		t.Fatalf("%d candles", len(k))
	}
	want := candle{"2026-01-01T00:05:00", "2.02", "2.02", "1.02", "1.02", "0.0000001014", "0.00000007"}
	if k[2] != want {
		t.Errorf("%+v, want %+v", k[2], want)
	}
	for q, n := range map[string]int{
		"minute&start=2026-01-01T00:01:00&end=2026-01-01T00:05:00":           2,
		"minute&start=2026-01-01T00:01:00.000000001&end=2026-01-01T00:05:00": 1,
		"minute&start=2026-01-01T00:01:00&end=2026-01-01T00:04:59.999999999": 1,
		"minute&start=2026-01-01T00:05:00Z&end=2026-01-01T00:05:00Z":         1,
		"minutes3&start=2026-01-01&end=2026-01-02":                           3,
		"minutes5&start=2026-01-01&end=2026-01-02":                           3,
		"minutes15&start=2026-01-01&end=2026-01-02":                          2,
		"minutes30&start=2026-01-01&end=2026-01-02":                          2,
		"hour&start=2026-01-01&end=2026-01-02":                               2,
		"hour4&start=2026-01-01&end=2026-01-02":                              1,
		"day&start=2026-01-01&end=2026-01-01":                                1,
		"month&start=2026-01-01&end=2026-01-01":                              1,
		"year&start=0001-01-01&end=9999-12-31":                               1,
		"year&start=2026-01-01T00:00:01&end=9999-12-31":                      0,
	} {
		if m.OK(ohlcPath+q, &k); len(k) != n {
			t.Errorf("%s: %d candles, want %d", q, len(k), n)
		}
	}
	// A coarse candle has the sums of its fine candles.
	var day []candle
	m.OK(ohlcPath+"day&start=2026-01-01&end=2026-01-01", &day)
	if day[0] != (candle{"2026-01-01T00:00:00", "2.00", "2.03", "1.00", "1.03", "0.0000004042", "0.00000028"}) {
		t.Errorf("day %+v", day[0])
	}
}

// fill=previous adds flat rows after the first trade, up to the interval that contains the
// current time; flat rows count towards the limit.
func TestCandlesFilled(t *testing.T) {
	m := newCandles(t)
	var k []candle
	m.OK(ohlcPath+"minute&fill=previous&start=2025-12-31T23:00:00&end=2026-01-03", &k)
	if len(k) != 136 { // minute 0 to 135
		t.Fatalf("%d rows", len(k))
	}
	traded := map[int]string{0: "1.00", 1: "1.01", 5: "1.02", 125: "1.03"}
	price := ""
	for i, row := range k {
		at := time.Unix(0, servertest.StartNs).UTC().Add(time.Duration(i) * time.Minute)
		if want := at.Format(dateForm); row.Date != want {
			t.Fatalf("row %d: %s, want %s", i, row.Date, want)
		}
		if p, ok := traded[i]; ok {
			price = p
			continue
		}
		p := json.Number(price)
		if row != (candle{row.Date, p, p, p, p, "0.0000000000", "0.00000000"}) {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
	m.OK(ohlcPath+"minute&fill=previous&start=2026-01-01T00:02:30&end=2026-01-01T00:06:00", &k)
	if len(k) != 4 || k[0].Date != "2026-01-01T00:03:00" || k[0].Open != "1.01" || k[3].Close != "1.02" {
		t.Errorf("from between: %+v", k)
	}
	if m.OK(ohlcPath+"month&fill=previous&start=2025-01-01&end=2027-01-01", &k); len(k) != 1 {
		t.Errorf("months: %+v", k)
	}
	m.Advance(75 * servertest.DayNs)
	if m.OK(ohlcPath+"month&fill=previous&start=2025-01-01&end=2027-01-01", &k); len(k) != 3 ||
		k[2].Date != "2026-03-01T00:00:00" {
		t.Errorf("months: %+v", k)
	}
}

// An answer has at most 1,000 rows. X-Next-Start has the next date; following it reads every
// row once.
func TestCandlesPageOut(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for range 1300 {
		trade(m, "BTC_USDT", engine.Buy, 100, 1)
		m.Advance(120 * servertest.SecondNs)
	}
	for fill, total := range map[string]int{"none": 1300, "previous": 2601} {
		start, rows, pages := "2026-01-01T00:00:00", 0, 0
		for start != "" {
			var k []candle
			a := m.OK(fmt.Sprintf("%sminute&fill=%s&start=%s&end=2026-02-01", ohlcPath, fill, start), &k)
			if len(k) == 0 || len(k) > 1000 || k[0].Date != start {
				t.Fatalf("%s from %s: %d rows", fill, start, len(k))
			}
			start, rows, pages = a.Header.Get("X-Next-Start"), rows+len(k), pages+1
		}
		if rows != total || pages != (total+999)/1000 {
			t.Errorf("%s: %d rows in %d pages, want %d", fill, rows, pages, total)
		}
	}
}
