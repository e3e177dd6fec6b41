package aggregator

import (
	"io"

	"tickhive/engine"
	"tickhive/marketdata"
)

// TradesReader writes the response of /historical_trades in pieces of one chunk of trades each, so that an
// answer of two million trades takes no more memory than one of a thousand. The view is frozen, so all pieces
// show one instant. Owner: one request.
type TradesReader struct {
	view *marketdata.View
	sel  Selection
	// piece, unless nil, rewrites each piece, for example to write decimals as text.
	piece func(dst, text []byte) []byte

	side  engine.Side
	next  engine.TradeID // newest id not yet written; below sel.Low: the current side is complete
	state int            // 0: before the buys, 1: within the rows of a side, 2: complete
	first bool           // no row of the current side was written yet
	out   []byte         // rendered bytes that Read has not returned yet
	buf   []byte
	alt   []byte
}

// NewTradesReader returns a reader of the selection of v. piece may be nil.
func NewTradesReader(v *marketdata.View, s Selection, piece func(dst, text []byte) []byte) *TradesReader {
	return &TradesReader{view: v, sel: s, piece: piece}
}

// Read implements io.Reader.
func (r *TradesReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.state == 3 {
			return 0, io.EOF
		}
		r.advance()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// advance renders the next piece.
func (r *TradesReader) advance() {
	switch r.state {
	case 0:
		r.out = append(r.buf[:0], `{"buy":[`...)
		r.begin(engine.Buy)
	case 1:
		if r.next >= r.sel.Low && r.next > 0 && r.sel.wants(r.side) {
			r.rows()
			return
		}
		if r.side == engine.Buy {
			r.out = append(r.buf[:0], `],"sell":[`...)
			r.begin(engine.Sell)
			return
		}
		r.state = 2
	case 2:
		r.out = append(r.buf[:0], "]}"...)
		r.state = 3
	}
}

func (r *TradesReader) begin(side engine.Side) {
	r.side, r.next, r.state, r.first = side, r.sel.High, 1, true
}

// rows renders the selected rows of one chunk, newest first. It uses the cached text when the selection covers
// a whole closed chunk.
func (r *TradesReader) rows() {
	first, trades, closed := r.view.Trades.Chunk(r.next)
	last := first + engine.TradeID(len(trades)) - 1
	var text []byte
	if closed && last == r.next && first >= r.sel.Low {
		text = r.view.Trades.ChunkText(r.next, chunkKinds[r.side], r.renderChunk)
	} else {
		low := max(first, r.sel.Low)
		r.buf = r.appendRows(r.buf[:0], low, trades[low-first:r.next-first+1])
		text = r.buf
	}
	r.next = first - 1
	if len(text) == 0 {
		return
	}
	// Each row begins with a comma; the first row of a side has none.
	if r.first {
		text, r.first = text[1:], false
	}
	if r.piece != nil {
		r.alt = r.piece(r.alt[:0], text)
		text = r.alt
	}
	r.out = text
}

var chunkKinds = [...]marketdata.ChunkText{
	engine.Buy: marketdata.ChunkAggBuyNewest, engine.Sell: marketdata.ChunkAggSellNewest,
}

func (r *TradesReader) renderChunk(dst []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
	return r.appendRows(dst, first, trades)
}

// appendRows appends the rows of one side, newest first. first is the id of trades[0].
func (r *TradesReader) appendRows(dst []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
	for i := len(trades) - 1; i >= 0; i-- {
		if trades[i].TakerSide == r.side {
			dst = appendTrade(append(dst, ','), r.view.Instrument, first+engine.TradeID(i), &trades[i])
		}
	}
	return dst
}
