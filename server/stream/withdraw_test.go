package stream

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
)

// keyed implements Accounts for one account; the test controls its messages and keys.
type keyed struct {
	noAccounts
	waiting []PrivateMessage
	deleted func(number uint64)
}

func (f *keyed) Messages(engine.AccountID, []*private.Event) []PrivateMessage {
	out := f.waiting
	f.waiting = nil
	return out
}

func (f *keyed) OnKeyDeleted(tell func(number uint64)) { f.deleted = tell }

func (f *keyed) put(n int) {
	for i := range n {
		f.waiting = append(f.waiting, PrivateMessage{
			Channel: "orders",
			Write:   func(w *json.Writer) { w.Name("order").Raw(fmt.Appendf(nil, `{"id":"%d"}`, i)) },
		})
	}
}

func newKeyed(t *testing.T) (*manualHub, *keyed) {
	x, f := newManualHub(t, marketdataDefaults, "AA_BB"), &keyed{}
	x.opts.Private = f
	x.opts.Feed = private.New(nil, func(engine.AccountID, string) (none accounts.BalanceView) { return none })
	f.OnKeyDeleted(x.private.keyDeleted)
	return x, f
}

// The updates of a private channel are counted, whatever they tell: a client sees that one of them is missing.
func TestPrivateUpdatesAreCounted(t *testing.T) {
	x, f := newKeyed(t)
	c := x.connect()
	x.private.bind(c, SocketKey{Account: 7, Number: 1})
	x.ask(c, `{"op":"subscribe","channel":"orders"}`)
	x.read(c)
	for range 2 {
		f.put(2)
		x.runPublished()
	}
	got, _ := x.texts(c)
	for i, text := range got {
		if want := fmt.Sprintf(`"prevSeq":%d,"seq":%d,`, i, i+1); !strings.Contains(string(text), want) {
			t.Errorf("%s has not %s", text, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d updates", len(got))
	}
}

// After the tick that follows a key's deletion (within 0.1 s), no private message of the key is
// sent or queued, even if the key's socket is slow to read.
func TestQueuedPrivateMessagesAreWithdrawn(t *testing.T) {
	x, f := newKeyed(t)
	c, other := x.connect(), x.connect()
	x.private.bind(c, SocketKey{Account: 7, Number: 1})
	x.private.bind(other, SocketKey{Account: 7, Number: 2})
	for _, each := range []*session{c, other} {
		x.ask(each, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0}`)
		x.ask(each, `{"op":"subscribe","channel":"orders"}`)
	}
	x.read(c)
	f.put(50)
	x.runPublished()
	x.bid(0, 50)
	x.runPublished()
	f.put(50)
	x.runPublished()
	if n := c.backlog.waitingBytes(); n < 100*50 {
		t.Fatalf("only %d bytes wait", n)
	}
	f.deleted(1)
	f.deleted(99) // a key without sockets
	f.put(50)     // after the deletion
	x.bid(0, 60)
	x.tick()
	x.deliver()
	if got := c.backlog.waitingBytes(); got != c.backlog.queued.total() {
		t.Errorf("%d bytes wait, %d are noted", got, c.backlog.queued.total())
	}
	var types []string
	messages, closed := x.read(c)
	for _, m := range messages {
		types = append(types, m.Type+" "+m.Channel)
	}
	if got := strings.Join(types, ", "); got != "update book, update book, error orders" &&
		got != "update book, error orders, update book" || closed != 0 {
		t.Errorf("after the deletion the socket gets %s (closed %d)", got, closed)
	}
	orders := 0
	messages, _ = x.read(other)
	for _, m := range messages {
		if m.Type == "update" && m.Channel == "orders" {
			orders++
		}
	}
	if orders != 150 || len(x.private.accounts) != 1 {
		t.Errorf("the other key's socket got %d of 150 messages; watched: %v", orders, x.private.accounts)
	}
	f.deleted(2)
	x.tick()
	if len(x.private.accounts) != 0 || len(x.private.sockets) != 0 {
		t.Errorf("without listeners: watched %v, keys %v", x.private.accounts, x.private.sockets)
	}
}

// The hub accepts no private subscription between the end of a key and the tick that reports it.
func TestNoPrivateSubscriptionAfterTheKeyEnded(t *testing.T) {
	for what, end := range map[string]func(x *manualHub, f *keyed){
		"deleted": func(_ *manualHub, f *keyed) { f.deleted(1) },
		"expired": func(x *manualHub, _ *keyed) { x.market.Pass(5) },
	} {
		x, f := newKeyed(t)
		c := x.connect()
		x.private.bind(c, SocketKey{Account: 7, Number: 1, ExpiresNs: x.market.Clock.NowNs() + 5})
		x.ask(c, `{"op":"subscribe","channel":"fills"}`)
		x.read(c)
		end(x, f)
		x.ask(c, `{"op":"subscribe","channel":"orders"}`)
		var types []string
		messages, _ := x.read(c)
		for _, m := range messages {
			types = append(types, m.Type+" "+m.Channel)
		}
		if got := strings.Join(types, ", "); got != "error fills, error orders" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// A subscription that waits for its snapshot, because the client is slow, ends too.
func TestAWaitingPrivateSnapshotIsWithdrawn(t *testing.T) {
	x, f := newKeyed(t)
	c := x.connect()
	x.private.bind(c, SocketKey{Account: 7, Number: 1})
	c.backlog.push(newFrame(opText, spaces(lowMarkBytes)), kindUpdate) // no room
	x.ask(c, `{"op":"subscribe","channel":"orders"}`)
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"]}`)
	f.deleted(1)
	x.tick()
	c.backlog.drop()
	x.startPending(c)
	kinds := map[string]int{}
	messages, _ := x.read(c)
	for _, m := range messages {
		kinds[m.Type+" "+m.Channel]++
	}
	if kinds["snapshot orders"] != 0 || kinds["error orders"] != 1 || kinds["snapshot book"] != 1 {
		t.Errorf("%v", kinds)
	}
}

// The hub scans the keys when one of them is due, not at each message: it stores the next expiry
// among the remaining keys.
func TestKeysExpireInTheirOrder(t *testing.T) {
	x, _ := newKeyed(t)
	now := x.market.Clock.NowNs()
	var conns []*session
	for i := range int64(5) {
		c := x.connect()
		// the first never
		x.private.bind(c, SocketKey{
			Account: engine.AccountID(i), Number: uint64(i),
			ExpiresNs: (now + 10 - i) * min(i, 1),
		})
		conns = append(conns, c)
	}
	for ns := now; ns < now+12; ns++ {
		x.market.Clock.Set(ns)
		x.private.endKeys()
		for i, c := range conns {
			if want := i == 0 || ns < now+10-int64(i); c.hub.authed != want {
				t.Fatalf("%d ns on, key %d: signed %v, want %v", ns-now, i, c.hub.authed, want)
			}
		}
	}
}

// Messages that a writer has taken and not begun to write are withdrawn too. A message that is
// partly written is completed, because otherwise the client could not parse the rest.
func TestAWriterWithholdsPrivateMessages(t *testing.T) {
	frameOf := func(b byte) frame { return newFrame(opText, bytes.Repeat([]byte{b}, 100)) }
	for _, c := range []struct {
		what  string
		queue string // capitals are private
		taken int    // bytes that the peer takes at once
		read  int    // bytes that it takes later, before the key ends
		want  string
	}{
		{"nothing begun", "AbCd", 0, 0, "bd"},
		{"within a public message", "aBcDe", 0, 5, "ace"},
		{"within a private message", "aBcDe", 0, 110, "aBce"},
		{"at the end of one", "aBcDe", 0, 204, "aBce"},
		{"a message alone", "A", 0, 0, ""},
		{"a message alone, begun", "A", 0, 1, "A"},
		{"nothing private", "abc", 0, 50, "abc"},
		{"begun by the writer, a public one", "aBcDe", 50, 0, "ace"},
		{"begun by the writer, a private one", "aBcDe", 110, 0, "aBce"},
		{"behind one of the writer", "aBcDe", 204, 150, "aBcDe"},
	} {
		synctest.Test(t, func(t *testing.T) {
			out := &backlog{done: make(chan struct{}), writer: newWriters().assign()}
			shared := map[rune]frame{}
			for _, b := range c.queue {
				shared[b] = frameOf(byte(b))
				out.pushShared(&message{frame: shared[b], private: b < 'a'})
			}
			var scratch chunkBuffer
			taken := out.takeChunk(&scratch, false)
			got := slices.Clone(taken.bytes[:c.taken])
			taken.advance(c.taken)
			near, far := net.Pipe()
			failed := make(chan error, 1)
			go func() {
				failed <- out.writeChunk(near, &taken, false)
				_ = near.Close()
			}()
			more := make([]byte, c.read)
			if _, err := io.ReadFull(far, more); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			out.withdrawPrivate()
			<-time.After(writeTimeout + 1) // by the clock of the bubble: the writer has looked by then
			rest, err := io.ReadAll(far)
			if err != nil || <-failed != nil {
				t.Fatal(err)
			}
			var want []byte
			for _, b := range c.want {
				want = append(want, frameOf(byte(b))...)
			}
			if got = append(append(got, more...), rest...); !bytes.Equal(got, want) {
				t.Errorf("%s: the peer reads %q, want %q", c.what, got, want)
			}
			for b, f := range shared {
				if !bytes.Equal(f, frameOf(byte(b))) {
					t.Errorf("%s: a message that others share was changed", c.what)
				}
			}
		})
	}
	if writeTimeout+tickEvery >= time.Second {
		t.Errorf("a writer may look %v after the key ended, at most a second", writeTimeout+tickEvery)
	}
}

// A private channel whose events were dropped, because too many came at once, begins again with a snapshot.
func TestAPrivateChannelBeginsAgainBehindALoss(t *testing.T) {
	x, f := newKeyed(t)
	c := x.connect()
	x.private.bind(c, SocketKey{Account: 7, Number: 1})
	x.ask(c, `{"op":"subscribe","channel":"orders"}`)
	x.read(c)
	for range private.MaxQueued + 1 {
		x.opts.Feed.Transferred(7, "AA", fixed.FromI64(1))
	}
	x.opts.Feed.Publish(0)
	x.runPublished()
	f.put(1)
	x.runPublished()
	var got []string
	messages, _ := x.read(c)
	for _, m := range messages {
		got = append(got, m.Type)
	}
	if text := strings.Join(got, ", "); text != "snapshot, update" {
		t.Errorf("behind the loss come %s", text)
	}
}
