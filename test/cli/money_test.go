package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The assets and pairs of TestHeldIsWhatOpenOrdersNeed. Every pair has the rates of moneyRate.
var (
	moneyDigits = map[string]int{"AA": 5, "CC": 12, "USDT": 9}
	moneyPairs  = []string{"AA_USDT", "CC_USDT", "AA_CC"}
	moneyRate   = big.NewRat(137, 100_000)
)

// trader is a user of the test with the discount of its fees.
type trader struct {
	*harness.Voter
	discount  *big.Rat
	unlimited bool
	deposited map[string]*big.Rat // less withdrawals, by currency
}

// moneyRun drives a program with orders of several users, and knows what they deposited.
type moneyRun struct {
	t        *testing.T
	in       *harness.Instance
	traders  []*trader
	acked    atomic.Int64
	inFlight atomic.Int64
	fills    atomic.Int64
	mu       sync.Mutex
	orders   []int64 // acknowledged
}

// From outside, by routes alone: what a user's open orders need is held, each balance is what deposits and deals give,
// each fee is within half a unit of the exact one, and all balances and fees are what was deposited. So it is when no
// request is under way, and after each kill -9.
func TestHeldIsWhatOpenOrdersNeed(t *testing.T) {
	t.Parallel()
	lives := 3
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		lives = 40
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	args := []string{
		"--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--set", "rate.allow=127.0.0.1",
		"--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=100000",
	}
	m := &moneyRun{t: t, in: harness.Start(t, args...)}
	m.setUp()
	for life := range lives {
		done := make(chan struct{})
		stop := make(chan struct{})
		go func() { m.load(seed+uint64(life), stop); close(done) }()
		target := m.acked.Load() + 200 + rnd.Int64N(300)
		harness.WaitFor(t, func() bool { return m.acked.Load() >= target && m.inFlight.Load() >= 8 })
		if life%2 == 1 { // between kills, one quiet moment without
			close(stop)
			<-done
			m.verify()
			continue
		}
		m.in.Signal(syscall.SIGKILL)
		m.in.Wait()
		close(stop)
		<-done
		m.in = harness.Start(t, args...)
		m.verify()
		m.moveMoney(rnd)
		m.verify()
	}
	t.Logf("%d acknowledged requests, %d orders, %d fills in their answers", m.acked.Load(), len(m.orders),
		m.fills.Load())
}

func (m *moneyRun) setUp() {
	for code, digits := range moneyDigits {
		m.in.Call(200, "POST", "/assets", fmt.Sprintf(`{"symbol":%q,"digits":%d}`, code, digits))
	}
	for _, p := range moneyPairs {
		m.in.Call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":3,"makerFee":%s,`+
			`"takerFee":%s}`, p, moneyRate.FloatString(5), moneyRate.FloatString(5)))
	}
	for i := range 5 {
		u := &trader{discount: big.NewRat(int64(i), 10), unlimited: i == 4, deposited: map[string]*big.Rat{}}
		id := m.in.Call(200, "POST", "/users", fmt.Sprintf(`{"unlimited":%t}`, u.unlimited))["id"].(string)
		key := m.in.Call(200, "POST", "/users/"+id+"/apikeys", `{"name":"k"}`)
		u.Voter = &harness.Voter{ID: id, Public: key["publicKey"].(string), Private: key["privateKey"].(string)}
		m.in.Call(200, "PATCH", "/users/"+id,
			fmt.Sprintf(`{"dealBidDiscountFraction":%s,"dealAskDiscountFraction":%[1]s}`,
				u.discount.FloatString(1)))
		m.traders = append(m.traders, u)
		for code := range moneyDigits {
			u.deposited[code] = new(big.Rat)
			if !u.unlimited {
				m.transfer(u, "deposits", code, big.NewRat(int64(500+i*777), 1))
			}
		}
	}
}

// transfer deposits or withdraws an amount.
func (m *moneyRun) transfer(u *trader, route, code string, amount *big.Rat) {
	m.in.Call(200, "POST", "/users/"+u.ID+"/"+route, fmt.Sprintf(`{"currencyCode":%q,"amount":%s}`, code,
		amount.FloatString(moneyDigits[code])))
	if route == "withdrawals" {
		amount = new(big.Rat).Neg(amount)
	}
	u.deposited[code].Add(u.deposited[code], amount)
}

// moveMoney moves odd units in and out while no order is under way.
func (m *moneyRun) moveMoney(rnd *rand.Rand) {
	for _, u := range m.traders {
		for code, digits := range moneyDigits {
			unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)),
				nil))
			amount := unit.Mul(unit, big.NewRat(1+rnd.Int64N(1000), 1))
			m.transfer(u, "deposits", code, amount)
			half := fmt.Sprintf(`{"currencyCode":%q,"amount":0.%s5}`, code, strings.Repeat("0", digits))
			m.in.Refuse(400, "INVALID_PARAM", "amount", "POST", "/users/"+u.ID+"/deposits", half)
			m.in.Refuse(400, "INVALID_PARAM", "amount", "POST", "/users/"+u.ID+"/withdrawals", half)
			if rnd.IntN(2) == 0 {
				m.transfer(u, "withdrawals", code, amount)
			}
		}
	}
}

// load sends orders by sixteen workers until stop, or until the program no longer answers.
func (m *moneyRun) load(seed uint64, stop <-chan struct{}) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: harness.Patience}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !m.one(client, r) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// one sends one request. It returns false when the program no longer answers.
func (m *moneyRun) one(client *http.Client, r *rand.Rand) bool {
	method, path, body := m.request(r)
	req, err := http.NewRequest(method, m.in.Internal+path, strings.NewReader(body))
	if err != nil {
		return false
	}
	m.inFlight.Add(1)
	defer m.inFlight.Add(-1)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return false
	}
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusServiceUnavailable {
		m.t.Errorf("%s %s %s: %d %s", method, path, body, resp.StatusCode, raw)
	}
	if resp.StatusCode != http.StatusOK {
		return true
	}
	m.acked.Add(1)
	m.fills.Add(int64(strings.Count(string(raw), `"tradeId"`)))
	var one struct {
		OrderID int64 `json:"orderId"`
		Results []struct {
			OrderID int64 `json:"orderId"`
		} `json:"results"`
	}
	if json.Unmarshal(raw, &one) != nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range append(one.Results, struct {
		OrderID int64 `json:"orderId"`
	}{one.OrderID}) {
		if o.OrderID != 0 {
			m.orders = append(m.orders, o.OrderID)
		}
	}
	return true
}

// request returns an order, a batch, a cancel, a replace or a mass cancel.
func (m *moneyRun) request(r *rand.Rand) (method, path, body string) {
	m.mu.Lock()
	newest := len(m.orders)
	id := int64(0)
	if newest > 0 {
		id = m.orders[newest-1-r.IntN(min(newest, 60))]
	}
	m.mu.Unlock()
	replace := fmt.Sprintf(`"price":%s,"amount":%d.%03d`, moneyPrice(r), r.IntN(20), 1+r.IntN(999))
	switch n := r.IntN(20); {
	case n < 3 && id != 0:
		return http.MethodDelete, fmt.Sprintf("/orders/%d", id), ""
	case n < 6 && id != 0:
		return http.MethodPatch, fmt.Sprintf("/orders/%d", id), "{" + replace + "}"
	case n == 6:
		return http.MethodDelete, "/orders?accountId=" + m.traders[r.IntN(len(m.traders))].ID, ""
	case n < 10:
		var parts []string
		for range 2 + r.IntN(12) {
			switch k := r.IntN(6); {
			case k == 0 && id != 0:
				parts = append(parts, fmt.Sprintf(`{"cancel":{"orderId":%d}}`, id))
			case k == 1 && id != 0:
				parts = append(parts, fmt.Sprintf(`{"replace":{"orderId":%d,%s}}`, id, replace))
			default:
				parts = append(parts, `{"place":`+m.order(r)+`}`)
			}
		}
		return http.MethodPost, "/orders/batch", `{"commands":[` + strings.Join(parts, ",") + `]}`
	}
	return http.MethodPost, "/orders", m.order(r)
}

func moneyPrice(r *rand.Rand) string { return fmt.Sprintf("%d.%02d", r.IntN(3)+9, r.IntN(100)) }

// order returns a new order of any kind.
func (m *moneyRun) order(r *rand.Rand) string {
	side := []string{"buy", "sell"}[r.IntN(2)]
	kind := []string{"limit", "limit", "limit", "limit", "market", "stop_limit", "stop_market"}[r.IntN(7)]
	amount := fmt.Sprintf(`"amount":%d.%03d`, r.IntN(30), 1+r.IntN(999))
	if strings.HasSuffix(kind, "market") && side == "buy" && r.IntN(2) == 0 {
		amount = fmt.Sprintf(`"quoteAmount":%d.%05d`, r.IntN(300), 1+r.IntN(99_999))
	}
	order := fmt.Sprintf(`"accountId":%q,"currencyPairCode":%q,"side":%q,"type":%q,"selfTradePrevention":%q,%s`,
		m.traders[r.IntN(len(m.traders))].ID, moneyPairs[r.IntN(len(moneyPairs))], side, kind,
		[]string{"none", "cancel_taker", "cancel_maker", "cancel_both", "decrement"}[r.IntN(5)], amount)
	if strings.HasSuffix(kind, "limit") {
		order += `,"price":` + moneyPrice(r)
	}
	if strings.HasPrefix(kind, "stop") {
		order += `,"stopPrice":` + moneyPrice(r)
	}
	switch n := r.IntN(10); {
	case kind != "limit":
	case n == 0:
		order += `,"timeInForce":"fok"`
	case n == 1:
		order += `,"timeInForce":"ioc"`
	case n == 2:
		order += `,"displayAmount":0.5`
	}
	return "{" + order + "}"
}

// verify compares balances, open orders, deals and totals, while no request is under way.
func (m *moneyRun) verify() {
	m.t.Helper()
	all := map[string]*big.Rat{}
	deposited := map[string]*big.Rat{}
	for code := range moneyDigits {
		all[code], deposited[code] = new(big.Rat), new(big.Rat)
	}
	for _, u := range m.traders {
		needs, brought := m.needs(u), m.brought(u)
		var user struct{ Balances []moneyBalance }
		m.read("GET", m.in.Do("GET", m.in.Internal+"/users/"+u.ID, ""), &user)
		has := map[string]moneyBalance{}
		for _, b := range user.Balances {
			has[b.CurrencyCode] = b
		}
		for code, digits := range moneyDigits {
			b := has[code]
			free, held, total := exactly(b.Free), exactly(b.Held), exactly(b.Total)
			must := new(big.Rat).Add(u.deposited[code], brought[code])
			switch {
			case held.Cmp(needs[code]) != 0:
				m.t.Fatalf("user %s holds %s %s, its open orders need %s", u.ID, b.Held, code,
					needs[code].FloatString(18))
			case total.Cmp(must) != 0 || new(big.Rat).Add(free, held).Cmp(total) != 0:
				m.t.Fatalf("user %s has %+v, deposits and deals give %s", u.ID, b, must.FloatString(18))
			case free.Sign() < 0 && !u.unlimited || len(fraction(b.Free)) > digits || len(fraction(b.Held)) > digits:
				m.t.Fatalf("user %s has %+v", u.ID, b)
			}
			all[code].Add(all[code], total)
			deposited[code].Add(deposited[code], u.deposited[code])
		}
	}
	var totals []struct {
		moneyBalance
		Fees, Deposited, Withdrawn json.Number
	}
	m.read("GET", m.in.Do("GET", m.in.Internal+"/totals", ""), &totals)
	for _, row := range totals {
		if sum := all[row.CurrencyCode]; sum != nil {
			sum.Add(sum, exactly(row.Fees))
			net := new(big.Rat).Sub(exactly(row.Deposited), exactly(row.Withdrawn))
			if sum.Cmp(deposited[row.CurrencyCode]) != 0 || net.Cmp(sum) != 0 {
				m.t.Fatalf("balances and fees of %s are %s, deposits %s: %+v", row.CurrencyCode, sum.FloatString(18),
					deposited[row.CurrencyCode].FloatString(18), row)
			}
		}
	}
}

type moneyBalance struct {
	CurrencyCode      string
	Free, Held, Total json.Number
}

func exactly(n json.Number) *big.Rat {
	v, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat)
	}
	return v
}

// fraction returns the fractional digits of a decimal, without zeros at the end.
func fraction(n json.Number) string {
	_, digits, _ := strings.Cut(string(n), ".")
	return strings.TrimRight(digits, "0")
}

func (m *moneyRun) read(what string, a harness.Answer, into any) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(a.Body), into); a.Status != 200 || err != nil {
		m.t.Fatalf("%s: %d %.300s: %v", what, a.Status, a.Body, err)
	}
}

// pages reads all rows of a signed list.
func pages[T any](m *moneyRun, u *trader, target string) (all []T) {
	m.t.Helper()
	for page := 1; ; page++ {
		var rows []T
		m.read(target, m.in.Send(u.Voter, "GET", fmt.Sprintf("%spageSize=100&pageNumber=%d", target, page), ""), &rows)
		if all = append(all, rows...); len(rows) < 100 {
			return all
		}
	}
}

// needs returns what the open orders of a user hold (docs/contract/trading.md#balances-and-holds), by currency.
func (m *moneyRun) needs(u *trader) map[string]*big.Rat {
	m.t.Helper()
	all := map[string]*big.Rat{}
	for code := range moneyDigits {
		all[code] = new(big.Rat)
	}
	type row struct {
		CurrencyPairCode, Type                string
		IsBid                                 bool
		Price, Amount, StopPrice              json.Number
		InitialQuoteAmount, FilledQuoteAmount json.Number
	}
	for _, o := range pages[row](m, u, "/api/user/orders?status=active&") {
		base, quote, _ := strings.Cut(o.CurrencyPairCode, "_")
		switch {
		case !o.IsBid:
			all[base].Add(all[base], exactly(o.Amount))
		case o.InitialQuoteAmount != "":
			all[quote].Add(all[quote], exactly(o.InitialQuoteAmount))
			all[quote].Sub(all[quote], exactly(o.FilledQuoteAmount))
		case o.Type == "stop_market":
			all[quote].Add(all[quote], new(big.Rat).Mul(exactly(o.StopPrice), exactly(o.Amount)))
		default:
			all[quote].Add(all[quote], new(big.Rat).Mul(exactly(o.Price), exactly(o.Amount)))
		}
	}
	return all
}

// brought returns what the deals of a user have brought, less their fees, by currency.
func (m *moneyRun) brought(u *trader) map[string]*big.Rat {
	m.t.Helper()
	all := map[string]*big.Rat{}
	for code := range moneyDigits {
		all[code] = new(big.Rat)
	}
	type row struct {
		CurrencyPairCode, FeeCurrencyCode string
		Price, Volume, Fee                json.Number
		IsUserBuyer                       bool
	}
	for _, d := range pages[row](m, u, "/api/user/deals?") {
		in, out, _ := strings.Cut(d.CurrencyPairCode, "_")
		got, gave := exactly(d.Volume), new(big.Rat).Mul(exactly(d.Price), exactly(d.Volume))
		if !d.IsUserBuyer {
			in, out, got, gave = out, in, gave, got
		}
		fee := new(big.Rat).Mul(got, moneyRate)
		fee.Mul(fee, new(big.Rat).Sub(big.NewRat(1, 1), u.discount))
		unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10),
			big.NewInt(int64(moneyDigits[in])), nil))
		off := new(big.Rat).Sub(fee, exactly(d.Fee))
		if off.Abs(off).Cmp(unit.Quo(unit, big.NewRat(2, 1))) > 0 || d.FeeCurrencyCode != in ||
			len(fraction(d.Fee)) > moneyDigits[in] {
			m.t.Fatalf("user %s has the deal %+v, whose fee is %s exactly", u.ID, d, fee.FloatString(18))
		}
		all[in].Add(all[in], new(big.Rat).Sub(got, exactly(d.Fee)))
		all[out].Sub(all[out], gave)
	}
	return all
}
