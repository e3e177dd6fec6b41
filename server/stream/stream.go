package stream

import (
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
)

// channel is one channel of docs/contract/streams.md.
type channel uint8

// The channels; those from chOrders on need credentials.
const (
	chTicker channel = iota
	chTrades
	chBook
	chCandles
	chStatus
	chOrders
	chFills
	chBalances
)

// streamKey identifies one stream. All subscribers with the same options share the stream, and the
// hub encodes each of its messages once.
type streamKey struct {
	channel  channel
	interval marketdata.Interval // candles
	text     bool                // decimals=string
	pair     engine.PairID
	depth    int              // book: levels a side, 0: all
	every    int              // book: ms between two messages, 0: a message for each publication
	account  engine.AccountID // private channels
}

// name returns the channel's name on the wire.
func (k streamKey) name() string {
	switch k.channel {
	case chTicker:
		return "ticker"
	case chTrades:
		return "trades"
	case chBook:
		return "book"
	case chCandles:
		return "candles." + k.interval.String()
	case chStatus:
		return "status"
	case chOrders:
		return "orders"
	case chFills:
		return "fills"
	default:
		return "balances"
	}
}

// paired reports whether the channel belongs to one pair.
func (k streamKey) paired() bool { return k.channel <= chCandles }

// private reports whether the channel needs credentials.
func (k streamKey) private() bool { return k.channel >= chOrders }

// stream holds the state that all live subscribers of one key have received. Owner: the hub.
type stream struct {
	key  streamKey
	subs []*subscription

	view   *marketdata.View // the state of the last message
	trade  engine.TradeID   // id of the last trade sent
	candle marketdata.Candle
	closed bool // the candle was sent as closed
	seq    uint64
	lastMs int64 // machine time of the last message
	// machine time at which the last subscriber left, or at which the stream was opened
	idleMs int64
	rows   map[engine.PairID]engine.Seq // status: seq of each pair's row when it was sent last

	snapshot frame // cached snapshot message of view with the reason below; nil: none
	reason   string
	resumes  map[uint64]frame // book: cached answers to resumes, by the seq from which they start
}

// subscription holds the state of one subscription of one connection;
// Owner: the hub.
//
//	subscribe --> pending --startPending: room in the backlog--> live
//	                 ^                                             |
//	                 +---- resync; slow client; new options -------+
//
//	pending  it is in conn.hub.pending and receives no message. startLive queues its first message: a snapshot, an
//	         update (hasFromSeq) or trades (nextTrade). tradesStarted is set from the first part of a resume of trades
//	         to the last one.
//	live     deliver queues every message of its stream.
type subscription struct {
	backlog *backlog // the same as conn.backlog; saves a cache miss for each message (bench streams)
	conn    *conn
	stream  *stream
	live    bool   // the subscription receives the stream's messages; otherwise it waits for its snapshot
	pending bool   // the subscription is in the connection's pending list
	reason  string // reason to state in the snapshot for which it waits
	// nextTrade is the next trade that a resuming subscriber of trades needs, 0: none.
	nextTrade     engine.TradeID
	tradesStarted bool // the first trades of the resume were queued
	// fromSeq is the seq from which the client resumes with a difference instead of a snapshot.
	fromSeq    uint64
	hasFromSeq bool
	// delayed are the messages that fault rules hold back, in the order in which they are sent.
	delayed []delayedMessage
}

// remove takes a subscription out of the stream at a machine time in ms.
func (s *stream) remove(sub *subscription, nowMs int64) {
	if i := slices.Index(s.subs, sub); i >= 0 {
		last := len(s.subs) - 1
		s.subs[i] = s.subs[last]
		s.subs[last] = nil
		s.subs = s.subs[:last]
		if last == 0 {
			s.idleMs = nowMs
		}
	}
}

// streamTable holds the streams. Owner: the hub.
type streamTable struct {
	streams     map[streamKey]*stream
	opened      []*stream // all streams in the order in which they were opened, so that a driver can repeat a run
	unconflated []*stream // streams that are advanced after each publication
}

// add adds a stream, in place of an older one of the same key.
func (t *streamTable) add(s *stream) {
	if old := t.streams[s.key]; old != nil {
		t.remove(func(other *stream) bool { return other == old })
	}
	t.streams[s.key] = s
	t.opened = append(t.opened, s)
	if s.key.channel == chTrades || s.key.channel == chBook && s.key.every == 0 {
		t.unconflated = append(t.unconflated, s)
	}
}

// remove removes the streams for which gone returns true.
func (t *streamTable) remove(gone func(s *stream) bool) {
	t.unconflated = slices.DeleteFunc(t.unconflated, gone)
	t.opened = slices.DeleteFunc(t.opened, func(s *stream) bool {
		if !gone(s) {
			return false
		}
		delete(t.streams, s.key)
		return true
	})
}
