package binance

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/markettest"
	"tickhive/marketdata"
	"tickhive/server/private"
	sockets "tickhive/server/stream"
)

// looks is a facade over a real core and feed whose sockets the test steps; no goroutine runs.
type looks struct {
	*Facade
	t      *testing.T
	market *markettest.Market
	nowNs  int64
}

func newLooks(t *testing.T) *looks {
	t.Helper()
	x := &looks{t: t, market: markettest.New(marketdata.Options{}), nowNs: 1}
	x.market.AddPair(markettest.Instrument("AA_BB", 2, 4))
	x.market.Publish()
	x.Facade = New(Options{
		Board: x.market.Feed.Board(), Clock: x.market.Clock, Feed: private.New(nil, nil),
		Sockets: sockets.SocketOptions{MachineNs: func() int64 { return x.nowNs }},
	})
	return x
}

// connect returns a connection with streams.
func (x *looks) connect(names ...string) *sockets.MemoryConn {
	x.t.Helper()
	s := &socket{f: x.Facade}
	for _, name := range names {
		if !s.add(name) {
			x.t.Fatal(name)
		}
	}
	return x.sockets.Connect(s.begin, s.joined)
}

// tick lets 100 ms pass.
func (x *looks) tick() {
	for x.sockets.Step().Worked {
	}
	x.nowNs += tickMs * int64(time.Millisecond)
	for x.sockets.Step().Worked {
	}
}

// touched is the part of a depth update that says what it covers.
type touched struct {
	First uint64     `json:"U"`
	Last  uint64     `json:"u"`
	Bids  [][]string `json:"b"`
}

func depths(t *testing.T, texts [][]byte) (list []touched) {
	t.Helper()
	for _, text := range texts {
		if !strings.HasPrefix(string(text), `{"e":"depthUpdate"`) {
			continue
		}
		var u touched
		if err := json.Unmarshal(text, &u); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

// A client that does not read costs a bounded number of bytes, however much happens, and no other client waits for
// it. When it reads again, its book has no gap and its trades are complete.
func TestASlowReaderIsBounded(t *testing.T) {
	const ticks, orders, bound = 500, 60, 256<<10 + 64<<10
	x := newLooks(t)
	slow := x.connect("aabb@depth@100ms", "aabb@trade", "aabb@bookTicker")
	quick := x.connect("aabb@depth@100ms", "aabb@trade", "aabb@bookTicker")
	x.tick()
	var last uint64
	all := 0
	for i := range ticks {
		for n := range orders {
			x.market.Limit(0, engine.Buy, int64(100+(i*orders+n)%2000), 1)
		}
		x.market.Limit(0, engine.Sell, 1, 1)
		x.market.Publish()
		x.tick()
		texts, _ := quick.Take()
		for _, text := range texts {
			all += len(text)
		}
		updates := depths(t, texts)
		if len(updates) != 1 || last != 0 && updates[0].First != last+1 {
			t.Fatalf("tick %d: the quick client has %+v behind %d", i, updates, last)
		}
		last = updates[0].Last
	}
	waiting := slow.Waiting()
	if waiting > bound || all < 2*bound {
		t.Fatalf("%d bytes wait for a client that reads nothing, want %d at most; the other got %d", waiting, bound,
			all)
	}
	var updates []touched
	trades := 0
	for range 4 {
		texts, closed := slow.Take()
		if closed != 0 {
			t.Fatalf("closed with %d", closed)
		}
		trades += strings.Count(string(joined(texts)), `{"e":"trade"`)
		updates = append(updates, depths(t, texts)...)
		x.tick()
	}
	for i := 1; i < len(updates); i++ {
		if updates[i].First != updates[i-1].Last+1 {
			t.Errorf("update %d begins with %d behind %d", i, updates[i].First, updates[i-1].Last)
		}
	}
	if n := len(updates); n == 0 || n >= ticks || updates[n-1].Last != last || trades != ticks {
		t.Errorf("%d updates and %d trades after the pause, want fewer than %d and %d", n, trades, ticks, ticks)
	}
}

func joined(texts [][]byte) (all []byte) {
	for _, text := range texts {
		all = append(all, text...)
	}
	return all
}

// A client that reads so slowly that changes of the book are no longer kept is closed with 1013.
func TestAClientBehindTheKeptChangesIsClosed(t *testing.T) {
	x := newLooks(t)
	slow := x.connect("aabb@depth@100ms")
	x.tick()
	v := x.market.Feed.Board().Load().View(0)
	for i := 0; x.market.Feed.Board().Load().View(0).Changes.Base() <= v.BookSeq; i++ {
		x.market.Limit(0, engine.Buy, int64(100+i%500), 1)
		if i%100 == 0 {
			x.market.Pass(int64(time.Second))
			x.market.Publish()
		}
	}
	x.tick()
	if _, closed := slow.Take(); closed != 1013 {
		t.Errorf("closed with %d, want 1013", closed)
	}
}

// The messages of a tick are made once for all sockets, in both forms, and every client gets the same bytes.
func TestStreamsOfOneNameShareTheirMessages(t *testing.T) {
	x := newLooks(t)
	clients := []*sockets.MemoryConn{x.connect("aabb@depth@100ms"), x.connect("aabb@depth@100ms")}
	x.tick()
	for range 5 {
		x.market.Limit(0, engine.Buy, 100, 1)
		x.market.Publish()
		x.tick()
		if n := len(x.rendered.made); n != 1 {
			t.Errorf("%d streams were rendered, want 1 for both sockets", n)
		}
		first, _ := clients[0].Take()
		second, _ := clients[1].Take()
		if len(first) != 1 || fmt.Sprintf("%s", first) != fmt.Sprintf("%s", second) {
			t.Errorf("one client gets %s, the other %s", first, second)
		}
	}
}

// The server pings every 20 s. It closes a client that sends nothing for 60 s with 1008, and no other.
func TestPingsAndSilentSockets(t *testing.T) {
	x := newLooks(t)
	silent, alive := x.connect("aabb@trade"), x.connect("aabb@trade")
	silent.Silent, alive.Silent = true, true
	at := map[int]bool{} // seconds with a ping
	ended := 0
	for second := 1; second <= 70; second++ {
		for range 10 {
			x.tick()
		}
		if second%5 == 0 {
			alive.Send([]byte(`{"method":"LIST_SUBSCRIPTIONS","id":1}`))
		}
		before := silent.Pings
		if _, closed := silent.Take(); closed != 0 {
			if ended = second; closed != 1008 {
				t.Errorf("closed with %d, want 1008", closed)
			}
		}
		if silent.Pings != before {
			at[second] = true
		}
	}
	if !maps.Equal(at, map[int]bool{21: true, 42: true}) || ended != 61 {
		t.Errorf("pings after %v s, closed after %d s, want every 20 s and 60 s, each at the next full second", at,
			ended)
	}
	x.tick()
	if texts, closed := alive.Take(); closed != 0 || len(texts) != 14 {
		t.Errorf("a client that sends requests: %d answers, closed with %d, want 14 and 0", len(texts), closed)
	}
}
