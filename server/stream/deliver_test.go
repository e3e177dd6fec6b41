package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// bookUpdate is the start of an update of a book, with spaces instead of quotation marks.
const bookUpdate = "{ type : update , channel : book , currencyPairCode : %s , prevSeq :%d, seq :%d,"

var joinedPairs = []string{"AA_BB", "CC_DD", "EE_FF", "GG_HH", "II_JJ"}

// subscribe subscribes a connection to the unconflated books of pairs and reads the snapshots.
func (x *manualHub) subscribe(c *session, pairs ...string) {
	x.t.Helper()
	x.ask(c, `{"op":"subscribe","channel":"book","interval":0,"pairs":["`+strings.Join(pairs, `","`)+`"]}`)
	x.startPending(c)
	x.read(c)
}

// Connections that follow the same pairs get the messages of a publication as one entry of their queues. The bytes and
// the counts are those of the single messages.
func TestConnectionsOfTheSamePairsShareOneEntry(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, joinedPairs...)
	clients := make([]*session, 4)
	for i := range clients {
		clients[i] = x.connect()
		x.subscribe(clients[i], joinedPairs...)
	}
	before := StatsOf(x.Hub)
	for p := range joinedPairs {
		x.bid(engine.PairID(p), 50)
	}
	x.runPublished()
	if n := len(clients[0].backlog.queue); n != len(joinedPairs) {
		t.Errorf("%d entries of the first connection, which may be the only one", n)
	}
	var want [][]byte
	for i, c := range clients {
		if n := len(c.backlog.queue); i > 0 && n != 1 {
			t.Errorf("connection %d has %d entries", i, n)
		}
		got, _ := x.texts(c)
		if i == 0 {
			want = got
		}
		if len(got) != len(joinedPairs) || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("connection %d got %q, want %q", i, got, want)
		}
		if c.backlog.queued.total() != 0 {
			t.Errorf("connection %d: %d bytes are noted", i, c.backlog.queued.total())
		}
	}
	if s := StatsOf(x.Hub); s.Messages-before.Messages != uint64(len(clients)*len(joinedPairs)) {
		t.Errorf("%d messages are counted", s.Messages-before.Messages)
	}
}

// What a queue takes does not depend on whether messages are joined: those that fit are queued, one that does not fit
// makes the client slow, and the dropped ones are counted one by one.
func TestJoinedMessagesThatDoNotFitAreQueuedOneByOne(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, joinedPairs...)
	clients := make([]*session, 3)
	for i := range clients {
		clients[i] = x.connect()
		x.subscribe(clients[i], joinedPairs...)
	}
	bids := func(price int64) {
		for p := range joinedPairs {
			x.bid(engine.PairID(p), price)
		}
		x.runPublished()
	}
	bids(50)
	b := clients[2].backlog
	whole := b.queued[kindUpdate]
	b.updates = whole + whole/2 // two or three more messages fit
	bids(51)
	s := StatsOf(x.Hub)
	if n := s.Dropped; n < uint64(len(joinedPairs))+1 || n >= uint64(2*len(joinedPairs)) || s.Resyncs != 1 {
		t.Errorf("%d messages were dropped, %d connections were slow", n, s.Resyncs)
	}
	for i, c := range clients[:2] {
		if got, _ := x.texts(c); len(got) != 2*len(joinedPairs) {
			t.Errorf("connection %d got %d messages", i, len(got))
		}
	}
}

// Messages longer than one write are not joined.
func TestLongMessagesAreNotJoined(t *testing.T) {
	long := delivery{&stream{}, &message{frame: make(frame, maxChunkBytes/2+1)}}
	var j joinedUpdates
	for range 3 {
		if j.of([]delivery{long, long}) != nil {
			t.Fatal("joined")
		}
	}
}

// Connections that follow any pairs in any order, join, leave and read when they like get each update of their pairs
// once and in order.
func TestEachConnectionGetsItsOwnMessages(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := newManualHub(t, marketdata.Options{}, joinedPairs...)
		x.opts.QueueBytes = 1 << 20
		type client struct {
			*session
			pairs map[string]uint64 // last seq by pair
		}
		var clients []*client
		want := map[string]uint64{} // seq of the last message by pair
		read := func(c *client) {
			texts, _ := x.texts(c.session)
			for _, text := range texts {
				var pair string
				var prev, seq uint64
				spaced := strings.ReplaceAll(string(text), `"`, " ")
				if _, err := fmt.Sscanf(spaced, bookUpdate, &pair, &prev, &seq); err != nil {
					t.Fatalf("seed %d: %v: %s", seed, err, text)
				}
				if last, ok := c.pairs[pair]; !ok || last != prev {
					t.Fatalf("seed %d: %s from %d, the client is at %d", seed, pair, prev, last)
				}
				c.pairs[pair] = seq
				want[pair] = max(want[pair], seq)
			}
		}
		for range 200 {
			switch k := r.IntN(8); {
			case k == 0 || len(clients) < 2:
				c := &client{x.connect(), map[string]uint64{}}
				chosen := slices.Clone(joinedPairs)
				if r.IntN(2) == 0 {
					r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
					chosen = chosen[:1+r.IntN(len(chosen))]
				}
				x.subscribe(c.session, chosen...)
				for _, p := range chosen {
					pair := engine.PairID(slices.Index(joinedPairs, p))
					c.pairs[p] = uint64(x.market.Feed.Board().Load().View(pair).BookSeq)
				}
				clients = append(clients, c)
			case k == 1:
				i := r.IntN(len(clients))
				x.disconnect(clients[i].session)
				clients = slices.Delete(clients, i, i+1)
			case k == 2:
				read(clients[r.IntN(len(clients))])
			default:
				for p := range joinedPairs {
					if r.IntN(3) > 0 {
						x.market.Limit(engine.PairID(p), engine.Buy, 1+r.Int64N(500), 1)
					}
				}
				x.market.Publish()
				x.runPublished()
			}
		}
		for _, c := range clients {
			read(c)
		}
		for _, c := range clients {
			for p, seq := range c.pairs {
				if want[p] > seq {
					t.Fatalf("seed %d: a client has %s up to %d of %d", seed, p, seq, want[p])
				}
			}
		}
	}
}
