package binance

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// The number of trades in an answer.
const (
	defaultTrades = 500
	maxTrades     = 1000
)

const msNs = 1_000_000

func trades(q *call) ([]byte, *failure) { return q.tradeList(false) }

func historicalTrades(q *call) ([]byte, *failure) { return q.tradeList(true) }

// tradeList answers with the newest trades, or with those from the parameter fromId on.
func (q *call) tradeList(history bool) ([]byte, *failure) {
	limit, err := q.limit(defaultTrades, maxTrades)
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	low, high := newest(&v.Trades, limit)
	if history && q.sent("fromId") {
		from, err := q.number("fromId", 0)
		if err != nil {
			return nil, err
		}
		low, high = fromID(&v.Trades, from, limit)
	}
	b := []byte{'['}
	for id := low; id <= high && id > 0; id++ {
		t := v.Trades.At(id)
		b = append(appendTrade(b, v.Instrument, id, &t), ',')
	}
	return append(trimComma(b), ']'), nil
}

// newest returns the ids of the newest trades, at most limit.
func newest(t *marketdata.Trades, limit int) (low, high engine.TradeID) {
	high = t.Last()
	return t.First() + engine.TradeID(max(t.Len()-limit, 0)), high
}

// fromID returns the ids of at most limit trades from an id on.
func fromID(t *marketdata.Trades, from int64, limit int) (low, high engine.TradeID) {
	low = max(t.First(), engine.TradeID(from))
	if low > t.Last() {
		return 1, 0
	}
	return low, min(t.Last(), low+engine.TradeID(limit-1))
}

func appendTrade(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(id), 10)
	b = appendQuoted(append(b, ','), "price", t.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "qty", t.Amount, in.DigitsAmount)
	b = appendQuoted128(append(b, ','), "quoteQty", fixed.Mul64(uint64(t.Price), uint64(t.Amount)), in.DigitsTotal())
	b = encode.AppendMs(append(b, `,"time":`...), t.TimeNs)
	b = strconv.AppendBool(append(b, `,"isBuyerMaker":`...), t.TakerSide == engine.Sell)
	return append(b, `,"isBestMatch":true}`...)
}

// aggTrades answers with one aggregate a trade, because each fill is reported on its own here.
func aggTrades(q *call) ([]byte, *failure) {
	limit, err := q.limit(defaultTrades, maxTrades)
	if err != nil {
		return nil, err
	}
	v, err := q.pair()
	if err != nil {
		return nil, err
	}
	t := &v.Trades
	low, high := newest(t, limit)
	timed := q.sent("startTime") || q.sent("endTime")
	if q.sent("fromId") {
		if timed {
			return nil, fail(codeOptionalParams, "Combination of optional parameters invalid.")
		}
		from, err := q.number("fromId", 0)
		if err != nil {
			return nil, err
		}
		low, high = fromID(t, from, limit)
	} else if timed {
		startMs, endMs, err := q.span()
		if err != nil {
			return nil, err
		}
		low, high = max(t.Search(startMs*msNs), t.First()), t.Search((endMs+1)*msNs)-1
		if q.sent("startTime") {
			high = min(high, low+engine.TradeID(limit-1))
		} else if high >= low && int(high-low) >= limit {
			low = high - engine.TradeID(limit-1)
		}
	}
	b := []byte{'['}
	for id := low; id <= high && id > 0; id++ {
		trade := t.At(id)
		b = append(AppendAggregate(append(b, '{'), v.Instrument, id, &trade), "},"...)
	}
	return append(trimComma(b), ']'), nil
}

// maxMs bounds times in requests, so that nanoseconds fit into int64.
const maxMs = 9_000_000_000_000

// span reads startTime and endTime, inclusive and in ms.
func (q *call) span() (startMs, endMs int64, err *failure) {
	if startMs, err = q.number("startTime", 0); err != nil {
		return 0, 0, err
	}
	endMs, err = q.number("endTime", maxMs)
	return min(startMs, maxMs), min(endMs, maxMs), err
}

// AppendAggregate appends the members of an aggregate of one trade; streams send them too.
func AppendAggregate(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade) []byte {
	for _, name := range []string{`"a":`, `,"f":`, `,"l":`} {
		b = strconv.AppendUint(append(b, name...), uint64(id), 10)
	}
	b = appendQuoted(append(b, ','), "p", t.Price, in.DigitsPrice)
	b = appendQuoted(append(b, ','), "q", t.Amount, in.DigitsAmount)
	b = encode.AppendMs(append(b, `,"T":`...), t.TimeNs)
	b = strconv.AppendBool(append(b, `,"m":`...), t.TakerSide == engine.Sell)
	return append(b, `,"M":true`...)
}
