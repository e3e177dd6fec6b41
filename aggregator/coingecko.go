package aggregator

import (
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// AppendTickerPairs appends the list of pairs in CoinGecko's form: every configured pair, by code.
func AppendTickerPairs(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.List()
	for _, id := range r.Sorted() {
		in := r.View(id).Instrument
		w.Object()
		w.Name("ticker_id").Word(in.Code)
		w.Name("base").Word(in.Base)
		w.Name("target").Word(in.Quote)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes()
}
