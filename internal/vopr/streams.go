package vopr

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/server/stream"
)

// reader is a client of the streams of one pair. Over restarts it goes on where it was: a subscription names the last
// seq and the epoch of its book, and the next trade.
type reader struct {
	name         string
	pair         string
	depth, every int // options of its book
	lazy         int // it takes its messages at one of this many opportunities
	resumes      bool
	late         bool // its node may be too far behind, and refuse it
	behind       bool // it has

	conn  *stream.MemoryConn // nil: not connected
	now   string             // the epoch of the process, by the answers to the subscriptions
	epoch string             // of the book below; empty: there is none
	since string             // the epoch of the trades below; empty: there are none
	fresh map[string]bool    // channels whose first message must be a snapshot, of this connection

	seq        uint64
	bids, asks map[string]string // amount by price
	trade      uint64            // the last one
	anyTrade   bool              // the next one may be any
	ticker     string
	tickerSeq  uint64
	candle     string          // start of the last candle
	open       bool            // and it has not come as closed
	closed     map[string]bool // starts of the candles that came as closed on this connection
}

// newReaders returns the subscribers of a simulation.
func newReaders() []*reader {
	return []*reader{
		{name: "every", pair: "AA_USDT", depth: 0, every: 0, lazy: 1, resumes: true},
		{name: "conflated", pair: "AA_USDT", depth: 100, every: 100, lazy: 3, resumes: true},
		{name: "second", pair: "BB_USDT", depth: 100, every: 1000, lazy: 1},
		{name: "lazy", pair: "BB_USDT", depth: 0, every: 0, lazy: 300, resumes: true},
		{name: "near the bound", pair: "AA_CC", depth: 25, every: 0, lazy: 2, resumes: true},
	}
}

// streamQueueBytes is the queue of a subscriber: small, so that a lazy one loses its backlog.
const streamQueueBytes = 12 << 10

// told holds what readers were told in one epoch: every later message and answer must agree.
type told struct {
	epoch  string
	shown  map[string]uint64            // the highest seq that an answer or a message showed, by pair
	trades map[string]map[uint64]string // trade by pair and id
	tops   map[string]map[uint64]string // the best 40 levels of each side by pair and seq
	times  map[string]map[uint64]string // time of a trade that a stream told, by pair and id
	closed map[string]map[string]string // candles of a minute that a stream told as closed, by pair and start
}

// forget drops what was told in the epoch.
func (t *told) forget() {
	t.shown, t.trades, t.tops = map[string]uint64{}, map[string]map[uint64]string{}, map[string]map[uint64]string{}
	t.times, t.closed = map[string]map[uint64]string{}, map[string]map[string]string{}
}

// StreamMix counts what readers of public streams met.
type StreamMix struct {
	Messages, Slow, SlowCloses int // snapshots and closes of slow readers
	Candles                    int // told as closed
}

// add adds the counts of another run.
func (m *StreamMix) add(o *StreamMix) {
	m.Messages += o.Messages
	m.Slow += o.Slow
	m.SlowCloses += o.SlowCloses
	m.Candles += o.Candles
}

// audience is the readers of the streams of a run.
type audience struct {
	all  []*reader
	told *told
	rnd  *rand.Rand
	mix  *StreamMix
	sum  io.Writer // takes the messages
	logf func(format string, args ...any)
	fail func(format string, args ...any)
}

// open connects a reader to a process and subscribes to the channels of its pair.
func (a *audience) open(r *reader, h *stream.Hub) {
	r.conn, r.fresh, r.closed = stream.Connect(h), map[string]bool{}, map[string]bool{}
	r.candle, r.open = "", false
	resume, from := "", ""
	if !r.resumes {
		r.epoch, r.since = "", ""
	}
	if r.epoch != "" {
		resume = fmt.Sprintf(`,"fromSeq":%d,"epoch":%q`, r.seq, r.epoch)
	}
	if r.since != "" {
		from = fmt.Sprintf(`,"fromTradeId":%d`, r.trade+1)
	}
	ask := func(channel, options string) {
		r.conn.Send(fmt.Appendf(nil, `{"op":"subscribe","channel":%q,"pairs":[%q]%s}`, channel, r.pair, options))
	}
	ask("book", fmt.Sprintf(`,"depth":%d,"interval":%d%s`, r.depth, r.every, resume))
	ask("trades", from)
	ask("ticker", "")
	ask("candles.minute", "")
}

// disconnect forgets the connections of processes that have ended.
func (a *audience) disconnect() {
	for _, r := range a.all {
		r.conn = nil
	}
}

// pick returns the reader that acts next.
func (a *audience) pick() *reader { return a.all[a.rnd.IntN(len(a.all))] }

// act lets a reader take its messages, if the seed chooses so. The code is the one of take.
func (a *audience) act(r *reader) (closed int) {
	if r.conn == nil || a.rnd.IntN(r.lazy) != 0 {
		return 0
	}
	if a.rnd.IntN(400) == 0 {
		r.conn.Send(fmt.Appendf(nil, `{"op":"resync","channel":"book","pairs":[%q]}`, r.pair))
	}
	return a.take(r)
}

// take reads what waits for a reader. It returns the code with which the process has closed the connection, 0: it has
// not.
func (a *audience) take(r *reader) int {
	texts, closed := r.conn.Take()
	for _, text := range texts {
		a.mix.Messages++
		_, _ = fmt.Fprintf(a.sum, "%s %s\n", r.name, text)
		m := &streamMessage{}
		if err := json.Unmarshal(text, m); err != nil {
			a.fail("reader %s: %v: %.300s", r.name, err, text)
			return 0
		}
		if err := a.apply(r, m); err != nil {
			a.fail("reader %s of %s: %v\nmessage %.600s", r.name, r.pair, err, text)
			return 0
		}
	}
	if closed != 0 {
		a.logf("reader %s is closed with %d", r.name, closed)
		r.conn.Close()
		r.conn = nil
		if closed == closedSlow && !r.late {
			a.mix.SlowCloses++
		}
	}
	return closed
}

// closedSlow is the code of a close of a slow client, and of one whose node is too far behind.
const closedSlow = 1013

// streamMessage is a message of a public stream.
type streamMessage struct {
	Type, Channel, Epoch, Reason string
	Code, Message                string
	PrevSeq, Seq                 uint64
	Bids, Asks                   [][2]json.Number
	Checksum                     uint32
	Trades                       []struct {
		TradeID       uint64
		Price, Volume json.Number
		DealDateUtc   string
	}
	TradeID uint64
	Ticker  json.RawMessage
	Candle  *candle
	Closed  bool
}

// apply checks a message against the ones before it.
func (a *audience) apply(r *reader, m *streamMessage) error {
	switch {
	case m.Type == "error" && m.Code == "STALE" && r.late:
		r.behind = true
		return nil
	case m.Type == "error" && m.Code == "NOT_FOUND" && r.behind:
		return nil // a resync that was behind the refused subscription
	case m.Type == "error":
		return fmt.Errorf("refused: %s %s", m.Code, m.Message)
	case m.Type == "shutdown":
		return nil
	case m.Type == "subscribed":
		if a.told.epoch == "" {
			a.told.epoch = m.Epoch
		}
		if m.Epoch != a.told.epoch {
			return fmt.Errorf("the stream has the epoch %s, and %s was told", m.Epoch, a.told.epoch)
		}
		r.now = m.Epoch
		switch m.Channel {
		case "book":
			r.fresh[m.Channel] = r.epoch != m.Epoch
		case "trades":
			r.fresh[m.Channel] = r.since != m.Epoch
		default:
			r.fresh[m.Channel] = true
		}
		return nil
	}
	if m.Type != "heartbeat" {
		if r.fresh[m.Channel] && m.Type != "snapshot" && (m.Channel != "trades" || !r.resumes) {
			return fmt.Errorf("the first message of the channel is no snapshot")
		}
		a.told.shown[r.pair] = max(a.told.shown[r.pair], m.Seq)
	}
	var err error
	switch m.Channel {
	case "book":
		err = a.applyBook(r, m)
	case "trades":
		err = a.applyTrades(r, m)
	case "ticker":
		err = r.applyTicker(m)
	case "candles.minute":
		err = a.applyCandle(r, m)
	}
	if m.Type != "heartbeat" {
		r.fresh[m.Channel] = false
	}
	return err
}

// applyBook builds the book.
func (a *audience) applyBook(r *reader, m *streamMessage) error {
	if m.Type == "heartbeat" {
		if r.bids != nil && !r.fresh["book"] && m.Seq != r.seq {
			return fmt.Errorf("the heartbeat has seq %d, the last message had %d", m.Seq, r.seq)
		}
		return nil
	}
	if m.Type == "snapshot" {
		if m.Reason == "slow" {
			a.mix.Slow++
		}
		if !r.fresh["book"] && m.Seq < r.seq {
			return fmt.Errorf("a snapshot at seq %d behind seq %d", m.Seq, r.seq)
		}
		r.bids, r.asks = map[string]string{}, map[string]string{}
	} else if m.PrevSeq != r.seq {
		return fmt.Errorf("prevSeq is %d, the last message had seq %d", m.PrevSeq, r.seq)
	}
	r.epoch = r.now                   // not before: until then the book is the one of the epoch before
	if r.seq = m.Seq; r.bids == nil { // a resume from seq 0, the empty book
		r.bids, r.asks = map[string]string{}, map[string]string{}
	}
	for i, side := range []map[string]string{r.bids, r.asks} {
		for _, l := range [][][2]json.Number{m.Bids, m.Asks}[i] {
			if price, amount := l[0].String(), l[1].String(); shortest(amount) == "0" {
				delete(side, price)
			} else {
				side[price] = amount
			}
		}
	}
	bids, asks := sortedSide(r.bids, true), sortedSide(r.asks, false)
	if r.depth != 0 && max(len(bids), len(asks)) > r.depth {
		return fmt.Errorf("%d bids and %d asks at depth %d", len(bids), len(asks), r.depth)
	}
	sum := topOf(bids, 10) + "|" + topOf(asks, 10)
	if got := crc32.ChecksumIEEE([]byte(sum)); got != m.Checksum {
		return fmt.Errorf("the checksum is %d, the book built from the stream has %d: %s", m.Checksum, got, sum)
	}
	if r.depth != 25 {
		return note(a.told.tops, r.pair, m.Seq, topOf(bids, 40)+"|"+topOf(asks, 40))
	}
	return nil
}

// sortedSide returns the levels of a side as price:amount, best first.
func sortedSide(side map[string]string, bids bool) []string {
	type level struct {
		price int64
		text  string
	}
	all := make([]level, 0, len(side))
	for price, amount := range side {
		all = append(all, level{scaled(json.Number(price), priceDigits), price + ":" + amount})
	}
	slices.SortFunc(all, func(a, b level) int {
		if bids {
			a, b = b, a
		}
		return int(a.price - b.price)
	})
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].text
	}
	return texts
}

func topOf(side []string, n int) string { return strings.Join(side[:min(len(side), n)], ",") }

// topOfAnswer returns the levels of GET /api/orderbook in the form of a stream's.
func topOfAnswer(body []byte) (string, error) {
	var rows []struct {
		IsBid         bool
		Price, Amount json.Number
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return "", err
	}
	var sides [2][]string
	for _, l := range rows {
		side := &sides[1]
		if l.IsBid {
			side = &sides[0]
		}
		*side = append(*side, l.Price.String()+":"+l.Amount.String())
	}
	return topOf(sides[0], 40) + "|" + topOf(sides[1], 40), nil
}

// applyTrades checks that each trade comes once, in order, and notes it: the public trades must contain it.
func (a *audience) applyTrades(r *reader, m *streamMessage) error {
	if m.Type == "heartbeat" {
		switch {
		case r.fresh["trades"]:
		case r.anyTrade:
			r.trade, r.anyTrade = m.TradeID, false
		case m.TradeID != r.trade:
			return fmt.Errorf("the heartbeat has trade %d, the last one was %d", m.TradeID, r.trade)
		}
		return nil
	}
	r.since = r.now
	// The snapshot of a resume that asks for the next trade is empty. If the epoch is another one, that trade may
	// be any.
	resumed := m.Type == "snapshot" && len(m.Trades) == 0 && r.trade != 0
	first := r.fresh["trades"] || m.Type == "snapshot" || r.anyTrade
	r.anyTrade = resumed && r.fresh["trades"] || r.anyTrade && len(m.Trades) == 0
	for _, t := range m.Trades {
		if !first && t.TradeID != r.trade+1 {
			return fmt.Errorf("trade %d follows trade %d", t.TradeID, r.trade)
		}
		first, r.trade = false, t.TradeID
		at, err := time.Parse("2006-01-02T15:04:05.0000000Z", t.DealDateUtc)
		if err != nil {
			return err
		}
		text := shortest(t.Price.String()) + " x " + shortest(t.Volume.String())
		if err := note(a.told.trades, r.pair, t.TradeID, text); err != nil {
			return err
		}
		if err := note(a.told.times, r.pair, t.TradeID, at.String()); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) applyTicker(m *streamMessage) error {
	if m.Type == "heartbeat" {
		return nil
	}
	if !r.fresh["ticker"] && m.Seq < r.tickerSeq {
		return fmt.Errorf("a ticker of seq %d behind seq %d", m.Seq, r.tickerSeq)
	}
	r.ticker, r.tickerSeq = string(m.Ticker), m.Seq
	return nil
}

// applyCandle checks that each candle comes as closed once, before the next one begins, and notes its figures.
func (a *audience) applyCandle(r *reader, m *streamMessage) error {
	if m.Type == "heartbeat" || m.Candle == nil {
		return nil
	}
	start := m.Candle.Date
	if m.Type == "snapshot" {
		r.open = false
	}
	switch {
	case r.open && start != r.candle:
		return fmt.Errorf("the candle of %s begins, and the one of %s did not come as closed", start, r.candle)
	case r.closed[start] && m.Type != "snapshot":
		return fmt.Errorf("the candle of %s came as closed before", start)
	}
	r.candle, r.open = start, !m.Closed
	if !m.Closed {
		return nil
	}
	r.closed[start] = true
	a.mix.Candles++
	return note(a.told.closed, r.pair, start, m.Candle.text())
}
