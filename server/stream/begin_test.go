package stream

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// docs/contract/streams.md#channels: a snapshot of trades begins at fromTradeId, and the ids
// behind it have no gap. A client that reads so slowly that its next trade is evicted receives a
// snapshot that starts over at the oldest retained trade.
func TestTradesResumeStartsOverWhenRetentionPasses(t *testing.T) {
	x := newManualHub(t, marketdata.Options{Retention: marketdata.Retention{TradesMin: 10, TradesMax: 6000}}, "AA_BB")
	x.trade(6000)
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"trades","pairs":["AA_BB"],"fromTradeId":1}`)
	if len(c.hub.pending) == 0 {
		t.Fatal("6,000 trades were queued at once: the client was not held back")
	}
	x.trade(6000)
	x.runPublished()
	x.read(c) // what was queued: from trade 1 on
	first := uint64(x.market.Feed.Board().Load().View(0).Trades.First())
	next, starts := uint64(0), 0
	for range 20 {
		x.startPending(c)
		messages, _ := x.read(c)
		for _, m := range messages {
			from := m.Trades[0].TradeID
			if m.Type == "snapshot" {
				starts, next = starts+1, from
				if from != first {
					t.Errorf("the new start is at trade %d, the oldest kept is %d", from, first)
				}
			}
			if from != next {
				t.Fatalf("a message of kind %s begins with trade %d, not %d", m.Type, from, next)
			}
			next = m.Trades[len(m.Trades)-1].TradeID + 1
		}
	}
	if starts != 1 || next != 12_001 {
		t.Errorf("%d new starts, the next trade is %d", starts, next)
	}
}

// docs/contract/streams.md#server-messages, docs/contract/streams.md#chain: a subscription begins
// with a snapshot whose seq is the prevSeq of the next update, however large the book is. Behind
// the acknowledgement a snapshot of more than the queue of docs/contract/limits.md#streams must
// neither be refused nor make that queue full for the update.
func TestSnapshotLargerThanTheQueueArrives(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	for i := range int64(60_000) {
		x.market.Limit(0, engine.Buy, 100+i, 12_345_678)
	}
	x.market.Publish()
	for _, extra := range []string{"", `,"fromSeq":0`} { // a resume may be as large
		c := x.connect()
		x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"depth":0,"interval":0`+extra+`}`)
		if n := c.backlog.waitingBytes(); n <= maxUpdateBytes {
			t.Errorf("%d bytes wait: the snapshot is missing, or smaller than the queue", n)
		}
		seq := uint64(x.market.Feed.Board().Load().View(0).BookSeq)
		x.bid(0, 50+int64(len(extra)))
		x.runPublished()
		messages, code := x.read(c)
		if code != 0 || len(messages) != 3 {
			t.Fatalf("%d messages, closed %d, want the acknowledgement, the book and an update", len(messages), code)
		}
		if m := messages[1]; m.Seq != seq || m.Type == "snapshot" != (extra == "") {
			t.Errorf("the book came as %s at %d, want seq %d", m.Type, m.Seq, seq)
		}
		if m := messages[2]; m.Type != "update" || m.PrevSeq != seq {
			t.Errorf("then %s from %d, want an update from %d", m.Type, m.PrevSeq, seq)
		}
		x.disconnect(c)
	}
}

// docs/contract/limits.md#streams bounds the queue although a snapshot may be large: the next
// snapshot waits until the peer has accepted it.
func TestSnapshotsWaitForRoom(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB", "CC_DD")
	for i := range int64(20_000) {
		x.market.Limit(0, engine.Buy, 100+i, 12_345_678)
	}
	x.market.Publish()
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB","CC_DD"],"depth":0}`)
	messages, _ := x.read(c)
	if n := len(messages); n != 3 || len(c.hub.pending) != 1 {
		t.Fatalf("%d messages, %d snapshots wait; want two acknowledgements and one snapshot, one waits", n,
			len(c.hub.pending))
	}
	x.startPending(c)
	if messages, _ = x.read(c); len(messages) != 1 || messages[0].Type != "snapshot" {
		t.Errorf("once there was room: %d messages", len(messages))
	}
}

// docs/contract/streams.md#resume: updates follow fromSeq at once, and a snapshot's seq is the
// prevSeq of the next update. fromSeq may be ahead of a stream with an interval, because REST
// returns the current X-Seq. The update that advances the stream to fromSeq goes to the live
// subscribers, not to the resuming one.
func TestResumeAheadOfAConflatedStreamFollows(t *testing.T) {
	const head = `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":1000`
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	first := x.connect()
	x.ask(first, head+`}`)
	x.read(first)
	for i, c := range []struct{ ahead, want int }{{0, 0}, {1000, 1}} { // the current seq; a future seq: a gap
		x.bid(0, 50+int64(i))
		now := uint64(x.market.Feed.Board().Load().View(0).BookSeq)
		second := x.connect()
		x.ask(second, fmt.Sprintf(`%s,"fromSeq":%d}`, head, now+uint64(c.ahead)))
		messages, _ := x.read(second)
		if len(messages) != 1+c.want {
			t.Errorf("resumed from %d at %d: %d messages behind the acknowledgement, want %d: %+v", now+uint64(c.ahead),
				now, len(messages)-1, c.want, messages)
		}
		for _, m := range messages[1:] {
			if m.Type != "snapshot" || m.Reason != "gap" || m.Seq != now {
				t.Errorf("resumed from the future: %+v", m)
			}
		}
		if messages, _ = x.read(first); len(messages) != 1 || messages[0].Seq != now {
			t.Errorf("the live subscriber received %+v", messages)
		}
		x.bid(0, 60+int64(i))
		x.advance(x.streams[streamKey{channel: chBook, depth: defaultDepth, every: 1000}], x.market.Feed.Board().Load())
		x.deliver()
		for _, conn := range []*session{first, second} {
			if messages, _ := x.read(conn); len(messages) != 1 || messages[0].PrevSeq != now {
				t.Errorf("the next update: %+v, want one from %d", messages, now)
			}
		}
		x.disconnect(second)
	}
}
