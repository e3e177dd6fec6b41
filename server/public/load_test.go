package public_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

// Under load, every answer has sorted sides and bids below asks, X-Seq never decreases, and a
// trade that was shown once is shown again.
func TestAnswersUnderLoad(t *testing.T) {
	rounds := int64(100) // per reader
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		rounds = 5000
	}
	m := servertest.NewMarket(t)
	m.Asset("BTC", false)
	m.Pair("BTC_USDT", 2, 8)
	m.Pair("ETH_BTC", 6, 4)
	var stop atomic.Bool
	var readers sync.WaitGroup
	var counts [4]atomic.Int64
	for i := range counts {
		readers.Add(1)
		go func() {
			defer readers.Done()
			r := &bookReader{m: m, seqs: map[string]uint64{}}
			for !stop.Load() && !t.Failed() {
				r.read([]string{"BTC_USDT", "ETH_BTC"}[i%2])
				counts[i].Add(1)
			}
		}()
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	var open []engine.OrderID
	steps := 0
	for ; !t.Failed() && !reached(&counts, rounds); steps++ {
		code := []string{"BTC_USDT", "ETH_BTC"}[rng.IntN(2)]
		side, price := engine.Side(rng.IntN(2)), 10_000+rng.Int64N(61)-30
		if len(open) > 200 {
			i := rng.IntN(len(open))
			tryCancel(m, open[i])
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		open = append(open, m.Limit(code, side, price, 1+rng.Int64N(1000)))
	}
	stop.Store(true)
	readers.Wait()
	t.Logf("%d commands under the reads", steps)
}

func reached(counts *[4]atomic.Int64, n int64) bool {
	for i := range counts {
		if counts[i].Load() < n {
			return false
		}
	}
	return true
}

// tryCancel cancels an order that may already be filled.
func tryCancel(m *servertest.Market, id engine.OrderID) {
	m.Try(engine.Command{Kind: engine.Cancel, Pair: id.Pair(), Order: id})
}

// bookReader is a client that remembers the answers it has seen.
type bookReader struct {
	m    *servertest.Market
	seqs map[string]uint64
	last int64
}

func (r *bookReader) read(code string) {
	t := r.m.T
	for _, path := range []string{"&depth=100", "", "&depth=6"} {
		var b aggBook
		r.get(servertest.Agg+"/orderbook?ticker_id="+code+path, &b)
		checkSorted(t, b.Bids, -1)
		checkSorted(t, b.Asks, +1)
		if len(b.Bids) > 0 && len(b.Asks) > 0 && number(t, b.Bids[0][0]) >= number(t, b.Asks[0][0]) {
			t.Errorf("crossed: %v %v", b.Bids[0], b.Asks[0])
		}
	}
	var trades aggTrades
	r.get(servertest.Agg+"/historical_trades?limit=100&ticker_id="+code, &trades)
	if ids := trades.ids(); len(ids) > 0 {
		if newest := ids[len(ids)-1]; newest < r.last {
			t.Errorf("trade %d after %d", newest, r.last)
		} else {
			r.last = newest
		}
		for i, id := range ids {
			if id != ids[0]+int64(i) {
				t.Errorf("trades with a gap: %v", ids)
			}
		}
	}
	var one ticker
	r.get("/api/tickers?currencyPairCode="+code, &one)
	var all []aggTicker
	r.get(servertest.Agg+"/tickers", &all)
}

func (r *bookReader) get(target string, v any) {
	t := r.m.T
	res, err := r.m.Client.Get("http://test" + target)
	if err != nil {
		t.Error(err)
		return
	}
	a := r.m.Read(res, target)
	if a.Status != http.StatusOK || json.Unmarshal([]byte(a.Body), v) != nil {
		t.Errorf("GET %s: %d %s", target, a.Status, a.Body)
		return
	}
	seq, err := strconv.ParseUint(a.Header.Get("X-Seq"), 10, 64)
	if err != nil || seq < r.seqs[target] {
		t.Errorf("GET %s: X-Seq %q after %d", target, a.Header.Get("X-Seq"), r.seqs[target])
	}
	r.seqs[target] = seq
}

func number(t testing.TB, n json.Number) int64 {
	v, err := strconv.ParseInt(strings.Replace(n.String(), ".", "", 1), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}

func checkSorted(t testing.TB, levels [][2]json.Number, direction int64) {
	for i := range levels {
		if i > 0 && (number(t, levels[i][0])-number(t, levels[i-1][0]))*direction <= 0 {
			t.Errorf("levels out of order: %v, %v", levels[i-1], levels[i])
		}
		if number(t, levels[i][1]) <= 0 {
			t.Errorf("an empty level: %v", levels[i])
		}
	}
}

// A read that starts after an order was answered shows the order, even when 64 clients read at
// once after an idle minute.
func TestNoStaleAnswers(t *testing.T) {
	m := servertest.NewTradedMarket(t)
	for i := 2; i < 112; i++ {
		m.Pair(fmt.Sprintf("P%03d_USDT", i), 2, 8) // more pairs than sharedFloorPairs
	}
	routes := []string{
		"/api/orderbook?currencyPairCode=BTC_USDT", servertest.Agg +
			"/orderbook?ticker_id=BTC_USDT&depth=100", servertest.Agg + "/orderbook?ticker_id=BTC_USDT",
		"/api/tickers?currencyPairCode=BTC_USDT", servertest.Agg + "/tickers", "/api/summary",
	}
	var before engine.OrderID
	for round := range int64(20) {
		want := map[string]string{}
		if before != 0 {
			m.Cancel(before)
		}
		before = m.Limit("BTC_USDT", engine.Buy, 6_499_987+round%3, 1+round)
		m.Machine.Add(60 * servertest.SecondNs)
		var polls sync.WaitGroup
		var mu sync.Mutex
		for i := range 64 {
			polls.Add(1)
			go func() {
				defer polls.Done()
				route := routes[i%len(routes)]
				body := m.OK(route, nil).Body
				mu.Lock()
				defer mu.Unlock()
				if old, ok := want[route]; ok && old != body {
					t.Errorf("round %d GET %s: two answers at once", round, route)
				}
				want[route] = body
			}()
		}
		polls.Wait()
		price := fmt.Sprintf("64999.%02d", 87+round%3)
		for route, body := range want {
			if !strings.Contains(body, price) {
				t.Errorf("round %d GET %s: lacks %s: %.300s", round, route, price, body)
			}
		}
	}
}
