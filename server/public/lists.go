package public

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// listRoutes returns the routes that list the configuration.
func listRoutes(m *Market) []*edge.Route {
	m.docs.currencies.setConfig(appendCurrencies)
	m.docs.pairs.setConfig(appendPairs)
	m.docs.commissions.setConfig(m.appendCommissions)
	list := func(path string, d *sharedDoc, params ...edge.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Public: true, Tagged: true, Params: params,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, d) },
		}
	}
	return []*edge.Route{
		list("/api/currencies", &m.docs.currencies),
		list("/api/currencies/pairs", &m.docs.pairs, edge.ParamDecimals),
		list("/api/currencies/commissions", &m.docs.commissions, edge.ParamDecimals),
	}
}

func appendCurrencies(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, a := range r.Assets() {
		if i > 0 {
			b = append(b, ',')
		}
		b = encode.AppendString(b, a.Symbol)
	}
	return append(b, ']')
}

// appendPairs appends the settings of all pairs (docs/contract/api.md), sorted by code.
func appendPairs(b []byte, r *marketdata.Root) []byte {
	b = append(b, '[')
	for i, id := range r.Sorted() {
		if i > 0 {
			b = append(b, ',')
		}
		in := r.View(id).Instrument
		b = encode.AppendString(append(b, `{"code":`...), in.Code)
		b = strconv.AppendInt(append(b, `,"digitsPrice":`...), int64(in.DigitsPrice), 10)
		b = strconv.AppendInt(append(b, `,"digitsAmount":`...), int64(in.DigitsAmount), 10)
		b = append(b, `,"minQuoteAmount":`...)
		if in.HasMinQuote {
			b = fixed.AppendShortest(b, in.MinQuote.ToI128(), in.DigitsTotal())
		} else {
			b = append(b, "null"...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
