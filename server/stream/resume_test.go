package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
)

// history follows one stream and stores every state of its book.
type history struct {
	t     *testing.T
	f     *client.Follower
	pair  string
	books map[uint64]*client.Book
	seqs  []uint64
}

func newHistory(t *testing.T, x *live, depth, interval int) *history {
	t.Helper()
	f, err := client.NewFollower(context.Background(), "ws://"+x.addr+"/ws", x.pairs[:1], depth, interval)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Stream.Close() })
	f.Patience = time.Minute
	return &history{t: t, f: f, pair: x.pairs[0], books: map[uint64]*client.Book{}}
}

func (h *history) step() {
	h.t.Helper()
	if _, err := h.f.Step(); err != nil {
		h.t.Fatal(err)
	}
	if b := h.f.Books[h.pair]; b.Ready() && h.books[b.Seq] == nil {
		h.books[b.Seq] = b.Clone()
		h.seqs = append(h.seqs, b.Seq)
	}
}

// at reads until the stream has reached seq.
func (h *history) at(seq uint64) *client.Book {
	h.t.Helper()
	for h.books[seq] == nil {
		if len(h.seqs) > 0 && h.seqs[len(h.seqs)-1] > seq {
			h.t.Fatalf("the stream passed over seq %d", seq)
		}
		h.step()
	}
	return h.books[seq]
}

func sameBook(a, b *client.Book) bool {
	return slices.Equal(a.Bids, b.Bids) && slices.Equal(a.Asks, b.Asks)
}

// A client that comes back with the seq it had gets exactly what it missed, at every depth
// and interval, and lives on (docs/contract/streams.md#chain).
func TestResumeEqualsTheBookItself(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	done, stopped := make(chan struct{}), make(chan struct{})
	pace := time.NewTicker(time.Millisecond) // 20,000 commands a second: what is asked for stays in the window
	defer pace.Stop()
	go func() { x.churnAt(seed, done, pace.C); close(stopped) }()
	defer func() { close(done); <-stopped }()
	rnd := rand.New(rand.NewPCG(seed, 9))
	for _, depth := range []int{0, 10, 25, 100, 1000} {
		for _, interval := range []int{0, 100} {
			h := newHistory(t, x, depth, interval)
			updates := 60
			if interval != 0 {
				updates = 4
			}
			for len(h.seqs) < updates {
				h.step()
			}
			for range 2 + 3*(1-min(interval, 1)) {
				resumeOnce(t, x, h, h.seqs[rnd.IntN(len(h.seqs))], depth, interval)
			}
		}
	}
}

func resumeOnce(t *testing.T, x *live, h *history, from uint64, depth, interval int) {
	t.Helper()
	mine := h.books[from].Clone()
	s := x.dial("")
	defer func() { _ = s.Close() }()
	if err := s.Send(client.Request{
		Op: "subscribe", Channel: "book", Pairs: x.pairs[:1], Depth: &depth, Interval: &interval,
		FromSeq: &from, Epoch: testEpoch,
	}); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 2; {
		m := until(t, s, "an update",
			func(m *client.Message) bool { return m.Channel == "book" && m.Type != "subscribed" })
		if m.Type == "snapshot" {
			t.Fatalf("depth %d interval %d from seq %d: a snapshot with reason %s at %d", depth,
				interval, from, m.Reason, m.Seq)
		}
		if err := mine.Apply(m); err != nil {
			t.Fatalf("depth %d interval %d from seq %d: %v", depth, interval, from, err)
		}
		if m.Type == "update" {
			n++
			if want := h.at(m.Seq); !sameBook(want, mine) {
				t.Fatalf("depth %d interval %d from seq %d: the book at %d differs\n got %v\n     %v\nwant %v\n     %v",
					depth, interval, from, m.Seq, mine.Bids, mine.Asks, want.Bids, want.Asks)
			}
		}
	}
}

// If the client missed nothing, the server sends nothing. If the server cannot know, it sends a
// snapshot with reason gap.
func TestResumeAtTheEdges(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	for i := range int64(20) {
		x.order(0, engine.Buy, 100-i, 1)
	}
	snap := until(t, x.dial("?streams=book:C00_USDT"), "snapshot", kind("snapshot"))
	for _, c := range []struct {
		name, extra, want string
	}{
		{"the current seq", fmt.Sprintf(`"fromSeq":%d,"epoch":%q`, snap.Seq, testEpoch), "pong"},
		{"without an epoch", fmt.Sprintf(`"fromSeq":%d`, snap.Seq), "pong"},
		{"the beginning", `"fromSeq":0`, "update"},
		{"the future", fmt.Sprintf(`"fromSeq":%d`, snap.Seq+1), "gap"},
		{"another epoch", fmt.Sprintf(`"fromSeq":%d,"epoch":"ffffffffffffffff"`, snap.Seq), "gap"},
	} {
		ws := rawDial(t, x, "")
		ws.send(`{"op":"subscribe","id":1,"channel":"book","pairs":["C00_USDT"],` + c.extra + `}`)
		ws.send(`{"op":"ping","id":2}`)
		if ack := ws.next(); ack.Type != "subscribed" {
			t.Fatalf("%s: %s", c.name, ack.Raw)
		}
		m := ws.next()
		got := m.Type
		if got == "snapshot" {
			got = m.Reason
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, m.Raw, c.want)
		}
		if c.want == "update" && (m.PrevSeq != 0 || m.Seq != snap.Seq || len(m.Bids) != 20) {
			t.Errorf("%s: %s", c.name, m.Raw)
		}
	}
}

// A connection that already has the stream may resume it: this is a change of options.
func TestResumeOnALiveSubscription(t *testing.T) {
	t.Parallel()
	x := newLive(t, 1)
	x.order(0, engine.Buy, 100, 1)
	ws := rawDial(t, x, "?streams=book:C00_USDT")
	snap := ws.until("snapshot")
	x.order(0, engine.Buy, 99, 1)
	ws.until("update")
	ws.send(fmt.Sprintf(`{"op":"subscribe","channel":"book","pairs":["C00_USDT"],"fromSeq":%d}`, snap.Seq))
	m := ws.until("update")
	if m.PrevSeq != snap.Seq || len(m.Bids) != 1 {
		t.Errorf("after the repeat: %s", m.Raw)
	}
}
