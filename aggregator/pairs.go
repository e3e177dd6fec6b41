package aggregator

import (
	"tickhive/engine"
	"tickhive/marketdata"
)

// AppendPairs appends the pair directory: every configured pair, by code.
func AppendPairs(b []byte, r *marketdata.Root) []byte {
	b = append(b, `{"data":{"market_pairs":[`...)
	for i, id := range r.Sorted() {
		if i > 0 {
			b = append(b, ',')
		}
		in := r.View(id).Instrument
		b = append(append(append(b, `{"market_pair":"`...), in.Base...), '/')
		b = append(append(b, in.Quote...), `","category":"spot","base":`...)
		b = appendSymbol(b, r, in.Base)
		b = appendSymbol(append(b, `,"quote":`...), r, in.Quote)
		b = append(b, '}')
	}
	return append(b, "]}}"...)
}

func appendSymbol(b []byte, r *marketdata.Root, symbol string) []byte {
	b = append(append(append(b, `{"symbol":"`...), symbol...), `","type":"`...)
	return append(append(b, AssetType(r.Asset(symbol))...), `"}`...)
}

// AssetType returns the wire word for the kind of an asset; an unknown kind is a cryptocurrency.
func AssetType(a *engine.Asset) string {
	if a != nil && a.Fiat {
		return "fiat"
	}
	return "cryptocurrency"
}
