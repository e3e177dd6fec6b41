package public

import (
	"slices"

	"github.com/valyala/fasthttp"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// summaryPath is the only path of marketRoutes that clients do not poll frequently.
const summaryPath = "/api/summary"

// marketRoutes returns the single-pair routes of {base_url} and the summary.
func marketRoutes(m *Market) []*edge.Route {
	m.docs.summary.setRows(func(v *marketdata.View) *marketdata.Doc {
		return cachedRow(v, marketdata.DocSummaryRow, aggregator.AppendSummary)
	})
	get := func(path string, h edge.Handler, params ...edge.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Tagged: true, Hot: path != summaryPath,
			Params: append(params, edge.ParamDecimals),
		}
	}
	pair := edge.ParamPair(edge.PairName, true)
	return []*edge.Route{
		get("/api/tickers", m.ticker, pair),
		get("/api/orderbook", m.orderbook, pair, edge.Field{Name: "aliases", Kind: edge.KindBoolean, Default: true}),
		get("/api/deals", m.deals,
			slices.Concat([]edge.Field{pair}, edge.ParamsBetween(edge.KindDate, "sinceDate", "endDate"),
				edge.ParamsPage("pageNumber", edge.KindInteger, edge.KindInteger, edge.MaxPageSize),
				[]edge.Field{edge.ParamRow})...),
		get("/api/ohlc", m.ohlc, pair,
			edge.Field{Name: "interval", Kind: edge.KindWord, Required: true, Words: marketdata.IntervalNames()},
			edge.Field{Name: "start", Kind: edge.KindDate, Required: true},
			edge.Field{Name: "end", Kind: edge.KindDate, Required: true},
			edge.Field{Name: "fill", Kind: edge.KindWord, Words: fills, Default: fills[0]}),
		get(summaryPath, func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.summary) }),
	}
}

// cachedRow returns a pair's row of a document over all pairs; it renders and caches the row if necessary. Seq
// of the row holds its ETag hash.
func cachedRow(v *marketdata.View, kind marketdata.DocKind,
	render func(dst []byte, v *marketdata.View) []byte,
) *marketdata.Doc {
	if d := v.Doc(kind); d != nil {
		return d
	}
	body := render(make([]byte, 0, 512), v)
	return v.Cache(kind, &marketdata.Doc{Body: body, Seq: edge.TagHash(body)})
}

func (m *Market) ticker(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(edge.PairName)
	if err != nil {
		return err
	}
	v, err := m.lookup(edge.PairName, code)
	if err != nil {
		return err
	}
	d := v.Doc(marketdata.DocTicker)
	if d == nil {
		body := encode.AppendTicker(make([]byte, 0, 384), v)
		d = v.Cache(marketdata.DocTicker, edge.NewDoc(body, uint64(v.TickerSeq), c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v.Instrument.ID, marketdata.DocTicker))
}

// bookLevels is the number of levels of a side that /api/orderbook shows
// (docs/contract/api.md#limits).
const bookLevels = 40

func (m *Market) orderbook(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(edge.PairName)
	if err != nil {
		return err
	}
	aliases, err := c.Bool("aliases", true)
	if err != nil {
		return err
	}
	v, err := m.lookup(edge.PairName, code)
	if err != nil {
		return err
	}
	if !aliases {
		return c.SendBody(appendBookPlain(nil, v), uint64(v.BookSeq))
	}
	d := v.Doc(marketdata.DocBook)
	if d == nil {
		d = v.Cache(marketdata.DocBook, baseBookDoc(v, c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v.Instrument.ID, marketdata.DocBook))
}

// lookup returns the view of a pair, or a 404 refusal.
func (m *Market) lookup(name string, code []byte) (*marketdata.View, *refuse.Refusal) {
	if v := m.board.Load().Lookup(edge.BytesKey(code)); v != nil {
		return v, nil
	}
	return nil, refuse.Missing(name, "There is no pair %s.", code)
}

func (m *Market) placeOf(id engine.PairID, kind marketdata.DocKind) edge.DocPlace {
	return edge.DocPlace{Board: m.board, Pair: id, Kind: kind}
}
