package public_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

type udfBars struct {
	S             string
	T             []int64
	O, H, L, C, V []json.Number
	NextTime      *int64
}

func newUDF(t *testing.T) *servertest.Market {
	m := servertest.NewMarket(t, func(o *servertest.Options) { o.UDF = true })
	m.Pair("BTC_USDT", 2, 8)
	m.Pair("ETH_BTC", 0, 4)
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

// The history has the same figures as the candles, t is strictly increasing, `from` is included and `to` is not, and
// countback counts back from `to` whatever `from` is.
func TestUDFHistory(t *testing.T) {
	m := newUDF(t)
	const first = int64(1767225600)
	for query, want := range map[string][]int64{
		"1&from=1767225600&to=1767240000":               {0, 60, 300, 7500},
		"1&from=1767225660&to=1767225900":               {60},
		"1&from=1767225660&to=1767225901":               {60, 300},
		"1&from=1767225660&to=1767225900.000":           {60},
		"1&from=1767225661&to=1767225661":               nil,
		"1&from=0&to=1767225900&countback=2":            {0, 60},
		"1&from=1767225661&to=1767225899":               nil,
		"1&from=0&to=1767240000&countback=2":            {300, 7500},
		"1&from=1767239000&to=1767240000&countback=300": {0, 60, 300, 7500},
		"60&from=1767225600&to=1767240000":              {0, 7200},
		"1D&from=1767225600&to=1767240000":              {0},
		"D&from=-5000&to=1767240000":                    {0},
		"12M&from=0&to=1767240000":                      {0},
		"1W&from=0&to=1767240000":                       {-3 * 86400}, // Monday 2025-12-29
		"W&from=1767225600&to=1767240000&countback=5":   {-3 * 86400},
		"1&from=1767225660.0&to=1767225900.999":         {60, 300},
		"1&from=1767225600.001&to=1767225900.5":         {60, 300},
		"1D&from=-0.5&to=1767225600.25":                 {0},
	} {
		var b udfBars
		m.OK("/udf/history?symbol=BTC_USDT&resolution="+query, &b)
		if len(want) == 0 {
			if b.S != "no_data" || b.NextTime == nil || *b.NextTime != first+60 {
				t.Errorf("%s: %+v", query, b)
			}
			continue
		}
		if b.S != "ok" || len(b.T) != len(want) || len(b.O) != len(want) || len(b.V) != len(want) {
			t.Errorf("%s: %+v, want %v", query, b, want)
			continue
		}
		for i := range want {
			if b.T[i] != first+want[i] || i > 0 && b.T[i] <= b.T[i-1] {
				t.Errorf("%s: t %v", query, b.T)
			}
		}
	}
	var b udfBars
	m.OK("/udf/history?symbol=TickHive:BTC_USDT&resolution=5&from=1767225600&to=1767225900", &b)
	if b.O[0] != "2.00" || b.H[0] != "2.01" || b.L[0] != "1.00" || b.C[0] != "1.01" || b.V[0] != "0.00000014" {
		t.Errorf("figures %+v", b)
	}
	var none udfBars
	m.OK("/udf/history?symbol=ETH_BTC&resolution=1&from=0&to=1767240000", &none)
	if none.S != "no_data" || none.NextTime != nil {
		t.Errorf("a pair without trades: %+v", none)
	}
}

// The charting library pages left with `to` at the oldest bar that it has. Each page then has older bars only, all
// pages together have every bar once, and behind the oldest one the answer is no_data, which ends the paging.
func TestUDFPagesEnd(t *testing.T) {
	m := newUDF(t)
	for _, resolution := range []string{"1", "60", "1D", "1W", "12M"} {
		var all udfBars
		m.OK("/udf/history?symbol=BTC_USDT&from=0&to=1767240000&resolution="+resolution, &all)
		for _, back := range []int{1, 2, 300} {
			to, kept := int64(1767240000), []int64(nil)
			for {
				var b udfBars
				m.OK(fmt.Sprintf("/udf/history?symbol=BTC_USDT&resolution=%s&from=%d&to=%d&countback=%d",
					resolution, to-60, to, back), &b)
				if b.S == "no_data" && b.NextTime == nil {
					break
				}
				if b.S != "ok" || len(b.T) == 0 || b.T[len(b.T)-1] >= to {
					t.Fatalf("resolution %s, countback %d: a page to %d is %+v", resolution, back, to, b)
				}
				kept, to = slices.Concat(b.T, kept), b.T[0]
			}
			if !slices.Equal(kept, all.T) {
				t.Errorf("resolution %s, countback %d: %v, want %v", resolution, back, kept, all.T)
			}
		}
	}
}

// The library's first requests: configuration, symbol, search and time.
func TestUDFConfiguration(t *testing.T) {
	m := newUDF(t)
	var config struct {
		Supported []string `json:"supported_resolutions"`
		Search    bool     `json:"supports_search"`
		Time      bool     `json:"supports_time"`
	}
	m.OK("/udf/config", &config)
	if len(config.Supported) != 11 || !config.Search || !config.Time {
		t.Errorf("config %+v", config)
	}
	var symbol struct {
		Name, Ticker, Session, Timezone string
		Pricescale, Minmov              int
		VolumePrecision                 int  `json:"volume_precision"`
		Intraday                        bool `json:"has_intraday"`
	}
	m.OK("/udf/symbols?symbol=BTC_USDT", &symbol)
	if symbol.Name != "BTC_USDT" || symbol.Pricescale != 100 || symbol.Minmov != 1 || symbol.VolumePrecision != 8 ||
		symbol.Session != "24x7" || !symbol.Intraday {
		t.Errorf("symbol %+v", symbol)
	}
	m.OK("/udf/symbols?symbol=ETH_BTC", &symbol)
	if symbol.Pricescale != 1 || symbol.VolumePrecision != 4 {
		t.Errorf("a pair without digits: %+v", symbol)
	}
	for query, n := range map[string]int{
		"query=btc": 2, "query=": 2, "query=btc/us": 1, "query=btcusdt": 1, "query=ethb": 1, "query=btcust": 0,
		"query=doge": 0, "query=btc&limit=1": 1,
		"query=&type=stock": 0, "query=&exchange=TickHive": 2, "query=&exchange=NYSE": 0, "query=&type=Crypto": 2,
		"query=&exchange=tickhive": 2, "query=&exchange=TICKHIVE": 2, "query=&exchange=tickhiv": 0,
	} {
		var found []struct {
			Symbol, Ticker, Type, Description, Exchange string
			FullName                                    string `json:"full_name"`
		}
		m.OK("/udf/search?"+query, &found)
		if len(found) != n {
			t.Errorf("search %s: %+v, want %d", query, found, n)
		}
	}
	if a := m.Get("/udf/time"); a.Status != 200 || string(a.Body) != "1767233700" ||
		!strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("time: %d %s %s", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
}

// An error has the members of every error object, and the members by which the charting library
// recognizes an error: it reads only the body, and takes a body without s for a symbol.
func TestUDFErrors(t *testing.T) {
	m := newUDF(t)
	for path, want := range map[string]struct {
		status      int
		code, field string
		errmsg      string // "" is the message
	}{
		"symbols":                                           {400, "INVALID_PARAM", "symbol", "unknown_symbol"},
		"symbols?symbol=nope":                               {400, "INVALID_PARAM", "symbol", "unknown_symbol"},
		"symbols?symbol=btc_usdt":                           {400, "INVALID_PARAM", "symbol", "unknown_symbol"},
		"symbols?symbol=NOPE_USDT":                          {404, "NOT_FOUND", "symbol", "unknown_symbol"},
		"symbols?symbol=TickHive:NOPE_USDT":                 {404, "NOT_FOUND", "symbol", "unknown_symbol"},
		"history?symbol=BTC_USDT&from=1&to=2":               {400, "INVALID_PARAM", "resolution", ""},
		"history?symbol=BTC_USDT&resolution=7&from=1&to=2":  {400, "INVALID_PARAM", "resolution", ""},
		"history?symbol=BTC_USDT&resolution=2W&from=1&to=2": {400, "INVALID_PARAM", "resolution", ""},
		"history?symbol=BTC_USDT&resolution=1&to=2":         {400, "INVALID_PARAM", "from", ""},
		"history?symbol=BTC_USDT&resolution=1&from=2":       {400, "INVALID_PARAM", "to", ""},
		"history?symbol=BTC_USDT&resolution=1&from=2&to=1":  {400, "INVALID_PARAM", "from", ""},
		"history?symbol=AA_BB&resolution=1&from=1&to=2":     {404, "NOT_FOUND", "symbol", "unknown_symbol"},
		"search?query=a&limit=x":                            {400, "INVALID_PARAM", "limit", ""},
		"marks?symbol=BTC_USDT":                             {404, "NOT_FOUND", "", ""},
		"symbols?symbol=BTC_USDT&symbol=BTC_USDT":           {400, "INVALID_PARAM", "symbol", "unknown_symbol"},
	} {
		a := m.Get("/udf/" + path)
		var e map[string]any
		if err := json.Unmarshal([]byte(a.Body), &e); err != nil {
			t.Fatal(err)
		}
		if want.errmsg == "" {
			want.errmsg, _ = e["message"].(string)
		}
		if e["s"] != "error" || want.errmsg == "" || e["errmsg"] != want.errmsg || e["message"] == "unknown_symbol" {
			t.Errorf("%s: %s, want errmsg %q", path, a.Body, want.errmsg)
		}
		delete(e, "s")
		delete(e, "errmsg")
		rest, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		a.Body = string(rest)
		m.CheckRefusal(a, want.status, want.code, want.field)
	}
	if a := m.Get("/api/tickers?currencyPairCode=NOPE_USDT"); a.Status != 404 || strings.Contains(a.Body, "errmsg") {
		t.Errorf("an error of another route: %d %s", a.Status, a.Body)
	}
	m.OK("/udf/symbols?symbol=TickHive:BTC_USDT", &struct{ S *string }{})
	if a := m.Get("/udf/symbols?symbol=BTC_USDT"); strings.Contains(a.Body, `"s":`) {
		t.Errorf("a symbol with a status: %s", a.Body)
	}
}

// A week is the fold of its days: it begins on Monday, and its figures are those of all trades from then on.
func TestUDFWeeks(t *testing.T) {
	m := servertest.NewMarket(t, func(o *servertest.Options) { o.UDF = true })
	m.Pair("BTC_USDT", 2, 8) // the clock starts on Thursday 2026-01-01
	for i := range 12 {
		trade(m, "BTC_USDT", engine.Buy, int64(100+(i*7)%11), 2)
		m.Advance(86400 * servertest.SecondNs)
	}
	var days, weeks udfBars
	m.OK("/udf/history?symbol=BTC_USDT&resolution=1D&from=0&to=1800000000", &days)
	m.OK("/udf/history?symbol=BTC_USDT&resolution=1W&from=0&to=1800000000", &weeks)
	if len(days.T) != 12 || len(weeks.T) != 3 {
		t.Fatalf("%d days, %d weeks", len(days.T), len(weeks.T))
	}
	at := 0
	number := func(n json.Number) float64 {
		f, err := n.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for w, n := range []int{4, 7, 1} {
		high, low := 0.0, 1e9
		for i := at; i < at+n; i++ {
			high, low = max(high, number(days.H[i])), min(low, number(days.L[i]))
		}
		monday := int64(1766966400 + w*7*86400)
		if weeks.T[w] != monday || weeks.O[w] != days.O[at] || weeks.C[w] != days.C[at+n-1] ||
			number(weeks.H[w]) != high || number(weeks.L[w]) != low ||
			weeks.V[w] != json.Number(fmt.Sprintf("0.000000%02d", 2*n)) {
			t.Errorf("week %d: %+v of %+v", w, weeks, days)
		}
		at += n
	}
	for _, bad := range []string{"from=1.&to=2", "from=.5&to=2", "from=1e3&to=2000", "from=--1&to=2", "from=6&to=5.4"} {
		a := m.Get("/udf/history?symbol=BTC_USDT&resolution=1&" + bad)
		if a.Status != 400 || !strings.Contains(a.Body, `"field":"from"`) {
			t.Errorf("%s: %d %s", bad, a.Status, a.Body)
		}
	}
}

// The quotes of a watch list have the figures of the ticker; an unknown symbol does not spoil the others.
func TestUDFQuotes(t *testing.T) {
	m := newUDF(t)
	m.Limit("BTC_USDT", engine.Buy, 90, 1)
	ask := m.Limit("BTC_USDT", engine.Sell, 210, 1)
	type answer struct {
		S string
		D []struct {
			S, N, Errmsg string
			V            map[string]any
		}
	}
	var quotes answer
	m.OK("/udf/quotes?symbols=BTC_USDT,TickHive:ETH/BTC,NOPE", &quotes)
	if quotes.S != "ok" || len(quotes.D) != 3 || quotes.D[1].N != "TickHive:ETH/BTC" || quotes.D[1].S != "ok" ||
		quotes.D[2].S != "error" || quotes.D[2].Errmsg != "unknown_symbol" {
		t.Fatalf("%+v", quotes)
	}
	var ticker struct{ Price, Volume24h, PriceChangePercentage24h, BidPrice, AskPrice json.Number }
	m.OK("/api/tickers?currencyPairCode=BTC_USDT", &ticker)
	v := quotes.D[0].V
	for name, want := range map[string]any{
		"short_name": "BTC_USDT", "description": "BTC/USDT", "exchange": "TickHive", "lp": ticker.Price,
		"chp": ticker.PriceChangePercentage24h, "bid": ticker.BidPrice, "ask": ticker.AskPrice,
		"volume":     ticker.Volume24h,
		"high_price": "2.03", "low_price": "1.00", "spread": "1.20", "ch": "-0.97",
	} {
		if fmt.Sprint(v[name]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, v[name], want)
		}
	}
	if names := slices.Sorted(maps.Keys(quotes.D[1].V)); !slices.Equal(names,
		[]string{"description", "exchange", "short_name", "volume"}) {
		t.Errorf("a pair without trades and orders has %v", names)
	}
	m.Limit("ETH_BTC", engine.Buy, 7, 1)
	m.Advance(25 * 3600 * servertest.SecondNs)
	m.Cancel(ask)
	quotes = answer{}
	m.OK("/udf/quotes?symbols=BTC_USDT,ETH_BTC", &quotes)
	v = quotes.D[1].V
	if names := slices.Sorted(maps.Keys(v)); !slices.Equal(names,
		[]string{"bid", "description", "exchange", "short_name", "volume"}) || fmt.Sprint(v["bid"]) != "7.0" {
		t.Errorf("a pair with one side has %v", v)
	}
	v = quotes.D[0].V // its last trade is more than 24 h ago
	if v["high_price"] != nil || v["low_price"] != nil || v["ask"] != nil || v["spread"] != nil ||
		fmt.Sprint(v["bid"]) != "0.90" || fmt.Sprint(v["volume"]) != "0.00000000" || v["lp"] == nil ||
		fmt.Sprint(v["ch"]) != "0.00" || v["open_price"] != v["lp"] || v["prev_close_price"] != v["lp"] {
		t.Errorf("a pair without a trade in 24 h has %v", v)
	}
	for _, bad := range []string{"", "?symbols=", "?symbols=" + strings.Repeat("A,", 100)} {
		if a := m.Get("/udf/quotes" + bad); a.Status != 400 || !strings.Contains(a.Body, `"field":"symbols"`) {
			t.Errorf("%s: %d %s", bad, a.Status, a.Body)
		}
	}
}

// A read of one symbol, however it is written, is answered at the seq that it asks for, and refused before it.
func TestUDFMinSeq(t *testing.T) {
	m := newUDF(t)
	at := uint64(m.Feed().Board().Load().Lookup("BTC_USDT").Seq)
	for _, path := range []string{
		"/udf/symbols?symbol=BTC_USDT", "/udf/history?symbol=TickHive:BTC_USDT&resolution=1&from=0&to=1",
		"/udf/history?symbol=BTC/USDT&resolution=1&from=0&to=1",
	} {
		for seq, status := range map[uint64]int{0: 200, at: 200, at + 1: 503} {
			if a := m.Get(fmt.Sprintf("%s&minSeq=%d", path, seq)); a.Status != status ||
				status != 200 && !strings.Contains(a.Body, `"code":"STALE"`) {
				t.Errorf("%s at seq %d, the pair is at %d: %d %s", path, seq, at, a.Status, a.Body)
			}
		}
	}
	for _, path := range []string{"/udf/quotes?symbols=BTC_USDT", "/udf/search?query=BTC", "/udf/config?"} {
		if a := m.Get(path + "&minSeq=999999"); a.Status != 200 {
			t.Errorf("%s is no document of one pair: %d %s", path, a.Status, a.Body)
		}
	}
}
