package replay

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim/replay/format"
	"github.com/tickhive/tickhive/test/harness"
)

// expectation is what independent readers found in a file of ../shared/data/forms.
type expectation struct {
	File, Expect string
	Kind         string
	Rows         int
	First, Last  []string
	SumAmount    string `json:"sum_amount"`
	SumNotional  string `json:"sum_price_x_amount"`
	BuyNotional  string `json:"buy_notional"`
	SumVolume    string `json:"sum_volume"`
	MaxHigh      string `json:"max_high"`
	MinLow       string `json:"min_low"`
	Buys, Sells  int
}

// answered lists what a user answers to the files of EXPECTED.json that leave something open, and a part of the
// refusal without the answer.
var answered = map[string]struct {
	refusal string
	layout  format.Layout
	digits  string
	rows    int // 0: as expected
}{
	"tardis/bitmex_trades_XBTUSD.csv": {"may count contracts", format.Layout{Amount: "base"}, "", 0},
	"BTC-USD.csv":                     {"Yahoo counts the volume", format.Layout{Amount: "base"}, "", 0},
	"layouts/dotnet_ticks.csv":        {"--time-format dotnet", format.Layout{TimeFormat: "dotnet"}, "", 0},
	"btc-perp_1m.cut.csv":             {"may count contracts", format.Layout{Amount: "base"}, "1,4", 0},
	"cdd/Binance_BTCUSDT_d.csv":       {"the same time as the bar before", format.Layout{SkipBad: "1"}, "", 1395},
}

// refusedForms lists parts of the refusals of files that are no tables of trades or bars, and layouts with which the
// other files without expected values are read.
var refusedForms = map[string]string{
	"layouts/USDJPY-quotes-nohead.csv":            "a bid and an ask",
	"layouts/01302019.NASDAQ_ITCH50":              "ITCH",
	"layouts/Train_Dst_NoAuction_DecPre_CF_1.txt": "FI-2010",
	"layouts/bitmex_quote_20181205.csv":           "quotes",
	"bt-bidask.csv":                               "quotes",
	"usdjpy-ticks.csv":                            "quotes",
	"btcusdt-depth-snap.csv":                      "order book",
	"cfd_oanda_tick_xauusd_20140504_quote.zip":    "Lean quotes",
	"QUANDL_ARCHIVE.zip":                          `symbol "BRK_A"`,
}

// needs maps files without expected values to the flags that they ask for.
var needs = map[string]struct {
	flag   string
	layout format.Layout
}{
	"cdd/coinbase_daily.csv":                 {"--bar-volume", format.Layout{BarVolume: "1"}},
	"trades-mgtox-usd-2013-01-01.csv":        {"--side", format.Layout{Side: "buy=bid,sell=ask"}},
	"yf/ASAI-L-1h.csv":                       {"--bar-volume", format.Layout{BarVolume: "1"}},
	"EURUSDd1.csv":                           {"amount=tick_volume", format.Layout{Columns: "amount=tick_volume"}},
	"layouts/DAT_ASCII_EURUSD_M1_201202.csv": {"--bar-volume", format.Layout{BarVolume: "1"}},
	"layouts/DAT_MT_EURUSD_M1_201202.csv":    {"--bar-volume", format.Layout{BarVolume: "1"}},
	"layouts/gate_candles.csv":               {"--amount", format.Layout{Amount: "base"}},
	"layouts/gate_trades.csv":                {"--side", format.Layout{Side: "buy=2,sell=1"}},
	"layouts/mt5_EURUSD.csv": {
		"--timezone", format.Layout{Columns: "amount=<TICKVOL>", Timezone: "Europe/Athens"},
	},
	"layouts/mt4_USDJPY1.csv": {"--timezone", format.Layout{Timezone: "+02:00"}},
	"layouts/forextester.csv": {"--timezone", format.Layout{Timezone: "+02:00"}},
	"layouts/sierra.txt":      {"--timezone", format.Layout{Timezone: "America/Chicago"}},
}

// notTables lists the files of the other formats, which other tests read.
var notTables = []string{
	"dbn/", "btcusd_perp_20240808.cut.gz", "xrpusdt-ob500.data.zip", "cryptofeed/", "coinbase_market_trades.ndjson",
	".feather",
}

// TestFilesThatPeopleHold reads the files of ../shared/data/forms that are tables. Each is right by the values of
// independent readers, or refused with a remedy that works, or refused by its name.
func TestFilesThatPeopleHold(t *testing.T) {
	t.Parallel()
	list := harness.Recorded(t, "forms/EXPECTED.json")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var all []expectation
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if containsAny(e.File, notTables) {
			continue
		}
		t.Run(strings.ReplaceAll(e.File, "/", "_"), func(t *testing.T) {
			t.Parallel()
			o := Options{Format: "trades"}
			for name := range strings.SplitSeq(e.File, " + ") {
				o.Files = append(o.Files, filepath.Join(filepath.Dir(list), name))
			}
			if want, ok := refusedForms[e.File]; ok {
				refusedWith(t, o, want)
				return
			}
			if n, ok := needs[e.File]; ok {
				refusedWith(t, o, n.flag)
				o.Layout = n.layout
			}
			if a, ok := answered[e.File]; ok {
				refusedWith(t, o, a.refusal)
				o.Layout, o.Digits = a.layout, a.digits
				if a.rows > 0 {
					e = expectation{Rows: a.rows}
				}
			}
			records, price, amount := readTable(t, o)
			e.compare(t, records, price, amount)
		})
	}
}

// Yahoo's volume of a currency counts the quote currency: taken as base amounts it is no amount of an order.
func TestAVolumeOfAnotherCurrencyIsFoundByItsSize(t *testing.T) {
	t.Parallel()
	o := Options{Format: "trades", Files: []string{harness.Recorded(t, "forms/BTC-USD.csv")}}
	o.Layout.Amount = "base"
	refusedWith(t, o, "of one trade: an order has at most 9000000000; give --amount quote")
	o.Layout.Amount = "quote"
	if _, err := New(o); err != nil {
		t.Error(err)
	}
}

// A zone that only the broker or the user's chart knows is asked for. With the answer the times are that zone's.
func TestAZoneThatTheFileDoesNotSayIsAskedFor(t *testing.T) {
	t.Parallel()
	mt4 := "2011.12.08,18:49,77.708,77.710,77.702,77.702,30\n"
	mt5 := "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" +
		"2024.01.02\t00:00:00\t1.10432\t1.10500\t1.10300\t1.10450\t1234\t0\t5\n"
	for text, zone := range map[string]string{
		mt4: "Europe/Athens", mt5: "+02:00",
		"20110301 090100;2503.25;2503.50;2502.75;2503.00;120\n": "America/New_York",
	} {
		_, _, err := readAs(t, "a.csv", text, format.Layout{})
		if err == nil || !strings.Contains(err.Error(), "--timezone") {
			t.Errorf("%s: %v", text, err)
		}
		layout := format.Layout{Timezone: zone}
		if text == mt5 { // and its volume is 0
			_, _, err := readAs(t, "a.csv", text, layout)
			if err == nil || !strings.Contains(err.Error(), "amount=<TICKVOL>") {
				t.Errorf("%s: %v", text, err)
			}
			layout.Columns = "amount=<TICKVOL>"
		}
		_, got, err := readAs(t, "a.csv", text, layout)
		when, _, _ := strings.Cut(got, " ")
		want := map[string]string{
			"Europe/Athens": "1323362940", "+02:00": "1704146400", "America/New_York": "1298988060",
		}
		if err != nil || when != want[zone] {
			t.Errorf("%s: %s at %s, want %s, %v", text, zone, when, want[zone], err)
		}
	}
}

// readTable returns the records of a table and the digits of their prices and amounts, also of trades that the exchange
// would refuse.
func readTable(t *testing.T, o Options) (records []format.Record, price, amount int) {
	t.Helper()
	price, amount, err := o.digits()
	if err != nil {
		t.Fatal(err)
	}
	r, err := format.New(o.Format, o.Files)
	if err != nil {
		t.Fatal(err)
	}
	format.Select(r, o.Pair)
	if err := format.Use(r, o.Layout); err != nil {
		t.Fatal(err)
	}
	s, err := format.Learn(r)
	if err != nil {
		t.Fatal(err)
	}
	if price, amount, err = s.Choose(price, amount, o.Digits != ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(s); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var rec format.Record
		switch err := r.Next(&rec); {
		case errors.Is(err, io.EOF):
			return records, price, amount
		case err != nil:
			t.Fatal(err)
		}
		records = append(records, rec)
	}
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// refusedWith expects a refusal that says want.
func refusedWith(t *testing.T, o Options, want string) {
	t.Helper()
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want a refusal with %q", err, want)
	}
}

// compare compares records with the expected values, as exact numbers.
func (e *expectation) compare(t *testing.T, records []format.Record, price, amount int) {
	t.Helper()
	if len(records) == 0 || e.Rows > 0 && len(records) != e.Rows {
		t.Fatalf("%d rows, want %d", len(records), e.Rows)
	}
	if len(e.First) == 0 {
		return
	}
	volume, notional, bought := new(big.Rat), new(big.Rat), new(big.Rat)
	high, low, sided := int64(0), int64(math.MaxInt64), [2]int{}
	for i := range records {
		x := &records[i]
		if x.Kind == format.Bar {
			volume.Add(volume, rational(x.Bar.Volume, amount))
			high, low = max(high, x.Bar.High), min(low, x.Bar.Low)
			continue
		}
		a := rational(x.Amount, amount)
		n := new(big.Rat).Mul(a, rational(x.Price, price))
		volume.Add(volume, a)
		notional.Add(notional, n)
		if x.Sided {
			sided[x.Side]++
		}
		if x.Sided && x.Side == engine.Buy {
			bought.Add(bought, n)
		}
	}
	same := func(what string, got *big.Rat, want string) {
		t.Helper()
		if w, ok := new(big.Rat).SetString(want); want != "" && (!ok || w.Cmp(got) != 0) {
			t.Errorf("%s %s, want %s", what, got.FloatString(10), want)
		}
	}
	for i, want := range [][]string{e.First, e.Last} {
		x := &records[i*(len(records)-1)]
		if at := time.Unix(0, x.NS).UTC().Format("2006-01-02T15:04:05.000000000Z"); at != want[0] {
			t.Errorf("row %d at %s, want %s", i, at, want[0])
		}
		if x.Kind == format.Bar {
			for k, v := range []int64{x.Bar.Open, x.Bar.High, x.Bar.Low, x.Bar.Close} {
				same("price of a bar", rational(v, price), want[k+1])
			}
			same("volume of a bar", rational(x.Bar.Volume, amount), want[5])
			continue
		}
		side := "None"
		if x.Sided {
			side = x.Side.String()
		}
		same("price", rational(x.Price, price), want[1])
		same("amount", rational(x.Amount, amount), want[2])
		if side != want[3] {
			t.Errorf("side %s, want %s", side, want[3])
		}
	}
	if e.Kind == "bars" {
		same("volume", volume, e.SumVolume)
		same("high", rational(high, price), e.MaxHigh)
		same("low", rational(low, price), e.MinLow)
		return
	}
	same("amount", volume, e.SumAmount)
	same("price x amount", notional, e.SumNotional)
	same("bought", bought, e.BuyNotional)
	if sided[engine.Buy] != e.Buys || sided[engine.Sell] != e.Sells {
		t.Errorf("%v bought and sold, want %d and %d", sided, e.Buys, e.Sells)
	}
}

// rational returns v x 10^-digits.
func rational(v int64, digits int) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
}
