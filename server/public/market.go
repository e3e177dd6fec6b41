package public

import (
	"cmp"
	"math"
	"slices"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/aggregator"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// Options configures a Market. Board and Clock are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock // the process clock; answers carry its time

	Version string // version of the program; default "1.0.0.0"

	// Status returns the state of the program for /api/status. Nil: running, no incidents, started when the
	// Market was made.
	Status func() StatusInfo

	// Commissions returns the deposit and withdrawal commissions in force
	// (docs/contract/market-data.md#currencies-pairs-and-commissions); nil: there are none. CommissionsVersion returns
	// a number that rises after each change of them.
	Commissions        func() []AssetCommission
	CommissionsVersion func() uint64
}

// Market serves the public routes: market data, the listing sites' documents, the datafeed of the
// charting library, and the routes about the service itself. Any goroutine may call its methods.
type Market struct {
	opt     Options
	board   *marketdata.Board
	started int64 // process clock, Unix ns
	docs    sharedDocs
	// ready reports whether recovery is complete, so that the server answers every route. Routes sets it before
	// the server accepts requests.
	ready func() bool
	// unready returns the reason why the server refuses reads; Routes sets it too.
	unready func() *refuse.Refusal
}

// New returns a Market that serves the views of o.Board.
func New(o Options) *Market {
	o.Version = cmp.Or(o.Version, "1.0.0.0")
	return &Market{opt: o, board: o.Board, started: o.Clock.NowNs()}
}

// Routes returns the public routes, except /udf (UDFRoutes).
func (m *Market) Routes(s *edge.Server) []*edge.Route {
	m.ready, m.unready = s.Ready, s.Unready
	var all []*edge.Route
	for _, routes := range []func(m *Market) []*edge.Route{
		metaRoutes, marketRoutes, listRoutes, aggregatorRoutes, listingRoutes,
	} {
		all = append(all, routes(m)...)
	}
	return all
}

// summaryPath is the only path of marketRoutes that clients do not poll frequently.
const summaryPath = "/api/summary"

// The parameters of the single-pair routes.
var (
	pair    = objects.Pair(objects.PairName).Need()
	aliases = edge.Flag("aliases").Default(true).
		Says("`false` drops the deprecated aliases currencyTo and currencyFrom.")

	sinceDate = edge.Date("sinceDate").Says("Inclusive lower bound on dealDateUtc.").Like("2026-01-01T00:00:00")
	endDate   = edge.Date("endDate").Says("Inclusive upper bound on dealDateUtc.")
	dealPages = edge.PagesOf(edge.Integer("pageNumber", 1, math.MaxInt64).Default(1).Says("1-based."),
		edge.Integer("pageSize", 1, edge.MaxPageSize).Default(edge.MaxPageSize).Says("Deals per page."))
	dealRow = edge.RowOf(dealPages)

	interval = edge.WordFor("interval", marketdata.IntervalNames(), marketdata.ParseInterval).Need().
			Says("Length of a candle.").Like("hour")
	start = edge.Date("start").Need().Says("Inclusive lower bound on a candle's date.").Like("2026-01-01")
	end   = edge.Date("end").Need().Says("Inclusive upper bound on a candle's date.").Like("2030-01-01")
	// fill: intervals without trades are left out, or become flat candles.
	fill = edge.Word("fill", "none", "previous").Default(0).
		Says("`previous` adds flat rows for intervals without trades.")
)

// marketRoutes returns the single-pair routes of {base_url} and the summary.
func marketRoutes(m *Market) []*edge.Route {
	m.docs.summary.setRows(slotSummaryRow, aggregator.AppendSummary)
	get := func(path string, h edge.Handler, params ...edge.Declared) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Public: true, Tagged: true, Hot: path != summaryPath,
			Params: edge.Params(append(params, edge.Decimals)...),
		}
	}
	deals := get("/api/deals", m.deals, pair, sinceDate, endDate, dealPages, dealRow, edge.Format).
		Does("getDeals", "Recent deals, newest first")
	deals.Rows = &objects.Deals
	candles := get("/api/ohlc", m.ohlc, pair, interval, start, end, fill, edge.Format).
		Does("getCandles", "Candles, ascending, at most 1000 a call")
	candles.Rows = &objects.Candles
	deals.Text = "With credentials (API-PublicKey and the other headers) `isUserBuyer` is filled for the caller's " +
		"own deals; the answer is then private and uncached."
	return edge.Tagged("Market data", []*edge.Route{
		get("/api/tickers", m.ticker, pair).
			Does("getTicker", "24 h figures, last price and touch of one pair"),
		get("/api/orderbook", m.orderbook, pair, aliases).
			Does("getOrderBook", "Order book: up to 40 bids, then up to 40 asks, best first"),
		deals,
		candles,
		get(summaryPath, func(c *edge.Ctx) *refuse.Refusal { return m.sendShared(c, &m.docs.summary) }).
			Does("getSummary", "Compact summary of every configured pair"),
	})
}

// The slots of a view, each with one document or row (docs/internals/performance.md#publication-8).
const (
	slotTicker       = marketdata.OfTicker               // /api/tickers
	slotBook         = marketdata.OfBook                 // /api/orderbook
	slotAggBookFull  = marketdata.OfBook2                // /orderbook, depth 0
	slotAggBook100   = marketdata.OfBook3                // /orderbook, depth 100
	slotDeals        = marketdata.OfTrades               // /api/deals, first page
	slotAggTrades100 = marketdata.OfTrades2              // /historical_trades, limit 100
	slotAggTickerRow = marketdata.OfTickerAndInstrument  // one row of the aggregator tickers
	slotSummaryRow   = marketdata.OfTickerAndInstrument2 // one row of /api/summary
)

// kept returns the document in a slot of a view, nil until a reader has rendered it.
func kept(v *marketdata.View, slot marketdata.Slot) *doc.Doc {
	d, _ := v.Kept(slot).(*doc.Doc)
	return d
}

// keep keeps a document in a slot of a view, unless another reader was first, and returns the one that is kept.
func keep(v *marketdata.View, slot marketdata.Slot, d *doc.Doc) *doc.Doc {
	return v.Keep(slot, d).(*doc.Doc)
}

// placeOf returns the place of a document that is kept with the view of a pair.
func (m *Market) placeOf(v *marketdata.View, slot marketdata.Slot) doc.Place {
	return doc.Place{In: m, Slot: uint64(v.Instrument.ID)<<8 | uint64(slot)}
}

// Holds reports whether the newest view of a pair has this document. It implements doc.Keeper for placeOf.
func (m *Market) Holds(slot uint64, d *doc.Doc) bool {
	v := m.board.Load().View(engine.PairID(slot >> 8))
	return v != nil && kept(v, marketdata.Slot(slot)) == d
}

func (m *Market) ticker(c *edge.Ctx) *refuse.Refusal {
	code, err := pair.Of(c)
	if err != nil {
		return err
	}
	v, err := m.lookup(objects.PairName, code)
	if err != nil {
		return err
	}
	d := kept(v, slotTicker)
	if d == nil {
		w := json.On(make([]byte, 0, 384))
		objects.WriteTicker(&w, v)
		d = keep(v, slotTicker, doc.New(w.Bytes(), uint64(v.TickerSeq), c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v, slotTicker))
}

// bookLevels is the number of levels of a side that /api/orderbook shows
// (docs/contract/api.md#limits).
const bookLevels = 40

func (m *Market) orderbook(c *edge.Ctx) *refuse.Refusal {
	code, err := pair.Of(c)
	if err != nil {
		return err
	}
	withAliases, err := aliases.Of(c)
	if err != nil {
		return err
	}
	v, err := m.lookup(objects.PairName, code)
	if err != nil {
		return err
	}
	if !withAliases {
		return c.SendBody(appendBookPlain(nil, v), uint64(v.BookSeq))
	}
	d := kept(v, slotBook)
	if d == nil {
		d = keep(v, slotBook, baseBookDoc(v, c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v, slotBook))
}

// lookup returns the view of a pair, or a 404 refusal.
func (m *Market) lookup(name string, code []byte) (*marketdata.View, *refuse.Refusal) {
	if v := m.board.Load().Lookup(edge.BytesKey(code)); v != nil {
		return v, nil
	}
	return nil, refuse.Missing(name, "There is no pair %s.", code)
}

const (
	dayNs = 86_400_000_000_000
)

func (m *Market) deals(c *edge.Ctx) *refuse.Refusal {
	code, err := pair.Of(c)
	if err != nil {
		return err
	}
	since, hasSince, err := sinceDate.Find(c)
	if err != nil {
		return err
	}
	until, hasEnd, err := endDate.Find(c)
	if err != nil {
		return err
	}
	page, size, err := dealPages.Of(c)
	if err != nil {
		return err
	}
	after, err := dealRow.Of(c)
	if err != nil {
		return err
	}
	if hasSince && hasEnd && since.After(until) {
		return refuse.Param("sinceDate", "The parameter sinceDate must not be after endDate.")
	}
	v, err := m.lookup(objects.PairName, code)
	if err != nil {
		return err
	}
	if !hasSince && !hasEnd && after == 0 && page == 1 && size == edge.MaxPageSize && c.Principal == nil {
		m.flagTruncated(c, v, uint64(v.Trades.Len()) < edge.MaxPageSize, -1<<63)
		from, to, _ := pageRange(v.Trades.First(), v.Trades.Last(), page, size)
		continueDeals(c, v.Trades.First(), from, to)
		return m.firstDeals(c, v)
	}
	t := &v.Trades
	low, high, startNs := t.First(), t.Last(), int64(-1<<63)
	if hasSince {
		startNs = since.CeilNs(edge.DealUnitNs)
		low = max(low, t.Search(startNs))
	}
	if hasEnd {
		high = t.Search(until.FloorNs(edge.DealUnitNs)+edge.DealUnitNs) - 1
	}
	if after != 0 {
		high = min(high, engine.TradeID(after)-1)
	}
	from, to, oldest := pageRange(low, high, page, size)
	m.flagTruncated(c, v, oldest, startNs)
	continueDeals(c, low, from, to)
	return c.SendBody(appendDeals(nil, v, from, to, viewer(c)), uint64(v.TradesSeq))
}

// viewer returns the account of the principal, nil for a request without credentials.
func viewer(c *edge.Ctx) *engine.AccountID {
	if c.Principal == nil {
		return nil
	}
	account := engine.AccountID(c.Principal.Account)
	return &account
}

// continueDeals sets the cursor of the page with the deals from to to while the list has older ones, down to low.
func continueDeals(c *edge.Ctx, low, from, to engine.TradeID) {
	if from <= to && from > low {
		c.NextRow(uint64(from))
	}
}

// firstDeals answers with the newest page of deals. It caches the page with the view.
func (m *Market) firstDeals(c *edge.Ctx, v *marketdata.View) *refuse.Refusal {
	d := kept(v, slotDeals)
	if d == nil {
		d = keep(v, slotDeals, firstDealsDoc(v, c.MachineNs()))
	}
	return c.SendDoc(d, m.placeOf(v, slotDeals))
}

func firstDealsDoc(v *marketdata.View, nowNs int64) *doc.Doc {
	low, high, _ := pageRange(v.Trades.First(), v.Trades.Last(), 1, edge.MaxPageSize)
	return doc.New(appendDeals(nil, v, low, high, nil), uint64(v.TradesSeq), nowNs)
}

// pageRange returns the ids of one page when the ids low to high are listed newest first. oldest reports that
// the page reaches beyond the oldest id.
func pageRange(low, high engine.TradeID, page, size int64) (from, to engine.TradeID, oldest bool) {
	if high < low || high == 0 {
		return 1, 0, true
	}
	n := uint64(high-low) + 1
	if uint64(page-1) > n/uint64(size) {
		return 1, 0, true
	}
	skip := uint64(page-1) * uint64(size)
	if skip >= n {
		return 1, 0, true
	}
	take := min(uint64(size), n-skip)
	to = high - engine.TradeID(skip)
	return to - engine.TradeID(take) + 1, to, take < uint64(size)
}

// flagTruncated sets X-Truncated when trades that retention has dropped belong in the answer
// (docs/contract/listing.md#historical-trades): the answer begins at the oldest retained trade, and the newest
// dropped trade is in its time range and less than 24 h old.
func (m *Market) flagTruncated(c *edge.Ctx, v *marketdata.View, oldest bool, startNs int64) {
	dropped := v.Trades.DroppedNs()
	if oldest && dropped != 0 && dropped >= startNs && dropped > m.opt.Clock.NowNs()-dayNs {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
}

// dealSize is the estimated size of a deal's text in bytes.
const dealSize = 240

// appendDeals appends the deals with the ids from high down to low.
func appendDeals(b []byte, v *marketdata.View, low, high engine.TradeID, viewer *engine.AccountID) []byte {
	if high >= low && b == nil {
		b = make([]byte, 0, 16+int(high-low+1)*dealSize)
	}
	render := func(b []byte, first engine.TradeID, trades []marketdata.Trade) []byte {
		w := json.On(b)
		for i, t := range slices.Backward(trades) {
			w.Object()
			id := first + engine.TradeID(i)
			objects.WriteDeal(&w, v.Instrument, id, &t, viewer)
			w.Name("tradeId").Uint(uint64(id))
			w.EndObject()
		}
		return w.Rows()
	}
	kind := marketdata.BlockDeals
	if viewer != nil {
		kind = marketdata.Uncached
	}
	w := json.On(b)
	w.List()
	w = json.On(v.Trades.AppendRows(w.Rows(), low, high, kind, render))
	w.EndList()
	return w.Bytes()
}

// maxCandles is the largest number of rows in an answer of /api/ohlc
// (docs/contract/market-data.md#candles).
const maxCandles = 1000

func (m *Market) ohlc(c *edge.Ctx) *refuse.Refusal {
	code, err := pair.Of(c)
	if err != nil {
		return err
	}
	length, err := interval.Of(c)
	if err != nil {
		return err
	}
	from, err := start.Of(c)
	if err != nil {
		return err
	}
	to, err := end.Of(c)
	if err != nil {
		return err
	}
	filled, err := fill.Of(c)
	if err != nil {
		return err
	}
	if from.After(to) {
		return refuse.Param("start", "The parameter start must not be after end.")
	}
	v, err := m.lookup(objects.PairName, code)
	if err != nil {
		return err
	}
	// Candles begin on whole seconds: low is the first second at or after start, high the last one at or before
	// end.
	low, high := from.Sec, to.Sec
	if from.Nsec > 0 {
		low++
	}
	rows := candleRows{in: v.Instrument, candles: v.Candles(length), interval: length, left: maxCandles}
	rows.List()
	if filled == 1 {
		rows.filled(low, min(high, length.Floor(fixed.FloorDiv(m.opt.Clock.NowNs(), 1_000_000_000))))
	} else {
		rows.traded(low, high)
	}
	if rows.next != nil {
		c.Response.Header.SetCanonical(edge.HdrNextStart, rows.next)
	}
	rows.EndList()
	return c.SendBody(rows.Bytes(), uint64(v.TradesSeq))
}

// candleRows collects the rows of one answer. When the answer is full, it records the date of the next row.
type candleRows struct {
	json.Writer
	in       *engine.Instrument
	candles  marketdata.Candles
	interval marketdata.Interval
	left     int
	next     []byte // date of the first row that had no room
}

// add appends a row. When the answer is full, it records the row's date in next and returns false.
func (r *candleRows) add(k *marketdata.Candle) bool {
	if r.left == 0 {
		r.next = json.AppendSecond(nil, k.Start)
		return false
	}
	r.left--
	objects.WriteCandle(&r.Writer, r.in, k)
	return true
}

// traded adds the candles that begin from low to high.
func (r *candleRows) traded(low, high int64) {
	for i := r.candles.Search(low); i < r.candles.Len(); i++ {
		k := r.candles.At(i)
		if k.Start > high || !r.add(&k) {
			return
		}
	}
}

// filled adds a row for every interval from the first trade on. An interval without trades gets a flat candle
// at the previous close.
func (r *candleRows) filled(low, high int64) {
	if r.candles.Len() == 0 {
		return
	}
	first := r.candles.At(0)
	at := max(low, first.Start)
	if floor := r.interval.Floor(at); floor != at {
		at = r.interval.Next(at)
	}
	i := r.candles.Search(at)
	before := first
	if i > 0 {
		before = r.candles.At(i - 1)
	}
	for ; at <= high; at = r.interval.Next(at) {
		if i < r.candles.Len() {
			if k := r.candles.At(i); k.Start == at {
				if !r.add(&k) {
					return
				}
				before, i = k, i+1
				continue
			}
		}
		p := before.Close
		if !r.add(&marketdata.Candle{Start: at, Open: p, High: p, Low: p, Close: p}) {
			return
		}
	}
}

// bookText renders /api/orderbook: up to 40 bids, then up to 40 asks, best first, with the deprecated aliases.
// It consists of the cached texts of the pages, so that one changed level makes one page render again.
func bookText(v *marketdata.View) *doc.Text {
	t := doc.NewText()
	t.Add(openArray)
	addBookRows(t, v, engine.Buy)
	t.Sum *= doc.Seed // so that swapping bids and asks changes the sum
	addBookRows(t, v, engine.Sell)
	if len(t.Parts) > 1 {
		t.Cut() // the comma after the last row
	}
	t.Add(closeArray)
	return t
}

func baseBookDoc(v *marketdata.View, nowNs int64) *doc.Doc {
	return bookDoc(v, bookText(v), 0, nowNs)
}

// bookDoc returns a book as a document to cache. Its ETag hashes the inputs of the text (the levels, their
// decimals and head): hashing 11 KB of text would cost more than rendering the page that changed.
func bookDoc(v *marketdata.View, text *doc.Text, head uint64, nowNs int64) *doc.Doc {
	hash := doc.Join(head, text.Sum)
	hash = doc.Join(hash, uint64(v.Instrument.DigitsPrice)<<8|uint64(v.Instrument.DigitsAmount))
	return doc.InParts(text, hash, uint64(v.BookSeq), nowNs)
}

var openArray, closeArray = []byte("["), []byte("]")

func addBookRows(t *doc.Text, v *marketdata.View, side engine.Side) {
	in, levels := v.Instrument, &v.Bids
	if side == engine.Sell {
		levels = &v.Asks
	}
	levels.Texts(marketdata.PageBase, bookLevels, func(dst []byte, rows []marketdata.Level) []byte {
		w := json.On(dst)
		writeLevels(&w, in, side, rows, true)
		return w.Rows()
	}, t.AddSum)
}

// appendBookPlain appends the same book as bookText, without the deprecated aliases (?aliases=false).
func appendBookPlain(b []byte, v *marketdata.View) []byte {
	w := json.On(b)
	w.List()
	for side, levels := range []*marketdata.Side{&v.Bids, &v.Asks} {
		left := bookLevels
		for p := range levels.Pages {
			rows := p.Levels()
			rows = rows[:min(len(rows), left)]
			writeLevels(&w, v.Instrument, engine.Side(side), rows, false)
			if left -= len(rows); left == 0 {
				break
			}
		}
	}
	w.EndList()
	return w.Bytes()
}

// writeLevels writes the rows of levels. The deprecated aliases repeat the amounts.
func writeLevels(w *json.Writer, in *engine.Instrument, side engine.Side, rows []marketdata.Level, aliases bool) {
	var amountText, quoteText [48]byte
	for _, l := range rows {
		amount := fixed.AppendI64(amountText[:0], l.Amount, in.DigitsAmount)
		quote := fixed.AppendU128(quoteText[:0], fixed.Mul64(uint64(l.Price), uint64(l.Amount)), in.DigitsTotal())
		w.Object()
		w.Name("isBid").Bool(side == engine.Buy)
		w.Name("price").Units(l.Price, in.DigitsPrice)
		w.Name("amount").Raw(amount)
		w.Name("quoteAmount").Raw(quote)
		if aliases {
			w.Name("currencyTo").Raw(amount)
			w.Name("currencyFrom").Raw(quote)
		}
		w.EndObject()
	}
}
