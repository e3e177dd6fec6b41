package public

import (
	"github.com/valyala/fasthttp"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// The prefixes of the listing sites' own forms (docs/contract/listing.md#strict-forms).
const (
	coinGecko     = "/listing/coingecko"
	coinMarketCap = "/listing/coinmarketcap"
)

// pairOfPath is the parameter of the path that names a pair.
const pairOfPath = "pair"

// listingRoutes returns the routes whose answers have exactly the members that the standards of
// the listing sites name.
func listingRoutes(m *Market) []*edge.Route {
	m.docs.geckoPairs.setConfig(aggregator.AppendTickerPairs)
	m.docs.geckoTickers.setQuoted(&m.docs.aggTickers)
	m.docs.capTickers.setTickers(aggregator.AppendPairTickers)
	count := func(name string) edge.Field { return edge.Field{Name: name, Pattern: "^[0-9]+$"} }
	get := func(path string, h edge.Handler, params ...edge.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Tagged: true,
			Namespace: edge.NamespaceAggregator, Params: params,
		}
	}
	shared := func(d *sharedDoc) edge.Handler {
		return func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, d) }
	}
	ticker, pair := edge.ParamPair(tickerName, true), edge.ParamPair(pairOfPath, true)
	kind := edge.Field{Name: "type", Kind: edge.KindWord, Words: tradeTypes}
	between := edge.ParamsBetween(edge.KindInt64, "start_time", "end_time")
	tickers := get(coinGecko+"/tickers", shared(&m.docs.geckoTickers))
	tickers.MaxAgeSec = tickersMaxAgeSec
	return []*edge.Route{
		get(coinGecko+"/pairs", shared(&m.docs.geckoPairs)),
		tickers,
		get(coinGecko+"/orderbook", withText(m.aggOrderbook), ticker, count("depth")),
		get(coinGecko+"/historical_trades", withText(m.aggTrades), append([]edge.Field{ticker, kind, count("limit")},
			between...)...),
		get(coinMarketCap+"/summary", shared(&m.docs.summary), edge.ParamDecimals),
		get(coinMarketCap+"/assets", shared(&m.docs.aggAsset), edge.ParamDecimals),
		get(coinMarketCap+"/ticker", shared(&m.docs.capTickers), edge.ParamDecimals),
		get(coinMarketCap+"/orderbook/{pair}", m.pairBook, pair, count("depth"), edge.ParamDecimals),
		get(coinMarketCap+"/trades/{pair}", m.pairTrades, append([]edge.Field{pair, kind, count("limit")},
			append(between, edge.ParamDecimals)...)...),
	}
}

// withText makes the answers of h write their decimals as strings.
func withText(h edge.Handler) edge.Handler {
	return func(c *edge.Ctx) *refuse.Refusal {
		c.DecimalsText = true
		return h(c)
	}
}

// pathPair returns the view of the pair that the path names.
func (m *Market) pathPair(c *edge.Ctx) (*marketdata.View, *refuse.Refusal) {
	code := []byte(c.PathParam(pairOfPath))
	if !engine.ValidPairCode(code) {
		return nil, refuse.Param(pairOfPath, "The pair in the path must be a pair code such as BTC_USDT.")
	}
	return m.lookup(pairOfPath, code)
}

func (m *Market) pairBook(c *edge.Ctx) *refuse.Refusal {
	depth, err := c.Saturating("depth")
	if err != nil {
		return err
	}
	v, err := m.pathPair(c)
	if err != nil {
		return err
	}
	levels := int64(-1)
	if depth > 0 {
		levels = depth / 2
	}
	book := aggregator.PairBook(v, levels)
	return c.SendBody(book.AppendTo(make([]byte, 0, book.Size)), uint64(v.BookSeq))
}

func (m *Market) pairTrades(c *edge.Ctx) *refuse.Refusal {
	f, _, err := tradesFilter(c)
	if err != nil {
		return err
	}
	v, err := m.pathPair(c)
	if err != nil {
		return err
	}
	sel := m.selectTrades(c, v, f)
	return m.streamPieces(c, v, sel, capTape, aggregator.NewTapeReader)
}
