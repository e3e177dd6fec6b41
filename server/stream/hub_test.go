package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
)

// Every update chains, every checksum is right, and the rebuilt book is the one that REST
// shows at the same seq, for each depth and interval (docs/contract/streams.md#chain,
// docs/contract/streams.md#checksum).
func TestBooksChainAndEqualREST(t *testing.T) {
	t.Parallel()
	x := newLive(t, 3)
	done := make(chan struct{})
	stopped := make(chan struct{})
	pace := time.NewTicker(time.Millisecond) // the other tests run beside this one
	defer pace.Stop()
	go func() { x.churnAt(1, done, pace.C); close(stopped) }()
	defer func() { close(done); <-stopped }()
	rest := &client.Client{Base: x.base}
	for _, depth := range []int{0, 10, 25, 100, 1000} {
		for _, interval := range []int{0, 100} {
			f, err := client.NewFollower(context.Background(), "ws://"+x.addr+"/ws", x.pairs, depth, interval)
			if err != nil {
				t.Fatal(err)
			}
			f.Patience = time.Minute
			updates, equal := 0, 0
			for updates < 150-interval || depth == 0 && equal < 3 {
				m, err := f.Step()
				if err != nil {
					t.Fatal(err)
				}
				if m.Type != "update" {
					continue
				}
				updates++
				if depth == 0 && (interval > 0 || updates%20 == 0) && sameAsREST(t, rest, f, m.Pair) {
					equal++
				}
			}
			if f.Resyncs != 0 {
				t.Errorf("depth %d interval %d: %d resyncs, the last for %v", depth, interval, f.Resyncs, f.Last)
			}
			if err := f.Stream.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// sameAsREST follows the stream to the seq of a REST answer and compares; false when the
// stream skips that seq.
func sameAsREST(t *testing.T, rest *client.Client, f *client.Follower, pair string) bool {
	t.Helper()
	want, err := rest.OrderBook(context.Background(), pair, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := f.Books[pair]
	for b.Seq < want.Seq {
		if _, err := f.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if b.Seq != want.Seq {
		return false
	}
	for _, side := range []struct {
		have []client.BookLevel
		want [][2]client.Decimal
	}{{b.Bids, want.Bids}, {b.Asks, want.Asks}} {
		if len(side.have) != len(side.want) {
			t.Fatalf("%s at seq %d: %d levels, REST has %d", pair, b.Seq, len(side.have), len(side.want))
		}
		for i, l := range side.have {
			if l.Price != string(side.want[i][0]) || l.Amount != string(side.want[i][1]) {
				t.Fatalf("%s at seq %d: level %d is %v, REST has %v", pair, b.Seq, i, l, side.want[i])
			}
		}
	}
	return true
}

// Trades come oldest first without a gap, and a client resumes by id.
func TestTradesAreGaplessAndResume(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for i := range int64(2500) {
		x.order(0, engine.Sell, 100+i%7, 5)
		x.order(0, engine.Buy, 100+i%7, 5)
	}
	s := x.dial("")
	from := uint64(37)
	if err := s.Send(client.Request{
		Op: "subscribe", ID: 1, Channel: "trades", Pairs: x.pairs,
		FromTradeID: &from,
	}); err != nil {
		t.Fatal(err)
	}
	next, first := from, true
	for next <= 2500 {
		m := until(t, s, "trades", func(m *client.Message) bool { return len(m.Trades) > 0 })
		if first != (m.Type == "snapshot") {
			t.Fatalf("message type %s, first %v", m.Type, first)
		}
		first = false
		for _, tr := range m.Trades {
			if tr.TradeID != next {
				t.Fatalf("trade %d, want %d", tr.TradeID, next)
			}
			next++
		}
	}
	x.order(0, engine.Sell, 100, 5)
	x.order(0, engine.Buy, 100, 5)
	m := until(t, s, "the next trade", func(m *client.Message) bool { return len(m.Trades) > 0 })
	if m.Type != "update" || m.Trades[0].TradeID != 2501 {
		t.Fatalf("after catching up: %s with trade %d", m.Type, m.Trades[0].TradeID)
	}
}

// Every (channel, pair) gets one acknowledgement or one error, with the id echoed; bad
// operations are answered and the socket lives (docs/contract/streams.md#operations,
// docs/contract/streams.md#server-messages).
func TestOperationsAreAnswered(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	c, _, err := websocket.DefaultDialer.Dial("ws://"+x.addr+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	for _, step := range []struct{ send, want string }{
		{`{"op":"ping","id":"a"}`, `{"type":"pong","id":"a"`},
		{
			`{"op":"unsubscribe","id":7,"channel":"book","pairs":["C00_USDT"]}`,
			`{"type":"unsubscribed","id":7,"channel":"book","currencyPairCode":"C00_USDT","epoch":"` + testEpoch +
				`"}`,
		},
		{
			`{"op":"subscribe","id":1,"channel":"nope","pairs":["C00_USDT"]}`,
			`{"type":"error","id":1,"channel":"nope","currencyPairCode":null,"code":"INVALID_PARAM"`,
		},
		{
			`{"op":"subscribe","id":2,"channel":"ticker","pairs":["AA_BB"]}`,
			`{"type":"error","id":2,"channel":"ticker","currencyPairCode":"AA_BB","code":"NOT_FOUND"`,
		},
		{
			`{"op":"subscribe","id":3,"channel":"ticker","pairs":["bad"]}`,
			`{"type":"error","id":3,"channel":"ticker","currencyPairCode":"bad","code":"INVALID_PARAM"`,
		},
		{
			`{"op":"subscribe","id":4,"channel":"orders"}`,
			`{"type":"error","id":4,"channel":"orders","currencyPairCode":null,"code":"NOT_FOUND"`,
		},
		{`{"op":"subscribe","id":5,"channel":"book","pairs":["C00_USDT"],"depth":7}`, `{"type":"error","id":5`},
		{`{"op":"subscribe","channel":"book","pairs":["C00_USDT"],"dpeth":10}`, `{"type":"error","id":null`},
		{
			`{"op":"subscribe","id":6,"channel":"trades","pairs":["C00_USDT"],"fromSeq":1}`,
			`{"type":"error","id":6,"channel":"trades","currencyPairCode":null,"code":"INVALID_PARAM",` +
				`"message":"fromSeq is an option of the channel book, not of trades.","field":"fromSeq"`,
		},
		{
			`{"op":"subscribe","id":7,"channel":"status","interval":100}`,
			`{"type":"error","id":7,"channel":"status","currencyPairCode":null,"code":"INVALID_PARAM"`,
		},
		{
			`{"op":"subscribe","id":8,"channel":"book","pairs":["C00_USDT"],"fromTradeId":1}`,
			`{"type":"error","id":8,"channel":"book","currencyPairCode":null,"code":"INVALID_PARAM",` +
				`"message":"fromTradeId is an option of the channel trades, not of book."`,
		},
		{`{"op":"subscribe","op":"list"}`, `{"type":"error"`},
		{`{`, `{"type":"error"`},
		{`{"op":"dance"}`, `{"type":"error"`},
		{`{"op":"list","id":"x"}`, `{"type":"subscriptions","id":"x","items":[]}`},
	} {
		if err := c.WriteMessage(websocket.TextMessage, []byte(step.send)); err != nil {
			t.Fatal(err)
		}
		_, got, err := c.ReadMessage()
		if err != nil {
			t.Fatalf("%s: %v", step.send, err)
		}
		if !strings.HasPrefix(string(got), step.want) || !json.Valid(got) {
			t.Errorf("%s\n got %s\nwant %s", step.send, got, step.want)
		}
	}
}

// The URL alone subscribes, with defaults; a bad URL gets a plain 400.
func TestStreamsInTheAddress(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	s := x.dial("?streams=book:C00_USDT,ticker:C00_USDT,candles.minute:C00_USDT,trades:C00_USDT,status")
	seen := map[string]bool{}
	for len(seen) < 5 {
		m := until(t, s, "snapshots", kind("snapshot"))
		seen[m.Channel] = true
	}
	for query, want := range map[string]int{
		"?streams=nope:C00_USDT": 400, "?streams=orders": 400,
		"?streams=book": 400, "": 400,
	} {
		resp, err := http.Get(x.base + "/ws" + query)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET /ws%s: %d, want %d", query, resp.StatusCode, want)
		}
	}
}

// A subscription that was silent for a second receives a heartbeat with its seq.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	s := x.dial("?streams=book:C00_USDT")
	snap := until(t, s, "snapshot", kind("snapshot"))
	beat := until(t, s, "heartbeat", kind("heartbeat"))
	if beat.Channel != "book" || beat.Pair != "C00_USDT" || beat.Seq != snap.Seq {
		t.Errorf("heartbeat %s after snapshot seq %d", beat.Raw, snap.Seq)
	}
}

// resync sends a new snapshot on the same connection.
func TestResync(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	s := x.dial("?streams=book:C00_USDT")
	until(t, s, "snapshot", kind("snapshot"))
	if err := s.Send(client.Request{Op: "resync", Channel: "book", Pairs: x.pairs}); err != nil {
		t.Fatal(err)
	}
	if m := until(t, s, "snapshot", kind("snapshot")); m.Reason != "resync" {
		t.Errorf("reason %q", m.Reason)
	}
}

// A stopping server notifies its clients and closes with 1001.
func TestShutdownMessage(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	s := x.dial("?streams=status")
	until(t, s, "snapshot", kind("snapshot"))
	go x.stop()
	until(t, s, "shutdown", kind("shutdown"))
	for {
		_, err := s.Next()
		if err == nil {
			continue
		}
		if client.CloseCode(err) != 1001 {
			t.Errorf("closed with %v, want 1001", err)
		}
		return
	}
}

// An upgrade after the shutdown has begun gets 503, and no connection that is never served.
func TestNoUpgradeDuringTheShutdown(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	upgrade := func() int {
		t.Helper()
		conn, err := net.Dial("tcp", x.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return a.StatusCode
	}
	if code := upgrade(); code != 101 {
		t.Errorf("before: %d", code)
	}
	x.hub.Shutdown()
	if code := upgrade(); code != 503 {
		t.Errorf("after: %d, want 503", code)
	}
}

// More than 20 messages a second are refused, and too many of those close with 1008. Every message before has an
// answer with its id, in order, also a refused one.
func TestInboundLimit(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	s := x.dial("")
	go func() {
		for i := range 200 {
			if s.Send(client.Request{Op: "ping", ID: i}) != nil {
				return
			}
		}
	}()
	limited := 0
	for next := 0; ; next++ {
		m, err := s.Next()
		if err == nil && string(m.ID) != strconv.Itoa(next) {
			t.Errorf("an answer to message %s (%s %s) instead of %d", m.ID, m.Type, m.Code, next)
		}
		if err != nil {
			if client.CloseCode(err) != 1008 {
				t.Errorf("closed with %v, want 1008", err)
			}
			break
		}
		if m.Type == "error" && m.Code == "RATE_LIMIT" {
			limited++
		}
	}
	if limited != 99 {
		t.Errorf("%d refusals before the close, want 99", limited)
	}
}
