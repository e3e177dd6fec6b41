package stream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/stream"
)

// A message of 64 KiB is read, a longer one closes with 1009, also when it comes in pieces
// (docs/contract/limits.md#streams).
func TestMessagesOver64KiBClose(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	ws := rawDial(t, x, "")
	whole := `{"op":"ping","id":"a"}`
	ws.send(whole + strings.Repeat(" ", 64<<10-len(whole)))
	if m := ws.next(); m.Type != "pong" {
		t.Errorf("64 KiB: %s", m.Raw)
	}
	ws.send(whole + strings.Repeat(" ", 64<<10+1-len(whole)))
	if code, reason := ws.closed(); code != 1009 {
		t.Errorf("64 KiB and a byte: closed with %d %q, want 1009", code, reason)
	}
	pieces := rawDial(t, x, "")
	w, err := pieces.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if _, err := io.WriteString(w, strings.Repeat(" ", 4<<10)); err != nil {
			break // the server has had enough
		}
	}
	if code, _ := pieces.closed(); code != 1009 {
		t.Errorf("160 KiB in pieces: closed with %d, want 1009", code)
	}
}

// The hub pings clients and closes a client that never answers with 1008. A client that answers
// stays connected, and the server answers its pings.
func TestPingsAndSilentClients(t *testing.T) {
	t.Parallel()
	const within = time.Hour // by the hub's clock, which the test moves on: no machine is as slow
	var moved atomic.Int64
	x := newLiveWith(t, 1, func(h *stream.Options, _ *edge.Options) {
		h.PingEvery, h.PongWithin = time.Millisecond, within
		h.MachineNs = func() int64 { return clock.MachineNs() + moved.Load() }
	})
	alive, mute := rawDial(t, x, "?streams=status"), rawDial(t, x, "")
	ponged := make(chan string, 1)
	alive.ws.SetPongHandler(func(data string) error { ponged <- data; return nil })
	answer, pinged := alive.ws.PingHandler(), 0
	alive.ws.SetPingHandler(func(data string) error { pinged++; return answer(data) })
	if err := alive.ws.WriteControl(websocket.PingMessage, []byte("hello"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	// answers returns when the server has read the answer to another ping.
	answers := func() {
		for before := pinged; pinged == before; {
			alive.next() // at least a heartbeat a second
		}
		alive.send(`{"op":"ping"}`)
		alive.until("pong")
	}
	answers()
	moved.Store(int64(within - time.Minute)) // neither was silent for too long
	answers()
	moved.Store(int64(within + time.Minute)) // one was
	pings := 0
	mute.ws.SetPingHandler(func(string) error { pings++; return nil })
	if code, _ := mute.closed(); code != 1008 || pings < 2 {
		t.Errorf("a silent client: closed with %d after %d pings, want 1008 after some", code, pings)
	}
	answers()
	select {
	case data := <-ponged:
		if data != "hello" {
			t.Errorf("pong %q", data)
		}
	default:
		t.Error("a client's ping was not answered")
	}
}

// The server answers the close frame of a client.
func TestCloseHandshakeIsAnswered(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	ws := rawDial(t, x, "?streams=status")
	ws.next()
	if err := ws.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "bye"),
		time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if code, _ := ws.closed(); code != 1000 {
		t.Errorf("answered with %d, want 1000", code)
	}
}

// A connection has 1,000 subscriptions at most; a repeat or a change does not count again.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	const pairs = 101
	x := newLive(t, pairs)
	ws := rawDial(t, x, "")
	all, err := json.Marshal(x.pairs)
	if err != nil {
		t.Fatal(err)
	}
	acks, refused := 0, 0
	// 101 pairs on ten channels, one short of all of them on the last: 1,000 subscriptions.
	channels := []string{"ticker", "trades", "book"}
	for i := marketdata.Minute; i < 7; i++ {
		channels = append(channels, "candles."+i.String())
	}
	for _, ch := range channels {
		ws.send(fmt.Sprintf(`{"op":"subscribe","channel":%q,"pairs":%s}`, ch, all))
	}
	for acks+refused < pairs*len(channels) {
		switch m := ws.next(); m.Type {
		case "subscribed":
			acks++
		case "error":
			if m.Code != "RATE_LIMIT" {
				t.Fatalf("refused with %s", m.Raw)
			}
			refused++
		}
	}
	if acks != 1000 || refused != pairs*len(channels)-1000 {
		t.Errorf("%d subscriptions, %d refused", acks, refused)
	}
	ws.send(`{"op":"subscribe","id":"again","channel":"book","pairs":["C00_USDT"],"depth":10}`)
	if m := ws.until("subscribed"); string(m.ID) != `"again"` {
		t.Errorf("a change of options: %s", m.Raw)
	}
}

// An address has as many connections as the limit says, sockets included.
func TestConnectionsPerAddressAreBounded(t *testing.T) {
	t.Parallel()
	x := newLiveWith(t, 1, func(_ *stream.Options, o *edge.Options) { o.ConnectionsPerIP = 3 })
	var open []*rawSocket
	for range 3 {
		open = append(open, rawDial(t, x, ""))
	}
	_, resp, err := websocket.DefaultDialer.Dial("ws://"+x.addr+"/ws", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("the fourth connection: %v %v, want 429", resp, err)
	}
	if err := open[0].ws.Close(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); ; {
		c, _, err := websocket.DefaultDialer.Dial("ws://"+x.addr+"/ws", nil)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("a place that was left is not given again: %v", err)
		}
	}
}

// list shows every subscription with its options, and a repeat changes them.
func TestListEchoesOptions(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	ws := rawDial(t, x, "?streams=status")
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C00_USDT","C01_USDT"]}`)
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C01_USDT"],"depth":10,"interval":0,"decimals":"string"}`)
	ws.send(`{"op":"subscribe","channel":"candles.hour","pairs":["C00_USDT"]}`)
	ws.send(`{"op":"subscribe","channel":"ticker","pairs":["C00_USDT"]}`)
	ws.send(`{"op":"unsubscribe","channel":"ticker","pairs":["C00_USDT"]}`)
	ws.send(`{"op":"list","id":9}`)
	got := string(ws.until("subscriptions").Raw)
	want := `{"type":"subscriptions","id":9,"items":[` +
		`{"channel":"book","currencyPairCode":"C00_USDT","depth":100,"interval":100,"decimals":"number"},` +
		`{"channel":"book","currencyPairCode":"C01_USDT","depth":10,"interval":0,"decimals":"string"},` +
		`{"channel":"candles.hour","currencyPairCode":"C00_USDT","decimals":"number"},` +
		`{"channel":"status","currencyPairCode":null,"decimals":"number"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A flood of pings closes the connection with 1008, and text that is not UTF-8 with 1007; the
// client can read both close frames while it sends on.
func TestFloodsOfFramesAndInvalidTextClose(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	flood := rawDial(t, x, "")
	go func() {
		for range 20_000 {
			if flood.ws.WriteControl(websocket.PingMessage, make([]byte, 100), time.Now().Add(time.Minute)) != nil {
				return
			}
		}
	}()
	if code, reason := flood.closed(); code != 1008 || reason != "RATE_LIMIT" {
		t.Errorf("20,000 pings: closed with %d %q, want 1008 RATE_LIMIT", code, reason)
	}
	text := rawDial(t, x, "")
	text.send("{\"op\":\"ping\",\"id\":\"\xff\"}")
	if code, _ := text.closed(); code != 1007 {
		t.Errorf("text that is not UTF-8: closed with %d, want 1007", code)
	}
}
