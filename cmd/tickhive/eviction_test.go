package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

// alive sends a request over a connection that stays open and reports whether it is answered.
func alive(c net.Conn) bool {
	if _, err := fmt.Fprint(c, "GET /api/time HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return false
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

// dialSocket opens a WebSocket; it returns nil when the listener is full.
func (in *instance) dialSocket(base, path string) *websocket.Conn {
	in.t.Helper()
	ws, res, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(base, "http")+path, nil)
	if err != nil {
		if res != nil && res.StatusCode != http.StatusServiceUnavailable {
			in.t.Fatal(path, res.StatusCode, err)
		}
		return nil
	}
	in.t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// hears reads until a message has this text.
func hears(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	if err := ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for {
		_, message, err := ws.ReadMessage()
		if err != nil {
			t.Errorf("no message with %q: %v", text, err)
			return
		}
		if strings.Contains(string(message), text) {
			return
		}
	}
}

// gone reports whether the server has closed a connection.
func gone(c net.Conn) bool {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return true
	}
	_, err := io.Copy(io.Discard, c)
	return !os.IsTimeout(err)
}

// When all connections are taken, half requests are closed first, then connections and sockets that wait. Sockets with
// a subscription, of both listeners, and one that guards orders stay; when they have all places, a new one is refused.
func TestAFullServerKeepsTheUsefulConnections(t *testing.T) {
	t.Parallel()
	const places = 24
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
		"--binance-listen", "127.0.0.1:0", "--pairs", "none", "--sim", "off",
		"--set", fmt.Sprintf("server.connections=%d", places), "--set", "server.connections_per_ip=-1")
	line := in.waitLine("ready ")
	in.takeAddresses(line)
	facade := "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):]
	in.twoPairs()
	u := in.trader()
	in.rest(u)

	in.guarded(u, true)
	native := in.dialSocket(in.public, "/ws?streams=trades:AA_USDT")
	trades := in.dialSocket(facade, "/ws/aausdt@trade")
	waits := map[string]net.Conn{
		"an idle connection":          in.dial(in.public),
		"another idle connection":     in.dial(in.public),
		"a socket that asks nothing":  in.dialSocket(in.public, "/ws").NetConn(),
		"the same of the facade":      in.dialSocket(facade, "/ws").NetConn(),
		"a socket behind its request": nil,
	}
	api := in.dialSocket(facade, "/ws-api/v3")
	if err := api.WriteMessage(websocket.TextMessage, []byte(`{"id":1,"method":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	hears(t, api, `"status":200`)
	waits["a socket behind its request"] = api.NetConn()
	for _, name := range []string{"an idle connection", "another idle connection"} {
		if !alive(waits[name]) {
			t.Fatal(name)
		}
	}
	for range 2 * places {
		if _, err := fmt.Fprint(in.dial(in.public), "GET /api/time HTTP/1.1\r\nHost:"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"an idle connection", "another idle connection"} {
		if !alive(waits[name]) {
			t.Errorf("%s was closed before half requests", name)
		}
	}

	var arrivals []*websocket.Conn
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); len(arrivals) < places-3 && time.Now().Before(end); <-look.C {
		if ws := in.dialSocket(in.public, "/ws?streams=trades:AA_USDT"); ws != nil {
			arrivals = append(arrivals, ws)
		}
	}
	if len(arrivals) != places-3 {
		t.Fatalf("%d sockets found a place, want %d", len(arrivals), places-3)
	}
	for _, base := range []string{in.public, facade} {
		if in.dialSocket(base, "/ws") != nil {
			t.Errorf("one more than the places found one at %s", base)
		}
	}
	for name, c := range waits {
		if !gone(c) {
			t.Errorf("%s is open", name)
		}
	}
	in.limit("AA_USDT", "sell", "300", "1")
	in.limit("AA_USDT", "buy", "300", "1")
	for _, ws := range append(arrivals, native) {
		hears(t, ws, `"price":300`)
	}
	hears(t, trades, `"p":"300.00"`)
	in.holds(u, allHeld)
	_ = arrivals[0].Close()
	in.serves(in.public, "/api/time")
}
