package stream

import (
	"fmt"
	"testing"
	"time"

	"github.com/tickhive/tickhive/marketdata"
)

// docs/contract/streams.md#server-messages: a heartbeat for each subscription that was silent for
// 1 s. Other clients that subscribe and unsubscribe do not reset this time.
func TestUnsubscribingDoesNotSilenceTheHeartbeatsOfOthers(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	a, b := x.connect(), x.connect()
	x.ask(a, `{"op":"subscribe","channel":"book","pairs":["AA_BB"]}`)
	x.read(a)
	s := x.streams[bookKey(0)]
	s.lastMs -= heartbeatEvery.Milliseconds() // silent for a second
	x.ask(b, `{"op":"subscribe","channel":"book","pairs":["AA_BB"]}`)
	x.ask(b, `{"op":"unsubscribe","channel":"book","pairs":["AA_BB"]}`)
	x.heartbeats()
	x.deliver()
	if messages, _ := x.read(a); len(messages) != 1 || messages[0].Type != "heartbeat" {
		t.Errorf("after a second of silence: %+v, want a heartbeat", messages)
	}
}

// The hub removes a stream two minutes after its last subscriber left, whatever the age of the
// last message and however the subscriber left.
func TestStreamsAreRemovedAfterTheirLastSubscriber(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	for _, leaves := range []bool{true, false} {
		c := x.connect()
		x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"]}`)
		s := x.streams[bookKey(0)]
		s.lastMs -= time.Hour.Milliseconds()
		s.idleMs -= time.Hour.Milliseconds()
		if leaves {
			x.disconnect(c)
		} else {
			x.ask(c, `{"op":"unsubscribe","channel":"book","pairs":["AA_BB"]}`)
		}
		x.housekeeping()
		if x.streams[bookKey(0)] != s {
			t.Errorf("left %v: forgotten at once", leaves)
		}
		s.idleMs -= (idleStreamAge + time.Second).Milliseconds()
		x.housekeeping()
		if x.streams[bookKey(0)] != nil {
			t.Errorf("left %v: still there after two minutes", leaves)
		}
	}
}

// docs/contract/streams.md#server-messages: a snapshot of status equals the current /api/status,
// not the one at the first subscription, even if the market was idle in between.
func TestStatusSnapshotIsCurrent(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	x.opts.Status = func(dst []byte) []byte {
		return fmt.Appendf(dst, `{"incidents":[],"seq":0,"time":%d}`, x.opts.nowMs())
	}
	for range 2 {
		x.market.Pass((5 * time.Second).Nanoseconds())
		c := x.connect()
		x.ask(c, `{"op":"subscribe","channel":"status"}`)
		messages, _ := x.read(c)
		if m := messages[len(messages)-1]; m.Type != "snapshot" || m.Status.Time != x.opts.nowMs() {
			t.Errorf("at %d: %+v", x.opts.nowMs(), m)
		}
	}
}
