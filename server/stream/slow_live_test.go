package stream_test

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/stream"
)

// closedWithin limits the wait for the close of the slow reader. Its queue is full once the kernel's buffers are,
// within 9 s on a quiet machine; the hub closes it 10 s later (docs/contract/streams.md#slow-clients), and the line is
// cut 20 s after that (closeWriteWait): between the two it must read again to receive the reason.
const closedWithin = 2 * time.Minute

// A reader that stops does not delay the others, and finds the close reason when it reads again.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	x := newLive(t, 2)
	x.pairs = x.pairs[:1] // the other one does not change: a large book that fills the kernel's buffers
	for i := range int64(20_000) {
		x.order(1, engine.Buy, 100+i, 5)
	}
	raw, err := net.Dial("tcp", x.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	slow, _, err := (&websocket.Dialer{NetDial: func(string, string) (net.Conn, error) { return raw, nil }}).Dial(
		"ws://"+x.addr+"/ws?streams=trades:C00_USDT,book:C00_USDT", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range append([]string{"subscribe"}, slices.Repeat([]string{"resync"}, 12)...) {
		text := `{"op":"` + op + `","channel":"book","pairs":["C01_USDT"]`
		if op == "subscribe" {
			text += `,"depth":0`
		}
		if err := slow.WriteMessage(websocket.TextMessage, []byte(text+"}")); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	pace := time.NewTicker(500 * time.Microsecond) // what a quick reader can take on a busy machine
	defer pace.Stop()
	go func() { x.churnAt(2, done, pace.C); close(stopped) }()
	end := sync.OnceFunc(func() { close(done); <-stopped })
	defer end()
	quick := x.dial("?streams=trades:C00_USDT,book:C00_USDT")
	start := time.Now()
	last, bytes := uint64(0), 0
	for stream.StatsOf(x.hub).SlowCloses == 0 {
		if time.Since(start) > closedWithin {
			t.Fatalf("the slow reader is not closed within %s: %+v", closedWithin, stream.StatsOf(x.hub))
		}
		m, err := quick.Next()
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(m.Raw)
		if m.Type == "snapshot" && m.Channel == "trades" {
			last = 0 // on a busy machine this reader too may have to start over
		}
		for _, tr := range m.Trades {
			if last != 0 && tr.TradeID != last+1 {
				t.Fatalf("the quick reader got trade %d after %d", tr.TradeID, last)
			}
			last = tr.TradeID
		}
		_ = quick.SetReadDeadline(time.Now().Add(time.Minute))
	}
	end()
	t.Logf("the quick reader got %d bytes", bytes)
	_ = slow.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, _, err := slow.ReadMessage()
		var ce *websocket.CloseError
		if errors.As(err, &ce) {
			if ce.Code != 1013 || ce.Text != "SLOW_CONSUMER" {
				t.Errorf("closed with %v", ce)
			}
			return
		}
		if err != nil {
			t.Fatalf("the slow reader ended without a close code: %v", err)
		}
	}
}
