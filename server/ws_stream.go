package server

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

// wsKey names one stream: everybody who subscribes with the same options shares it, and
// each of its messages is encoded once.
type wsKey struct {
	channel  wsChannel
	interval marketdata.Interval // candles
	text     bool                // decimals=string
	pair     engine.PairID
	depth    int              // book: levels a side, 0: all
	every    int              // book: ms between messages, 0: each publication
	account  engine.AccountID // private channels
}

// name is the channel as clients write it.
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

// paired reports whether the channel is of one pair.
func (k wsKey) paired() bool { return k.channel <= chCandles }

// private reports whether the channel needs credentials.
func (k wsKey) private() bool { return k.channel >= chOrders }

// wsStream is what all subscribers of one key have been told. Owner: the hub.
type wsStream struct {
	key  wsKey
	subs []*wsSub

	view   *marketdata.View // the state of the last message
	trade  engine.TradeID   // last trade sent
	candle marketdata.Candle
	closed bool // the candle was sent as closed
	seq    uint64
	lastMs int64                        // machine time of the last message
	idleMs int64                        // machine time when the last subscriber went, of its beginning before
	rows   map[engine.PairID]engine.Seq // status: what each row was last sent with

	snapshot wsFrame // of view, for reason; nil without a view
	reason   string
	resumes  map[uint64]wsFrame // book: from a seq to this one, as asked for
}

// wsSub is one subscription of one connection. Owner: the hub.
type wsSub struct {
	out    *wsOut // the connection's: one cache miss less for each message (bench streams)
	conn   *wsConn
	stream *wsStream
	live   bool   // gets the stream's messages; else it waits for its snapshot
	queued bool   // stands in the connection's pending list
	reason string // of the snapshot that it waits for
	// from is the next trade that a resuming subscriber of trades is owed, 0: none.
	from    engine.TradeID
	started bool // the first of those was queued
	// resume asks for the difference from this seq instead of a snapshot.
	resume    uint64
	hasResume bool
}

func (s *wsStream) remove(sub *wsSub) {
	if i := slices.Index(s.subs, sub); i >= 0 {
		last := len(s.subs) - 1
		s.subs[i] = s.subs[last]
		s.subs[last] = nil
		s.subs = s.subs[:last]
		if last == 0 {
			s.idleMs = machineMs()
		}
	}
}
