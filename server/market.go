package server

import (
	"github.com/valyala/fasthttp"

	"tickhive/aggregator"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

const pairName = "currencyPairCode"

// marketRoutes returns the single-pair routes of {base_url} and the summary.
func marketRoutes(s *Server) []*Route {
	s.docs.summary.ofRows(func(v *marketdata.View) *marketdata.Doc {
		return keptRow(v, marketdata.DocSummaryRow, aggregator.AppendSummary)
	})
	get := func(path string, h Handler, query ...string) *Route {
		return &Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Query: append(query, "decimals")}
	}
	return []*Route{
		get("/api/tickers", s.ticker, pairName),
		get("/api/orderbook", s.orderbook, pairName, "aliases"),
		get("/api/deals", s.deals, pairName, "sinceDate", "endDate", "pageNumber", "pageSize"),
		get("/api/ohlc", s.ohlc, pairName, "interval", "start", "end", "fill"),
		get("/api/summary", func(c *Ctx) *refuse.Refusal { return s.sendShared(c, &s.docs.summary) }),
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
	return v.Keep(kind, &marketdata.Doc{Body: body, Seq: tagHash(body)})
}

func (s *Server) ticker(c *Ctx) *refuse.Refusal {
	code, err := c.pairParam(pairName)
	if err != nil {
		return err
	}
	v, err := s.lookup(pairName, code)
	if err != nil {
		return err
	}
	d := v.Doc(marketdata.DocTicker)
	if d == nil {
		body := AppendTicker(make([]byte, 0, 384), v)
		d = v.Keep(marketdata.DocTicker, newDoc(body, uint64(v.TickerSeq), c.MachineNs()))
	}
	return s.sendDoc(c, d, s.at(v.Instrument.ID, marketdata.DocTicker))
}

// bookLevels is the number of levels of a side that /api/orderbook shows
// (docs/contract/api.md#limits).
const bookLevels = 40

func (s *Server) orderbook(c *Ctx) *refuse.Refusal {
	code, err := c.pairParam(pairName)
	if err != nil {
		return err
	}
	aliases, err := c.Bool("aliases", true)
	if err != nil {
		return err
	}
	v, err := s.lookup(pairName, code)
	if err != nil {
		return err
	}
	if !aliases {
		return s.sendBody(c, appendBookPlain(nil, v), uint64(v.BookSeq))
	}
	d := v.Doc(marketdata.DocBook)
	if d == nil {
		d = v.Keep(marketdata.DocBook, baseBookDoc(v, c.MachineNs()))
	}
	return s.sendDoc(c, d, s.at(v.Instrument.ID, marketdata.DocBook))
}
