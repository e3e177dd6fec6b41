package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
)

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
	// TickerVersion is made of the ticker's figures: it changes whenever they do, also
	// when only time moved the window, and only then, and it survives a restart. ETags of
	// ticker documents are made of it. It does not grow.
	TickerVersion uint64

	TimeNs     int64 // of the last event
	BookTimeNs int64 // of the last event that changed the book, or of the pair's creation

	Ticker  Ticker
	Bids    Side    // best (highest) first
	Asks    Side    // best (lowest) first
	Changes Changes // of the book, newest last: from an older seq to this one
	Trades  Trades
	Candles *[Intervals]Candles // by interval; shared by views without a trade in between

	DroppedYoung uint64 // trades dropped while younger than 24 h, since the pair began

	// Sum is Checksum as the writer made it, 0 unless Options.Checksums.
	Sum uint64

	docs [DocKinds]atomic.Pointer[Doc]
}

// DocKind names one kept document of a view.
type DocKind uint8

// The documents that are kept with a view, one slot each
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

// Doc is the rendered text of a document. Frozen, but for the write-once gzip and joined
// text.
type Doc struct {
	Body  []byte // nil when the document is in parts
	Text  *Text  // of a book, nil else
	whole atomic.Pointer[[]byte]
	ETag  string
	Seq   uint64 // X-Seq
	// MadeNs is the machine's monotonic time at which it was rendered (for gzip's floor).
	MadeNs int64
	Gzip   atomic.Pointer[[]byte]
	// LowTrade and HighTrade are the ids of the trades that a page of trades shows, 0 when
	// it shows none.
	LowTrade, HighTrade engine.TradeID
}

// docSource says what a kept document is a function of, besides the digits and names of
// its pair, which never change.
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

// inherit takes over the documents of the pair's previous view that are still true: a
// trade far from the book's page does not cost the book's readers a rendering. One that a
// reader keeps in old after this is rendered once more, to the same bytes. A page of trades
// is handed on in any case, to be patched: one new trade changes one row of a hundred.
func (v *View) inherit(old *View) {
	var changed docSource
	if v.TickerVersion != old.TickerVersion || v.TickerSeq != old.TickerSeq {
		changed |= fromTicker
	}
	if v.BookSeq != old.BookSeq {
		changed |= fromBook
	}
	if v.TradesSeq != old.TradesSeq {
		changed |= fromTrades
	}
	if v.Instrument != old.Instrument {
		changed |= fromInstrument
	}
	for k, from := range docSources {
		if from&changed == 0 || from == fromTrades {
			if d := old.docs[k].Load(); d != nil {
				v.docs[k].Store(d)
			}
		}
	}
}

// Checksum folds the book, the last trade and the seqs of the view into one number.
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
	for i := range v.Candles {
		c := &v.Candles[i]
		if n := c.Len(); n > 0 {
			last := c.At(n - 1)
			h = mix(mix(mix(h, uint64(n)), uint64(last.Close)), last.Volume.Lo)
		}
	}
	return h
}

// Doc is the kept document, nil until a reader has rendered it.
func (v *View) Doc(k DocKind) *Doc {
	d := v.docs[k].Load()
	if d != nil && docSources[k] == fromTrades && d.Seq != uint64(v.TradesSeq) {
		return nil
	}
	return d
}

// Before is what the newest page of trades was in an earlier view, for patching: nil when
// nobody has read it, or when this view's is kept already.
func (v *View) Before(k DocKind) *Doc {
	d := v.docs[k].Load()
	if d != nil && docSources[k] == fromTrades && d.Seq != uint64(v.TradesSeq) {
		return d
	}
	return nil
}

// Keep stores d unless another reader was first, and returns the one that is kept. The Seq
// of a page of trades must be the view's TradesSeq.
func (v *View) Keep(k DocKind, d *Doc) *Doc {
	if v.docs[k].CompareAndSwap(v.Before(k), d) {
		return d
	}
	return v.docs[k].Load()
}
