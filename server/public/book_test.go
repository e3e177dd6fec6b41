package public_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/servertest"
)

type aggBook struct {
	TickerID  string `json:"ticker_id"`
	Timestamp json.Number
	Bids      [][2]json.Number
	Asks      [][2]json.Number
}

// depth counts the levels of both sides: each has floor(depth / 2). 0 or no depth means the full
// book, and a depth of any number of digits saturates.
func TestAggregatorDepth(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for i := int64(1); i <= 70; i++ {
		m.Limit("BTC_USDT", engine.Buy, 1000-i, i)
	}
	for i := int64(1); i <= 3; i++ {
		m.Limit("BTC_USDT", engine.Sell, 1000+i, i)
	}
	for depth, want := range map[string]int64{
		"": 70, "&depth=": 70, "&depth=0": 70, "&depth=00": 70, "&depth=-0": 70, "&depth=1": 0, "&depth=2": 1,
		"&depth=3": 1, "&depth=32": 16, "&depth=33": 16, "&depth=34": 17, "&depth=99": 49, "&depth=100": 50,
		"&depth=140": 70, "&depth=141": 70, "&depth=123456789012345678901234567890": 70,
		"&depth=9223372036854775808": 70,
	} {
		var b aggBook
		a := m.OK(servertest.Agg+"/orderbook?ticker_id=BTC_USDT"+depth, &b)
		if int64(len(b.Bids)) != want || int64(len(b.Asks)) != min(want, 3) {
			t.Errorf("depth %q: %d bids and %d asks, want %d", depth, len(b.Bids), len(b.Asks), want)
		}
		for i, l := range b.Bids {
			if p := fmt.Sprintf("%d.%02d", (999-i)/100, (999-i)%100); l[0].String() != p ||
				l[1].String() != fmt.Sprintf("0.%08d", i+1) {
				t.Errorf("depth %q: bid %d is %v, want %s", depth, i, l, p)
			}
		}
		// The pair's own event, then Accepted and LevelChanged of 73 orders.
		if a.Header.Get("X-Seq") != "147" {
			t.Errorf("X-Seq %s", a.Header.Get("X-Seq"))
		}
	}
}

// A book of more than 64 KB is written to the socket in parts, on a connection that keeps short answers: the head comes
// first, and the answers to pipelined requests stay in order.
func TestLargeBookArrivesBehindItsHead(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for i := int64(1); i <= 6000; i++ {
		m.Limit("BTC_USDT", engine.Buy, 1_000_000-i, i)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = m.Server.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const askTime = "GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n"
	book := "GET " + servertest.Agg + "/orderbook?depth=0&ticker_id=BTC_USDT HTTP/1.1\r\nHost: x\r\n\r\n"
	if _, err := io.WriteString(conn, book+askTime+book+book); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for i := range 4 {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("answer %d: %d, %v", i, res.StatusCode, err)
		}
		if i == 1 {
			continue
		}
		var b aggBook
		if err := json.Unmarshal(body, &b); err != nil || len(body) < 64<<10 || len(b.Bids) != 6000 {
			t.Errorf("answer %d: %d bytes, %d bids, %v", i, len(body), len(b.Bids), err)
		}
	}
}

// The book has at most 40 bids, then at most 40 asks, both best first, with exact quote amounts;
// the aliases are equal and can be left out.
func TestOrderbook(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("BTC_USDT", 2, 8)
	for i := int64(1); i <= 55; i++ {
		m.Limit("BTC_USDT", engine.Buy, 6_500_000-i, i)
		m.Limit("BTC_USDT", engine.Sell, 6_500_000+i, 100_000_000*i)
	}
	m.Limit("BTC_USDT", engine.Buy, 6_499_999, 5)
	type level struct {
		IsBid                                                bool
		Price, Amount, QuoteAmount, CurrencyTo, CurrencyFrom json.Number
	}
	var full, plain []level
	m.OK("/api/orderbook?currencyPairCode=BTC_USDT", &full)
	m.OK("/api/orderbook?currencyPairCode=BTC_USDT&aliases=false", &plain)
	if len(full) != 80 || len(plain) != 80 {
		t.Fatalf("%d and %d levels", len(full), len(plain))
	}
	for i, l := range full {
		k := int64(i%40) + 1
		price, lots := 6_500_000-k, k
		if i == 0 {
			lots = 6
		}
		if i >= 40 {
			price, lots = 6_500_000+k, 100_000_000*k
		}
		want := level{
			IsBid: i < 40, Price: json.Number(fmt.Sprintf("%d.%02d", price/100, price%100)),
			Amount:      json.Number(fmt.Sprintf("%d.%08d", lots/1e8, lots%1e8)),
			QuoteAmount: json.Number(fmt.Sprintf("%d.%010d", price*lots/1e10, price*lots%1e10)),
		}
		if plain[i] != want {
			t.Errorf("level %d without aliases: %+v, want %+v", i, plain[i], want)
		}
		want.CurrencyTo, want.CurrencyFrom = want.Amount, want.QuoteAmount
		if l != want {
			t.Errorf("level %d: %+v, want %+v", i, l, want)
		}
	}
	if strings.Contains(m.OK("/api/orderbook?currencyPairCode=BTC_USDT&aliases=false", nil).Body, "currencyTo") {
		t.Error("aliases=false keeps the aliases")
	}
}

// The next answer shows a change of one level, whichever cached text it affects.
func TestBookAfterEveryChange(t *testing.T) {
	m := servertest.NewMarket(t)
	m.Pair("ETH_BTC", 6, 4)
	open := map[int64]engine.OrderID{}
	for step := int64(0); step < 400; step++ {
		price := 1 + (step*37)%97
		if id, ok := open[price]; ok {
			m.Cancel(id)
			delete(open, price)
		} else {
			open[price] = m.Limit("ETH_BTC", engine.Buy, price, price*10)
		}
		var b aggBook
		m.OK(servertest.Agg+"/orderbook?ticker_id=ETH_BTC", &b)
		if len(b.Bids) != len(open) {
			t.Fatalf("step %d: %d levels, want %d", step, len(b.Bids), len(open))
		}
		last := int64(1 << 40)
		for _, l := range b.Bids {
			var p, q int64
			if _, err := fmt.Sscanf(strings.Replace(l[0].String()+" "+l[1].String(), ".", "", 2),
				"%d %d", &p, &q); err != nil {
				t.Fatal(err)
			}
			if p >= last || q != p*10 || open[p] == 0 {
				t.Fatalf("step %d: level %v after %d", step, l, last)
			}
			last = p
		}
		var levels []any
		if m.OK("/api/orderbook?currencyPairCode=ETH_BTC", &levels); len(levels) != min(len(open), 40) {
			t.Fatalf("step %d: %d levels of %d", step, len(levels), len(open))
		}
	}
}
