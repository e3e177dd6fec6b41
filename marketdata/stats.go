package marketdata

import "unsafe"

// Stats holds the numbers of retained records by kind and the bytes allocated for them, for metrics.
type Stats struct {
	Pairs        int
	Levels       int   // price levels of all working books
	Trades       int   // retained trades of all pairs
	TradeBytes   int64 // bytes of the trades' chunks
	DroppedYoung uint64
	Candles      int // closed candles of all pairs and intervals
	CandleBytes  int64
	Seconds      int // traded seconds in all windows
	WindowBytes  int64
	TextBytes    int64 // bytes of the cached texts of trade chunks

	OpenOrders, ClosedOrders, Remembered, Fills int
	OrderBytes                                  int64 // bytes of the order history, without the texts of client ids
}

// Stats counts the retained data; it walks over all pairs. Only the feed's goroutine may call it.
func (f *Feed) Stats() Stats {
	s := Stats{TextBytes: f.cache.bytes.Load()}
	for _, p := range f.pairs {
		if p == nil {
			continue
		}
		s.Pairs++
		s.Levels += p.sides[0].levels + p.sides[1].levels
		s.Trades += p.ring.view.Len()
		s.TradeBytes += int64(len(p.ring.view.chunks)) * int64(unsafe.Sizeof(tradeChunk{}))
		s.DroppedYoung += p.ring.young
		for i := range p.candles.series {
			v := &p.candles.series[i].view
			s.Candles += v.closed
			s.CandleBytes += int64(len(v.chunks)) * int64(unsafe.Sizeof(candleChunk{}))
		}
		w := &p.window
		s.Seconds += w.buckets.len() - w.out
		s.WindowBytes += int64(len(w.buckets.buf))*int64(unsafe.Sizeof(bucket{})) +
			int64(len(w.highs.buf)+len(w.lows.buf))*int64(unsafe.Sizeof(extreme{}))
		for _, page := range p.orders.pages {
			if page != nil {
				s.OrderBytes += int64(unsafe.Sizeof(idPage{}))
			}
		}
	}
	h := f.history
	s.OpenOrders = h.open.InUse()
	s.ClosedOrders = int(h.closed.end - h.closed.first())
	s.Remembered = int(h.remembered.end - h.remembered.first())
	s.Fills = 2 * int(h.fills.end-h.fills.first())
	records := len(h.closed.chunks) + len(h.remembered.chunks)
	s.OrderBytes += h.open.Bytes() + h.extras.Bytes() + ringChunk*(int64(records)*int64(unsafe.Sizeof(orderRec{}))+
		int64(len(h.fills.chunks))*int64(unsafe.Sizeof(fillRec{})))
	return s
}
