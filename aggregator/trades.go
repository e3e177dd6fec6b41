package aggregator

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// Selection holds the trades of a view that a request selects: the ids from Low to High, restricted to takers
// that bought (Buy) or sold (Sell). Low above High means none. Select makes it.
type Selection struct {
	Low, High engine.TradeID
	Buy, Sell bool
	// Oldest reports that the selection begins at the oldest retained trade, so trades that were dropped may be
	// missing from the answer.
	Oldest bool
}

// Filter holds the parameters of /historical_trades. Times in ms, inclusive; MinInt64 and
// MaxInt64 mean no limit. Limit 0: no limit.
type Filter struct {
	StartMs, EndMs int64
	Limit          int64
	Buy, Sell      bool
}

const msNs = 1_000_000

// Select returns the newest Limit trades that pass the filter. It costs two binary searches and,
// with a limit and one wanted side, a walk over the skipped trades.
func Select(t *marketdata.Trades, f Filter) Selection {
	s := Selection{Low: t.First(), High: t.Last(), Buy: f.Buy, Sell: f.Sell}
	if t.Last() == 0 {
		return Selection{Low: 1, High: 0}
	}
	if f.EndMs < 1<<63/msNs-1 {
		s.High = t.Search((max(f.EndMs, -1<<62/msNs)+1)*msNs) - 1
	}
	if f.StartMs > -1<<62/msNs {
		s.Low = max(s.Low, t.Search(min(f.StartMs, 1<<63/msNs-1)*msNs))
	}
	s.Oldest = s.Low == t.First()
	if f.Limit == 0 || int64(s.Len()) < f.Limit {
		return s
	}
	if f.Buy && f.Sell {
		s.Low, s.Oldest = s.High-engine.TradeID(f.Limit)+1, false
		return s
	}
	left := f.Limit
	for id := s.High; id >= s.Low; id-- {
		if !s.wants(t.At(id).TakerSide) {
			continue
		}
		if left--; left == 0 {
			s.Low, s.Oldest = id, false
			break
		}
	}
	return s
}

func (s *Selection) wants(side engine.Side) bool {
	return side == engine.Buy && s.Buy || side == engine.Sell && s.Sell
}

// Len returns the number of trades between Low and High, of either side.
func (s *Selection) Len() int {
	if s.High < s.Low {
		return 0
	}
	return int(s.High-s.Low) + 1
}

// AppendTrades appends the whole response of /historical_trades.
func AppendTrades(b []byte, v *marketdata.View, s Selection) []byte {
	w := json.On(b)
	w.Object()
	w.Name("buy").List()
	w = json.On(appendTakers(w.Rows(), v, s, engine.Buy))
	w.EndList()
	w.Name("sell").List()
	w = json.On(appendTakers(w.Rows(), v, s, engine.Sell))
	w.EndList()
	w.EndObject()
	return w.Bytes()
}

// appendTakers appends the rows of the wanted trades of one taker's side, newest first.
func appendTakers(b []byte, v *marketdata.View, s Selection, side engine.Side) []byte {
	if !s.wants(side) {
		return b
	}
	kind := marketdata.BlockAggBuy
	if side == engine.Sell {
		kind = marketdata.BlockAggSell
	}
	return v.Trades.AppendRows(b, s.Low, s.High, kind,
		func(b []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
			w := json.On(b)
			for i, t := range slices.Backward(trades) {
				if t.TakerSide == side {
					writeTrade(&w, v.Instrument, first+engine.TradeID(i), &t)
				}
			}
			return w.Rows()
		})
}

// writeTrade writes one trade as in docs/contract/api.md#aggregator-trade.
func writeTrade(w *json.Writer, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) {
	w.Object()
	w.Name("trade_id").Uint(uint64(id))
	w.Name("price").Units(t.Price, in.DigitsPrice)
	w.Name("base_volume").Units(t.Amount, in.DigitsAmount)
	w.Name("target_volume").Sum(fixed.Mul64(uint64(t.Price), uint64(t.Amount)), in.DigitsTotal())
	w.Name("trade_timestamp").Ms(t.TimeNs)
	w.Name("type").Word(sideName(t.TakerSide))
	w.EndObject()
}

func sideName(side engine.Side) string {
	if side == engine.Buy {
		return "buy"
	}
	return "sell"
}

func appendTrade(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	w := json.On(b)
	writeTrade(&w, in, id, t)
	return w.Bytes()
}
