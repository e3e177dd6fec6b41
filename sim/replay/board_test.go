package replay

import (
	"errors"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// publicBoard answers the checks from the published views: what every reader of the API sees.
type publicBoard struct {
	Board *marketdata.Board
	Pair  string
}

var errNoPair = errors.New("the pair is not published")

func (b *publicBoard) view() (*marketdata.View, error) {
	v := b.Board.Load().Lookup(b.Pair)
	if v == nil {
		return nil, errNoPair
	}
	return v, nil
}

// Book implements Public.Book.
func (b *publicBoard) Book(depth int, bids, asks []marketdata.Level) (outBids, outAsks []marketdata.Level, err error) {
	v, err := b.view()
	if err != nil {
		return bids, asks, err
	}
	return top(&v.Bids, depth, bids), top(&v.Asks, depth, asks), nil
}

func top(side *marketdata.Side, depth int, dst []marketdata.Level) []marketdata.Level {
	n := 0
	for l := range side.All {
		if n == depth {
			break
		}
		dst = append(dst, l)
		n++
	}
	return dst
}

// Candles implements Public.Candles.
func (b *publicBoard) Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error) {
	v, err := b.view()
	if err != nil {
		return nil, err
	}
	series := v.Candles(interval)
	var out []marketdata.Candle
	for i := series.Search(fromSec); i < series.Len(); i++ {
		c := series.At(i)
		if c.Start > toSec {
			break
		}
		out = append(out, c)
	}
	return out, nil
}

// Trades implements Public.Trades.
func (b *publicBoard) Trades(n int) ([]marketdata.Trade, error) {
	v, err := b.view()
	if err != nil {
		return nil, err
	}
	t := &v.Trades
	n = min(n, t.Len())
	out := make([]marketdata.Trade, 0, n)
	for i := range n {
		out = append(out, t.At(t.Last()-engine.TradeID(n-1-i)))
	}
	return out, nil
}

// Last implements Public.Last.
func (b *publicBoard) Last() (int64, error) {
	v, err := b.view()
	if err != nil {
		return 0, err
	}
	return v.Ticker.Last, nil
}
