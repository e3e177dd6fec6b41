package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// standing starts an exchange with an hour of a simulated market that stands still, on a virtual clock.
func standing(t *testing.T) *harness.Instance {
	t.Helper()
	return harness.Start(t, "--data-dir", t.TempDir(), "--sim", "on", "--past", "0", "--backfill", "10m",
		"--clock", "virtual", "--clock-start", "2026-01-05T10:00:00Z", "--quiet")
}

// exported writes a list of an exchange to a file and returns the file.
func exported(t *testing.T, in *harness.Instance, name string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	run := harness.Launch(t, nil, append([]string{"export", "--target", in.Public, "--out", file}, args...)...)
	if code := run.Wait(); code != 0 {
		t.Fatalf("export %v: exit code %d: %s", args, code, run.Stderr.String())
	}
	return file
}

// market returns all deals of a pair without their ids, and its minute candles. Times are cut to ms, which is what the
// aggregator answers.
func market(t *testing.T, in *harness.Instance, pair string) (deals []string, candles string) {
	t.Helper()
	below := regexp.MustCompile(`(\.\d{3})\d{4}Z`)
	for target := "/api/deals?currencyPairCode=" + pair; target != ""; {
		a := in.Do("GET", in.Public+target, "")
		var page []struct {
			DealDateUtc   string
			Price, Volume json.Number
			IsBuy         bool
		}
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
			t.Fatalf("%v %s", err, a.Body)
		}
		for _, d := range page {
			deals = append(deals, below.ReplaceAllString(fmt.Sprint(d), "${1}Z"))
		}
		target = ""
		if next := a.Header.Get("X-Next-Cursor"); next != "" {
			target = "/api/deals?currencyPairCode=" + pair + "&cursor=" + next
		}
	}
	candles, _ = in.Candles(pair, "minute")
	return deals, candles
}

// What the exchange writes of its own market, as CSV, as Parquet and as its answers, is replayed to the same trades and
// candles.
func TestTheExchangeReplaysItsOwnHistory(t *testing.T) {
	t.Parallel()
	in := standing(t)
	deals, candles := market(t, in, "BTC_USDT")
	if len(deals) < 200 || strings.Count(candles, "\n") < 5 {
		t.Fatalf("only %d deals, candles %s", len(deals), candles)
	}
	answer := func(name, target string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(in.Do("GET", in.Public+target, "").Body), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, c := range map[string]struct {
		file   string
		trades bool // the file has the trades, not only candles
	}{
		"trades as CSV":     {exported(t, in, "t.csv", "trades", "--pair", "BTC_USDT"), true},
		"trades as Parquet": {exported(t, in, "t.parquet", "trades", "--pair", "BTC_USDT"), true},
		"aggregator": {
			answer("a.json", "/api/marketdata/getaggregator/historical_trades?ticker_id=BTC_USDT"), true,
		},
		"candles as CSV":     {exported(t, in, "c.csv", "candles", "--pair", "BTC_USDT"), false},
		"candles as Parquet": {exported(t, in, "c.parquet", "candles", "--pair", "BTC_USDT"), false},
		"candles as JSON": {
			answer("c.json", "/api/ohlc?currencyPairCode=BTC_USDT&interval=minute&start=2020-01-01&end=2100-01-01"),
			false,
		},
	} {
		again := harness.Launch(t, nil, "replay", "--format", "trades", "--pair", "BTC_USDT", "--hold", "--check",
			"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet", c.file)
		again.TakeAddresses(again.WaitLine("ready "))
		again.WaitLine("check ")
		got, gotCandles := market(t, again, "BTC_USDT")
		if c.trades && !slices.Equal(got, deals) {
			t.Errorf("%s: %d deals, want %d", name, len(got), len(deals))
		}
		if gotCandles != candles {
			t.Errorf("%s: candles\n%s\nwant\n%s", name, gotCandles, candles)
		}
	}
}

// The lists of a user are exported with the user's key, and nothing is written over a file or left of a failure.
func TestExportOfAUser(t *testing.T) {
	t.Parallel()
	in := standing(t)
	dir := t.TempDir()
	key := filepath.Join(dir, "key.json")
	internal := strings.TrimSuffix(in.Internal, "/internal/v1")
	if code := harness.Launch(t, nil, "demo-key", "--internal", internal, key).Wait(); code != 0 {
		t.Fatal(code)
	}
	file := exported(t, in, "b.csv", "balances", "--key", key)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "\nUSDT,100000.0,0.0,100000.0\n") {
		t.Errorf("%s %v", text, err)
	}
	for _, kind := range []string{"orders", "fills"} {
		file := exported(t, in, kind+".csv", kind, "--key", key)
		if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") != 1 {
			t.Errorf("%s: %s %v", kind, text, err)
		}
	}
	missing := filepath.Join(dir, "none.csv")
	for want, args := range map[string][]string{
		"exists: name a new file": {"balances", "--key", key, "--out", file},
		"--key is missing":        {"fills"},
		"--pair is missing":       {"trades"},
		"must end with .csv":      {"trades", "--pair", "BTC_USDT", "--out", filepath.Join(dir, "t.json")},
		".csv or .parquet":        {"trades", "--pair", "BTC_USDT", "--out", filepath.Join(dir, "t.xlsx")},
		"There is no pair A_B":    {"trades", "--pair", "A_B", "--out", missing},
	} {
		run := harness.Launch(t, nil, append([]string{"export", "--target", in.Public}, args...)...)
		if code := run.Wait(); code == 0 || !strings.Contains(run.Stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, run.Stderr.String())
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a file of a failed export")
	}
}
