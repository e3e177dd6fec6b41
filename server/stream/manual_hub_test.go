package stream

import (
	"encoding/json"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// manualHub is a hub over a real core and feed whose goroutine and writers do not run: the test
// publishes, runs the hub's work and reads the backlogs, each when it wants to.
type manualHub struct {
	*Hub
	t      testing.TB
	market *markettest.Market
}

func newManualHub(t testing.TB, kept marketdata.Options, pairs ...string) *manualHub {
	t.Helper()
	x := &manualHub{t: t, market: markettest.New(kept)}
	for _, p := range pairs {
		x.market.AddPair(markettest.Instrument(p, 2, 4))
	}
	x.market.Publish()
	x.Hub = NewHub(Options{Board: x.market.Feed.Board(), Clock: x.market.Clock, Epoch: "00112233445566aa"})
	return x
}

// bid changes a book and publishes it without running the hub.
func (x *manualHub) bid(pair engine.PairID, price int64) {
	x.market.Limit(pair, engine.Buy, price, 1)
	x.market.Publish()
}

// trade executes n trades on the first pair and publishes them.
func (x *manualHub) trade(n int) {
	for range n {
		x.market.Limit(0, engine.Sell, 100, 1)
		x.market.Limit(0, engine.Buy, 100, 1)
	}
	x.market.Publish()
}

// runPublished runs the hub's work after a publication.
func (x *manualHub) runPublished() {
	x.advanceUnconflated()
	x.deliver()
}

func (x *manualHub) connect() *session {
	c := &Conn{sockets: x.Sockets}
	c.backlog = &backlog{done: make(chan struct{}), writer: x.writers.assign(), conn: c}
	c.heard()
	x.admit(c)
	s := newSession(x.Hub, c)
	c.session = s
	return s
}

func (x *manualHub) ask(c *session, text string) {
	x.t.Helper()
	r, bad := parseRequest([]byte(text))
	if bad != nil {
		x.t.Fatal(bad)
	}
	operation{x.Hub, c, r}.run()
	x.deliver()
}

type readMessage struct {
	Type, Channel, Reason string
	PrevSeq, Seq          uint64
	Trades                []struct{ TradeID uint64 }
	Status                struct{ Time int64 }
}

// frames removes from the queue the frames that a peer would read at once.
func (x *manualHub) frames(c *session) []byte {
	var all []byte
	var buf chunkBuffer
	for {
		t := c.backlog.takeChunk(&buf, false)
		if len(t.bytes) == 0 {
			return all
		}
		all = append(all, t.bytes...)
	}
}

// read returns the text messages queued for c and the code of the close frame, 0: none.
func (x *manualHub) read(c *session) (out []readMessage, closed int) {
	x.t.Helper()
	texts, closed := x.texts(c)
	for _, text := range texts {
		var m readMessage
		if err := json.Unmarshal(text, &m); err != nil {
			x.t.Fatalf("%v: %s", err, text)
		}
		out = append(out, m)
	}
	return out, closed
}

// texts returns the payloads of the text messages queued for c and the code of the close frame, 0:
// none.
func (x *manualHub) texts(c *session) (texts [][]byte, closed int) {
	texts, closed, _ = splitFrames(nil, x.frames(c))
	return texts, closed
}

// marketdataDefaults retains more records than these tests create.
var marketdataDefaults = marketdata.Options{}

// bookKey is the key of a book subscription without options.
func bookKey(pair engine.PairID) streamKey {
	return streamKey{channel: chBook, pair: pair, depth: defaultDepth, every: defaultEvery}
}

// disconnect runs leave without a goroutine to carry it out.
func (x *manualHub) disconnect(c *session) {
	x.leave(c.Conn)
	(<-x.ops)()
}
