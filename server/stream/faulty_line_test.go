package stream_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/client"
)

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
		f.Patience = time.Minute
		if harm == "stall" {
			f.Patience = 1500 * time.Millisecond // longer than between two heartbeats
		}
		noticed, silences := 0, 0
		for updates := 0; updates < 300; {
			before := f.Resyncs + f.Repeats
			m, err := f.Step()
			if err != nil {
				if silences++; harm != "stall" || silences > 3 {
					t.Fatalf("%s: %v", harm, err)
				}
				// The client drops a line that is silent for longer than heartbeats allow.
				f.Patience = time.Minute
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
