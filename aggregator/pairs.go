package aggregator

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// AppendPairs appends the pair directory: every configured pair, by code.
func AppendPairs(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.Object()
	w.Name("data").Object()
	w.Name("market_pairs").List()
	for _, id := range r.Sorted() {
		in := r.View(id).Instrument
		w.Object()
		w.Name("market_pair").Word(in.Base + "/" + in.Quote)
		w.Name("category").Word("spot")
		writeSymbol(w.Name("base"), r, in.Base)
		writeSymbol(w.Name("quote"), r, in.Quote)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	w.EndObject()
	return w.Bytes()
}

func writeSymbol(w *json.Writer, r *marketdata.Root, symbol string) {
	w.Object()
	w.Name("symbol").Word(symbol)
	w.Name("type").Word(AssetType(r.Asset(symbol)))
	w.EndObject()
}

// AssetType returns the wire word for the kind of an asset; an unknown kind is a cryptocurrency.
func AssetType(a *engine.Asset) string {
	if a != nil && a.Fiat {
		return "fiat"
	}
	return "cryptocurrency"
}
