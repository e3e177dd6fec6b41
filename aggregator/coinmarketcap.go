package aggregator

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/doc"
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
func PairBook(v *marketdata.View, levels int64) *doc.Text {
	head := strconv.AppendInt([]byte(`{"timestamp":`), floorMs(v.BookTimeNs), 10)
	return book(v, head, levels)
}

// appendPairTrade appends one trade in CoinMarketCap's form.
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
