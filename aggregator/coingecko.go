package aggregator

import "tickhive/marketdata"

// AppendTickerPairs appends the list of pairs in CoinGecko's form: every configured pair, by code.
func AppendTickerPairs(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, id := range r.Sorted() {
		if i > 0 {
			b = append(b, ',')
		}
		in := r.View(id).Instrument
		b = append(append(b, `{"ticker_id":"`...), in.Code...)
		b = append(append(b, `","base":"`...), in.Base...)
		b = append(append(append(b, `","target":"`...), in.Quote...), `"}`...)
	}
	return append(b, ']')
}
