package public

import (
	"github.com/valyala/fasthttp"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// marketRoutes returns the single-pair routes of {base_url} and the summary.
func marketRoutes(m *Market) []*edge.Route {
	m.docs.summary.ofRows(func(v *marketdata.View) *marketdata.Doc {
		return keptRow(v, marketdata.DocSummaryRow, aggregator.AppendSummary)
	})
	get := func(path string, h edge.Handler, query ...string) *edge.Route {
		return &edge.Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Query: append(query, "decimals")}
	}
	return []*edge.Route{
		get("/api/tickers", m.ticker, edge.PairName),
		get("/api/orderbook", m.orderbook, edge.PairName, "aliases"),
		get("/api/deals", m.deals, edge.PairName, "sinceDate", "endDate", "pageNumber", "pageSize"),
		get("/api/ohlc", m.ohlc, edge.PairName, "interval", "start", "end", "fill"),
		get("/api/summary", func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.summary) }),
	}
}

// keptRow returns a pair's row of a document over all pairs, cached; its tag is in Seq.
func keptRow(v *marketdata.View, kind marketdata.DocKind,
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
	return c.SendDoc(d, m.at(v.Instrument.ID, marketdata.DocTicker))
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
	return c.SendDoc(d, m.at(v.Instrument.ID, marketdata.DocBook))
}

// lookup returns the view of a pair, or a 404 refusal.
func (m *Market) lookup(name string, code []byte) (*marketdata.View, *refuse.Refusal) {
	if v := m.board.Load().Lookup(edge.BytesKey(code)); v != nil {
		return v, nil
	}
	return nil, refuse.Missing(name, "There is no pair %s.", code)
}

func (m *Market) at(id engine.PairID, kind marketdata.DocKind) edge.DocPlace {
	return edge.DocPlace{Board: m.board, Pair: id, Kind: kind}
}
