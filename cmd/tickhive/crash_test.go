package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// crashWorkers each have one request in flight, so that every kill meets at least 100.
const crashWorkers = 128

// acked holds the responses that this process received; another process is killed. An entry is
// added after its response has arrived.
type acked struct {
	mu       sync.Mutex
	orders   map[int64]ackedOrder
	trades   map[string]int64 // pair/tradeId -> order
	canceled map[int64]bool
	pairs    []string
	inFlight atomic.Int64

	users     []string         // acknowledged ids
	deposited map[string]int64 // currency -> whole units acknowledged
	unknown   map[string]int64 // currency -> whole units sent and never acknowledged
	tokens    []string         // addresses
	entries   int64            // highest id of an acknowledged log entry
}

// newAcked returns the responses of an exchange with two pairs, before the first.
func newAcked() *acked {
	return &acked{
		orders: map[int64]ackedOrder{}, trades: map[string]int64{}, canceled: map[int64]bool{},
		pairs: []string{"AA_USDT", "BB_USDT"}, deposited: map[string]int64{}, unknown: map[string]int64{},
	}
}

// begin adds the pairs and eight users with money.
func (a *acked) begin(in *instance) {
	for _, p := range a.pairs {
		in.call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":1}`, p))
	}
	for range 8 {
		id, _ := in.call(200, "POST", "/users", `{"nativeBalance":100000}`)["id"].(string)
		a.users = append(a.users, id)
		for _, c := range []string{"AA", "BB", "USDT"} {
			in.call(200, "POST", "/users/"+id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000000}`, c))
			a.deposited[c] += 1000000
		}
	}
}

type ackedOrder struct {
	filled string
	status string
	amount string
}

type crashOrder struct {
	OrderID int64       `json:"orderId"`
	Pair    string      `json:"currencyPairCode"`
	Status  string      `json:"status"`
	Amount  json.Number `json:"amount"`
	Filled  json.Number `json:"filledAmount"`
	Fills   []struct {
		TradeID int64 `json:"tradeId"`
	} `json:"fills"`
}

func (a *acked) note(o *crashOrder) {
	if o.OrderID == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.orders[o.OrderID] = ackedOrder{string(o.Filled), o.Status, string(o.Amount)}
	for _, f := range o.Fills {
		a.trades[fmt.Sprintf("%s/%d", o.Pair, f.TradeID)] = o.OrderID
	}
	if strings.HasSuffix(o.Status, "Canceled") {
		a.canceled[o.OrderID] = true
	}
}

// load sends single orders, batches and cancels until the process has ended.
func (a *acked) load(in *instance, seed uint64, stop <-chan struct{}) {
	a.loadBy(crashWorkers, in, seed, stop)
}

// someone returns a random acknowledged user.
func (a *acked) someone(r *rand.Rand) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.users[r.IntN(len(a.users))]
}

func (a *acked) place(r *rand.Rand) string {
	side := []string{"buy", "sell"}[r.IntN(2)]
	account := ""
	if r.IntN(2) == 0 {
		account = fmt.Sprintf(`"accountId":%q,`, a.someone(r))
	}
	return fmt.Sprintf(`{`+account+`"currencyPairCode":%q,"side":%q,"type":"limit","price":%d.%02d,"amount":%d.5}`,
		a.pairs[r.IntN(len(a.pairs))], side, 95+r.IntN(10), r.IntN(100), 1+r.IntN(9))
}

// one sends one request. It returns false when the process no longer responds.
func (a *acked) one(in *instance, client *http.Client, r *rand.Rand, mine *[]int64) bool {
	method, path, body := http.MethodPost, "/orders", a.place(r)
	kind := r.IntN(12)
	if kind >= 10 {
		return a.other(in, client, r)
	}
	switch {
	case kind < 3 && len(*mine) > 0:
		i := r.IntN(len(*mine))
		method, path, body = http.MethodDelete, fmt.Sprintf("/orders/%d", (*mine)[i]), ""
		*mine = append((*mine)[:i], (*mine)[i+1:]...)
	case kind < 5:
		path = "/orders/batch"
		var parts []string
		for range 1 + r.IntN(12) {
			parts = append(parts, `{"place":`+a.place(r)+`}`)
		}
		body = `{"commands":[` + strings.Join(parts, ",") + `]}`
	}
	req, err := http.NewRequest(method, in.internal+path, strings.NewReader(body))
	if err != nil {
		return false
	}
	a.inFlight.Add(1)
	resp, err := client.Do(req)
	a.inFlight.Add(-1)
	if err != nil {
		return false
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return false
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode != http.StatusServiceUnavailable
	}
	for _, o := range decodeOrders(raw) {
		a.note(&o)
		if o.OrderID != 0 && (o.Status == "Created" || o.Status == "PartiallyCompleted") {
			*mine = append(*mine, o.OrderID)
		}
	}
	return true
}

// other sends a command of accounts, launchpad or hive.
func (a *acked) other(in *instance, client *http.Client, r *rand.Rand) bool {
	amount := 1 + r.Int64N(1000)
	currency := []string{"AA", "BB", "USDT"}[r.IntN(3)]
	var path, body string
	kind := r.IntN(6)
	switch kind {
	case 0:
		path, body = "/users", `{"nativeBalance":1000}`
	case 1, 2:
		path, body = "/users/"+a.someone(r)+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":%d}`, currency,
			amount)
	case 3:
		symbol := make([]byte, 5)
		for i := range symbol {
			symbol[i] = byte('A' + r.IntN(26))
		}
		path, body = "/launchpad/tokens", fmt.Sprintf(`{"userId":%q,"name":"Crash","symbol":%q}`, a.someone(r), symbol)
	default:
		path, body = "/hive/actions", `{"sourceAgentId":"queen-1","targetTokenId":0,"actionType":"observation",`+
			`"reasonCode":"crash"}`
	}
	a.inFlight.Add(1)
	resp, err := client.Post(in.internal+path, "application/json", strings.NewReader(body))
	a.inFlight.Add(-1)
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if (err != nil || resp.StatusCode >= 500) && (kind == 1 || kind == 2) {
		a.unknown[currency] += amount
	}
	if err != nil {
		return false
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode != http.StatusServiceUnavailable
	}
	var o struct {
		ID      string
		EntryID int64 `json:"entryId"`
		Token   struct{ Address string }
	}
	_ = json.Unmarshal(raw, &o)
	switch kind {
	case 0:
		a.users = append(a.users, o.ID)
	case 1, 2:
		a.deposited[currency] += amount
	case 3:
		a.tokens = append(a.tokens, o.Token.Address)
	default:
		a.entries = max(a.entries, o.EntryID)
	}
	return true
}

// verifyStores compares accounts, launchpad and hive with the list.
func (a *acked) verifyStores(t *testing.T, in *instance) {
	t.Helper()
	for _, id := range a.users {
		in.call(200, http.MethodGet, "/users/"+id, "")
	}
	var totals []struct {
		CurrencyCode                           string
		Free, Held, Fees, Deposited, Withdrawn json.Number
	}
	if err := json.Unmarshal([]byte(in.do(http.MethodGet, in.internal+"/totals", "").body), &totals); err != nil {
		t.Fatal(err)
	}
	for _, row := range totals {
		sum := new(big.Rat)
		for _, part := range []json.Number{row.Free, row.Held, row.Fees, row.Withdrawn} {
			v, _ := new(big.Rat).SetString(string(part))
			sum.Add(sum, v)
		}
		deposited, _ := new(big.Rat).SetString(string(row.Deposited))
		if sum.Cmp(deposited) != 0 {
			t.Fatalf("%s does not add up: %+v", row.CurrencyCode, row)
		}
		least, ok := a.deposited[row.CurrencyCode]
		most := least + a.unknown[row.CurrencyCode]
		if ok && (deposited.Cmp(big.NewRat(least, 1)) < 0 || deposited.Cmp(big.NewRat(most, 1)) > 0) {
			t.Fatalf("%s: %s deposited, acknowledged %d, at most %d were sent", row.CurrencyCode, row.Deposited, least,
				most)
		}
	}
	for _, address := range a.tokens {
		if r := in.do(http.MethodGet, in.public+"/api/launchpad/tokens/"+address, ""); r.status != 200 {
			t.Fatalf("acknowledged token %s is lost: %d", address, r.status)
		}
	}
	log := object(t, in.do(http.MethodGet, in.public+"/api/agents/action-logs?pageSize=1", "").body)
	if n, _ := log["totalItems"].(json.Number).Int64(); n < a.entries {
		t.Fatalf("%d log entries, %d was acknowledged", n, a.entries)
	}
}

func decodeOrders(raw []byte) []crashOrder {
	var batch struct {
		Results []crashOrder `json:"results"`
	}
	if bytes.HasPrefix(raw, []byte(`{"results"`)) {
		_ = json.Unmarshal(raw, &batch)
		return batch.Results
	}
	var one crashOrder
	_ = json.Unmarshal(raw, &one)
	return []crashOrder{one}
}

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
	a := newAcked()
	var found crashFound
	in := start(t, args...)
	a.begin(in)
	for k := range kills {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.load(in, seed+uint64(k), stop); close(done) }()
		waitFor(t, func() bool { return a.inFlight.Load() >= 100 })
		<-time.After(time.Duration(r.IntN(250)) * time.Millisecond) // the moment of the kill is random
		in.signal(syscall.SIGKILL)
		in.wait()
		close(stop)
		<-done
		found.kills++
		found.look(t, dir)
		if r.IntN(4) == 0 { // again, during the recovery
			half := launch(t, nil, append([]string{
				"serve", "--listen", "127.0.0.1:0", "--internal-listen",
				"127.0.0.1:0",
			}, args...)...)
			half.waitLine("listening ")
			half.signal(syscall.SIGKILL)
			half.wait()
			found.recovery++
		}
		in = start(t, args...)
		if strings.Contains(in.stderr.String(), "torn") {
			found.tornTail++
		}
		if k%10 == 9 || k == kills-1 {
			a.verify(t, in, dir, k == kills-1)
		}
	}
	found.orders, found.trades = len(a.orders), len(a.trades)
	t.Logf("%s: %d kills: %d met a torn write, %d a snapshot, %d a rotation, %d more a recovery; %d acknowledged "+
		"orders, %d trades, %d users, %d tokens and %d log entries are all there",
		policy, found.kills, found.tornTail, found.snapshot, found.rotation, found.recovery, found.orders, found.trades,
		len(a.users), len(a.tokens), a.entries)
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// waitFor polls a condition that another process brings about.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen in time")
		}
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

// verify compares the running process with the list and with an independent replay.
func (a *acked) verify(t *testing.T, in *instance, dir string, all bool) {
	t.Helper()
	highest := map[int64]int64{}
	for id, want := range a.orders {
		highest[id>>36] = max(highest[id>>36], id)
		if !all && id%17 != 0 {
			continue
		}
		resp := in.do(http.MethodGet, fmt.Sprintf("%s/orders/%d", in.internal, id), "")
		var o crashOrder
		if err := json.Unmarshal([]byte(resp.body), &o); resp.status != 200 || err != nil {
			t.Fatalf("acknowledged order %d is lost: %d %s", id, resp.status, resp.body)
		}
		if string(o.Amount) != want.amount || len(o.Filled) < len(want.filled) || len(o.Filled) == len(want.filled) &&
			string(o.Filled) < want.filled {
			t.Fatalf("order %d was acknowledged with %+v and is %s", id, want, resp.body)
		}
		if a.canceled[id] && !strings.HasSuffix(o.Status, "Canceled") {
			t.Fatalf("order %d was acknowledged canceled and is %s", id, o.Status)
		}
	}
	a.verifyTrades(t, in)
	a.verifyStores(t, in)
	live := object(t, in.do(http.MethodGet, in.internal+"/state-hash", "").body)
	var out, errs bytes.Buffer
	if code := run([]string{"journal", "verify", dir, "--quiet", "--json", "--at", live["seq"].(json.Number).String()},
		&program{out: &out, err: &errs}); code != 0 {
		t.Fatalf("journal verify: %s", errs.String())
	}
	if got := object(t, out.String()); got["hash"] != live["hash"] || got["firstRecord"].(json.Number) != "1" {
		t.Fatalf("the log alone gives %v, the process has %v", got, live)
	}
	for _, store := range []string{"accounts", "launchpad", "hive"} {
		out.Reset()
		if code := run([]string{"journal", "verify", filepath.Join(dir, store)},
			&program{out: &out, err: &errs}); code != 0 {
			t.Fatalf("journal verify %s: %s", store, errs.String())
		}
	}
	for i, p := range a.pairs { // ids continue without gap or reuse
		o := in.limit(p, "buy", "1.00", "1.0")
		id, _ := o["orderId"].(json.Number).Int64()
		if id <= highest[int64(i)] {
			t.Fatalf("new order id %d, %d was given before", id, highest[int64(i)])
		}
		a.mu.Lock()
		a.orders[id] = ackedOrder{"0.0", "Created", "1.0"}
		a.mu.Unlock()
	}
}

// verifyTrades checks that every acknowledged trade is in the public history, that ids are
// dense, and that the 24 h volume and the candles are sums over the history.
func (a *acked) verifyTrades(t *testing.T, in *instance) {
	t.Helper()
	for _, p := range a.pairs {
		var h struct {
			Buy, Sell []struct {
				TradeID    int64       `json:"trade_id"`
				BaseVolume json.Number `json:"base_volume"`
			}
		}
		raw := in.do(http.MethodGet, in.public+"/api/marketdata/getaggregator/historical_trades?limit=0&ticker_id="+p,
			"").body
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
		for key := range a.trades {
			var id int64
			if _, err := fmt.Sscanf(key, p+"/%d", &id); err == nil && !seen[id] {
				t.Fatalf("acknowledged trade %s is lost", key)
			}
		}
		tk := object(t, in.do(http.MethodGet, in.public+"/api/tickers?currencyPairCode="+p, "").body)
		if got := tenthsOf(t, tk["volume24h"].(json.Number)); got != tenths {
			t.Fatalf("%s: volume24h is %d tenths, the trades sum to %d", p, got, tenths)
		}
		var candles []map[string]any
		dec := json.NewDecoder(strings.NewReader(in.do(http.MethodGet,
			in.public+"/api/ohlc?interval=minute&start=2020-01-01&end=2100-01-01&currencyPairCode="+p, "").body))
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
	first := startEmpty(t, "--data-dir", dir)
	second := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir)
	if code := second.wait(); code == 0 {
		t.Error("the second process did not fail")
	}
	if want := fmt.Sprintf("held by process %d", first.cmd.Process.Pid); !strings.Contains(second.stderr.String(),
		want) {
		t.Errorf("it says %q, want %q in it", second.stderr.String(), want)
	}
}

// A damaged record in the middle stops the start with file, offset and remedy. Another format
// version is refused with the name of the version that wrote it.
func TestDamagedDirectoriesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := startEmpty(t, "--data-dir", dir)
	in.pair("AA_USDT")
	for range 200 {
		in.limit("AA_USDT", "buy", "1.00", "1.0")
	}
	in.signal(syscall.SIGKILL)
	in.wait()
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
	refused := launch(t, nil, args...)
	if code := refused.wait(); code == 0 {
		t.Error("a damaged log was taken")
	}
	for _, want := range []string{"000001.wal", "offset", "sequence", "journal verify"} {
		if !strings.Contains(refused.stderr.String(), want) {
			t.Errorf("the refusal lacks %q: %s", want, refused.stderr.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"journal", "verify", dir, "--quiet"}, &program{out: &out, err: &errs}); code == 0 {
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
	old := launch(t, nil, args...)
	if code := old.wait(); code == 0 || !strings.Contains(old.stderr.String(), "format 9, written by TickHive") {
		t.Errorf("exit %d: %s", code, old.stderr.String())
	}
}

// Restarts after kills are one incident with a count, and name no path.
func TestRestartsAreOneIncident(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 4 {
		in := startEmpty(t, "--data-dir", dir)
		var s struct {
			Incidents []struct {
				At, FirstAt, Count int64
				Kind, Message      string
			}
		}
		body := in.do("GET", in.public+"/api/status", "").body
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			t.Fatal(err)
		}
		switch all := s.Incidents; {
		case n == 0 && len(all) != 0, n > 0 && (len(all) != 1 || all[0].Kind != "restart" || all[0].Count != int64(n)),
			n > 0 && (all[0].FirstAt == 0 || all[0].FirstAt > all[0].At), strings.Contains(body, dir):
			t.Errorf("after %d kills: %s", n, body)
		}
		if n == 0 {
			in.pair("BTC_USDT")
		}
		in.limit("BTC_USDT", "buy", "1", "1")
		in.signal(syscall.SIGKILL)
		<-in.exited
	}
}
