package format

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every file of a replay names its first problem, not only the first file.
func TestAllFilesNameTheirProblems(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), []string(nil)
	for name, text := range map[string]string{
		"a": "1700000000,1,1\n", "b": "1700000001,1,x\n", "c": "1700000002,1,1\n", "d": "1700000003,-1,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, name))
	}
	slices.Sort(files)
	r, err := New("trades", files)
	if err == nil {
		_, err = Learn(r)
	}
	got := strings.Split(Problems("trades", files, "", Layout{}, err).Error(), "\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "b:1:14: ") || !strings.HasPrefix(got[1], "d:1:12: ") {
		t.Errorf("%q", got)
	}
	want := err.Error() + "\na looks like trades, not lobster: run tickhive replay --detect " + files[0] +
		" to see what it is"
	if got := Problems("lobster", files[:2], "", Layout{}, err); !errors.Is(got, err) || got.Error() != want {
		t.Errorf("two files of one recording: %v", got)
	}
}

func TestPairsAreDerivedFromTheFiles(t *testing.T) {
	for symbol, want := range map[string]string{
		"BTCUSDT": "BTC_USDT", "btc-usd": "BTC_USD", "XBT/USDT": "XBT_USDT", "ETHBTC": "ETH_BTC",
		"XBTUSD": "XBT_USD", "BNBUSD": "BNB_USD", "BTCTUSD": "BTC_TUSD", "USDT": "", "FOO": "",
		"WUSDT": "W_USDT", "TUSDT": "T_USDT", "SBTC": "S_BTC", "BUSDT": "B_USDT", "W-USD": "W_USD",
		"1INCHUSDT": "1INCH_USDT", "1000SATSUSDT": "1000SATS_USDT",
		"ABCDEFGHIJKLMNOPQRSTUSDT": "ABCDEFGHIJKLMNOPQRST_USDT", "ABCDEFGHIJKLMNOPQRSTUUSDT": "",
	} {
		if got := splitPair(symbol); got != want {
			t.Errorf("%s is %q, want %q", symbol, got, want)
		}
	}
	for symbol, want := range map[string]string{
		"XXBTZUSD": "XBT_USD", "XETHXXBT": "ETH_XBT", "XBTUSDT": "XBT_USDT", "ADAEUR": "ADA_EUR",
	} {
		if got := pairOfKraken(symbol); got != want {
			t.Errorf("Kraken's %s is %q, want %q", symbol, got, want)
		}
	}
	if got := pairOf("f", "usd"); got != "F_USD" {
		t.Errorf("ticker F is %q", got)
	}
	for _, quote := range quoteCurrencies {
		for _, name := range []string{"ADA" + quote + "_2024.csv", strings.ToLower("ada-" + quote + "-trades.csv")} {
			if got := pairInName(name); got != "ADA_"+quote {
				t.Errorf("the name %s tells %q, want ADA_%s", name, got, quote)
			}
		}
	}
	for name, want := range map[string]string{
		"btctry_2024.csv":                     "BTC_TRY",
		"btcusd_20161007_second_trade.csv.gz": "BTC_USD", "WUSDT-trades-2024-08-08.csv": "W_USDT",
		"t_usdt.csv": "T_USDT", "1INCHUSDT-trades.csv": "1INCH_USDT",
		"1000SATSUSDT-trades-2024-08.zip": "1000SATS_USDT", "1MBABYDOGEUSDT-trades.csv": "1MBABYDOGE_USDT",
		"ANIMECOINLONGUSDT-trades.csv": "ANIMECOINLONG_USDT", "trades.csv": "", "usdt.csv": "", "2024-08-08.csv": "",
		"20240808_btc.csv": "", "20240808btcusd.csv": "",
	} {
		if got := pairInName(name); got != want {
			t.Errorf("the name %s tells %q, want %q", name, got, want)
		}
	}
}

// A reader is fed millions of rows: the record, the line and its cells are used again.
func TestARowOfTradesDoesNotAllocate(t *testing.T) {
	text := "time,price,amount,side\n" + strings.Repeat("1700000000123,61837.63,0.00125,buy\n", 2000)
	in, err := newLineReader("a.csv", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	rows := newTable(in, NewSurvey(), unsettled())
	if n := testing.AllocsPerRun(1000, func() {
		if err := rows.next(&rec); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a row, want none", n)
	}
}

// unsettled returns the layout of a file of which nothing is known.
func unsettled() *settled {
	return &settled{dates: dateLayouts, plan: plan{zone: time.UTC}}
}
