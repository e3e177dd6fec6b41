package reports

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
)

// dateForm is the form of a candle's date.
const dateForm = "2006-01-02T15:04:05"

// candles are reports of candles, of their paging and of empty intervals.
var candles = []report{
	{
		says:    "a chart that pages left hears no_data behind the oldest bar",
		sources: "tradingview/charting-library-examples#365 tradingview/charting-library-tutorial#117",
		try: func(m *market) {
			first := m.x.Now().Truncate(time.Minute)
			for range 5 {
				m.trade("1", "100")
				m.x.Advance(time.Minute)
			}
			var got []int64
			to := m.x.Now().Unix()
			for range 4 {
				var page struct {
					S        string
					T        []int64
					NextTime *int64
				}
				m.get(fmt.Sprintf("/udf/history?symbol=%s&resolution=1&from=%d&to=%d&countback=2", m.pair,
					first.Unix(), to), &page)
				if page.S == "no_data" {
					m.is("an earlier bar", page.NextTime == nil, true)
					m.is("the bars", got, []int64{3, 4, 1, 2, 0})
					return
				}
				for _, at := range page.T {
					got = append(got, (at-first.Unix())/60)
				}
				to = page.T[0]
			}
			m.T.Errorf("bars %v, and no_data never came", got)
		},
	},
	{
		says: "candles are in ascending order, each once, within start and end, and low <= open, close <= high",
		sources: "finnhubio/Finnhub-API#164 finnhubio/Finnhub-API#123 " +
			"BuildOnViction/tomox-sdk#74",
		try: func(m *market) {
			start := m.x.Now().Truncate(4 * time.Hour).Add(4 * time.Hour)
			m.manyTrades(start, 2500, 25*time.Second) // 1,042 minutes
			end := start.Add(2500 * 25 * time.Second)
			for interval, want := range map[string]int{"minute": 1042, "minutes5": 209, "hour4": 5} {
				var last time.Time
				rows, trades := 0, 0
				for c, err := range m.me.Candles(m.T.Context(), m.pair, interval, start, end) {
					m.must(err)
					at := m.time(c.Date)
					if !at.After(last) || at.Before(start) || at.After(end) {
						m.T.Fatalf("%s: %v behind %v", interval, at, last)
					}
					if low, high := c.Min.String(), c.Max.String(); low > c.Open.String() || low > c.Close.String() ||
						high < c.Open.String() || high < c.Close.String() { // all have three digits before the point
						m.T.Fatalf("%s: %+v", interval, c)
					}
					last = at
					rows++
					volume, err := c.VolumeBase.Float64()
					m.must(err)
					trades += int(volume)
				}
				m.is(interval, words(rows, trades), words(want, 2500))
			}
		},
	},
	{
		says:    "rows are the candles with start <= date <= end, a single one when both are its date",
		sources: "ccxt/ccxt#5891 ccxt/ccxt#20222 ccxt/ccxt#21333 ccxt/ccxt#6833",
		try: func(m *market) {
			first := m.x.Now().Truncate(time.Minute).Add(time.Minute)
			m.x.Advance(first.Sub(m.x.Now()))
			for range 3 {
				m.trade("1", "100")
				m.x.Advance(time.Minute)
			}
			for _, c := range []struct {
				start, end time.Duration
				want       string
			}{
				{0, 0, "0"},
				{0, time.Minute, "0 1"},
				{0, time.Minute - 1, "0"},
				{1, time.Minute, "1"},
				{1, time.Minute - 1, ""},
				{time.Minute, time.Minute, "1"},
				{time.Second, 3 * time.Minute, "1 2"},
				{-time.Hour, time.Hour, "0 1 2"},
				{-time.Hour, -1, ""},
				{3 * time.Minute, time.Hour, ""},
			} {
				var got []string
				start, end := first.Add(c.start), first.Add(c.end)
				for row, err := range m.me.Candles(m.T.Context(), m.pair, "minute", start, end) {
					m.must(err)
					got = append(got, fmt.Sprint(int(m.time(row.Date).Sub(first).Minutes())))
				}
				m.is(fmt.Sprint(c.start, " to ", c.end), strings.Join(got, " "), c.want)
			}
		},
	},
	{
		says:    "an interval without trades has no candle, or with fill=previous a flat one at the close before it",
		sources: "foundery-rmb/Exchange#20 Open-Trader/opentrader#34",
		try: func(m *market) {
			first := m.x.Now().Truncate(time.Minute).Add(time.Minute)
			m.x.Advance(first.Sub(m.x.Now()))
			m.trade("1", "100")
			m.trade("1", "103")
			m.x.Advance(3 * time.Minute)
			m.trade("1", "101")
			for fill, want := range map[string]string{
				"none":     "100 103 100 103 2, 101 101 101 101 1",
				"previous": "100 103 100 103 2, 103 103 103 103 0, 103 103 103 103 0, 101 101 101 101 1",
			} {
				var rows []client.Candle
				m.get("/api/ohlc?interval=minute&currencyPairCode="+m.pair+"&fill="+fill+"&start="+
					first.Format(dateForm)+"&end="+m.x.Now().Format(dateForm), &rows)
				var got []string
				for _, c := range rows {
					got = append(got, words(nets.Trim(c.Open), nets.Trim(c.Max), nets.Trim(c.Min), nets.Trim(c.Close),
						nets.Trim(c.VolumeBase)))
				}
				m.is(fill, strings.Join(got, ", "), want)
			}
		},
	},
}

// manyTrades makes trades of one lot of the base currency in equal steps from a time on, at prices from 100 to 199.
func (m *market) manyTrades(from time.Time, count int, step time.Duration) {
	m.T.Helper()
	for done := 0; done < count; {
		var commands []string
		for ; done < count && len(commands) < 1000; done++ {
			for _, side := range []string{"sell", "buy"} {
				commands = append(commands, fmt.Sprintf(`{"at":%d,"place":{"currencyPairCode":%q,"side":%q,`+
					`"type":"limit","amount":1,"price":%d}}`, from.Add(time.Duration(done)*step).UnixNano(), m.pair,
					side, 100+done*37%100))
			}
		}
		m.Call(http.MethodPost, "/orders/batch", `{"commands":[`+strings.Join(commands, ",")+`]}`)
	}
}

// time reads the date of a candle.
func (m *market) time(date string) time.Time {
	m.T.Helper()
	at, err := time.Parse(dateForm, date)
	m.must(err)
	return at
}
