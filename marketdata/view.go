package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Ticker is the last trade, the touch and the 24 h window of a pair, in integers.
type Ticker struct {
	LastTrade   engine.TradeID // 0: never traded
	Last        int64          // ticks, 0: never traded
	Ago24h      int64          // ticks, price24hAgo of Decisions 3.1
	High, Low   int64          // ticks in the window, 0: no trade in it
	Volume      fixed.U128     // lots in the window
	QuoteVolume fixed.U128     // product units in the window
	Bid, Ask    int64          // ticks, 0: empty side
	ChangedSec  int64          // Unix second of the last change of these figures
}

// Level is one price of a book side: the sum of what its orders show.
type Level struct {
	Price  int64 // ticks
	Amount int64 // lots
}

// View is everything published of one pair at one seq. Frozen: readers may keep it as
// long as they like.
type View struct {
	Instrument *engine.Instrument

	Seq       engine.Seq // of the last event of the pair
	BookSeq   engine.Seq // of the last event that changed the book at any depth
	TradesSeq engine.Seq // of the last trade
	TickerSeq engine.Seq // of the last event that changed window, last trade or touch
	// TickerVersion rises whenever the ticker's figures change, also when only time
	// moved the window; ETags of ticker documents are made of it.
	TickerVersion uint64

	TimeNs     int64 // of the last event
	BookTimeNs int64 // of the last event that changed the book, or of the pair's creation

	Ticker  Ticker
	Bids    Side // best (highest) first
	Asks    Side // best (lowest) first
	Trades  Trades
	Candles [Intervals]Candles

	docs [DocKinds]atomic.Pointer[Doc]
}

// DocKind names one kept document of a view.
type DocKind uint8

// The documents that are kept with a view, one slot each (performance.md, Publication 8).
const (
	DocTicker       DocKind = iota // /api/tickers
	DocBook                        // /api/orderbook
	DocDeals                       // /api/deals, first page
	DocAggTicker                   // one row of the aggregator tickers
	DocAggBookFull                 // /orderbook, depth 0
	DocAggBook100                  // /orderbook, depth 100
	DocAggTrades100                // /historical_trades, limit 100
	DocSummaryRow                  // one row of /api/summary
	DocKinds
)

// Doc is the rendered text of a document. Frozen, but for the write-once gzip.
type Doc struct {
	Body []byte
	ETag string
	Seq  uint64 // X-Seq
	// MadeNs is the machine's monotonic time at which it was rendered (for gzip's floor).
	MadeNs int64
	Gzip   atomic.Pointer[[]byte]
}

// Doc is the kept document, nil until a reader has rendered it.
func (v *View) Doc(k DocKind) *Doc { return v.docs[k].Load() }

// Keep stores d unless another reader was first, and returns the one that is kept.
func (v *View) Keep(k DocKind, d *Doc) *Doc {
	if v.docs[k].CompareAndSwap(nil, d) {
		return d
	}
	return v.docs[k].Load()
}
