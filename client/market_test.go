package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
)

func TestRounding(t *testing.T) {
	for _, v := range []struct {
		d        Decimal
		digits   int
		down, up Decimal
	}{
		{"1.005", 2, "1.00", "1.01"},
		{"0.0000000049", 8, "0.00000000", "0.00000001"},
		{"99.99", 1, "99.9", "100.0"},
		{"9.5", 0, "9", "10"},
		{"1.2300", 2, "1.23", "1.23"},
		{"7", 2, "7", "7"},
		{"-0.05", 1, "0.0", "-0.1"},
		{"12345678901234567890123.15", 1, "12345678901234567890123.1", "12345678901234567890123.2"},
	} {
		down, err := RoundDown(v.d, v.digits)
		up, err2 := RoundUp(v.d, v.digits)
		if down != v.down || up != v.up || err != nil || err2 != nil {
			t.Errorf("%s to %d: %s and %s, want %s and %s", v.d, v.digits, down, up, v.down, v.up)
		}
	}
	for _, bad := range []Decimal{"", "1e5", "NaN", ".5", "1.", "+1", Decimal(strings.Repeat("1", 41))} {
		if got, err := RoundDown(bad, 2); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
	if _, err := RoundUp("1.5", -1); err == nil {
		t.Error("-1 digits")
	}
}

// Candles reads on from X-Next-Start, and ends at an error.
func TestCandlesGoFromPageToPage(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := r.URL.Query().Get("start")
		asked = append(asked, from)
		switch from {
		case "2026-01-01T00:00:00":
			w.Header().Set("X-Next-Start", "2026-01-01T00:02:00")
			_, _ = io.WriteString(w, `[{"date":"2026-01-01T00:00:00","open":1.50},{"date":"2026-01-01T00:01:00"}]`)
		case "2026-01-01T00:02:00":
			_, _ = io.WriteString(w, `[{"date":"2026-01-01T00:02:00"}]`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"INVALID_PARAM","message":"m"}`)
		}
	}))
	defer s.Close()
	c := &Client{Base: s.URL}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var dates []string
	for k, err := range c.Candles(context.Background(), "A_B", "minute", start, start.Add(time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		dates = append(dates, k.Date[14:])
		if len(dates) == 1 && k.Open != "1.50" {
			t.Errorf("open %s", k.Open)
		}
	}
	if got := strings.Join(dates, " "); got != "00:00 01:00 02:00" || len(asked) != 2 {
		t.Errorf("%s, asked for %v", got, asked)
	}
	n := 0
	for _, err := range c.Candles(context.Background(), "A_B", "minute", start.Add(time.Second), start) {
		n++
		if !IsCode(err, "INVALID_PARAM") {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}

// streamServer sends the messages to each connection and then waits for its end.
func streamServer(t *testing.T, messages ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		for _, m := range messages {
			if conn.WriteMessage(websocket.TextMessage, []byte(m)) != nil {
				return
			}
		}
		for { // a follower's own requests must not end the stream
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return StreamURL(s.URL)
}

func TestMessagesOfEveryChannelAreTyped(t *testing.T) {
	url := streamServer(t,
		`{"type":"update","channel":"ticker","ticker":{"price":1.50}}`,
		`{"type":"update","channel":"candles.minute","candle":{"max":2.0},"closed":true}`,
		`{"type":"snapshot","channel":"status","status":{"status":"ok","pairs":[{"seq":3}]}}`,
		`{"type":"update","channel":"status","pairs":[{"currencyPairCode":"A_B","lastTradeAt":5}]}`,
		`{"type":"snapshot","channel":"orders","orders":[{"id":"1"}]}`,
		`{"type":"update","channel":"orders","order":{"id":"2","filledAmount":0.50}}`,
		`{"type":"update","channel":"fills","fill":{"orderId":"2","tradeId":7,"fee":0.1}}`,
		`{"type":"update","channel":"balances","balances":[{"currencyCode":"A","held":3.0}]}`,
	)
	s, err := Dial(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, ok := range []func(m *Message) bool{
		func(m *Message) bool { return m.Ticker.Price == "1.50" },
		func(m *Message) bool { return m.Candle.Max == "2.0" && m.Closed },
		func(m *Message) bool { return m.Status.Status == "ok" && m.Status.Pairs[0].Seq == 3 },
		func(m *Message) bool { return m.Pairs[0].Pair == "A_B" && *m.Pairs[0].LastTradeAt == 5 },
		func(m *Message) bool { return m.Orders[0].ID == "1" },
		func(m *Message) bool { return m.Order.ID == "2" && m.Order.FilledAmount == "0.50" },
		func(m *Message) bool { return m.Fill.OrderID == "2" && m.Fill.TradeID == 7 && m.Fill.Fee == "0.1" },
		func(m *Message) bool { return m.Balances[0].Held == "3.0" },
	} {
		m, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok(m) {
			t.Errorf("message %d: %s", i, m.Raw)
		}
	}
}

// A read ends with its context, with the context's cause, and the stream is closed.
func TestAReadEndsWithItsContext(t *testing.T) {
	url := streamServer(t)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	f, err := NewFollower(context.Background(), url, []string{"A_B"}, 10, 100)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := f.StepContext(ctx)
		ended <- err
	}()
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if _, err := f.Step(); err == nil {
		t.Error("the stream is open")
	}
	if err := f.Reconnect(context.Background(), ""); err != nil {
		t.Error(err)
	}
	_ = f.Stream.Close()
}
