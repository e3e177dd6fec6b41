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
	every    int              // book: ms between messages, 0: each publication
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
	trade  engine.TradeID   // last trade sent
	candle marketdata.Candle
	closed bool // the candle was sent as closed
	seq    uint64
	lastMs int64                        // machine time of the last message
	idleMs int64                        // machine time when the last subscriber left, or of open
	rows   map[engine.PairID]engine.Seq // status: the seq of each row when last sent

	snapshot frame // cached snapshot of view, for reason; nil: none cached
	reason   string
	resumes  map[uint64]frame // book: cached resume answers by the seq they start from
}

// subscription holds the state of one subscription of one connection; doc.go draws its states.
// Owner: the hub.
type subscription struct {
	backlog *backlog // conn.out: saves one cache miss for each message (bench streams)
	conn    *conn
	stream  *stream
	live    bool   // receives the stream's messages; else it waits for its snapshot
	pending bool   // is in the connection's pending list
	reason  string // reason of the snapshot that it waits for
	// nextTrade is the next trade that a resuming subscriber of trades needs, 0: none.
	nextTrade     engine.TradeID
	tradesStarted bool // the first of these trades was queued
	// fromSeq asks for the difference from this seq instead of a snapshot.
	fromSeq    uint64
	hasFromSeq bool
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
