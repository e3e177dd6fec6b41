package stream

import (
	"bytes"
	"strings"
	"testing"
)

func (b *backlog) waitingBytes() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queue {
		n += len(q.frame)
	}
	return n + len(b.pong)
}

// docs/contract/limits.md#streams bounds the backlog of a connection. Pings are not messages, so
// the limit of 20 a second does not count them. Of the waiting pings the server answers only the
// newest (RFC 6455 section 5.5.3), ahead of the rest of the backlog.
func TestPingsOfAClientThatDoesNotReadAreAnsweredOnce(t *testing.T) {
	x := newManualHub(t, marketdataDefaults, "AA_BB")
	c := x.connect()
	x.ask(c, `{"op":"list","id":1}`)
	before := c.backlog.waitingBytes()
	for i := range 100_000 {
		c.backlog.answerPing(bytes.Repeat([]byte{byte('0' + i%10)}, 125))
	}
	if n := c.backlog.waitingBytes() - before; n != 127 {
		t.Errorf("%d bytes wait for 100,000 pings, want one pong of 127", n)
	}
	got := x.frames(c)
	if want := newFrame(opPong, bytes.Repeat([]byte{'9'}, 125)); !bytes.HasPrefix(got, want) {
		t.Errorf("the peer reads %q first, not the newest pong", got[:min(len(got), 127)])
	}
	if !bytes.Contains(got, []byte(`"subscriptions"`)) {
		t.Error("the answer behind the pong is lost")
	}
	c.backlog.answerPing([]byte("alone"))
	if got := x.frames(c); !bytes.Equal(got, newFrame(opPong, []byte("alone"))) {
		t.Errorf("a ping later: %q", got)
	}
	if n := c.backlog.waitingBytes(); n != 0 || c.backlog.scheduled {
		t.Errorf("%d bytes wait, due %v, after all was read", n, c.backlog.scheduled)
	}
}

// docs/contract/streams.md#slow-clients: the server closes a client that sends operations and
// does not read with 1013 before its answers fill the memory. One message of the largest size
// causes 1.2 MB of answers.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	x := newManualHub(t, marketdataDefaults, "AA_BB")
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"]}`)
	pairs := strings.TrimSuffix(strings.Repeat(`"A",`, maxPairs), ",")
	most := 0
	for range 20 { // what one second allows
		x.ask(c, `{"op":"subscribe","channel":"ticker","pairs":[`+pairs+`]}`)
		most = max(most, c.backlog.waitingBytes())
	}
	if bound := maxUpdateBytes + maxAnswerBytes; most > bound {
		t.Errorf("%d bytes waited, the bound is %d", most, bound)
	}
	if _, code := x.read(c); code != closeTryLater {
		t.Errorf("closed with %d, want 1013", code)
	}
	if len(c.hub.subs) != 0 || len(x.streams[bookKey(0)].subs) != 0 {
		t.Error("a connection that is being closed is still in its streams")
	}
}

// Answers have a separate limit: queued answers do not make the queue of
// docs/contract/limits.md#streams full for the next update.
func TestAnswersDoNotFillTheQueueOfUpdates(t *testing.T) {
	x := newManualHub(t, marketdataDefaults, "AA_BB")
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0}`)
	x.read(c)
	pairs := strings.TrimSuffix(strings.Repeat(`"A",`, maxPairs), ",")
	x.ask(c, `{"op":"subscribe","channel":"ticker","pairs":[`+pairs+`]}`)
	if n := c.backlog.waitingBytes(); n <= maxUpdateBytes {
		t.Fatalf("only %d bytes of answers wait", n)
	}
	x.bid(0, 50)
	x.runPublished()
	messages, code := x.read(c)
	if last := messages[len(messages)-1]; last.Type != "update" || code != 0 {
		t.Errorf("behind %d answers: %s (closed %d), want the update", len(messages)-1, last.Type, code)
	}
}
