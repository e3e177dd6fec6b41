package binance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
)

// zones are offsets from UTC in the forms of the documentation, and the seconds that they mean.
var zones = map[string]int{
	"0": 0, "8": 8 * 3600, "-1:00": -3600, "05:45": 20_700, "+05:30": 19_800, "-03:30": -12_600, "+08:00": 8 * 3600,
	"14:00": 14 * 3600, "-12:00": -12 * 3600, "-9:30": -34_200, "00:01": 60,
}

// bar is a candle as a reader of the trades sums it up.
type bar struct{ open, high, low, last, lots, quote, count int64 }

// begins returns the first moment of the bar of an interval that contains a moment, by the calendar of its location.
func begins(interval string, at time.Time) time.Time {
	year, month, date := at.Date()
	midnight := time.Date(year, month, date, 0, 0, 0, 0, at.Location())
	switch n, _ := strconv.Atoi(interval[:len(interval)-1]); interval[len(interval)-1] {
	case 's':
		return at.Truncate(time.Second)
	case 'm':
		return midnight.Add(at.Sub(midnight) / (time.Duration(n) * time.Minute) * (time.Duration(n) * time.Minute))
	case 'h':
		return midnight.Add(at.Sub(midnight) / (time.Duration(n) * time.Hour) * (time.Duration(n) * time.Hour))
	case 'd':
		days := int(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() / 86_400)
		return midnight.AddDate(0, 0, -(days % n))
	case 'w':
		return midnight.AddDate(0, 0, -int(midnight.Weekday()+6)%7)
	}
	return time.Date(year, month, 1, 0, 0, 0, 0, at.Location())
}

// A candle at an offset has exactly the trades between its boundaries, which the calendar of that offset sets, in every
// interval. A bar without trades is flat.
func TestCandlesAtAnOffset(t *testing.T) {
	r := newRig(t, func(o *exchange.Options) { o.Rate.Allow = []string{"127.0.0.0/8"} })
	r.Call("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":5}`)
	const seed = 45
	random := rand.New(rand.NewPCG(seed, 0))
	steps := []string{"1s", "7s", "59s", "4m", "29m", "1h7m", "5h", "11h", "26h", "80h"}
	for range 150 {
		r.advance(steps[random.IntN(len(steps))])
		price := fmt.Sprintf("%d.%02d", 90+random.IntN(20), random.IntN(100))
		amount := fmt.Sprintf("0.%05d", 1+random.IntN(99_999))
		r.Limit("BTC_USDT", "sell", price, amount)
		r.Limit("BTC_USDT", "buy", price, amount)
	}
	var trades []struct {
		Price, Qty, QuoteQty string
		Time                 int64
	}
	_, text, _ := r.get("/api/v3/trades?symbol=BTCUSDT&limit=1000")
	if err := json.Unmarshal([]byte(text), &trades); err != nil || len(trades) != 150 {
		t.Fatal(len(trades), err)
	}
	for _, interval := range []string{
		"1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M",
	} {
		for zone, seconds := range zones {
			location, want := time.FixedZone("", seconds), map[int64]bar{}
			for _, one := range trades {
				at := begins(interval, time.UnixMilli(one.Time).In(location)).UnixMilli()
				b, price := want[at], units(t, one.Price)
				if b.count == 0 {
					b = bar{open: price, high: price, low: price}
				}
				b.high, b.low, b.last = max(b.high, price), min(b.low, price), price
				b.lots, b.quote, b.count = b.lots+units(t, one.Qty), b.quote+units(t, one.QuoteQty), b.count+1
				want[at] = b
			}
			r.barsAre(interval, zone, slices.Sorted(maps.Keys(want)), want)
		}
	}
}

// barsAre checks the candles of an interval at an offset: those with trades and the flat ones between them, of short
// intervals those that are next to a trade.
func (r *rig) barsAre(interval, zone string, starts []int64, want map[int64]bar) {
	r.t.Helper()
	what, limit := interval+" at "+zone, 1000
	short := interval == "1s" || strings.HasSuffix(interval, "m")
	if short {
		limit = 3
	}
	query := fmt.Sprintf("/api/v3/klines?symbol=BTCUSDT&limit=%d&interval=%s&timeZone=%s", limit, interval,
		url.QueryEscape(zone))
	seen, last, from := 0, int64(0), starts[0]
	for seen < len(starts) {
		if short {
			from = starts[seen]
		}
		_, text, _ := r.get(query + fmt.Sprintf("&startTime=%d", from))
		var rows [][]any
		if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) == 0 {
			r.t.Fatalf("%s from %d: %s", what, from, text)
		}
		for _, row := range rows {
			start, end := int64(row[0].(float64)), int64(row[6].(float64))+1
			at := func(i int) int64 { return units(r.t, row[i].(string)) }
			got := bar{at(1), at(2), at(3), at(4), at(5), at(7), int64(row[8].(float64))}
			b, traded := want[start]
			if traded {
				seen++
			} else {
				b = bar{open: last, high: last, low: last, last: last}
			}
			if got != b || start != from {
				r.t.Fatalf("%s: the bar of %d is %+v, want %+v of %d", what, start, got, b, from)
			}
			from, last = end, b.last
		}
	}
}

// A day of trading begins at midnight of the offset.
func TestTheTradingDayOfAnOffset(t *testing.T) {
	r := traded(t)
	now := r.now().UTC()
	for zone, seconds := range zones {
		from := begins("1d", now.In(time.FixedZone("", seconds)))
		status, text, _ := r.get("/api/v3/ticker/tradingDay?symbol=BTCUSDT&timeZone=" + url.QueryEscape(zone))
		var got struct{ OpenTime, CloseTime, Count, FirstID int64 }
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 {
			t.Fatal(zone, status, text, err)
		}
		var trades []struct{ Time int64 }
		_, text, _ = r.get("/api/v3/trades?symbol=BTCUSDT")
		if err := json.Unmarshal([]byte(text), &trades); err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		for _, one := range trades {
			if one.Time >= from.UnixMilli() {
				count++
			}
		}
		if got.OpenTime != from.UnixMilli() || got.CloseTime != from.AddDate(0, 0, 1).UnixMilli()-1 ||
			got.Count != count {
			t.Errorf("%s: %+v, want %v and %d trades", zone, got, from, count)
		}
	}
}

func TestOffsetsThatAreNone(t *testing.T) {
	r := traded(t)
	for _, zone := range []string{
		"14:01", "15", "-12:01", "-13", "1:60", "1:5", "1:000", "100", "abc", "+", "-", ":30", "8:", "+-1",
		"Asia/Tokyo",
	} {
		for _, route := range []string{"klines?symbol=BTCUSDT&interval=1d", "ticker/tradingDay?symbol=BTCUSDT"} {
			r.is("/api/v3/"+route+"&timeZone="+url.QueryEscape(zone), 400,
				`{"code":-1130,"msg":"Data sent for parameter 'timeZone' is not valid."}`)
		}
	}
}
