package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/test/harness"
)

// eventStream opens the stream of events at an address.
func eventStream(t *testing.T, at, epoch string) *jet.Events {
	t.Helper()
	conn, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	e, err := conn.Events(t.Context(), epoch, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// marketOf holds the state that a consumer of a pair's events has.
type marketOf struct {
	trades int
	bids   map[json.Number]json.Number
	asks   map[json.Number]json.Number
}

// take folds an event. Every trade has the next number.
func (m *marketOf) take(t *testing.T, data []byte) {
	t.Helper()
	var body struct {
		Type    string
		TradeID int
		Bids    [][2]json.Number
		Asks    [][2]json.Number
	}
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	switch body.Type {
	case "trade":
		if m.trades++; body.TradeID != m.trades {
			t.Errorf("after trade %d comes %s", m.trades-1, data)
		}
	case "book":
		for _, side := range []struct {
			book    map[json.Number]json.Number
			changes [][2]json.Number
		}{{m.bids, body.Bids}, {m.asks, body.Asks}} {
			for _, l := range side.changes {
				if side.book[l[0]] = l[1]; l[1] == "0.0" {
					delete(side.book, l[0])
				}
			}
		}
	}
}

// A replica appends the events of the market to a stream: each trade once, and changes from which a consumer has the
// writer's book, over kills of the replica and of the writer.
func TestReplicaAppendsEvents(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	at, dir := harness.StreamAddress(t), t.TempDir()
	args := []string{
		"--data-dir", dir, "--pairs", "none", "--sim", "off", "--quiet", "--log-level", "warn", "--journal", "embedded",
		"--ack", "quorum", "--set", "stream.listen=" + at, "--set", "rate.allow=127.0.0.1",
	}
	a := harness.NewAcked()
	writer := harness.Start(t, args...)
	a.Begin(writer)
	replica := harness.StartReplica(t, at, "--events")
	events := eventStream(t, at, shownEpoch(t, writer))
	for round := range 3 {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.Load(writer, uint64(round), stop); close(done) }()
		harness.WaitFor(t, func() bool { return a.InFlight.Load() >= 50 })
		switch round {
		case 0:
			harness.WaitFor(t, func() bool { // the next one goes on behind the last event
				end, _, err := events.Last(t.Context())
				return err == nil && end > 0
			})
			replica.Signal(syscall.SIGKILL)
			replica.Wait()
			replica = harness.StartReplica(t, at, "--events")
		case 1:
			writer.Signal(syscall.SIGKILL)
			writer.Wait()
		}
		close(stop)
		<-done
		if round == 1 {
			writer = harness.Start(t, args...)
		}
	}
	harness.WaitFor(t, func() bool {
		_, w := position(t, writer)
		_, r := position(t, replica)
		return w == r && w != "0"
	})
	events = eventStream(t, at, shownEpoch(t, writer))
	for _, pair := range []string{"AA_USDT", "BB_USDT"} {
		writer.Call(200, "POST", "/orders", `{"currencyPairCode":"`+pair+
			`","side":"buy","type":"limit","price":1,"amount":7}`)
		book := writer.Do("GET", writer.Public+"/api/marketdata/getaggregator/orderbook?depth=0&ticker_id="+pair, "")
		got := readMarket(t, events, pair, book.Header.Get("X-Seq"))
		sameAsEvents(t, pair, book.Body, &got)
		newest := writer.Do("GET", writer.Public+
			"/api/marketdata/getaggregator/historical_trades?limit=1&ticker_id="+pair, "").Body
		if got.trades == 0 || !strings.Contains(newest, fmt.Sprintf(`"trade_id":%d,`, got.trades)) {
			t.Errorf("%s: %d trades, the writer's newest is %s", pair, got.trades, newest)
		}
	}
	replica.Signal(syscall.SIGTERM)
	if code := replica.Wait(); code != 0 {
		t.Errorf("replica: exit code %d", code)
	}
	writer.Signal(syscall.SIGTERM)
	writer.EndsClean(dir)
}

// readMarket folds the events of a pair up to a seq, the seq of an event.
func readMarket(t *testing.T, events *jet.Events, pair, last string) marketOf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	m := marketOf{bids: map[json.Number]json.Number{}, asks: map[json.Number]json.Number{}}
	seen := map[string]bool{}
	err := events.Follow(ctx, 1, func(_ uint64, data []byte) error {
		var head struct {
			Pair string      `json:"currencyPairCode"`
			Seq  json.Number `json:"seq"`
		}
		if err := json.Unmarshal(data, &head); err != nil || head.Pair != pair {
			return err
		}
		if seen[head.Seq.String()] {
			t.Errorf("event %s of %s is there twice", head.Seq, pair)
		}
		seen[head.Seq.String()] = true
		m.take(t, data)
		if head.Seq.String() == last {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%s: no event has seq %s: %v", pair, last, err)
	}
	return m
}

var errEnough = errors.New("enough events")

// sameAsEvents compares a book of the API with the levels of a consumer.
func sameAsEvents(t *testing.T, pair, body string, m *marketOf) {
	t.Helper()
	var book struct {
		Bids, Asks [][2]json.Number
	}
	if err := json.Unmarshal([]byte(body), &book); err != nil {
		t.Fatalf("%.300s: %v", body, err)
	}
	if len(book.Bids)+len(book.Asks) == 0 || len(book.Bids) != len(m.bids) || len(book.Asks) != len(m.asks) {
		t.Errorf("%s: %d and %d levels, the consumer has %d and %d", pair, len(book.Bids), len(book.Asks), len(m.bids),
			len(m.asks))
	}
	for _, l := range book.Bids {
		if m.bids[l[0]] != l[1] {
			t.Errorf("%s: bid %s: %s, the consumer has %s", pair, l[0], l[1], m.bids[l[0]])
		}
	}
	for _, l := range book.Asks {
		if m.asks[l[0]] != l[1] {
			t.Errorf("%s: ask %s: %s, the consumer has %s", pair, l[0], l[1], m.asks[l[0]])
		}
	}
}
