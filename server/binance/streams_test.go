package binance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	gobinance "github.com/adshao/go-binance/v2"
	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/internal/differ"
)

// socket is a connection to the streams.
type socket struct {
	*websocket.Conn
	t      *testing.T
	events []string // that came before an answer
}

func (r *rig) socket(path string) *socket {
	r.t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.base, "http")+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = ws.Close() })
	return &socket{Conn: ws, t: r.t}
}

// next returns the next message.
func (s *socket) next() string {
	s.t.Helper()
	if err := s.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	_, b, err := s.ReadMessage()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *socket) ask(request string) string {
	s.t.Helper()
	if err := s.WriteMessage(websocket.TextMessage, []byte(request)); err != nil {
		s.t.Fatal(err)
	}
	return s.next()
}

type depthUpdate struct {
	First int64       `json:"U"`
	Last  int64       `json:"u"`
	Bids  [][2]string `json:"b"`
	Asks  [][2]string `json:"a"`
}

// A book that is kept as the other exchange's documentation says equals the book of REST at the same id, although
// the snapshot is from within an update and levels came back to their old amount.
func TestTheDepthStreamKeepsTheBook(t *testing.T) {
	r := traded(t)
	s := r.socket("/ws/btcusdt@depth@100ms")
	var updates []depthUpdate
	books := map[int64]map[string]string{}
	readBook := func() (int64, map[string]string) {
		var b struct {
			LastUpdateID int64 `json:"lastUpdateId"`
			Bids, Asks   [][2]string
		}
		if _, body, _ := r.get("/api/v3/depth?symbol=BTCUSDT"); json.Unmarshal([]byte(body), &b) != nil {
			t.Fatal(body)
		}
		book := map[string]string{}
		for _, l := range b.Bids {
			book["bid "+l[0]] = l[1]
		}
		for _, l := range b.Asks {
			book["ask "+l[0]] = l[1]
		}
		return b.LastUpdateID, book
	}
	for i := range 40 {
		order := r.Limit("BTC_USDT", "buy", fmt.Sprintf("90.%d", i%7), "1")
		id, book := readBook() // from within an update: the order is gone before the next one
		books[id] = book
		if i%2 == 0 {
			r.Call("DELETE", "/orders/"+fmt.Sprint(order["orderId"]), "")
		}
		if i%8 == 7 {
			var u depthUpdate
			if text := s.next(); json.Unmarshal([]byte(text), &u) != nil ||
				!strings.HasPrefix(text, `{"e":"depthUpdate"`) {
				t.Fatal(text)
			}
			updates = append(updates, u)
		}
	}
	last, want := readBook()
	for len(updates) == 0 || updates[len(updates)-1].Last < last {
		var u depthUpdate
		if text := s.next(); json.Unmarshal([]byte(text), &u) != nil {
			t.Fatal(text)
		}
		updates = append(updates, u)
	}
	for i := 1; i < len(updates); i++ {
		if updates[i].First != updates[i-1].Last+1 {
			t.Fatalf("a gap: %+v behind %+v", updates[i], updates[i-1])
		}
	}
	for id, book := range books {
		for _, u := range updates {
			if u.Last <= id {
				continue
			}
			for side, levels := range map[string][][2]string{"bid ": u.Bids, "ask ": u.Asks} {
				for _, l := range levels {
					if book[side+l[0]] = l[1]; trim(l[1]) == "0" {
						delete(book, side+l[0])
					}
				}
			}
		}
		if !maps.Equal(book, want) {
			t.Errorf("from the snapshot %d, wanted is what REST has: %s", id, differ.Diff(want, book))
		}
	}
}

// Trades, candles and tickers of the unmodified client.
func TestStreamsOfTheUnmodifiedClient(t *testing.T) {
	r := traded(t)
	gobinance.BaseWsMainURL = "ws" + strings.TrimPrefix(r.base, "http") + "/ws"
	gobinance.BaseCombinedMainURL = "ws" + strings.TrimPrefix(r.base, "http") + "/stream?streams="
	broken := func(err error) {
		if !strings.Contains(err.Error(), "close") {
			t.Error(err)
		}
	}
	got := make(chan any, 1000)
	var stops []chan struct{}
	serve := func(_, stop chan struct{}, err error) {
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, stop)
	}
	serve(gobinance.WsTradeServe("BTCUSDT", func(e *gobinance.WsTradeEvent) { got <- e }, broken))
	serve(gobinance.WsAggTradeServe("BTCUSDT", func(e *gobinance.WsAggTradeEvent) { got <- e }, broken))
	serve(gobinance.WsKlineServe("BTCUSDT", "1m", func(e *gobinance.WsKlineEvent) { got <- e }, broken))
	serve(gobinance.WsBookTickerServe("BTCUSDT", func(e *gobinance.WsBookTickerEvent) { got <- e }, broken))
	serve(gobinance.WsMarketStatServe("BTCUSDT", func(e *gobinance.WsMarketStatEvent) { got <- e }, broken))
	serve(gobinance.WsCombinedPartialDepthServe(map[string]string{"BTCUSDT": "5"},
		func(e *gobinance.WsPartialDepthEvent) { got <- e }, broken))
	serve(gobinance.WsAllMiniMarketsStatServe(func(e gobinance.WsAllMiniMarketsStatEvent) { got <- e }, broken))
	r.Limit("BTC_USDT", "sell", "99.5", "0.25")
	seen := map[string]bool{}
	for len(seen) < 7 {
		select {
		case e := <-got:
			switch e := e.(type) {
			case *gobinance.WsTradeEvent:
				seen["trade"] = e.TradeID == 16 && e.Price == "99.50" && e.Quantity == "0.25000" && e.IsBuyerMaker
			case *gobinance.WsAggTradeEvent:
				seen["aggTrade"] = e.AggTradeID == 16 && e.LastBreakdownTradeID == 16 && e.Price == "99.50"
			case *gobinance.WsKlineEvent:
				if e.Kline.LastTradeID == 16 {
					seen["kline"] = e.Kline.Volume == "0.85000" && e.Kline.TradeNum == 4 && !e.Kline.IsFinal &&
						e.Kline.ActiveBuyVolume == "0.50000"
				}
			case *gobinance.WsBookTickerEvent:
				seen["bookTicker"] = e.BestBidPrice == "99.50" && e.BestAskQty == "7.00000"
			case *gobinance.WsMarketStatEvent:
				seen["ticker"] = e.Symbol == "BTCUSDT" && e.LastPrice == "99.50"
			case *gobinance.WsPartialDepthEvent:
				seen["depth"] = len(e.Bids) == 2 && len(e.Asks) == 1
			case gobinance.WsAllMiniMarketsStatEvent:
				seen["miniTicker"] = e[0].LastPrice == "99.50"
			}
		case <-time.After(time.Minute):
			t.Fatalf("only %v", seen)
		}
	}
	for name, ok := range seen {
		if !ok {
			t.Errorf("%s has other figures", name)
		}
	}
	for _, stop := range stops {
		close(stop)
	}
}

// A candle is sent as closed when its time is over.
func TestAClosedCandleIsFinal(t *testing.T) {
	r := traded(t)
	s := r.socket("/ws/btcusdt@kline_1m")
	for final := false; !final; {
		var e gobinance.WsKlineEvent
		if text := s.next(); json.Unmarshal([]byte(text), &e) != nil {
			t.Fatal(text)
		}
		if final = e.Kline.IsFinal; !final {
			r.advance("61s")
		} else if e.Kline.TradeNum != 3 || e.Kline.EndTime-e.Kline.StartTime != 59_999 {
			t.Errorf("%+v", e)
		}
	}
}

// The figures of the streams are REST's, under the documented names and in the documented order.
func TestFiguresOfStreamsAreRESTs(t *testing.T) {
	r := traded(t)
	rolling := "e,E,s,p=priceChange,P=priceChangePercent,o=openPrice,h=highPrice,l=lowPrice,c=lastPrice," +
		"w=weightedAvgPrice,v=volume,q=quoteVolume,O=openTime,C=closeTime,F=firstId,L=lastId,n=count"
	for _, c := range []struct{ stream, event, route, members string }{
		{"btcusdt@avgPrice", "avgPrice", "avgPrice?symbol=BTCUSDT", "e,E,s,i,w=price,T=closeTime"},
		{"btcusdt@ticker_1h", "1hTicker", "ticker?symbol=BTCUSDT&windowSize=1h", rolling},
		{"btcusdt@ticker_4h", "4hTicker", "ticker?symbol=BTCUSDT&windowSize=4h", rolling},
		{"ethbtc@ticker_1d", "1dTicker", "ticker?symbol=ETHBTC&windowSize=1d", rolling},
		{"!ticker_1d@arr", "1dTicker", "ticker?symbols=[%22BTCUSDT%22]&windowSize=1d", rolling},
		{"btcusdt@ticker", "24hrTicker", "ticker/24hr?symbol=BTCUSDT", "e,E,s,p=priceChange,P=priceChangePercent," +
			"w=weightedAvgPrice,x=prevClosePrice,c=lastPrice,Q=lastQty,b=bidPrice,B=bidQty,a=askPrice,A=askQty," +
			"o=openPrice,h=highPrice,l=lowPrice,v=volume,q=quoteVolume,O=openTime,C=closeTime,F=firstId,L=lastId," +
			"n=count"},
		{
			"!miniTicker@arr", "24hrMiniTicker", "ticker/24hr?symbols=[%22BTCUSDT%22]&type=MINI",
			"e,E,s,c=lastPrice,o=openPrice,h=highPrice,l=lowPrice,v=volume,q=quoteVolume",
		},
	} {
		text := strings.TrimPrefix(r.socket("/ws/"+c.stream).next(), "[")
		if whole, _, more := strings.Cut(text, "},"); more {
			text = whole + "}" // the first pair's
		}
		_, body, _ := r.get("/api/v3/" + c.route)
		var got, want map[string]json.RawMessage
		if json.Unmarshal([]byte(strings.TrimSuffix(text, "]")), &got) != nil ||
			json.Unmarshal([]byte(strings.Trim(body, "[]")), &want) != nil {
			t.Fatalf("%s: %s\n%s", c.stream, text, body)
		}
		at := 0
		for member := range strings.SplitSeq(c.members, ",") {
			name, rest, _ := strings.Cut(member, "=")
			place := strings.Index(text, `"`+name+`":`)
			if place < at || rest != "" && string(got[name]) != string(want[rest]) {
				t.Errorf("%s: %s is %s in %s, want %s of %s", c.stream, name, got[name], text, want[rest], body)
			}
			at = place
		}
		if len(got) != strings.Count(c.members, ",")+1 || string(got["e"]) != `"`+c.event+`"` {
			t.Errorf("%s: %s", c.stream, text)
		}
	}
}

func TestStreamRequests(t *testing.T) {
	r := traded(t)
	s := r.socket("/ws/0")
	for _, c := range [][2]string{
		{`{"method":"LIST_SUBSCRIPTIONS","id":1}`, `{"result":[],"id":1}`},
		{`{"method":"SUBSCRIBE","params":["btcusdt@aggTrade","!ticker@arr"],"id":"a"}`, `{"result":null,"id":"a"}`},
		{`{"method":"UNSUBSCRIBE","params":["!ticker@arr"],"id":null}`, `{"result":null,"id":null}`},
		{`{"method":"LIST_SUBSCRIPTIONS","id":2}`, `{"result":["btcusdt@aggTrade"],"id":2}`},
	} {
		answer := s.ask(c[0])
		for strings.HasPrefix(answer, "[") { // the list of tickers
			answer = s.next()
		}
		if answer != c[1] {
			t.Errorf("%s: %s, want %s", c[0], answer, c[1])
		}
	}
	wrong := r.socket("/stream")
	for range 20 { // more than five messages in a second
		_ = wrong.WriteMessage(websocket.TextMessage, []byte(`{"method":"GET_PROPERTY","params":["combined"],"id":1}`))
	}
	for {
		if err := wrong.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, text, err := wrong.ReadMessage()
		if err != nil {
			if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
				t.Errorf("a flood of messages ends with %v, want 1008", err)
			}
			break
		}
		if !strings.HasPrefix(string(text), `{"result":true`) {
			t.Errorf("%s", text)
		}
	}
	const unit = `{"code":-1194,"msg":"Invalid value for time unit; expected either MICROSECOND or MILLISECOND."}`
	for _, path := range []string{"/ws/btcusdt@trade?", "/stream?streams=btcusdt@trade&", "/ws-api/v3?"} {
		r.is(path+"timeUnit=SECOND", 400, unit)
		r.is(path+"timeUnit=microsecond", 400, `{"code":-1000,"msg":"This path serves WebSocket only."}`)
	}
	r.is("/ws", 400, `{"code":-1000,"msg":"This path serves WebSocket only."}`)
}

// A shutdown announces itself in the form of each socket, and ends it with 1001 and a reason.
func TestAStopEndsTheSockets(t *testing.T) {
	r := traded(t)
	sockets := map[*socket]string{
		r.socket("/ws/btcusdt@trade"): `{"e":"serverShutdown","E":%d}`,
		r.socket("/stream?streams=btcusdt@trade"): `{"stream":"!serverShutdown",` +
			`"data":{"e":"serverShutdown","E":%d}}`,
		r.socket("/ws-api/v3?timeUnit=MICROSECOND"): `{"event":{"e":"serverShutdown","E":%d000}}`,
	}
	for s := range sockets { // it has joined when it answers
		s.ask(`{"method":"LIST_SUBSCRIPTIONS","id":1}`)
	}
	now := r.now().UnixMilli()
	r.Stop()
	for s, want := range sockets {
		if got := s.next(); got != fmt.Sprintf(want, now) {
			t.Errorf("%s, want %s at %d", got, want, now)
		}
		_, text, err := s.ReadMessage()
		if bad := (*websocket.CloseError)(nil); !errors.As(err, &bad) || bad.Code != websocket.CloseGoingAway ||
			bad.Text != "shutting down" {
			t.Errorf("%s, %v; want 1001", text, err)
		}
	}
}

// figure returns the value of a series of the metrics.
func (r *rig) figure(series string) (value string) {
	r.t.Helper()
	text := r.Do("GET", strings.TrimSuffix(r.Internal, "/internal/v1")+"/metrics", "").Body
	if _, value, _ = strings.Cut(text, "\n"+series+" "); value == "" {
		r.t.Fatalf("no %s", series)
	}
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// A client that dies in the middle of a message, with streams of all kinds, leaves no socket and no subscription
// behind. Its listen key lives on, and the next socket gets every event.
func TestAKilledClientLeavesNothing(t *testing.T) {
	const sockets = `tickhive_stream_sockets{kind="binance"}`
	const subscriptions = `tickhive_stream_subscriptions{channel="all",kind="binance"}`
	r := traded(t)
	a := r.user("anna")
	key, err := a.NewStartUserStreamService().Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		streams := r.socket("/stream?streams=btcusdt@depth@100ms/btcusdt@trade/btcusdt@nothing/" + key)
		api := r.socket("/ws-api/v3")
		if got := api.request("userDataStream.subscribe.signature", a.stamped(a.sign, nil)); got.Status != 200 {
			t.Fatalf("%+v", got)
		}
		streams.ask(`{"method":"LIST_SUBSCRIPTIONS","id":1}`)
		if open, subscribed := r.figure(sockets), r.figure(subscriptions); open != "2" || subscribed != "4" {
			t.Fatalf("%s sockets with %s subscriptions, want 2 and 4", open, subscribed)
		}
		for _, s := range []*socket{streams, api} {
			tcp := s.NetConn().(*net.TCPConn)
			if err := errors.Join(tcp.SetLinger(0), write(tcp, 0x81, 0xfe), tcp.Close()); err != nil {
				t.Fatal(err)
			}
		}
		for tries := 0; r.figure(sockets) != "0" || r.figure(subscriptions) != "0"; tries++ {
			if tries == 10_000 {
				t.Fatalf("%s sockets with %s subscriptions stay", r.figure(sockets), r.figure(subscriptions))
			}
		}
	}
	again := r.socket("/ws/" + key)
	again.ask(`{"method":"LIST_SUBSCRIPTIONS","id":1}`)
	r.Call("POST", "/users/"+a.id+"/deposits", `{"currencyCode":"BTC","amount":"1"}`)
	if got := again.next(); !strings.HasPrefix(got, `{"e":"balanceUpdate"`) {
		t.Errorf("%s", got)
	}
}

// The streams of a delisted pair end, each with an error behind its last message; those of other pairs and of all pairs
// go on, and its name adds no stream any more. What the caller did in the pair stays readable.
func TestStreamsOfADelistedPairEnd(t *testing.T) {
	r := traded(t)
	a := r.user("anna")
	order := r.Call("POST", "/orders", `{"accountId":"`+a.id+`","currencyPairCode":"BTC_USDT","side":"buy",`+
		`"type":"limit","price":"101.25","amount":"1"}`)
	r.Call("POST", "/orders", `{"accountId":"`+a.id+`","currencyPairCode":"BTC_USDT","side":"buy","type":"limit",`+
		`"price":"90","amount":"1"}`)
	s := r.socket("/stream?streams=btcusdt@depth/btcusdt@kline_1m/ethbtc@trade/!miniTicker@arr")
	r.Call("DELETE", "/pairs/BTC_USDT", "")
	ended, emptied := map[string]bool{}, false
	for len(ended) < 2 {
		switch m := s.next(); {
		case strings.Contains(m, "btcusdt@depth has ended"), strings.Contains(m, "btcusdt@kline_1m has ended"):
			if !strings.HasPrefix(m, `{"error":{"code":2,"msg":"The stream btcusdt@`) ||
				!strings.HasSuffix(m, ` has ended: its pair was delisted."},"id":null}`) || ended[m] {
				t.Error(m)
			}
			ended[m] = true
		case strings.HasPrefix(m, `{"stream":"btcusdt@depth"`):
			emptied = strings.Contains(m, `["90.00","0.00000"]`)
		}
	}
	if !emptied {
		t.Error("the book did not lose the canceled orders before its stream ended")
	}
	var got string
	s.ask(`{"method":"SUBSCRIBE","params":["btcusdt@trade"],"id":1}`)
	for got = s.ask(`{"method":"LIST_SUBSCRIPTIONS","id":2}`); !strings.HasSuffix(got, `"id":2}`); {
		got = s.next()
	}
	if got != `{"result":["ethbtc@trade","!miniTicker@arr"],"id":2}` {
		t.Error(got)
	}
	for target, want := range map[string]string{
		"/api/v3/order?orderId=" + fmt.Sprint(order["orderId"]): `"symbol":"BTCUSDT"`,
		"/api/v3/allOrders": `"expiryReason":"EXCHANGE_CANCELED"`, "/api/v3/myTrades": `"price":"101.25"`,
	} {
		path, query, _ := strings.Cut(target, "?")
		status, body := a.raw("GET", path, strings.TrimPrefix(query+"&symbol=BTCUSDT", "&"))
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("GET %s: %d %s", target, status, body)
		}
	}
	for _, path := range []string{"/api/v3/openOrders", "/api/v3/account/commission"} {
		if status, body := a.raw("GET", path, "symbol=BTCUSDT"); status != 400 || !strings.Contains(body, "-1121") {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
	}
}

func write(to net.Conn, bytes ...byte) error {
	_, err := to.Write(bytes)
	return err
}

// The figures count sockets, their streams, messages, refused credentials and used-up weight.
func TestFiguresOfTheListener(t *testing.T) {
	r := traded(t)
	s := r.socket("/ws/btcusdt@trade")
	s.ask(`{"method":"SUBSCRIBE","params":["btcusdt@depth","ethbtc@trade"],"id":1}`)
	s.ask(`{"method":"UNSUBSCRIBE","params":["ethbtc@trade"],"id":2}`)
	r.get("/api/v3/account")
	for series, want := range map[string]string{
		`tickhive_stream_sockets{kind="binance"}`:                     "1",
		`tickhive_stream_subscriptions{channel="all",kind="binance"}`: "2",
		`tickhive_stream_messages_total{kind="binance"}`:              "2",
		`tickhive_auth_failures_total{reason="API-PublicKey"}`:        "1",
		`tickhive_auth_failures_total{reason="API-Signature"}`:        "0",
		`tickhive_rate_limited_total{reason="weight"}`:                "0",
		`tickhive_stream_slow_closes_total{kind="binance"}`:           "0",
	} {
		if got := r.figure(series); got != want {
			t.Errorf("%s: %s, want %s", series, got, want)
		}
	}
	for range 6000 / 20 {
		r.get("/api/v3/exchangeInfo")
	}
	if got := r.figure(`tickhive_rate_limited_total{reason="weight"}`); got == "0" {
		t.Error("no refusal for the used-up weight")
	}
}
