package stream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"tickhive/client"
	"tickhive/engine"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/stream"
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
	x := newLiveWith(t, 1, func(h *stream.Options, _ *edge.Options) {
		h.PingEvery, h.PongWithin = time.Millisecond, 2500*time.Millisecond
	})
	alive := rawDial(t, x, "?streams=status")
	ponged := make(chan string, 1)
	alive.ws.SetPongHandler(func(data string) error { ponged <- data; return nil })
	if err := alive.ws.WriteControl(websocket.PingMessage, []byte("hello"), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	lived := make(chan error, 1)
	go func() { // answers pings while it reads
		for beats := 0; beats < 4; {
			_, raw, err := alive.ws.ReadMessage()
			if err != nil {
				lived <- err
				return
			}
			if strings.HasPrefix(string(raw), `{"type":"heartbeat"`) {
				beats++
			}
		}
		lived <- nil
	}()
	mute := rawDial(t, x, "")
	pings := 0
	mute.ws.SetPingHandler(func(string) error { pings++; return nil })
	if code, _ := mute.closed(); code != 1008 || pings < 2 {
		t.Errorf("a silent client: closed with %d after %d pings, want 1008 after some", code, pings)
	}
	if err := <-lived; err != nil {
		t.Errorf("a client that answers: %v", err)
	}
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
	if err := ws.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "bye"), time.Now().Add(time.Second)); err != nil {
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
		if time.Since(start) > 10*time.Second {
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

// status begins with the content of /api/status and continues with the rows that changed.
func TestStatusChannel(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	ws := rawDial(t, x, "?streams=status")
	var snap struct {
		Seq    uint64
		Status struct {
			Status string
			Pairs  []struct{ CurrencyPairCode string }
		}
	}
	first := ws.until("snapshot")
	if err := json.Unmarshal(first.Raw, &snap); err != nil || len(snap.Status.Pairs) != 2 || snap.Status.Status != "ok" {
		t.Fatalf("%v: %s", err, first.Raw)
	}
	var rest, member map[string]any
	getJSON(t, x.base+"/api/status", &rest)
	if err := json.Unmarshal(first.Raw, &struct{ Status *map[string]any }{&member}); err != nil {
		t.Fatal(err)
	}
	for name := range rest {
		if _, ok := member[name]; !ok {
			t.Errorf("the snapshot's status lacks %q", name)
		}
	}
	x.order(1, engine.Buy, 100, 1)
	var update struct {
		Seq   uint64
		Pairs []struct {
			CurrencyPairCode, State string
			Seq                     uint64
		}
	}
	m := ws.until("update")
	if err := json.Unmarshal(m.Raw, &update); err != nil || len(update.Pairs) != 1 || update.Pairs[0].CurrencyPairCode != "C01_USDT" || update.Seq <= snap.Seq {
		t.Errorf("%v: %s", err, m.Raw)
	}
	if beat := ws.until("heartbeat"); beat.Channel != "status" || beat.Seq != update.Seq {
		t.Errorf("heartbeat %s", beat.Raw)
	}
}

func getJSON(t *testing.T, url string, out any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// A heartbeat carries the stream's seq; a heartbeat of trades carries the last trade's id.
func TestHeartbeatOfTradesTellsTheTrade(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for range 3 {
		x.order(0, engine.Sell, 100, 1)
		x.order(0, engine.Buy, 100, 1)
	}
	ws := rawDial(t, x, "?streams=trades:C00_USDT")
	snap := ws.until("snapshot")
	beat := ws.until("heartbeat")
	if beat.TradeID != 3 || beat.Seq != snap.Seq || beat.Pair != "C00_USDT" {
		t.Errorf("heartbeat %s after %s", beat.Raw, snap.Raw)
	}
}

// Tickers and candles of a stream equal those of the REST routes, byte for byte.
func TestStreamObjectsAreThoseOfREST(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for range 3 {
		x.order(0, engine.Sell, 100, 1)
		x.order(0, engine.Buy, 100, 1)
	}
	ws := rawDial(t, x, "?streams=trades:C00_USDT,ticker:C00_USDT,candles.month:C00_USDT")
	for _, path := range []string{
		"/api/deals?pageSize=1&currencyPairCode=C00_USDT",
		"/api/tickers?currencyPairCode=C00_USDT",
		"/api/ohlc?interval=month&start=2020-01-01&end=2100-01-01&currencyPairCode=C00_USDT",
	} {
		m := ws.until("snapshot")
		resp, err := http.Get(x.base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Trim(string(body), "[]{}\n")
		if !strings.Contains(string(m.Raw), want) {
			t.Errorf("%s\nlacks %s", m.Raw, want)
		}
	}
}

// A decimals=string stream carries the same digits as text.
func TestStreamsWithTextDecimals(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	ws := rawDial(t, x, "")
	ws.send(`{"op":"subscribe","channel":"book","pairs":["C00_USDT"],"decimals":"string"}`)
	if m := ws.until("snapshot"); !strings.Contains(string(m.Raw), `"bids":[["1.00","0.0001"]]`) {
		t.Errorf("%s", m.Raw)
	}
}

// faultyLine is a proxy between a client and the server that corrupts the delivery of every
// n-th update.
func faultyLine(t *testing.T, x *live, harm string, nth int) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	up := websocket.Upgrader{}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		down, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		far, _, err := websocket.DefaultDialer.Dial("ws://"+x.addr+"/ws", nil)
		if err != nil {
			return
		}
		go func() {
			for {
				kind, raw, err := down.ReadMessage()
				if err != nil || far.WriteMessage(kind, raw) != nil {
					_ = far.Close()
					return
				}
			}
		}()
		relay(down, far, harm, nth)
		_, _ = down.Close(), far.Close()
	})}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "ws://" + ln.Addr().String() + "/"
}

func relay(down, far *websocket.Conn, harm string, nth int) {
	var held []byte
	stalled := false
	for n := 0; ; {
		_, raw, err := far.ReadMessage()
		if err != nil {
			return
		}
		out := [][]byte{raw}
		if strings.HasPrefix(string(raw), `{"type":"update"`) {
			if n++; n%nth == 0 {
				switch harm {
				case "drop":
					out = nil
				case "repeat":
					out = append(out, raw)
				case "reorder":
					held, out = raw, nil
				case "stall":
					stalled = true
				}
			} else if held != nil {
				out, held = append(out, held), nil
			}
		}
		if stalled {
			continue
		}
		for _, o := range out {
			if down.WriteMessage(websocket.TextMessage, o) != nil {
				return
			}
		}
	}
}

// Behind a line that drops, repeats, reorders or stalls every n-th update, the client notices
// each fault within one update and recovers. At the end its book equals the server's.
func TestClientNoticesAFaultyLine(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	done, stopped := make(chan struct{}), make(chan struct{})
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	go func() { x.churnAt(3, done, pace.C); close(stopped) }()
	defer func() { close(done); <-stopped }()
	for _, harm := range []string{"drop", "repeat", "reorder", "stall"} {
		f, err := client.NewFollower(t.Context(), faultyLine(t, x, harm, 40), x.pairs, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Patience = 1500 * time.Millisecond
		noticed, silences := 0, 0
		for updates := 0; updates < 300; {
			before := f.Resyncs + f.Repeats
			m, err := f.Step()
			if err != nil {
				if silences++; harm != "stall" || silences > 3 {
					t.Fatalf("%s: %v", harm, err)
				}
				// The client drops a line that is silent for longer than heartbeats allow.
				if err := f.Reconnect(t.Context(), "ws://"+x.addr+"/ws"); err != nil {
					t.Fatal(err)
				}
				continue
			}
			noticed += f.Resyncs + f.Repeats - before
			if m.Type == "update" {
				updates++
			}
		}
		switch {
		case harm == "stall" && silences != 1:
			t.Errorf("stall: %d silences, want 1", silences)
		case harm != "stall" && noticed < 4:
			t.Errorf("%s: noticed %d times in 300 updates with one in 40 harmed", harm, noticed)
		case harm == "repeat" && f.Resyncs != 0:
			t.Errorf("repeat: %d snapshots asked for, want none", f.Resyncs)
		}
		rest := &client.Client{Base: x.base}
		for tries := 0; f.Stream != nil; tries++ {
			if tries == 200 {
				t.Fatalf("%s: the book never met the one of REST", harm)
			}
			if f.Books[x.pairs[0]].Ready() && sameAsREST(t, rest, f, x.pairs[0]) {
				break
			}
			if _, err := f.Step(); err != nil {
				t.Fatal(err)
			}
		}
		_ = f.Stream.Close()
	}
}
