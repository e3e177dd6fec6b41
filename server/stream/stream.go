package stream

import (
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
)

// wsChannel is one channel of docs/contract/streams.md.
type wsChannel uint8

// The channels; those from chOrders on need credentials.
const (
	chTicker wsChannel = iota
	chTrades
	chBook
	chCandles
	chStatus
	chOrders
	chFills
	chBalances
)

// wsKey identifies one stream. All subscribers with the same options share the stream, and the
// hub encodes each of its messages once.
type wsKey struct {
	channel  wsChannel
	interval marketdata.Interval // candles
	text     bool                // decimals=string
	pair     engine.PairID
	depth    int              // book: levels a side, 0: all
	every    int              // book: ms between messages, 0: each publication
	account  engine.AccountID // private channels
}

// name returns the channel's name on the wire.
func (k wsKey) name() string {
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
	}
	return "balances"
}

// paired reports whether the channel belongs to one pair.
func (k wsKey) paired() bool { return k.channel <= chCandles }

// private reports whether the channel needs credentials.
func (k wsKey) private() bool { return k.channel >= chOrders }

// wsStream holds the state that all live subscribers of one key have received. Owner: the hub.
type wsStream struct {
	key  wsKey
	subs []*wsSub

	view   *marketdata.View // the state of the last message
	trade  engine.TradeID   // last trade sent
	candle marketdata.Candle
	closed bool // the candle was sent as closed
	seq    uint64
	lastMs int64                        // machine time of the last message
	idleMs int64                        // machine time when the last subscriber left, or of open
	rows   map[engine.PairID]engine.Seq // status: the seq of each row when last sent

	snapshot wsFrame // cached snapshot of view, for reason; nil: none cached
	reason   string
	resumes  map[uint64]wsFrame // book: cached resume answers by the seq they start from
}

// wsSub is one subscription of one connection. Owner: the hub.
type wsSub struct {
	out    *wsOut // conn.out: saves one cache miss for each message (bench streams)
	conn   *wsConn
	stream *wsStream
	live   bool   // receives the stream's messages; else it waits for its snapshot
	queued bool   // is in the connection's pending list
	reason string // reason of the snapshot that it waits for
	// from is the next trade that a resuming subscriber of trades needs, 0: none.
	from    engine.TradeID
	started bool // the first of these trades was queued
	// resume asks for the difference from this seq instead of a snapshot.
	resume    uint64
	hasResume bool
}

// remove takes a subscription out of its stream.
func (h *Hub) remove(sub *wsSub) {
	s := sub.stream
	if i := slices.Index(s.subs, sub); i >= 0 {
		last := len(s.subs) - 1
		s.subs[i] = s.subs[last]
		s.subs[last] = nil
		s.subs = s.subs[:last]
		if last == 0 {
			s.idleMs = h.machineMs()
		}
	}
}
