package aggregator

import (
	"io"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendPairTickers appends CoinMarketCap's ticker object: every configured pair by code, with the
// ids of its assets, the last price and the volumes of the last 24 h. A pair without a trade has
// the last price 0.
func AppendPairTickers(b []byte, r *marketdata.Root) []byte {
	b = append(b, '{')
	for i, id := range r.Sorted() {
		if i > 0 {
			b = append(b, ',')
		}
		v := r.View(id)
		t, in := &v.Ticker, v.Instrument
		b = append(append(append(b, '"'), in.Code...), `":{"base_id":`...)
		b = appendAssetID(b, r, in.Base)
		b = appendAssetID(append(b, `,"quote_id":`...), r, in.Quote)
		b = price(append(b, `,"last_price":`...), in, t.Last)
		b = amount(append(b, `,"base_volume":`...), in, t.Volume)
		b = total(append(b, `,"quote_volume":`...), in, t.QuoteVolume)
		if in.State == engine.Online || in.State == engine.PostOnlyState {
			b = append(b, `,"isFrozen":0}`...)
		} else {
			b = append(b, `,"isFrozen":1}`...)
		}
	}
	return append(b, '}')
}

// appendAssetID appends the asset's id at CoinMarketCap, or null.
func appendAssetID(b []byte, r *marketdata.Root, symbol string) []byte {
	if a := r.Asset(symbol); a != nil && a.HasUnifiedID {
		return strconv.AppendInt(b, a.UnifiedCryptoassetID, 10)
	}
	return append(b, "null"...)
}

// PairBook returns the order book in CoinMarketCap's form, with up to levels levels a side, all of
// them when levels is negative.
func PairBook(v *marketdata.View, levels int64) *marketdata.Text {
	head := strconv.AppendInt([]byte(`{"timestamp":`), floorMs(v.BookTimeNs), 10)
	return book(v, head, levels)
}

// TapeReader writes the selected trades of a view in CoinMarketCap's form, newest first, one chunk
// of trades at a time. The view is frozen, so all pieces show one instant. It belongs to one
// request.
type TapeReader struct {
	view  *marketdata.View
	sel   Selection
	piece func(dst, text []byte) []byte

	next  engine.TradeID // the newest id not yet written
	begun bool
	ended bool
	comma bool // a row was written
	out   []byte
	buf   []byte
	alt   []byte
}

// NewTapeReader returns a reader of the selection of v. piece, unless nil, rewrites each piece.
func NewTapeReader(v *marketdata.View, s Selection, piece func(dst, text []byte) []byte) *TapeReader {
	return &TapeReader{view: v, sel: s, piece: piece, next: s.High}
}

// Read implements io.Reader.
func (r *TapeReader) Read(p []byte) (int, error) {
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

// advance renders the next piece.
func (r *TapeReader) advance() {
	switch {
	case !r.begun:
		r.begun, r.out = true, append(r.buf[:0], '[')
	case r.next < r.sel.Low || r.next == 0:
		r.ended, r.out = true, append(r.buf[:0], ']')
	default:
		r.rows()
	}
}

// rows renders the selected trades of one chunk.
func (r *TapeReader) rows() {
	first, trades, _ := r.view.Trades.Chunk(r.next)
	b := r.buf[:0]
	for id := r.next; id >= max(first, r.sel.Low); id-- {
		t := &trades[id-first]
		if !r.sel.wants(t.TakerSide) {
			continue
		}
		if r.comma {
			b = append(b, ',')
		}
		b, r.comma = appendPairTrade(b, r.view.Instrument, id, t), true
	}
	r.next = first - 1
	r.buf, r.out = b, b
	if r.piece != nil {
		r.alt = r.piece(r.alt[:0], b)
		r.out = r.alt
	}
}

func appendPairTrade(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	b = strconv.AppendUint(append(b, `{"trade_id":`...), uint64(id), 10)
	b = price(append(b, `,"price":`...), in, t.Price)
	b = fixed.AppendI64(append(b, `,"base_volume":`...), t.Amount, in.DigitsAmount)
	b = total(append(b, `,"quote_volume":`...), in, fixed.Mul64(uint64(t.Price), uint64(t.Amount)))
	b = strconv.AppendInt(append(b, `,"timestamp":`...), floorMs(t.TimeNs), 10)
	if t.TakerSide == engine.Buy {
		return append(b, `,"type":"buy"}`...)
	}
	return append(b, `,"type":"sell"}`...)
}
