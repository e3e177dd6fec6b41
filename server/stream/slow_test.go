package stream

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
)

// fill fills c's queue, like a peer that does not read, so that it has no room for an update.
func (x *manualHub) fill(c *session) {
	x.t.Helper()
	c.backlog.mu.Lock()
	left := maxUpdateBytes - c.backlog.queued[kindUpdate]
	c.backlog.mu.Unlock()
	if !c.backlog.push(newFrame(opText, []byte(`{"type":"filler"}`+string(spaces(left-60)))), kindUpdate) {
		x.t.Fatal("the filler does not fit")
	}
}

func spaces(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = ' '
	}
	return b
}

// catchUp lets the hub queue the snapshots of c and the peer read until none is pending. It returns the messages.
func (x *manualHub) catchUp(c *session) (all []readMessage) {
	for range 50 {
		x.startPending(c)
		messages, _ := x.read(c)
		all = append(all, messages...)
		if len(c.hub.pending) == 0 {
			return all
		}
	}
	x.t.Fatal("snapshots still wait after 50 rounds")
	return nil
}

// docs/contract/streams.md#slow-clients: a queue that is full once costs one snapshot per stream,
// reason slow, also when several messages of one publication do not fit.
func TestQueueFullOnceForTwoStreamsStartsThemOver(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB", "CC_DD")
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB","CC_DD"],"interval":0}`)
	x.read(c)
	x.fill(c)
	for p := range engine.PairID(2) {
		x.bid(p, 50)
	}
	x.runPublished()
	if s := StatsOf(x.Hub); s.Resyncs != 1 || s.Dropped == 0 || s.SlowCloses != 0 {
		t.Errorf("full once: %+v", s)
	}
	messages := x.catchUp(c)
	if c.hub.detached || len(messages) != 2 {
		t.Fatalf("closed %v, %d messages; want one snapshot per stream", c.hub.detached, len(messages))
	}
	for _, m := range messages {
		if m.Type != "snapshot" || m.Reason != "slow" {
			t.Errorf("%s with reason %q", m.Type, m.Reason)
		}
	}
	x.fill(c)
	x.bid(0, 51)
	x.runPublished()
	if _, code := x.read(c); code != closeTryLater {
		t.Errorf("full again within 10 s: closed with %d, want 1013", code)
	}
	if s := StatsOf(x.Hub); s.Resyncs != 1 || s.SlowCloses != 1 {
		t.Errorf("full twice: %+v", s)
	}
}

// docs/contract/streams.md#slow-clients: the hub closes with 1013 when a queue is full again
// within 10 s. It does not close a client that has caught up since and whose snapshot waits for
// room; it closes a client that never caught up.
func TestOnlyAClientThatNeverCaughtUpIsClosed(t *testing.T) {
	for _, caughtUp := range []bool{true, false} {
		x := newManualHub(t, marketdata.Options{}, "AA_BB")
		c := x.connect()
		x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0}`)
		x.read(c)
		x.resyncSlow(c)
		if caughtUp {
			x.catchUp(c)
		}
		c.hub.fullNs -= int64(time.Hour)
		c.backlog.push(newFrame(opText, spaces(lowMarkBytes)), kindUpdate) // no room for the snapshot
		x.ask(c, `{"op":"resync","channel":"book","pairs":["AA_BB"]}`)
		x.housekeeping()
		if len(c.hub.pending) == 0 && !c.hub.detached {
			t.Fatal("the snapshot did not wait")
		}
		if c.hub.detached == caughtUp {
			t.Errorf("caught up %v: closed %v", caughtUp, c.hub.detached)
		}
	}
}

// noAccounts implements Accounts without any messages.
type noAccounts struct{ Accounts }

func (noAccounts) Messages(engine.AccountID, []*private.Event) []PrivateMessage { return nil }

func (noAccounts) Forget(engine.AccountID) {}

func (noAccounts) Snapshot(w *json.Writer, _ string, _ engine.AccountID) { w.Name("orders").Words() }

// The sequencer's goroutine records only the orders of accounts that have subscribers: a closed
// slow client (docs/contract/streams.md#slow-clients) is no longer one.
func TestAnAccountIsNotWatchedOnceItsSlowClientIsClosed(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	x.opts.Private, x.opts.Feed = noAccounts{}, private.New(nil, nil)
	c := x.connect()
	x.private.bind(c, SocketKey{Account: 7})
	x.ask(c, `{"op":"subscribe","channel":"orders"}`)
	if len(x.private.accounts) != 1 || x.private.accounts[0].account != 7 {
		t.Fatal("the account is not watched")
	}
	x.closeSlow(c)
	if len(x.private.accounts) != 0 {
		t.Errorf("still watched: %v", x.private.accounts)
	}
	x.disconnect(c)
}

// docs/contract/streams.md#channels: trades come oldest first, ids without gap;
// docs/contract/streams.md#slow-clients: a full queue starts a stream over with one snapshot. A
// resume whose parts were dropped with the backlog must not go on as updates behind them.
func TestQueueFullDuringATradesResumeStartsItOver(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB", "CC_DD")
	x.trade(8000)
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["CC_DD"],"interval":0}`)
	x.ask(c, `{"op":"subscribe","channel":"trades","pairs":["AA_BB"],"fromTradeId":1}`)
	if len(c.hub.pending) == 0 {
		t.Fatal("the client was not held back")
	}
	x.fill(c)
	x.bid(1, 50)
	x.runPublished() // the queue is found full by another stream
	next, starts := uint64(0), 0
	for _, m := range x.catchUp(c) {
		if m.Channel != "trades" || len(m.Trades) == 0 {
			continue
		}
		if m.Type == "snapshot" {
			starts, next = starts+1, m.Trades[0].TradeID
		}
		if m.Trades[0].TradeID != next {
			t.Fatalf("a message of kind %s begins with trade %d, want %d or a snapshot", m.Type,
				m.Trades[0].TradeID, next)
		}
		next = m.Trades[len(m.Trades)-1].TradeID + 1
	}
	if starts != 1 || next != 8001 {
		t.Errorf("%d snapshots, the next trade is %d", starts, next)
	}
}

// A resume of trades that has queued nothing yet loses nothing when the queue is full: it still
// begins at fromTradeId.
func TestQueueFullBeforeATradesResumeDoesNotChangeIt(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	x.trade(500)
	c := x.connect()
	c.backlog.push(newFrame(opText, spaces(lowMarkBytes)), kindUpdate) // no room
	x.ask(c, `{"op":"subscribe","channel":"trades","pairs":["AA_BB"],"fromTradeId":7}`)
	x.resyncSlow(c)
	for _, m := range x.catchUp(c) {
		if m.Type == "snapshot" && m.Trades[0].TradeID != 7 {
			t.Errorf("the resume from 7 begins with trade %d", m.Trades[0].TradeID)
		}
	}
}

// The figures count sockets, subscriptions by channel and messages.
func TestFiguresOfTheHub(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB", "CC_DD")
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB","CC_DD"],"interval":0}`)
	x.ask(c, `{"op":"subscribe","channel":"ticker","pairs":["AA_BB"]}`)
	x.read(c)
	x.housekeeping()
	s := StatsOf(x.Hub)
	n := s.Subscriptions
	if s.Sockets != 1 || n["book"] != 2 || n["ticker"] != 1 || n["fills"] != 0 {
		t.Errorf("%+v", s)
	}
	if s.Messages != 6 || s.Bytes < 6*50 { // three answers, three snapshots
		t.Errorf("%d messages of %d bytes, want 6", s.Messages, s.Bytes)
	}
	x.ask(c, `{"op":"unsubscribe","channel":"book","pairs":["AA_BB"]}`)
	x.housekeeping()
	if s := StatsOf(x.Hub); s.Subscriptions["book"] != 1 {
		t.Errorf("after an unsubscribe: %+v", s)
	}
}
