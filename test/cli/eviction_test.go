package cli

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

	"github.com/tickhive/tickhive/test/harness"
)

// alive sends a request over a connection that stays open and reports whether it is answered.
func alive(c net.Conn) bool {
	if _, err := fmt.Fprint(c, "GET /api/time HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return false
	}
	if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
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

// gone reports whether the server has closed a connection.
func gone(c net.Conn) bool {
	if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
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
	in := harness.Serve(t, nil, "--binance-listen", "127.0.0.1:0", "--pairs", "none", "--sim", "off",
		"--set", fmt.Sprintf("server.connections=%d", places), "--set", "server.connections_per_ip=-1")
	line := in.WaitLine("ready ")
	in.TakeAddresses(line)
	facade := "http://" + line[strings.LastIndex(line, "binance=")+len("binance="):]
	in.TwoPairs()
	u := in.Trader()
	rest(in, u)

	guarded(in, u, true)
	native := in.DialSocket(in.Public, "/ws?streams=trades:AA_USDT")
	trades := in.DialSocket(facade, "/ws/aausdt@trade")
	waits := map[string]net.Conn{
		"an idle connection":          dial(in, in.Public),
		"another idle connection":     dial(in, in.Public),
		"a socket that asks nothing":  in.DialSocket(in.Public, "/ws").NetConn(),
		"the same of the facade":      in.DialSocket(facade, "/ws").NetConn(),
		"a socket behind its request": nil,
	}
	api := in.DialSocket(facade, "/ws-api/v3")
	if err := api.WriteMessage(websocket.TextMessage, []byte(`{"id":1,"method":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	harness.Hears(t, api, `"status":200`)
	waits["a socket behind its request"] = api.NetConn()
	for _, name := range []string{"an idle connection", "another idle connection"} {
		if !alive(waits[name]) {
			t.Fatal(name)
		}
	}
	for range 2 * places {
		if _, err := fmt.Fprint(dial(in, in.Public), "GET /api/time HTTP/1.1\r\nHost:"); err != nil {
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
	for end := time.Now().Add(harness.Patience); len(arrivals) < places-3 && time.Now().Before(end); <-look.C {
		if ws := in.DialSocket(in.Public, "/ws?streams=trades:AA_USDT"); ws != nil {
			arrivals = append(arrivals, ws)
		}
	}
	if len(arrivals) != places-3 {
		t.Fatalf("%d sockets found a place, want %d", len(arrivals), places-3)
	}
	for _, base := range []string{in.Public, facade} {
		if in.DialSocket(base, "/ws") != nil {
			t.Errorf("one more than the places found one at %s", base)
		}
	}
	for name, c := range waits {
		if !gone(c) {
			t.Errorf("%s is open", name)
		}
	}
	in.Limit("AA_USDT", "sell", "300", "1")
	in.Limit("AA_USDT", "buy", "300", "1")
	for _, ws := range append(arrivals, native) {
		harness.Hears(t, ws, `"price":300`)
	}
	harness.Hears(t, trades, `"p":"300.00"`)
	holds(in, u, allHeld)
	_ = arrivals[0].Close()
	serves(in, in.Public, "/api/time")
}
