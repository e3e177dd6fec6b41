package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// crashFound counts the situations that the kills interrupted.
type crashFound struct{ kills, tornTail, snapshot, rotation, recovery, orders, trades int }

// docs/contract/matching.md#case-37 and docs/contract/storage.md#sync-policies: under every
// sync policy, kill -9 at any moment loses nothing that was acknowledged, ids continue without
// gap or reuse, and the state equals an independent replay of the log.
func TestKillNineLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	kills := map[string]int{"always": 7, "interval": 3}
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		kills = map[string]int{"always": 200, "interval": 50}
	}
	for policy, n := range kills {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			killLoop(t, policy, n)
		})
	}
}

func killLoop(t *testing.T, policy string, kills int) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	args := []string{
		"--data-dir", dir, "--pairs", "none", "--sim", "off", "--journal-sync", policy, "--quiet",
		"--set", "journal.keep=all", "--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=30000",
		"--set", "rate.allow=127.0.0.1", "--set", "orders.closed_kept=5000000", "--set", "orders.fills_kept=10000000",
	}
	a := harness.NewAcked()
	var found crashFound
	in := harness.Start(t, args...)
	a.Begin(in)
	for k := range kills {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.Load(in, seed+uint64(k), stop); close(done) }()
		harness.WaitFor(t, func() bool { return a.InFlight.Load() >= 100 })
		<-time.After(time.Duration(r.IntN(250)) * time.Millisecond) // the moment of the kill is random
		in.Signal(syscall.SIGKILL)
		in.Wait()
		close(stop)
		<-done
		found.kills++
		found.look(t, dir)
		if r.IntN(4) == 0 { // again, during the recovery
			half := harness.Launch(t, nil, append([]string{
				"serve", "--listen", "127.0.0.1:0", "--internal-listen",
				"127.0.0.1:0",
			}, args...)...)
			half.WaitLine("listening ")
			half.Signal(syscall.SIGKILL)
			half.Wait()
			found.recovery++
		}
		in = harness.Start(t, args...)
		if strings.Contains(in.Stderr.String(), "torn") {
			found.tornTail++
		}
		if k%10 == 9 || k == kills-1 {
			verify(a, t, in, dir, 1, k == kills-1)
		}
	}
	found.orders, found.trades = len(a.Orders), len(a.Trades)
	t.Logf("%s: %d kills: %d met a torn write, %d a snapshot, %d a rotation, %d more a recovery; %d acknowledged "+
		"orders, %d trades, %d users, %d tokens and %d log entries are all there",
		policy, found.kills, found.tornTail, found.snapshot, found.rotation, found.recovery, found.orders, found.trades,
		len(a.Users), len(a.Tokens), a.Entries)
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// look derives from the files what the kill interrupted.
func (f *crashFound) look(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "engine"))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			f.snapshot++
		}
		if i != len(entries)-1 || !strings.HasSuffix(e.Name(), ".wal") {
			continue
		}
		// A segment without a first record: nothing follows its header of 64 bytes
		// yet.
		raw, err := os.ReadFile(filepath.Join(dir, "engine", e.Name()))
		if err == nil && (len(raw) < 80 || bytes.Equal(raw[64:80], make([]byte, 16))) {
			f.rotation++
		}
	}
}

// verify compares the running process with the list and with an independent replay from the record first on.
func verify(a *harness.Acked, t *testing.T, in *harness.Instance, dir string, first uint64, all bool) {
	t.Helper()
	highest := map[int64]int64{}
	for id, want := range a.Orders {
		highest[id>>36] = max(highest[id>>36], id)
		if !all && id%17 != 0 {
			continue
		}
		resp := in.Do(http.MethodGet, fmt.Sprintf("%s/orders/%d", in.Internal, id), "")
		var o harness.CrashOrder
		if err := json.Unmarshal([]byte(resp.Body), &o); resp.Status != 200 || err != nil {
			t.Fatalf("acknowledged order %d is lost: %d %s", id, resp.Status, resp.Body)
		}
		if string(o.Amount) != want.Amount || len(o.Filled) < len(want.Filled) || len(o.Filled) == len(want.Filled) &&
			string(o.Filled) < want.Filled {
			t.Fatalf("order %d was acknowledged with %+v and is %s", id, want, resp.Body)
		}
		if a.Canceled[id] && !strings.HasSuffix(o.Status, "Canceled") {
			t.Fatalf("order %d was acknowledged canceled and is %s", id, o.Status)
		}
	}
	verifyTrades(a, t, in)
	a.VerifyStores(t, in)
	live := harness.Object(t, in.Do(http.MethodGet, in.Internal+"/state-hash", "").Body)
	code, out, errs := harness.Run(t, "journal", "verify", dir, "--quiet", "--json", "--at",
		live["seq"].(json.Number).String())
	if code != 0 {
		t.Fatalf("journal verify: %s", errs)
	}
	if got := harness.Object(t, out); part(got, "market") != part(live, "market") ||
		got["firstRecord"].(json.Number).String() != fmt.Sprint(first) {
		t.Fatalf("the log alone gives %v, the process has %v", got, live)
	}
	code, out, errs = harness.Run(t, "journal", "verify", dir, "--quiet", "--json")
	if got := harness.Object(t, out); code != 0 || got["hash"] == nil || got["hash"] != live["hash"] {
		t.Fatalf("the log alone gives %v, the process has %v; exit code %d, %s", got, live, code, errs)
	}
	for i, p := range a.Pairs { // ids continue without gap or reuse
		o := in.Limit(p, "buy", "1.00", "1.0")
		id, _ := o["orderId"].(json.Number).Int64()
		if id <= highest[int64(i)] {
			t.Fatalf("new order id %d, %d was given before", id, highest[int64(i)])
		}
		a.Mu.Lock()
		a.Orders[id] = harness.AckedOrder{Filled: "0.0", Status: "Created", Amount: "1.0"}
		a.Mu.Unlock()
	}
}

// verifyTrades checks that every acknowledged trade is in the public history, that ids are
// dense, and that the 24 h volume and the candles are sums over the history.
func verifyTrades(a *harness.Acked, t *testing.T, in *harness.Instance) {
	t.Helper()
	for _, p := range a.Pairs {
		var h struct {
			Buy, Sell []struct {
				TradeID    int64       `json:"trade_id"`
				BaseVolume json.Number `json:"base_volume"`
			}
		}
		raw := in.Do(http.MethodGet, in.Public+"/api/marketdata/getaggregator/historical_trades?limit=0&ticker_id="+p,
			"").Body
		if err := json.Unmarshal([]byte(raw), &h); err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		last, tenths := int64(0), int64(0)
		for _, tr := range append(h.Buy, h.Sell...) {
			seen[tr.TradeID] = true
			last = max(last, tr.TradeID)
			tenths += tenthsOf(t, tr.BaseVolume)
		}
		if int64(len(seen)) != last {
			t.Fatalf("%s: %d trades up to id %d", p, len(seen), last)
		}
		for key := range a.Trades {
			var id int64
			if _, err := fmt.Sscanf(key, p+"/%d", &id); err == nil && !seen[id] {
				t.Fatalf("acknowledged trade %s is lost", key)
			}
		}
		tk := harness.Object(t, in.Do(http.MethodGet, in.Public+"/api/tickers?currencyPairCode="+p, "").Body)
		if got := tenthsOf(t, tk["volume24h"].(json.Number)); got != tenths {
			t.Fatalf("%s: volume24h is %d tenths, the trades sum to %d", p, got, tenths)
		}
		var candles []map[string]any
		dec := json.NewDecoder(strings.NewReader(in.Do(http.MethodGet,
			in.Public+"/api/ohlc?interval=minute&start=2020-01-01&end=2100-01-01&currencyPairCode="+p, "").Body))
		dec.UseNumber()
		if err := dec.Decode(&candles); err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, c := range candles {
			sum += tenthsOf(t, c["volumeBase"].(json.Number))
		}
		if sum != tenths {
			t.Fatalf("%s: candles sum to %d tenths, the trades to %d", p, sum, tenths)
		}
	}
}

// tenthsOf parses a decimal with one fractional digit and returns tenths.
func tenthsOf(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, ok := strings.Cut(string(n), ".")
	var v int64
	if _, err := fmt.Sscan(whole+frac, &v); err != nil || !ok || len(frac) != 1 {
		t.Fatalf("%q is no decimal of one digit", n)
	}
	return v
}

// A second process on a data directory reports the process that holds it.
func TestSecondProcessIsToldWhoHoldsTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.StartEmpty(t, "--data-dir", dir)
	second := harness.Serve(t, nil, "--data-dir", dir)
	if code := second.Wait(); code == 0 {
		t.Error("the second process did not fail")
	}
	if want := fmt.Sprintf("held by process %d", first.Cmd.Process.Pid); !strings.Contains(second.Stderr.String(),
		want) {
		t.Errorf("it says %q, want %q in it", second.Stderr.String(), want)
	}
}

// A damaged record in the middle stops the start with file, offset and remedy. Another format
// version is refused with the name of the version that wrote it.
func TestDamagedDirectoriesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.StartEmpty(t, "--data-dir", dir)
	in.Pair("AA_USDT")
	for range 200 {
		in.Limit("AA_USDT", "buy", "1.00", "1.0")
	}
	in.Signal(syscall.SIGKILL)
	in.Wait()
	segment := filepath.Join(dir, "engine", "000001.wal")
	raw, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(raw)
	damaged[3000] ^= 0x10
	if err := os.WriteFile(segment, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir, "--sim",
		"off", "--clock", "virtual",
	}
	refused := harness.Launch(t, nil, args...)
	if code := refused.Wait(); code == 0 {
		t.Error("a damaged log was taken")
	}
	for _, want := range []string{"000001.wal", "offset", "sequence", "journal verify"} {
		if !strings.Contains(refused.Stderr.String(), want) {
			t.Errorf("the refusal lacks %q: %s", want, refused.Stderr.String())
		}
	}
	if code, _, _ := harness.Run(t, "journal", "verify", dir, "--quiet"); code == 0 {
		t.Error("journal verify takes a damaged log")
	}
	meta := filepath.Join(dir, "meta.json")
	text, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	body, end, _ := bytes.Cut(text, []byte(",\n  \"crc32c\": \""))
	body = regexp.MustCompile(`"format": \d+`).ReplaceAll(body, []byte(`"format": 9`))
	later := fmt.Appendf(body, ",\n  \"crc32c\": \"%08x%s",
		crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)), end[8:])
	if err := os.WriteFile(meta, later, 0o600); err != nil {
		t.Fatal(err)
	}
	old := harness.Launch(t, nil, args...)
	if code := old.Wait(); code == 0 || !strings.Contains(old.Stderr.String(), "format 9, written by TickHive") {
		t.Errorf("exit %d: %s", code, old.Stderr.String())
	}
}

// Restarts after kills are one incident with a count, and name no path.
func TestRestartsAreOneIncident(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 4 {
		in := harness.StartEmpty(t, "--data-dir", dir)
		var s struct {
			Incidents []struct {
				At, FirstAt, Count int64
				Kind, Message      string
			}
		}
		body := in.Do("GET", in.Public+"/api/status", "").Body
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			t.Fatal(err)
		}
		switch all := s.Incidents; {
		case n == 0 && len(all) != 0, n > 0 && (len(all) != 1 || all[0].Kind != "restart" || all[0].Count != int64(n)),
			n > 0 && (all[0].FirstAt == 0 || all[0].FirstAt > all[0].At), strings.Contains(body, dir):
			t.Errorf("after %d kills: %s", n, body)
		}
		if n == 0 {
			in.Pair("BTC_USDT")
		}
		in.Limit("BTC_USDT", "buy", "1", "1")
		in.Signal(syscall.SIGKILL)
		<-in.Exited
	}
}

// part returns the hash of a part in an answer of GET /state-hash or of journal verify.
func part(state map[string]any, name string) any {
	parts, _ := state["parts"].(map[string]any)
	return parts[name]
}
