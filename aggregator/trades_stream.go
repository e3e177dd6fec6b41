package aggregator

import (
	"io"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/gzjoin"
	"github.com/tickhive/tickhive/marketdata"
)

// Form says how a TradesReader writes the rows of trades.
type Form struct {
	// Quote, unless nil, writes the decimals of a text as strings. It must always be the same function, because
	// chunks of trades cache its results.
	Quote func(dst, text []byte) []byte
	Gzip  bool
}

// TradesReader writes the selected trades of a view in pieces of one chunk of trades each, newest first, so that an
// answer of two million trades takes no more memory than one of a thousand. The view is frozen, so all pieces
// show one instant. Owner: one request.
type TradesReader struct {
	view  *marketdata.View
	sel   Selection
	form  Form
	lists []tradeList // not written yet; the first one may be begun
	row   func(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte
	tail  string

	next  engine.TradeID // newest id not yet written of lists[0]; below sel.Low: the list is complete
	begun bool           // the head of lists[0] is written
	ended bool
	rows  bool // a row of lists[0] is written
	join  gzjoin.Joiner
	out   []byte // bytes that Read has not returned yet
	text  []byte
	alt   []byte
	part  []byte
}

// tradeList is a list of trades in an answer: of takers of these sides. plain and packed name the caches of the rows
// of whole chunks, without and with Form.Gzip; plain is noText without a cache.
type tradeList struct {
	head          string
	sides         [2]bool // by engine.Side
	plain, packed marketdata.ChunkText
}

// What stands between the lists of an answer in pieces.
const (
	headBuy  = `{"buy":[`
	headSell = `],"sell":[`
)

const noText = ^marketdata.ChunkText(0)

// NewTradesReader returns a reader of the response of /historical_trades: a list of each side of the taker.
func NewTradesReader(v *marketdata.View, s Selection, f Form) *TradesReader {
	buy := tradeList{headBuy, only(engine.Buy), marketdata.ChunkAggBuy, marketdata.ChunkAggBuyGzip}
	sell := tradeList{headSell, only(engine.Sell), marketdata.ChunkAggSell, marketdata.ChunkAggSellGzip}
	if f.Quote != nil {
		buy.packed, sell.packed = marketdata.ChunkAggBuyQuotedGzip, marketdata.ChunkAggSellQuotedGzip
	}
	return newReader(TradesReader{
		view: v, sel: s, form: f, lists: []tradeList{buy, sell}, row: appendTrade, tail: "]}",
	})
}

// NewTapeReader returns a reader of the trades in CoinMarketCap's form: one list. The rows of compressed quoted answers
// are cached, because no route asks for numbers.
func NewTapeReader(v *marketdata.View, s Selection, f Form) *TradesReader {
	tape := tradeList{"[", [2]bool{s.wants(0), s.wants(1)}, noText, noText}
	if f.Quote != nil && s.wants(engine.Buy) && s.wants(engine.Sell) {
		tape.packed = marketdata.ChunkTapeGzip
	}
	return newReader(TradesReader{view: v, sel: s, form: f, lists: []tradeList{tape}, row: appendPairTrade, tail: "]"})
}

func newReader(r TradesReader) *TradesReader {
	r.next = r.sel.High
	if r.form.Gzip {
		r.out = gzjoin.AppendHead(nil)
	}
	return &r
}

func only(side engine.Side) (sides [2]bool) {
	sides[side] = true
	return sides
}

// Read implements io.Reader.
func (r *TradesReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		r.advance()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// advance renders the next piece. It may be empty.
func (r *TradesReader) advance() {
	switch {
	case len(r.lists) == 0:
		r.ended = true
		r.text = append(r.text[:0], r.tail...)
		r.send(r.text)
		if r.form.Gzip {
			r.out = r.join.AppendTail(r.out)
		}
	case !r.begun:
		r.begun = true
		r.text = append(r.text[:0], r.lists[0].head...)
		r.send(r.text)
	case r.next < r.sel.Low || r.next == 0 || !r.wanted():
		r.lists = r.lists[1:]
		r.next, r.begun, r.rows = r.sel.High, false, false
	default:
		r.chunk()
	}
}

// wanted reports whether the selection has a side of the current list.
func (r *TradesReader) wanted() bool {
	sides := r.lists[0].sides
	return sides[engine.Buy] && r.sel.Buy || sides[engine.Sell] && r.sel.Sell
}

// send makes a text the next piece, compressed if the form says so.
func (r *TradesReader) send(text []byte) {
	if !r.form.Gzip {
		r.out = text
		return
	}
	r.part = gzjoin.AppendPart(r.part[:0], text)
	r.out = r.join.Add(r.part)
}

// chunk renders the selected rows of one chunk, newest first. It uses the cached text when the selection covers
// a whole closed chunk. A row begins with a comma, except the first one of a list, which is never taken from the cache
// of compressed rows.
func (r *TradesReader) chunk() {
	list := &r.lists[0]
	first, trades, closed := r.view.Trades.Chunk(r.next)
	id, low := r.next, max(first, r.sel.Low)
	whole := closed && low == first && id == first+engine.TradeID(len(trades))-1
	r.next = first - 1
	if whole && r.form.Gzip && r.rows && list.packed != noText {
		r.out = r.join.Add(r.view.Trades.ChunkText(id, list.packed, r.renderPacked))
		return
	}
	var text []byte
	if whole && list.plain != noText {
		text = r.view.Trades.ChunkText(id, list.plain, r.renderRows)
	} else {
		r.text = r.renderRows(r.text[:0], low, trades[low-first:id-first+1])
		text = r.text
	}
	if len(text) == 0 {
		return
	}
	if !r.rows {
		text, r.rows = text[1:], true
	}
	r.send(r.quoted(text))
}

func (r *TradesReader) quoted(text []byte) []byte {
	if r.form.Quote == nil {
		return text
	}
	r.alt = r.form.Quote(r.alt[:0], text)
	return r.alt
}

// renderPacked appends the rows of the current list, quoted and compressed.
func (r *TradesReader) renderPacked(dst []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
	r.text = r.renderRows(r.text[:0], first, trades)
	r.part = gzjoin.AppendPart(r.part[:0], r.quoted(r.text))
	return append(dst, r.part...)
}

// renderRows appends the rows of the current list, newest first, each with a comma before it. first is the id of
// trades[0].
func (r *TradesReader) renderRows(dst []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
	sides := r.lists[0].sides
	for i := len(trades) - 1; i >= 0; i-- {
		if sides[trades[i].TakerSide] {
			dst = r.row(append(dst, ','), r.view.Instrument, first+engine.TradeID(i), &trades[i])
		}
	}
	return dst
}
