package public

import (
	"strings"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// udfMaxQuotes is the number of symbols of a request of quotes.
const udfMaxQuotes = 100

// udfQuotes answers the quotes of the watch list: one row a symbol in the order of the request. An unknown symbol is a
// row with an error, so that the rows of the others arrive.
func udfQuotes(m *Market, c *edge.Ctx) *refuse.Refusal {
	text, err := c.Required("symbols")
	if err != nil {
		return err
	}
	symbols := strings.Split(text, ",")
	if len(symbols) > udfMaxQuotes {
		return refuse.Param("symbols", "The parameter symbols must name at most %d symbols.", udfMaxQuotes)
	}
	root := m.board.Load()
	b := []byte(`{"s":"ok","d":[`)
	for i, symbol := range symbols {
		if i > 0 {
			b = append(b, ',')
		}
		v := root.Lookup(udfCode(symbol))
		if v == nil {
			b = encode.AppendString(append(b, `{"s":"error","n":`...), symbol)
			b = append(b, `,"v":{},"errmsg":"unknown_symbol"}`...)
			continue
		}
		b = encode.AppendString(append(b, `{"s":"ok","n":`...), symbol)
		b = append(appendQuote(append(b, `,"v":{`...), v), `}}`...)
	}
	return c.SendBody(append(b, `]}`...), root.SeqSum)
}

// appendQuote appends the members of a quote. Figures that do not exist are left out: a pair that has never traded has
// no price, one without a trade in 24 h no highest price, and an empty side no best price.
func appendQuote(b []byte, v *marketdata.View) []byte {
	t, in := &v.Ticker, v.Instrument
	price := func(exists bool, name string, ticks int64) {
		if exists {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = fixed.AppendI64(b, ticks, in.DigitsPrice)
		}
	}
	b = append(append(b, `"short_name":"`...), in.Code...)
	b = append(append(append(append(b, `","description":"`...), in.Base...), '/'), in.Quote...)
	b = append(b, `","exchange":"TickHive"`...)
	traded := t.LastTrade != 0
	price(traded, "lp", t.Last)
	price(traded, "ch", t.Last-t.Ago24h)
	if traded {
		b = append(b, `,"chp":`...)
		b = fixed.AppendI128(b, fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	}
	price(t.Ask != 0, "ask", t.Ask)
	price(t.Bid != 0, "bid", t.Bid)
	price(t.Ask != 0 && t.Bid != 0, "spread", t.Ask-t.Bid)
	price(traded, "open_price", t.Ago24h)
	price(t.High != 0, "high_price", t.High)
	price(t.Low != 0, "low_price", t.Low)
	price(traded, "prev_close_price", t.Ago24h)
	return fixed.AppendU128(append(b, `,"volume":`...), t.Volume, in.DigitsAmount)
}

// udfCode returns the pair code that a symbol of the charting library names.
func udfCode(symbol string) string {
	if at := strings.LastIndexByte(symbol, ':'); at >= 0 {
		symbol = symbol[at+1:]
	}
	return strings.ReplaceAll(symbol, "/", "_")
}
