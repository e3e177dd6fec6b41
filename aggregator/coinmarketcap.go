package aggregator

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/json"
)

// AppendPairTickers appends CoinMarketCap's ticker object: every configured pair by code, with the
// ids of its assets, the last price and the volumes of the last 24 h. A pair without a trade has
// the last price 0.
func AppendPairTickers(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.Object()
	for _, id := range r.Sorted() {
		v := r.View(id)
		t, in := &v.Ticker, v.Instrument
		frozen := int64(1)
		if in.State == engine.Online || in.State == engine.PostOnlyState {
			frozen = 0
		}
		w.Name(in.Code).Object()
		writeAssetID(w.Name("base_id"), r, in.Base)
		writeAssetID(w.Name("quote_id"), r, in.Quote)
		w.Name("last_price").Units(t.Last, in.DigitsPrice)
		w.Name("base_volume").Sum(t.Volume, in.DigitsAmount)
		w.Name("quote_volume").Sum(t.QuoteVolume, in.DigitsTotal())
		w.Name("isFrozen").Int(frozen)
		w.EndObject()
	}
	w.EndObject()
	return w.Bytes()
}

// writeAssetID writes the asset's id at CoinMarketCap, or null.
func writeAssetID(w *json.Writer, r *marketdata.Root, symbol string) {
	if a := r.Asset(symbol); a != nil && a.HasUnifiedID {
		w.Int(a.UnifiedCryptoassetID)
		return
	}
	w.Null()
}

// PairBook returns the order book in CoinMarketCap's form, with up to levels levels a side, all of
// them when levels is negative.
func PairBook(v *marketdata.View, levels int64) *doc.Text {
	var w json.Writer
	w.Object()
	w.Name("timestamp").Ms(v.BookTimeNs)
	return book(v, &w, levels)
}

// appendPairTrade appends one trade in CoinMarketCap's form.
func appendPairTrade(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	w := json.On(b)
	w.Object()
	w.Name("trade_id").Uint(uint64(id))
	w.Name("price").Units(t.Price, in.DigitsPrice)
	w.Name("base_volume").Units(t.Amount, in.DigitsAmount)
	w.Name("quote_volume").Sum(fixed.Mul64(uint64(t.Price), uint64(t.Amount)), in.DigitsTotal())
	w.Name("timestamp").Ms(t.TimeNs)
	w.Name("type").Word(sideName(t.TakerSide))
	w.EndObject()
	return w.Bytes()
}
