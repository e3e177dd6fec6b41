package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
)

// Level is one price of a book side, with the sum of the amounts shown by its orders.
type Level struct {
	Price  int64 // ticks
	Amount int64 // lots
}

// View holds everything published of one pair at one seq. Frozen: readers may retain it for any
// time.
type View struct {
	Instrument *engine.Instrument

	Seq       engine.Seq // seq of the pair's last event
	BookSeq   engine.Seq // seq of the last event that changed the book, at any depth
	TradesSeq engine.Seq // seq of the last trade
	TickerSeq engine.Seq // seq of the last event that changed the window, the last trade or the touch
	// TickerVersion is a hash of the ticker's figures. It changes exactly when they change, also when a trade
	// leaves the window without an event, and it survives a restart. It does not increase. ETags of ticker
	// documents contain it.
	TickerVersion uint64

	TimeNs int64 // time of the pair's last event, Unix ns
	// time of the last event that changed the book; before the first one, the time at which the pair was added
	BookTimeNs int64

	Ticker  Ticker
	Bids    Side    // best (highest) first
	Asks    Side    // best (lowest) first
	Changes Changes // the newest level changes, with which a reader can reconstruct the book at an older seq
	Trades  Trades

	candles *[Intervals]Candles // by interval; views share it
	tick    Candle              // trades of one second that candles lacks; Trades is 0 when it has all

	DroppedYoung uint64 // trades dropped while younger than 24 h, since the pair was added

	// Sum is the Checksum that the writer computed, 0 unless Options.Checksums is set.
	Sum uint64

	docs [DocKinds]atomic.Pointer[Doc]
}

// DocKind names one cached document of a view.
type DocKind uint8

// The documents that are cached with a view, one slot each
// (docs/internals/performance.md#publication-8).
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

// Doc is the rendered text of a document. Frozen, except for its gzip and joined texts, which are each set
// once.
type Doc struct {
	Body   []byte // nil when the document has parts
	Text   *Text  // the parts of a large book; nil for other documents
	joined atomic.Pointer[[]byte]
	ETag   string
	Seq    uint64 // the X-Seq header of the answer
	// RenderedNs is the machine's monotonic time of the rendering. It limits how often a changing document is
	// compressed.
	RenderedNs int64
	Gzip       atomic.Pointer[[]byte]
}

// docSource is a set of the inputs of a cached document. The digits and names of the pair are inputs too, but
// never change.
type docSource uint8

const (
	fromTicker docSource = 1 << iota
	fromBook
	fromTrades
	fromInstrument
)

var docSources = [DocKinds]docSource{
	DocTicker:       fromTicker,
	DocBook:         fromBook,
	DocDeals:        fromTrades,
	DocAggTicker:    fromTicker | fromInstrument,
	DocAggBookFull:  fromBook,
	DocAggBook100:   fromBook,
	DocAggTrades100: fromTrades,
	DocSummaryRow:   fromTicker | fromInstrument,
}

// inherit copies from the pair's previous view the documents whose inputs have not changed, so that an event
// without effect on the book does not make readers render the book again. A document that a reader caches in
// old after this call is rendered once more, to the same bytes.
func (v *View) inherit(old *View) {
	var changed docSource
	if v.TickerVersion != old.TickerVersion || v.TickerSeq != old.TickerSeq {
		changed |= fromTicker
	}
	if v.BookSeq != old.BookSeq {
		changed |= fromBook
	}
	if v.TradesSeq != old.TradesSeq || v.Trades.first != old.Trades.first { // a trade, or lower limits
		changed |= fromTrades
	}
	if v.Instrument != old.Instrument {
		changed |= fromInstrument
	}
	for k, from := range docSources {
		if from&changed == 0 {
			if d := old.docs[k].Load(); d != nil {
				v.docs[k].Store(d)
			}
		}
	}
}

// Candles returns the candles of an interval.
func (v *View) Candles(i Interval) Candles {
	c := v.candles[i]
	if v.tick.Trades != 0 {
		c.open.Merge(&v.tick)
	}
	return c
}

// Checksum combines the book, the last trade and the seqs of the view into one number.
func (v *View) Checksum() uint64 {
	h := mix(uint64(v.Seq), uint64(v.BookSeq))
	h = mix(mix(h, uint64(v.TradesSeq)), v.TickerVersion)
	for _, s := range []*Side{&v.Bids, &v.Asks} {
		h = mix(h, uint64(s.Len()))
		for l := range s.All {
			h = mix(mix(h, uint64(l.Price)), uint64(l.Amount))
		}
	}
	h = mix(mix(h, uint64(v.Trades.First())), uint64(v.Trades.Last()))
	if v.Trades.Last() != 0 {
		t := v.Trades.At(v.Trades.Last())
		h = mix(mix(mix(h, uint64(t.TimeNs)), uint64(t.Price)), uint64(t.Amount))
	}
	for i := range Interval(Intervals) {
		c := v.Candles(i)
		if n := c.Len(); n > 0 {
			last := c.At(n - 1)
			h = mix(mix(mix(h, uint64(n)), uint64(last.Close)), last.Volume.Lo)
		}
	}
	return h
}

// Doc returns the cached document, nil until a reader has rendered it.
func (v *View) Doc(k DocKind) *Doc { return v.docs[k].Load() }

// Cache caches d unless another reader was first, and returns the cached document.
func (v *View) Cache(k DocKind, d *Doc) *Doc {
	if v.docs[k].CompareAndSwap(nil, d) {
		return d
	}
	return v.docs[k].Load()
}
