package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/client"
)

// serve starts an exchange that sends a recorded response to every request.
func serve(answer func(w http.ResponseWriter, r *http.Request)) (base string, end func()) {
	s := httptest.NewServer(http.HandlerFunc(answer))
	return s.URL, s.Close
}

func ExampleClient_Ticker() {
	base, end := serve(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"timestamp":1767225600000,"currencyPairCode":"BTC_USDT","price":65000.50,`+
			`"bidPrice":65000.00,"askPrice":65001.00}`)
	})
	defer end()
	c := &client.Client{Base: base}
	t, err := c.Ticker(context.Background(), "BTC_USDT")
	fmt.Println(t.Pair, t.Price, t.Bid, t.Ask, err)
	// Output: BTC_USDT 65000.50 65000.00 65001.00 <nil>
}

// A response with a status other than 2xx is an APIError: the program decides by its code.
func ExampleIsCode() {
	base, end := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"NOT_FOUND","message":"There is no such pair.","requestId":"r-1"}`)
	})
	defer end()
	c := &client.Client{Base: base}
	_, err := c.OrderBook(context.Background(), "NO_PAIR", 100)
	fmt.Println(err)
	fmt.Println(client.IsCode(err, "NOT_FOUND"))
	// Output:
	// 404 NOT_FOUND: There is no such pair. (request r-1)
	// true
}

// The signature of docs/contract/signing.md#signature covers five lines.
func ExampleSign() {
	const private, timestamp, nonce = "privKEY456", "1767225600000", "n-2"
	method, target := "POST", "/api/launchpad/spawn"
	body := []byte(`{"name":"My Token","symbol":"ALPHA"}`)

	hash := sha256.Sum256(body)
	fmt.Println(strings.Join([]string{timestamp, nonce, method, target, hex.EncodeToString(hash[:])}, "\n"))
	fmt.Println()
	fmt.Println(client.Sign(private, timestamp, nonce, method, target, body))
	// Output:
	// 1767225600000
	// n-2
	// POST
	// /api/launchpad/spawn
	// 9e1d8e065122bbad46080d4035174dec1526eff277dcdaa5ce64b74093c9ab8f
	//
	// 1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e
}

// A client with keys signs every request. The exchange computes the same signature from the request
// that it has received.
func ExampleClient_PlaceOrder() {
	base, end := serve(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		get := func(name string) string { return r.Header["Api-"+name][0] }
		want := client.Sign("privKEY456", get("Timestamp"), get("Nonce"), r.Method, r.URL.RequestURI(), body)
		fmt.Println(string(body))
		fmt.Println(get("Publickey"), get("Timestamp"), get("Signature") == want)
		_, _ = io.WriteString(w, `"4294967297"`)
	})
	defer end()
	c := &client.Client{
		Base: base, PublicKey: "pubKEY123", PrivateKey: "privKEY456",
		Now: func() time.Time { return time.UnixMilli(1767225600000) },
	}
	id, err := c.PlaceOrder(context.Background(), client.OrderRequest{
		Side: "buy", Pair: "BTC_USDT", Amount: "0.001", Price: "65000.00", ClientOrderID: "mine-1",
	})
	fmt.Println(id, err)
	// Output:
	// {"side":"buy","currencyPairCode":"BTC_USDT","amount":0.001,"price":65000.00,"clientOrderId":"mine-1"}
	// pubKEY123 1767225600000 true
	// 4294967297 <nil>
}

// recordedStream is a book stream that loses the update from 5 to 6. After a resync it continues.
var recordedStream = map[string][]string{
	"subscribe": {
		`{"type":"subscribed","channel":"book","currencyPairCode":"BTC_USDT"}`,
		`{"type":"snapshot","channel":"book","currencyPairCode":"BTC_USDT","epoch":"e1","seq":5,` +
			`"bids":[[65000.50,0.12500000],[65000.00,1.00000000]],"asks":[[65001.00,0.50000000]],` +
			`"checksum":1722274598}`,
		`{"type":"update","channel":"book","currencyPairCode":"BTC_USDT","prevSeq":6,"seq":7,` +
			`"bids":[[65000.50,0]],"asks":[],"checksum":1}`,
	},
	"resync": {
		`{"type":"snapshot","channel":"book","currencyPairCode":"BTC_USDT","epoch":"e1","seq":7,"reason":"resync",` +
			`"bids":[[65000.00,1.00000000]],"asks":[[65001.00,0.50000000]],"checksum":944527798}`,
	},
}

// A follower checks the chain and the checksum of every message. It asks for a new snapshot
// when an update is missing. Step still succeeds, and the book is not ready until the snapshot
// arrives.
func ExampleFollower() {
	asked := make(chan string, 8)
	base, end := serve(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		for {
			var req client.Request
			if conn.ReadJSON(&req) != nil {
				return
			}
			asked <- fmt.Sprintln(req.Op, req.Channel, req.Pairs)
			for _, text := range recordedStream[req.Op] {
				_ = conn.WriteMessage(websocket.TextMessage, []byte(text))
			}
		}
	})
	defer end()
	ctx := context.Background()
	f, err := client.NewFollower(ctx, client.StreamURL(base), []string{"BTC_USDT"}, 20, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = f.Stream.Close() }()
	book := f.Books["BTC_USDT"]
	for range 4 {
		m, err := f.Step()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.Type, "ready:", book.Ready(), "seq:", book.Seq)
	}
	fmt.Print(<-asked, <-asked)
	fmt.Println("resyncs:", f.Resyncs, "because", f.Last)
	fmt.Println("best bid:", book.Bids[0].Price, book.Bids[0].Amount)
	// Output:
	// subscribed ready: false seq: 0
	// snapshot ready: true seq: 5
	// update ready: false seq: 5
	// snapshot ready: true seq: 7
	// subscribe book [BTC_USDT]
	// resync book [BTC_USDT]
	// resyncs: 1 because client: an update does not follow the one before it: have 5, update goes from 6 to 7
	// best bid: 65000.00 1.00000000
}

// A price and an amount that follow from a calculation are rounded to what the pair takes.
func ExamplePairSettings() {
	p := client.PairSettings{Code: "BTC_USDT", DigitsPrice: 2, DigitsAmount: 8}
	bid, err := p.BidPrice("64999.4567")
	fmt.Println(bid, err)
	ask, err := p.AskPrice("64999.4501")
	fmt.Println(ask, err)
	amount, err := p.Amount("0.123456789")
	fmt.Println(amount, err)
	_, err = p.Amount("1e-7")
	fmt.Println(err)
	// Output:
	// 64999.45 <nil>
	// 64999.46 <nil>
	// 0.12345678 <nil>
	// client: "1e-7" cannot be rounded to 8 digits
}

// AllOrders follows the cursor from page to page.
func ExampleClient_AllOrders() {
	base, end := serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			w.Header().Set("X-Next-Cursor", "c1")
			_, _ = io.WriteString(w, `[{"id":"9"},{"id":"8"}]`)
			return
		}
		_, _ = io.WriteString(w, `[{"id":"7"}]`)
	})
	defer end()
	c := &client.Client{Base: base, PublicKey: "pubKEY123", PrivateKey: "privKEY456"}
	for o, err := range c.AllOrders(context.Background(), client.ListQuery{Status: "active"}) {
		fmt.Println(o.ID, err)
	}
	// Output:
	// 9 <nil>
	// 8 <nil>
	// 7 <nil>
}

// PlaceList places two orders of which one cancels the other. The orders have no pair of their own.
func ExampleClient_PlaceList() {
	base, end := serve(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Method, r.URL.Path)
		fmt.Println(strings.ReplaceAll(string(body), `{"side"`, "\n"+`{"side"`))
		_, _ = io.WriteString(w, `{"id":"7","kind":"oco","status":"executing","orders":[{"id":"7","listId":"7"},`+
			`{"id":"8","listId":"7","trailingDelta":100}]}`)
	})
	defer end()
	c := &client.Client{Base: base, PublicKey: "pubKEY123", PrivateKey: "privKEY456"}
	list := client.ListRequest{Kind: "oco", Pair: "BTC_USDT", Orders: []client.OrderRequest{
		{Side: "sell", Type: "limit", PostOnly: true, Amount: "0.5", Price: "70000"},
		{Side: "sell", Type: "stop_market", Amount: "0.5", TrailingDelta: 100},
	}}
	l, err := c.PlaceList(context.Background(), list)
	fmt.Println(l.ID, l.Status, *l.Orders[1].ListID, *l.Orders[1].TrailingDelta, l.Orders[1].EndReason == nil, err)
	// Output:
	// POST /api/orders/lists
	// {"kind":"oco","currencyPairCode":"BTC_USDT","orders":[
	// {"side":"sell","amount":0.5,"price":70000,"postOnly":true,"type":"limit"},
	// {"side":"sell","amount":0.5,"type":"stop_market","trailingDelta":100}]}
	// 7 executing 7 100 true <nil>
}
