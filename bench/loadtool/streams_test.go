package loadtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

// slowTime is the time by which the first answer of an exchange's clock is late.
const slowTime = 400 * time.Millisecond

// streamed is an exchange with one pair whose sockets are scripted. The first answer of its clock comes late.
func streamed(
	t *testing.T, script func(socket int64, send func(format string, a ...any), w http.ResponseWriter),
) Options {
	t.Helper()
	var sockets, times atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/time":
			fmt.Fprintf(w, `{"serverTime":%d}`, time.Now().UnixMilli())
			if times.Add(1) == 1 {
				<-time.After(slowTime)
			}
		case !websocket.IsWebSocketUpgrade(r):
			fmt.Fprint(w, `[{"code":"A_B"}]`)
		default:
			var conn *websocket.Conn
			script(sockets.Add(1), func(format string, a ...any) {
				if conn == nil {
					var err error
					if conn, err = (&websocket.Upgrader{}).Upgrade(w, r, nil); err != nil {
						t.Error(err)
						return
					}
				}
				_ = conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, a...)) // the run may be over
			}, w)
			if conn != nil {
				_, _, err := conn.ReadMessage() // the tool asks for its channels
				for err == nil {
					_, _, err = conn.ReadMessage()
				}
				_ = conn.Close()
			}
		}
	})
	return Options{Target: url, Mix: MixStreams, For: time.Second, Connections: 2, Pairs: 1}
}

// An update counts by its latency when all sockets are open. Snapshots, heartbeats and what came before do not count,
// so that rows and seconds add up to the run.
func TestOnlyUpdatesOfOpenSocketsCount(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	const delay = 300 * time.Millisecond
	o := streamed(t, func(socket int64, send func(string, ...any), _ http.ResponseWriter) {
		sent := time.Now().Add(-delay).UnixMilli()
		for _, channel := range []string{"book", "trades", "ticker"} {
			send(`{"type":"subscribed","channel":%q}`, channel)
			send(`{"type":"update","channel":%q,"time":%d}`, "book", sent-1e6) // late by the opening
			send(`{"type":"snapshot","channel":%q,"time":%d}`, channel, sent)
		}
		<-began
		for range 10 {
			send(`{"type":"update","channel":"ticker","time":%d}`, sent)
			for range 100 {
				send(`{"type":"heartbeat","channel":"trades","time":%d}`, sent)
			}
		}
	})
	r := runAndTell(t, o, began)
	least := delay - time.Duration(r.ClockError.Us)*time.Microsecond
	if r.Answers != 20 || len(r.Routes) != 1 || r.Routes[0].Answers != 20 || r.At(0) < least ||
		r.At(100) > 100*time.Second {
		t.Errorf("%+v", r)
	}
	seconds := 0.
	for i, m := range r.Timeline {
		last := 0.
		if i > 0 {
			last = r.Timeline[i-1].At
		}
		seconds += m.Rate * (m.At - last)
		if m.P50Us != 0 && m.P50Us < least.Microseconds() {
			t.Errorf("a median of messages that are no updates: %+v", m)
		}
	}
	if seconds < 19.9 || seconds > 20.1 {
		t.Errorf("%g updates in the seconds: %+v", seconds, r.Timeline)
	}
	var text, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{text.String(), page.String()} {
		if lower := strings.ToLower(b); !strings.Contains(lower, "updates") || strings.Contains(lower, "answers") ||
			strings.Contains(lower, "messages") {
			t.Errorf("not all updates are named so: %s", b)
		}
	}
}

// snapshots sends the first message of each channel.
func snapshots(send func(string, ...any)) {
	for _, channel := range []string{"book", "trades", "ticker"} {
		send(`{"type":"snapshot","channel":%q,"seq":1}`, channel)
	}
}

// runAndTell runs for two seconds and closes began behind the first of them.
func runAndTell(t *testing.T, o Options, began chan struct{}) *Report {
	t.Helper()
	tell := sync.OnceFunc(func() { close(began) })
	o.Second = func(Second) { tell() }
	o.For = 2 * time.Second
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A message that is missing is an error of its channel: in its row and in its threshold, beside the total.
func TestAGapIsInTheRowOfItsChannel(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	o := streamed(t, func(_ int64, send func(string, ...any), _ http.ResponseWriter) {
		snapshots(send)
		<-began
		for _, seq := range []int{2, 3, 5, 6} { // 4 is missing
			before := seq - 1
			send(`{"type":"update","channel":"book","seq":%d,"prevSeq":%d}`, seq, before)
		}
		send(`{"type":"update","channel":"ticker"}`)
		send(`{"type":"snapshot","channel":"trades","reason":"slow"}`)
	})
	o.Connections = 1
	r := runAndTell(t, o, began)
	for name, want := range map[string][2]int64{"book": {4, 1}, "ticker": {1, 0}, "trades": {0, 1}} {
		if got, _ := r.route(name); got.Answers != want[0] || got.Errors != want[1] {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	if r.Errors != 2 || r.Apply(Thresholds{RouteErrors: map[string]float64{"book": 24}}) {
		t.Errorf("%+v", r)
	}
}

// A socket that is refused is an error by its code, with the message of the exchange, and the others go on.
func TestARefusedSocketIsAnError(t *testing.T) {
	t.Parallel()
	o := streamed(t, func(socket int64, send func(string, ...any), w http.ResponseWriter) {
		if socket == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(w).Encode(map[string]string{"code": "RATE_LIMIT", "message": "limit of 1 (server.x)"})
			return
		}
		for _, channel := range []string{"book", "trades", "ticker"} {
			send(`{"type":"snapshot","channel":%q}`, channel)
		}
	})
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reasons["429 RATE_LIMIT"] != 1 || r.Errors != 1 || r.FirstError != "429 RATE_LIMIT: limit of 1 (server.x)" {
		t.Errorf("%+v", r)
	}
}

// A latency below the error of the exchange's clock counts as 0, and the report says how many there are.
func TestLatenciesBelowTheErrorOfTheClockAreCounted(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	o := streamed(t, func(_ int64, send func(string, ...any), _ http.ResponseWriter) {
		snapshots(send)
		<-began
		for _, ahead := range []time.Duration{-time.Second, time.Second, time.Minute} {
			send(`{"type":"update","channel":"ticker","time":%d}`, time.Now().Add(ahead).UnixMilli())
		}
	})
	o.Connections = 1
	r := runAndTell(t, o, began)
	if e := *r.ClockError; e.Below != 2 || e.Us <= 0 || r.Answers != 3 || r.At(50) != 0 || r.At(100) < time.Second/2 {
		t.Errorf("%+v, %+v", e, r)
	}
	gaps := 0
	for _, m := range r.Timeline {
		if m.Rate > 0 && math.IsNaN(gapped(m.P50Us, m.Rate)) {
			gaps++
		}
	}
	if gaps > 0 {
		t.Errorf("%d gaps where updates came: %+v", gaps, r.Timeline)
	}
	var text, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{text.String(), page.String()} {
		if !strings.Contains(b, "±"+msText(r.ClockError.Us)) || !strings.Contains(b, "2 updates") {
			t.Errorf("no error of the clock in %s", b)
		}
	}
}
