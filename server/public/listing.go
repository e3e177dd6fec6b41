package public

import (
	"io"
	"math"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/aggregator"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// listRoutes returns the routes that list the configuration.
func listRoutes(m *Market) []*edge.Route {
	m.docs.currencies.setConfig(appendCurrencies)
	m.docs.pairs.setConfig(appendPairs)
	m.docs.commissions.setConfig(m.appendCommissions)
	if version := m.opt.CommissionsVersion; version != nil {
		m.docs.commissions.version = func(r *marketdata.Root) docVersion {
			return docVersion{r.PairsVersion, uint64(r.ControlSeq), version()}
		}
	}
	list := func(path string, d *sharedDoc, params ...edge.Declared) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Public: true, Tagged: true, Params: edge.Params(params...),
			Handle: func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, d) },
		}
	}
	return edge.Tagged("Market data", []*edge.Route{
		list("/api/currencies", &m.docs.currencies).
			Does("getCurrencies", "Currency codes"),
		list("/api/currencies/pairs", &m.docs.pairs, edge.Decimals).
			Does("getPairs", "Pair settings"),
		list("/api/currencies/commissions", &m.docs.commissions, edge.Decimals).
			Does("getCommissions", "Default commissions"),
	})
}

func appendCurrencies(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.List()
	for _, a := range r.Assets() {
		w.Word(a.Symbol)
	}
	w.EndList()
	return w.Bytes()
}

// appendPairs appends the settings of all pairs (docs/contract/api.md), sorted by code.
func appendPairs(b []byte, r *marketdata.Root) []byte {
	w := json.On(b)
	w.List()
	for _, id := range r.Sorted() {
		in := r.View(id).Instrument
		w.Object()
		w.Name("code").Word(in.Code)
		w.Name("digitsPrice").Int(int64(in.DigitsPrice))
		w.Name("digitsAmount").Int(int64(in.DigitsAmount))
		w.Name("minQuoteAmount").ShortestOrNull(in.MinQuote.ToI128(), in.DigitsTotal(), in.HasMinQuote)
		w.EndObject()
	}
	w.EndList()
	return w.Bytes()
}

// The prefixes of the listing sites' own forms (docs/contract/listing.md#strict-forms).
const (
	coinGecko     = "/listing/coingecko"
	coinMarketCap = "/listing/coinmarketcap"
)

// The parameters of the listing sites.
var (
	ticker   = objects.Pair("ticker_id").Need()
	pathPair = edge.Text("pair").As(json.KindPairCode).Need().Says("Pair code `{base}_{target}`.").Like("BTC_USDT")
	depth    = edge.Count("depth").Like("100").
			Says("Total over both sides: floor(depth / 2) levels a side; 0 or omitted: the full book.")
	limit = edge.Count("limit").Like("100").
		Says("At most so many trades over both sides; 0 or omitted: all that is kept.")
	// tradeType is the taker's side.
	tradeType = edge.Word("type", "buy", "sell").Says("One side only.")
	startTime = edge.Int64("start_time", math.MinInt64, math.MaxInt64).Written("Unix ms.").
			Says("Inclusive lower bound on trade_timestamp.")
	endTime = edge.Int64("end_time", math.MinInt64, math.MaxInt64).Written("Unix ms.").
		Says("Inclusive upper bound on trade_timestamp.")
)

// listingRoutes returns the routes whose answers have exactly the members that the standards of
// the listing sites name.
func listingRoutes(m *Market) []*edge.Route {
	m.docs.geckoPairs.setConfig(aggregator.AppendTickerPairs)
	m.docs.geckoTickers.setQuoted(&m.docs.aggTickers)
	m.docs.capTickers.setTickers(aggregator.AppendPairTickers)
	get := func(path string, h edge.Handler, params ...edge.Declared) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Tagged: true,
			Namespace: edge.NamespaceAggregator, Params: edge.Params(params...),
		}
	}
	shared := func(d *sharedDoc) edge.Handler {
		return func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, d) }
	}
	tickers := get(coinGecko+"/tickers", shared(&m.docs.geckoTickers)).
		Does("listCoinGeckoTickers", "Tickers in CoinGecko's form")
	tickers.MaxAgeSec = tickersMaxAgeSec
	return edge.Tagged("Listing sites", []*edge.Route{
		get(coinGecko+"/pairs", shared(&m.docs.geckoPairs)).
			Does("listCoinGeckoPairs", "Pairs in CoinGecko's form"),
		tickers,
		get(coinGecko+"/orderbook", withText(m.aggOrderbook), ticker, depth).
			Does("getCoinGeckoOrderBook", "Order book in CoinGecko's form"),
		get(coinGecko+"/historical_trades", withText(m.aggTrades), ticker, tradeType, limit, startTime, endTime).
			Does("getCoinGeckoTrades", "Trades in CoinGecko's form"),
		get(coinMarketCap+"/summary", shared(&m.docs.summary), edge.Decimals).
			Does("listCoinMarketCapSummary", "Summary in CoinMarketCap's form"),
		get(coinMarketCap+"/assets", shared(&m.docs.aggAsset), edge.Decimals).
			Does("listCoinMarketCapAssets", "Assets in CoinMarketCap's form"),
		get(coinMarketCap+"/ticker", shared(&m.docs.capTickers), edge.Decimals).
			Does("listCoinMarketCapTickers", "Tickers in CoinMarketCap's form"),
		get(coinMarketCap+"/orderbook/{pair}", m.pairBook, pathPair, depth, edge.Decimals).
			Does("getCoinMarketCapOrderBook", "Order book in CoinMarketCap's form"),
		get(coinMarketCap+"/trades/{pair}", m.pairTrades, pathPair, tradeType, limit, startTime, endTime,
			edge.Decimals).
			Does("getCoinMarketCapTrades", "Trades in CoinMarketCap's form"),
	})
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
	code, err := pathPair.Of(c)
	if err != nil {
		return nil, err
	}
	if !engine.ValidPairCode(code) {
		return nil, refuse.Param("pair", "The pair in the path must be a pair code such as BTC_USDT.")
	}
	return m.lookup("pair", []byte(code))
}

func (m *Market) pairBook(c *edge.Ctx) *refuse.Refusal {
	total, err := depth.Of(c)
	if err != nil {
		return err
	}
	v, err := m.pathPair(c)
	if err != nil {
		return err
	}
	levels := int64(-1)
	if total > 0 {
		levels = total / 2
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

// aggregatorAlias is a second path prefix of the aggregator routes; both prefixes answer the same bytes.
const aggregatorAlias = "/v1/spot/market"

// aggregatorRoutes returns the routes of {aggregator_base_url} under both prefixes.
func aggregatorRoutes(m *Market) []*edge.Route {
	m.docs.aggTickers.setRows(slotAggTickerRow, aggregator.AppendTicker)
	m.docs.aggPairs.setConfig(aggregator.AppendPairs)
	m.docs.aggAsset.setConfig(aggregator.AppendAssets)
	var all []*edge.Route
	for _, of := range []struct{ prefix, name string }{
		{edge.AggregatorPrefix, "getAggregator"},
		{aggregatorAlias, "getSpotMarket"},
	} {
		get := func(path, name, summary string, h edge.Handler, params ...edge.Declared) *edge.Route {
			r := &edge.Route{
				Method: fasthttp.MethodGet, Path: of.prefix + path, Handle: h, Public: true,
				Tagged: true, Hot: of.prefix == edge.AggregatorPrefix,
				Namespace: edge.NamespaceAggregator, Params: edge.Params(params...),
				Name: of.name + name, Answers: "getAggregator" + name, Summary: summary,
			}
			all = append(all, r)
			return r
		}
		get("/pairs", "Pairs", "Pair directory",
			func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggPairs) })
		get("/tickers", "Tickers", "All tickers with 24 h volume and a resting order",
			func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggTickers) },
			edge.Decimals).MaxAgeSec = tickersMaxAgeSec
		get("/orderbook", "OrderBook", "Order book of one pair",
			m.aggOrderbook, ticker, depth, edge.Decimals)
		get("/historical_trades", "HistoricalTrades", "Recent trades, split by the taker's side",
			m.aggTrades, ticker, tradeType, limit, startTime, endTime, edge.Decimals)
		get("/asset", "Assets", "Assets with limits and fees",
			func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggAsset) },
			edge.Decimals)
	}
	return edge.Tagged("Aggregator", all)
}

// tickersMaxAgeSec is the age up to which a listing site may reuse the tickers.
const tickersMaxAgeSec = 5

// cachedDepth is the depth whose book is cached with the view; the full book is cached too.
const cachedDepth = 100

func (m *Market) aggOrderbook(c *edge.Ctx) *refuse.Refusal {
	code, err := ticker.Of(c)
	if err != nil {
		return err
	}
	total, err := depth.Of(c)
	if err != nil {
		return err
	}
	v, err := m.lookup("ticker_id", code)
	if err != nil {
		return err
	}
	levels, slot := total/2, slotAggBook100
	switch total {
	case 0:
		levels, slot = -1, slotAggBookFull
	case cachedDepth:
	default:
		book := aggregator.Book(v, levels)
		return c.SendBody(book.AppendTo(make([]byte, 0, book.Size)), uint64(v.BookSeq))
	}
	d := kept(v, slot)
	if d == nil {
		d = keep(v, slot, aggBookDoc(v, levels, c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v, slot))
}

// aggBookDoc returns the aggregator's book as a document to cache. The first part of its text holds the pair's
// code and the book's time.
func aggBookDoc(v *marketdata.View, levels, nowNs int64) *doc.Doc {
	text := aggregator.Book(v, levels)
	return bookDoc(v, text, doc.Hash(text.Parts[0]), nowNs)
}

const (
	// cachedTrades is the limit whose page of trades is cached with the view.
	cachedTrades = 100
	// minStreamedTrades is the number of trades above which an answer is written in pieces, which bounds the
	// memory of a request (docs/contract/listing.md#historical-trades).
	minStreamedTrades = 4096
)

func (m *Market) aggTrades(c *edge.Ctx) *refuse.Refusal {
	code, err := ticker.Of(c)
	if err != nil {
		return err
	}
	f, plain, err := tradesFilter(c)
	if err != nil {
		return err
	}
	v, err := m.lookup("ticker_id", code)
	if err != nil {
		return err
	}
	sel := m.selectTrades(c, v, f)
	if plain && f.Limit == cachedTrades {
		return m.sendCachedTrades(c, v, sel)
	}
	if sel.Len() > minStreamedTrades {
		return m.streamPieces(c, v, sel, splitTrades, aggregator.NewTradesReader)
	}
	return c.SendBody(aggregator.AppendTrades(nil, v, sel), uint64(v.TradesSeq))
}

// selectTrades returns the trades of v that pass the filter, and flags an answer that lacks trades
// which retention has dropped.
func (m *Market) selectTrades(c *edge.Ctx, v *marketdata.View, f aggregator.Filter) aggregator.Selection {
	sel := aggregator.Select(&v.Trades, f)
	startNs := int64(-1 << 63)
	if f.StartMs > startNs/1_000_000 {
		startNs = min(f.StartMs, (1<<63-1)/1_000_000) * 1_000_000
	}
	m.flagTruncated(c, v, sel.Oldest, startNs)
	return sel
}

// tradesFilter reads the parameters in the order of docs/contract/api.md. plain reports that the request has at
// most a limit, so a cached page may answer it.
func tradesFilter(c *edge.Ctx) (f aggregator.Filter, plain bool, err *refuse.Refusal) {
	kind, err := tradeType.Of(c)
	if err != nil {
		return f, false, err
	}
	f.Buy, f.Sell = kind != 1, kind != 0
	if f.Limit, err = limit.Of(c); err != nil {
		return f, false, err
	}
	start, hasStart, err := startTime.Find(c)
	if err != nil {
		return f, false, err
	}
	end, hasEnd, err := endTime.Find(c)
	if err != nil {
		return f, false, err
	}
	f.StartMs, f.EndMs = math.MinInt64, math.MaxInt64
	if hasStart {
		f.StartMs = start
	}
	if hasEnd {
		f.EndMs = end
	}
	if f.StartMs > f.EndMs {
		return f, false, refuse.Param("start_time", "The parameter start_time must not be after end_time.")
	}
	return f, kind < 0 && !hasStart && !hasEnd, nil
}

func (m *Market) sendCachedTrades(c *edge.Ctx, v *marketdata.View, sel aggregator.Selection) *refuse.Refusal {
	d := kept(v, slotAggTrades100)
	if d == nil {
		d = keep(v, slotAggTrades100, aggTradesDoc(v, sel, c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v, slotAggTrades100))
}

func aggTradesDoc(v *marketdata.View, sel aggregator.Selection, nowNs int64) *doc.Doc {
	body := aggregator.AppendTrades(make([]byte, 0, 64+sel.Len()*160), v, sel)
	return doc.New(body, uint64(v.TradesSeq), nowNs)
}

// The forms of answers with trades. The form is an input of an answer's ETag.
const (
	splitTrades = iota + 1 // historical_trades: one list for each side of the taker
	capTape                // CoinMarketCap's: one list
)

// streamPieces writes an answer with trades in pieces, which reader renders from the view. Its tag
// hashes the inputs of the body (form, pair, form of decimals and trades) instead of the body.
func (m *Market) streamPieces(c *edge.Ctx, v *marketdata.View, sel aggregator.Selection, form uint64,
	reader func(*marketdata.View, aggregator.Selection, aggregator.Form) *aggregator.TradesReader,
) *refuse.Refusal {
	var f aggregator.Form
	hash := doc.Join(doc.Hash([]byte(v.Instrument.Code)), form)
	if c.DecimalsText {
		f.Quote = edge.AppendQuotedDecimals
		hash = doc.Join(hash, 1)
	}
	sides := uint64(0)
	if sel.Buy {
		sides |= 1
	}
	if sel.Sell {
		sides |= 2
	}
	var newestNs uint64
	if sel.Len() > 0 {
		newestNs = uint64(v.Trades.At(sel.High).TimeNs)
	}
	for _, part := range []uint64{uint64(sel.Low), uint64(sel.High), sides, newestNs} {
		hash = doc.Join(hash, part)
	}
	packed, ok := c.SendHead(hash, uint64(v.TradesSeq), true)
	if !ok {
		return nil
	}
	f.Gzip = packed
	size := int64(-1)
	if !c.Request.Header.IsHTTP11() { // HTTP/1.0 has no chunks, so the length must be known
		size, _ = io.Copy(io.Discard, reader(v, sel, f)) // reads memory only
	}
	return c.SendPieces(reader(v, sel, f), int(size))
}
