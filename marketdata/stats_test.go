package marketdata

import (
	"testing"
	"unsafe"

	"github.com/tickhive/tickhive/engine"
)

func TestStatsCountWhatIsKept(t *testing.T) {
	r := newRig(Options{Retention: Retention{TradesMin: 5, TradesMax: 1000, ClosedOrders: 100, Fills: 60}}, 2)
	for i := range 40 {
		r.now += nanosecond
		r.trade(engine.PairID(i%2), engine.Buy, 100, 1)
	}
	r.place(0, 1, engine.Buy, 90, 1)
	r.place(1, 1, engine.Sell, 190, 1)
	r.publish()
	s := r.feed.Stats()
	want := Stats{
		Pairs: 2, Levels: 2, Trades: 40, Seconds: 40, OpenOrders: 2, ClosedOrders: 80, Fills: 60,
		TradeBytes: s.TradeBytes, CandleBytes: s.CandleBytes, WindowBytes: s.WindowBytes, OrderBytes: s.OrderBytes,
		Candles: s.Candles,
	}
	same(t, want, s)
	if s.TradeBytes < 40*40 || s.WindowBytes < 40*96 || s.OrderBytes < 82*100 {
		t.Fatalf("bytes: %+v", s)
	}
}

// The record sizes equal the sizes in the comments of Feed and History.
func TestRecordsAreAsSmallAsStated(t *testing.T) {
	for name, c := range map[string]struct{ got, want uintptr }{
		"trade":  {unsafe.Sizeof(Trade{}), 40},
		"candle": {unsafe.Sizeof(Candle{}), 120},
		"bucket": {unsafe.Sizeof(bucket{}), 64},
		"order":  {unsafe.Sizeof(orderRec{}), 128},
		"extra":  {unsafe.Sizeof(orderExtra{}), 152},
		"list":   {unsafe.Sizeof(listRec{}), 72},
		"amend":  {unsafe.Sizeof(amendRec{}), 88},
		"match":  {unsafe.Sizeof(PreventedMatch{}), 80},
		"fill":   {unsafe.Sizeof(fillRec{}), 96},
		"page":   {unsafe.Sizeof(Page{}), 296},
	} {
		if c.got > c.want {
			t.Errorf("a %s takes %d bytes, %d are stated", name, c.got, c.want)
		}
	}
}
