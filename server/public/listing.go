package public

import (
	"io"

	"github.com/valyala/fasthttp"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/doc"
	"tickhive/server/edge"
	"tickhive/server/json"
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
	list := func(path string, d *sharedDoc, params ...json.Field) *edge.Route {
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

// pairOfPath is the parameter of the path that names a pair.
const pairOfPath = "pair"

// listingRoutes returns the routes whose answers have exactly the members that the standards of
// the listing sites name.
func listingRoutes(m *Market) []*edge.Route {
	m.docs.geckoPairs.setConfig(aggregator.AppendTickerPairs)
	m.docs.geckoTickers.setQuoted(&m.docs.aggTickers)
	m.docs.capTickers.setTickers(aggregator.AppendPairTickers)
	count := func(name string) json.Field { return json.Field{Name: name, Pattern: "^[0-9]+$"} }
	get := func(path string, h edge.Handler, params ...json.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Tagged: true,
			Namespace: edge.NamespaceAggregator, Params: params,
		}
	}
	shared := func(d *sharedDoc) edge.Handler {
		return func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, d) }
	}
	ticker, pair := edge.ParamPair(tickerName, true), edge.ParamPair(pairOfPath, true)
	kind := json.Field{Name: "type", Kind: json.KindWord, Words: tradeTypes}
	between := edge.ParamsBetween(json.KindInt64, "start_time", "end_time")
	tickers := get(coinGecko+"/tickers", shared(&m.docs.geckoTickers))
	tickers.MaxAgeSec = tickersMaxAgeSec
	return []*edge.Route{
		get(coinGecko+"/pairs", shared(&m.docs.geckoPairs)),
		tickers,
		get(coinGecko+"/orderbook", withText(m.aggOrderbook), ticker, count("depth")),
		get(coinGecko+"/historical_trades", withText(m.aggTrades), append([]json.Field{ticker, kind, count("limit")},
			between...)...),
		get(coinMarketCap+"/summary", shared(&m.docs.summary), edge.ParamDecimals),
		get(coinMarketCap+"/assets", shared(&m.docs.aggAsset), edge.ParamDecimals),
		get(coinMarketCap+"/ticker", shared(&m.docs.capTickers), edge.ParamDecimals),
		get(coinMarketCap+"/orderbook/{pair}", m.pairBook, pair, count("depth"), edge.ParamDecimals),
		get(coinMarketCap+"/trades/{pair}", m.pairTrades, append([]json.Field{pair, kind, count("limit")},
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

// aggregatorAlias is a second path prefix of the aggregator routes; both prefixes answer the same bytes.
const aggregatorAlias = "/v1/spot/market"

const tickerName = "ticker_id"

// tradeTypes lists the taker's sides by which historical_trades can be filtered.
var tradeTypes = []string{"buy", "sell"}

// aggregatorRoutes returns the routes of {aggregator_base_url} under both prefixes.
func aggregatorRoutes(m *Market) []*edge.Route {
	m.docs.aggTickers.setRows(slotAggTickerRow, aggregator.AppendTicker)
	m.docs.aggPairs.setConfig(aggregator.AppendPairs)
	m.docs.aggAsset.setConfig(aggregator.AppendAssets)
	ticker := edge.ParamPair(tickerName, true)
	count := func(name string) json.Field { // Ctx.Saturating reads any number of digits, so the kind has no bounds
		return json.Field{Name: name, Pattern: "^[0-9]+$"}
	}
	var all []*edge.Route
	for _, prefix := range []string{edge.AggregatorPrefix, aggregatorAlias} {
		get := func(path string, h edge.Handler, params ...json.Field) *edge.Route {
			r := &edge.Route{
				Method: fasthttp.MethodGet, Path: prefix + path, Handle: h, Public: true,
				Tagged: true, Hot: prefix == edge.AggregatorPrefix,
				Namespace: edge.NamespaceAggregator, Params: params,
			}
			all = append(all, r)
			return r
		}
		get("/pairs", func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggPairs) })
		get("/tickers", func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggTickers) },
			edge.ParamDecimals).MaxAgeSec = tickersMaxAgeSec
		get("/orderbook", m.aggOrderbook, ticker, count("depth"), edge.ParamDecimals)
		get("/historical_trades", m.aggTrades, append([]json.Field{
			ticker, {Name: "type", Kind: json.KindWord, Words: tradeTypes}, count("limit"),
		}, append(edge.ParamsBetween(json.KindInt64, "start_time", "end_time"), edge.ParamDecimals)...)...)
		get("/asset", func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.aggAsset) },
			edge.ParamDecimals)
	}
	return all
}

// tickersMaxAgeSec is the age up to which a listing site may reuse the tickers.
const tickersMaxAgeSec = 5

// cachedDepth is the depth whose book is cached with the view; the full book is cached too.
const cachedDepth = 100

func (m *Market) aggOrderbook(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(tickerName)
	if err != nil {
		return err
	}
	depth, err := c.Saturating("depth")
	if err != nil {
		return err
	}
	v, err := m.lookup(tickerName, code)
	if err != nil {
		return err
	}
	levels, slot := depth/2, slotAggBook100
	switch depth {
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
	code, err := c.PairParam(tickerName)
	if err != nil {
		return err
	}
	f, plain, err := tradesFilter(c)
	if err != nil {
		return err
	}
	v, err := m.lookup(tickerName, code)
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
	f = aggregator.Filter{StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true, Sell: true}
	kind, err := c.Enum("type", tradeTypes...)
	if err != nil {
		return f, false, err
	}
	f.Buy, f.Sell = kind != 1, kind != 0
	if f.Limit, err = c.Saturating("limit"); err != nil {
		return f, false, err
	}
	start, hasStart, err := c.Int("start_time", f.StartMs, -1<<63, 1<<63-1)
	if err != nil {
		return f, false, err
	}
	end, hasEnd, err := c.Int("end_time", f.EndMs, -1<<63, 1<<63-1)
	if err != nil {
		return f, false, err
	}
	f.StartMs, f.EndMs = start, end
	if start > end {
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
