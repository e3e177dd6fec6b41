package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// crashWorkers each have one request in flight, so that every kill meets at least 100.
const crashWorkers = 128

// Acked holds the responses that this process received; another process is killed. An entry is
// added after its response has arrived.
type Acked struct {
	Mu       sync.Mutex
	Orders   map[int64]AckedOrder
	Trades   map[string]int64 // pair/tradeId -> order
	Canceled map[int64]bool
	Pairs    []string
	InFlight atomic.Int64

	Users     []string         // acknowledged ids
	Deposited map[string]int64 // currency -> whole units acknowledged
	Unknown   map[string]int64 // currency -> whole units sent and never acknowledged
	Tokens    []string         // addresses
	Entries   int64            // highest id of an acknowledged log entry
}

// NewAcked returns the responses of an exchange with two pairs, before the first.
func NewAcked() *Acked {
	return &Acked{
		Orders: map[int64]AckedOrder{}, Trades: map[string]int64{}, Canceled: map[int64]bool{},
		Pairs: []string{"AA_USDT", "BB_USDT"}, Deposited: map[string]int64{}, Unknown: map[string]int64{},
	}
}

// Begin adds the pairs and eight users with money.
func (a *Acked) Begin(in *Instance) {
	for _, p := range a.Pairs {
		in.Call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":1}`, p))
	}
	for range 8 {
		id, _ := in.Call(200, "POST", "/users", `{"nativeBalance":100000}`)["id"].(string)
		a.Users = append(a.Users, id)
		for _, c := range []string{"AA", "BB", "USDT"} {
			in.Call(200, "POST", "/users/"+id+"/deposits", fmt.Sprintf(`{"currencyCode":%q,"amount":1000000}`, c))
			a.Deposited[c] += 1000000
		}
	}
}

// AckedOrder is what the program has acknowledged of an order.
type AckedOrder struct {
	Filled string
	Status string
	Amount string
}

// CrashOrder holds the members of an order's answer that a restart must not change.
type CrashOrder struct {
	OrderID int64       `json:"orderId"`
	Pair    string      `json:"currencyPairCode"`
	Status  string      `json:"status"`
	Amount  json.Number `json:"amount"`
	Filled  json.Number `json:"filledAmount"`
	Fills   []struct {
		TradeID int64 `json:"tradeId"`
	} `json:"fills"`
}

func (a *Acked) note(o *CrashOrder) {
	if o.OrderID == 0 {
		return
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Orders[o.OrderID] = AckedOrder{string(o.Filled), o.Status, string(o.Amount)}
	for _, f := range o.Fills {
		a.Trades[fmt.Sprintf("%s/%d", o.Pair, f.TradeID)] = o.OrderID
	}
	if strings.HasSuffix(o.Status, "Canceled") {
		a.Canceled[o.OrderID] = true
	}
}

// Load sends single orders, batches and cancels until the process has ended.
func (a *Acked) Load(in *Instance, seed uint64, stop <-chan struct{}) {
	a.LoadBy(crashWorkers, in, seed, stop)
}

// someone returns a random acknowledged user.
func (a *Acked) someone(r *rand.Rand) string {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	return a.Users[r.IntN(len(a.Users))]
}

func (a *Acked) place(r *rand.Rand) string {
	side := []string{"buy", "sell"}[r.IntN(2)]
	account := ""
	if r.IntN(2) == 0 {
		account = fmt.Sprintf(`"accountId":%q,`, a.someone(r))
	}
	return fmt.Sprintf(`{`+account+`"currencyPairCode":%q,"side":%q,"type":"limit","price":%d.%02d,"amount":%d.5}`,
		a.Pairs[r.IntN(len(a.Pairs))], side, 95+r.IntN(10), r.IntN(100), 1+r.IntN(9))
}

// one sends one request. It returns false when the process no longer responds.
func (a *Acked) one(in *Instance, client *http.Client, r *rand.Rand, mine *[]int64) bool {
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
	req, err := http.NewRequest(method, in.Internal+path, strings.NewReader(body))
	if err != nil {
		return false
	}
	a.InFlight.Add(1)
	resp, err := client.Do(req)
	a.InFlight.Add(-1)
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
func (a *Acked) other(in *Instance, client *http.Client, r *rand.Rand) bool {
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
	a.InFlight.Add(1)
	resp, err := client.Post(in.Internal+path, "application/json", strings.NewReader(body))
	a.InFlight.Add(-1)
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if (err != nil || resp.StatusCode >= 500) && (kind == 1 || kind == 2) {
		a.Unknown[currency] += amount
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
		a.Users = append(a.Users, o.ID)
	case 1, 2:
		a.Deposited[currency] += amount
	case 3:
		a.Tokens = append(a.Tokens, o.Token.Address)
	default:
		a.Entries = max(a.Entries, o.EntryID)
	}
	return true
}

// VerifyStores compares accounts, launchpad and hive with the list.
func (a *Acked) VerifyStores(t *testing.T, in *Instance) {
	t.Helper()
	for _, id := range a.Users {
		in.Call(200, http.MethodGet, "/users/"+id, "")
	}
	var totals []struct {
		CurrencyCode                           string
		Free, Held, Fees, Deposited, Withdrawn json.Number
	}
	if err := json.Unmarshal([]byte(in.Do(http.MethodGet, in.Internal+"/totals", "").Body), &totals); err != nil {
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
		least, ok := a.Deposited[row.CurrencyCode]
		most := least + a.Unknown[row.CurrencyCode]
		if ok && (deposited.Cmp(big.NewRat(least, 1)) < 0 || deposited.Cmp(big.NewRat(most, 1)) > 0) {
			t.Fatalf("%s: %s deposited, acknowledged %d, at most %d were sent", row.CurrencyCode, row.Deposited, least,
				most)
		}
	}
	for _, address := range a.Tokens {
		if r := in.Do(http.MethodGet, in.Public+"/api/launchpad/tokens/"+address, ""); r.Status != 200 {
			t.Fatalf("acknowledged token %s is lost: %d", address, r.Status)
		}
	}
	log := Object(t, in.Do(http.MethodGet, in.Public+"/api/agents/action-logs?pageSize=1", "").Body)
	if n, _ := log["totalItems"].(json.Number).Int64(); n < a.Entries {
		t.Fatalf("%d log entries, %d was acknowledged", n, a.Entries)
	}
}

func decodeOrders(raw []byte) []CrashOrder {
	var batch struct {
		Results []CrashOrder `json:"results"`
	}
	if bytes.HasPrefix(raw, []byte(`{"results"`)) {
		_ = json.Unmarshal(raw, &batch)
		return batch.Results
	}
	var one CrashOrder
	_ = json.Unmarshal(raw, &one)
	return []CrashOrder{one}
}

// WaitFor polls a condition that another process brings about.
func WaitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(Patience)
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

// LoadBy calls load with another number of workers.
func (a *Acked) LoadBy(workers int, in *Instance, seed uint64, stop <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: Patience}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			var mine []int64
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !a.one(in, client, r, &mine) {
					return
				}
			}
		})
	}
	wg.Wait()
}
