package marketdata

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/tickhive/tickhive/engine"
)

// Default and largest limits of the retained data.
const (
	// trades retained per pair at any age (docs/contract/listing.md#historical-trades)
	DefaultTradesMin = 10_000
	// trades retained per pair at most (docs/contract/listing.md#historical-trades)
	DefaultTradesMax          = 2_000_000
	DefaultClosedOrders       = 100_000     // orders.closed_kept (docs/contract/commands.md#orders)
	DefaultFills              = 1_000_000   // fills of all orders together (docs/contract/commands.md#orders)
	DefaultClientIDs          = 1_000_000   // retained first answers (docs/contract/matching.md#client-order-ids)
	DefaultLists              = 10_000      // ended order lists (docs/contract/commands.md#orders)
	amendmentsKept            = 100_000     // amendments of all orders together
	preventedKept             = 100_000     // prevented matches of all pairs together
	maxLists                  = 10_000_000  // 140 bytes each
	DefaultChunkText          = 64 << 20    // bytes of rendered trade text, over all pairs
	maxTradesMax              = 100_000_000 // 40 bytes each, 4 GB a pair; a larger setting is a mistake
	maxFills                  = 500_000_000 // links between fills are 32-bit distances
	maxOrdersKept             = 500_000_000 // a location of a retained order has 30 bits
	maxCandlesKept            = 10_000_000  // 120 bytes each
	maxChunkTextBytes         = 64 << 30
	fillsPerOrder             = 1_000 // most fills in one OrderRecord (docs/contract/internal.md#orders)
	secondsOfDay              = 86_400
	nanosecond          int64 = 1_000_000_000
)

// DefaultCandles returns the number of closed candles that each interval retains. 1m: two weeks; 3m: three
// weeks; 5m, 15m, 30m: 30, 90 and 180 days; 1h: a year; 4h: three years; 1d: twenty years; months and years:
// more than any history has. Intervals without trades use no memory. All full: 79,830 x 120 bytes = 9.6 MB a
// pair.
func DefaultCandles() [Intervals]int {
	return [Intervals]int{20_160, 10_080, 8_640, 8_640, 8_640, 8_760, 6_570, 7_300, 1_200, 1_000}
}

// Retention sets the limits of the retained data, on which the state depends (Feed.SetRetention). The zero value of a
// member selects its default.
type Retention struct {
	TradesMin    int            // trades per pair that are retained at any age
	TradesMax    int            // trades per pair at most, even when younger than 24 h
	Candles      [Intervals]int // closed candles per pair and interval
	ClosedOrders int            // closed orders of all pairs together; the most recently ended ones are retained
	Fills        int            // fills of all orders together; a trade is two
	ClientIDs    int            // closed orders beyond ClosedOrders whose first answer is retained
	Lists        int            // ended order lists of all pairs together; the most recently ended ones are retained
}

// TradesConfig and OrdersConfig are what an operator may set of a Retention: trades and candles in the section market
// of the configuration, orders in the section orders.
type TradesConfig struct {
	TradesMin   int   `toml:"trades_min" default:"10000" help:"trades retained per pair regardless of age"`
	TradesMax   int   `toml:"trades_max" default:"2000000" help:"maximum trades retained per pair"`
	CandlesKept []int `toml:"candles_kept" default:"20160,10080,8640,8640,8640,8760,6570,7300,1200,1000" help:"closed candles retained per pair, for each of the ten intervals"`
}

// OrdersConfig is described at TradesConfig.
type OrdersConfig struct {
	ClosedKept int `toml:"closed_kept" default:"100000" range:"1 100000000" help:"closed orders retained for lookup"`
	FillsKept  int `toml:"fills_kept" default:"1000000" range:"2 100000000" help:"fills of all orders retained for lookup"`
	ListsKept  int `toml:"lists_kept" default:"10000" range:"1 10000000" help:"ended order lists retained for lookup"`
}

// Check reports every member that is out of range.
func (c *TradesConfig) Check() error {
	var errs []error
	if n := len(c.CandlesKept); n != Intervals {
		errs = append(errs, fmt.Errorf("market.candles_kept: has %d numbers but needs %d, one for each interval", n,
			Intervals))
	}
	r := c.Retention(OrdersConfig{})
	if err := (Retention{TradesMin: r.TradesMin, TradesMax: r.TradesMax}).Validate(); err != nil {
		errs = append(errs, fmt.Errorf("market.trades_min, market.trades_max: %w", err))
	}
	if err := (Retention{Candles: r.Candles}).Validate(); err != nil {
		errs = append(errs, fmt.Errorf("market.candles_kept: %w", err))
	}
	return errors.Join(errs...)
}

// Retention returns the limits as a feed has them.
func (c *TradesConfig) Retention(o OrdersConfig) Retention {
	r := Retention{
		TradesMin: c.TradesMin, TradesMax: c.TradesMax,
		ClosedOrders: o.ClosedKept, Fills: o.FillsKept, Lists: o.ListsKept,
	}
	copy(r.Candles[:], c.CandlesKept)
	return r
}

// Options are the options of a new feed. Only its first retention is a part of its state.
type Options struct {
	Retention
	ChunkText int64 // bytes of cached text of closed trade chunks; 0: DefaultChunkText
	// NoOrders leaves the order history empty: for replicas and measurements that need only
	// books, trades, candles and windows.
	NoOrders bool
	// Checksums stores a checksum of the book in each View, so that a test's readers can verify that they see
	// what the writer published. Each publish then walks over the whole book.
	Checksums bool
}

// WithDefaults returns r with the default of each member that is zero.
func (r Retention) WithDefaults() Retention {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&r.TradesMin, DefaultTradesMin)
	def(&r.TradesMax, DefaultTradesMax)
	for i, n := range DefaultCandles() {
		def(&r.Candles[i], n)
	}
	def(&r.ClosedOrders, DefaultClosedOrders)
	def(&r.Fills, DefaultFills)
	def(&r.ClientIDs, DefaultClientIDs)
	def(&r.Lists, DefaultLists)
	return r
}

// Validate reports the first member that is out of range.
func (r Retention) Validate() error {
	r = r.WithDefaults()
	if r.TradesMin < 1 || r.TradesMax > maxTradesMax || r.TradesMin > r.TradesMax {
		return fmt.Errorf("trades kept: want 1 <= trades_min (%d) <= trades_max (%d) <= %d",
			r.TradesMin, r.TradesMax, maxTradesMax)
	}
	for i, n := range r.Candles {
		if n < 1 || n > maxCandlesKept {
			return fmt.Errorf("candles kept of %s: %d is not in 1..%d", Interval(i), n, maxCandlesKept)
		}
	}
	if r.ClosedOrders < 1 || r.ClosedOrders > maxOrdersKept {
		return fmt.Errorf("closed orders kept: %d is not in 1..%d", r.ClosedOrders, maxOrdersKept)
	}
	if r.ClientIDs < 1 || r.ClientIDs > maxOrdersKept {
		return fmt.Errorf("client ids kept: %d is not in 1..%d", r.ClientIDs, maxOrdersKept)
	}
	if r.Lists < 1 || r.Lists > maxLists {
		return fmt.Errorf("order lists kept: %d is not in 1..%d", r.Lists, maxLists)
	}
	if r.Fills < 2 || r.Fills > maxFills {
		return fmt.Errorf("fills kept: %d is not in 2..%d", r.Fills, maxFills)
	}
	return nil
}

// WithDefaults returns o with the default of each member that is zero.
func (o Options) WithDefaults() Options {
	o.Retention = o.Retention.WithDefaults()
	if o.ChunkText == 0 {
		o.ChunkText = DefaultChunkText
	}
	return o
}

// Validate reports the first member that is out of range.
func (o Options) Validate() error {
	if err := o.Retention.Validate(); err != nil {
		return err
	}
	if o.ChunkText < 0 || o.ChunkText > maxChunkTextBytes {
		return errors.New("kept text of trades: out of range")
	}
	return nil
}

// Feed folds the engine's events into books, trades, candles, windows and the order history, and
// publishes views of them. Its only input is events; it reads no clock.
//
// Owner: one goroutine, which calls Fold with the events of whole commands and Publish between
// commands. Readers use only the Board.
//
// Memory of a pair at the default limits, all of them full: trades 40 bytes each, at most 2,000,000 (80 MB; 10,000 are
// 0.4 MB); level changes 24 bytes each, at most 6 MiB; candles 9.6 MB; window 12.6 MB; book 24 to 80 bytes a level and
// up to twice as much while a reader holds an older view. A page that was read caches, for each of its two forms, its
// rows and 352 bytes; a directory of a deep book that was read caches the same rows once more, joined. A view caches at
// most one document of each kind; it caches a book in one piece only when the book is above 64 KB and was requested
// twice. Pages of trades outlive their view, to be patched (33 KB for the two of a pair). The cached text of closed
// trade chunks is at most 64 MB over all pairs. The comment of History has the memory of the order history.
type Feed struct {
	opts     Options
	board    Board
	history  *History
	pairs    []*pairState
	changed  []*pairState        // changed since the last publish
	withheld []*pairState        // changed perhaps, and not to be shown
	observe  func(*engine.Event) // nil: no observer
	due      due
	cache    textCache
	sweepAt  sweepPlace

	gen        uint64 // generation of the pages and directories that the feed makes now; each publish starts the next
	controlSeq engine.Seq
	assets     map[string]*engine.Asset
	assetsNew  bool // an asset has changed since the last publish
	namesNew   bool
	pairsNew   uint64 // pair events folded so far; published as Root.PairsVersion
}

// NewFeed returns an empty feed. It panics on options that Validate refuses, because the caller
// checks them when it reads the configuration.
func NewFeed(opts Options) *Feed {
	if err := opts.Validate(); err != nil {
		panic("BUG: marketdata: " + err.Error())
	}
	f := &Feed{opts: opts.WithDefaults(), gen: 1, assets: map[string]*engine.Asset{}}
	f.cache.limit = f.opts.ChunkText
	f.history = newHistory(f.opts)
	f.board.root.Store(&Root{names: &names{byCode: map[string]engine.PairID{}}})
	return f
}

// Board returns where Publish puts the views. Readers in any goroutine load them there.
func (f *Feed) Board() *Board { return &f.board }

// History returns the order history, which belongs to the feed's goroutine.
func (f *Feed) History() *History { return f.history }

// SetRetention sets the limits by which the feed retains from now on. What is beyond them goes at once; readers see
// that after the next Publish. What is gone does not come back. The owner calls SetRetention between two commands. It
// panics on limits that Validate refuses.
//
// The result depends on the state before and on r alone. The work is not bounded: 2,000,000 trades that go take 10 ms.
// Closed orders, client ids and fills are copied when their limit changes and they are more than the old or the new one
// allows: 0.3 s and 190 MB for all three at the default limits (BenchmarkSetRetention).
func (f *Feed) SetRetention(r Retention) {
	if err := r.Validate(); err != nil {
		panic("BUG: marketdata: " + err.Error())
	}
	r = r.WithDefaults()
	for _, p := range f.pairs {
		if p == nil {
			continue
		}
		p.merge(&f.opts) // by the limits that were in force
		if p.retain(&r) {
			f.markChanged(p)
		}
	}
	f.history.retain(&r)
	f.opts.Retention = r
}

// Fold folds the events of whole commands, or of one part of a command, in seq order per pair, each
// exactly once. It panics on a gap. It does not retain the events. A part begins like a command:
// history and touch are then the same whether or not the feed was restored between two parts.
func (f *Feed) Fold(events []engine.Event) {
	orders := !f.opts.NoOrders
	if orders {
		f.history.prefetch(events)
	}
	var p *pairState
	for i := range events {
		e := &events[i]
		if e.Pair == engine.ControlPair {
			f.foldControl(e)
			continue
		}
		if p == nil || p.id != e.Pair {
			p = f.pair(e)
		}
		if i == 0 || StartsCommand(e) {
			p.noteTouch()
			p.changes.startCommand()
			f.history.endCommand()
		}
		if e.Seq != p.seq+1 {
			panic("BUG: marketdata: the events of a pair have a gap")
		}
		p.seq, p.timeNs = e.Seq, e.TimeNs
		switch e.Kind {
		case engine.EventLevel:
			p.foldLevel(e, f.gen)
		case engine.EventTrade:
			p.foldTrade(e, &f.opts)
			if orders {
				f.history.foldTrade(p, e)
			}
		case engine.EventPair:
			p.instrument = e.Instrument
			f.pairsNew++
			f.namesNew = f.namesNew || e.Instrument.State == engine.Delisted
		case engine.EventPast:
			p.foldPast(e, &f.opts)
		default:
			if orders {
				f.history.fold(p, e)
			}
		}
		if f.observe != nil {
			f.observe(e)
		}
	}
}

// Observe registers f, which Fold calls after each event of a pair: History.Current then has the orders as the
// event left them. f runs on the feed's goroutine and does not wait. Call Observe once, before Fold.
func (f *Feed) Observe(observe func(e *engine.Event)) { f.observe = observe }

// Withhold sets the pairs that Publish does not show, because their command is unfinished.
func (f *Feed) Withhold(pairs []engine.PairID) {
	for _, p := range f.withheld {
		p.withheld = false
	}
	f.withheld = f.withheld[:0]
	for _, id := range pairs {
		if int(id) < len(f.pairs) && f.pairs[id] != nil {
			f.pairs[id].withheld = true
			f.withheld = append(f.withheld, f.pairs[id])
		}
	}
}

// StartsCommand reports whether e is the first event of a command. A change of the touch that
// one command makes and undoes again does not count.
func StartsCommand(e *engine.Event) bool {
	switch e.Kind {
	case engine.EventAccepted:
		return e.Maker == 0 // an order of a list is accepted behind the list
	case engine.EventRejected, engine.EventReplaced, engine.EventNothing, engine.EventPair, engine.EventList:
		return true
	case engine.EventCanceled:
		return e.Cause == engine.CauseRequest || e.Cause == engine.CauseReplace || e.Cause == engine.CauseOperator
	default:
		return false
	}
}

// pair returns the state of the pair of e and marks the pair as changed. The pair's first event creates the
// state.
func (f *Feed) pair(e *engine.Event) *pairState {
	id := int(e.Pair)
	if id >= len(f.pairs) || f.pairs[id] == nil {
		if e.Kind != engine.EventPair {
			panic("BUG: marketdata: an event of a pair that was not added")
		}
		f.addPair(newPairState(e, &f.cache))
	}
	p := f.pairs[id]
	f.markChanged(p)
	return p
}

// addPair adds the state of a new pair. Pairs may arrive out of order of their ids, which AddPair may name.
func (f *Feed) addPair(p *pairState) {
	for int(p.id) >= len(f.pairs) {
		f.pairs = append(f.pairs, nil)
	}
	f.pairs[p.id] = p
	f.history.pairs = f.pairs
	f.namesNew = true
}

func (f *Feed) markChanged(p *pairState) {
	if !p.changed {
		p.changed = true
		f.changed = append(f.changed, p)
	}
}

func (f *Feed) foldControl(e *engine.Event) {
	if e.Seq != f.controlSeq+1 {
		panic("BUG: marketdata: the control stream has a gap")
	}
	f.controlSeq = e.Seq
	if e.Kind == engine.EventAsset {
		f.assets[e.Control.Asset.Symbol] = e.Control.Asset
		f.assetsNew = true
	}
}

// NextNs returns the next time at which a published value changes without an event: the next
// second at which a trade leaves a window, math.MaxInt64 when there is none. The result is valid
// after Publish.
func (f *Feed) NextNs() int64 {
	sec, ok := f.due.next()
	if !ok {
		return math.MaxInt64
	}
	return sec * nanosecond
}

// Sink returns the feed as a sink of the sequencer's loop, which passes journal positions too.
func (f *Feed) Sink() Sink { return Sink{f} }

// Sink is a feed that ignores journal positions.
type Sink struct{ *Feed }

// Fold folds events and ignores the position.
func (s Sink) Fold(events []engine.Event, _ uint64) { s.Feed.Fold(events) }

// NextNs returns the time at which time alone changes what the feed shows: a window, or the end of
// the open candles, which all end with a minute.
func (s Sink) NextNs() int64 {
	next := s.Feed.NextNs()
	if len(s.pairs) > 0 {
		next = min(next, (s.board.sealed.Load()/minuteNs+1)*minuteNs)
	}
	return next
}

const minuteNs = 60 * nanosecond

// pairState is the working state of one pair. Owner: the feed's goroutine.
type pairState struct {
	id         engine.PairID
	instrument *engine.Instrument

	seq, bookSeq, tradesSeq, tickerSeq engine.Seq
	timeNs, bookTimeNs                 int64

	sides   [2]depthSide
	changes levelLog
	ring    tradeRing
	tick    tick // the trades of the newest second, not yet merged into candles and window
	candles candleBuilder
	window  window

	last          int64    // price of the last trade
	changedSec    int64    // Unix second of the last event that changed the ticker's figures
	touch         touch    // best prices after the last event
	boundaryTouch [2]int64 // best prices at the last command boundary

	view         *View
	candlesView  *[Intervals]Candles
	candlesMoved bool // since candlesView was made
	changed      bool // is in the feed's list of changed pairs
	withheld     bool // is not shown: its command is unfinished

	dueSec int64 // the second by which the pair is sorted in Feed.due
	dueAt  int   // 1 + index in Feed.due's heap, 0: not in the heap

	orders orderIndex // finds the retained orders of the pair in the history, by order number
	// numbers, in History.prevented, of the retained prevented matches of the pair
	prevented queue[uint64]
}

// touch tracks the best prices after each event.
type touch struct {
	best [2]int64 // 0: empty side
	seq  engine.Seq
	sec  int64
}

func newPairState(e *engine.Event, cache *textCache) *pairState {
	p := &pairState{id: e.Pair, instrument: e.Instrument, bookTimeNs: e.TimeNs}
	p.sides = [2]depthSide{newDepthSide(engine.Buy), newDepthSide(engine.Sell)}
	p.ring.view.cache = cache
	return p
}

func (p *pairState) foldLevel(e *engine.Event, gen uint64) {
	s := &p.sides[e.Side]
	p.changes.add(e, s.set(e.Price, e.Amount, gen))
	p.bookSeq, p.bookTimeNs = e.Seq, e.TimeNs
	best := &p.touch.best[e.Side]
	switch {
	case e.Amount == 0 && e.Price == *best:
		*best = s.best()
	case e.Amount != 0 && (*best == 0 || e.Price*s.sign < *best*s.sign):
		*best = e.Price
	default:
		return
	}
	p.touch.seq, p.touch.sec = e.Seq, floorSec(e.TimeNs)
}

// noteTouch compares the touch with the touch at the previous command boundary and records a change. A change
// that one command makes and undoes therefore does not count.
func (p *pairState) noteTouch() {
	bid, ask := p.touch.best[engine.Buy], p.touch.best[engine.Sell] // one by one, as they were stored
	if bid == p.boundaryTouch[engine.Buy] && ask == p.boundaryTouch[engine.Sell] {
		return
	}
	p.boundaryTouch[engine.Buy], p.boundaryTouch[engine.Sell] = bid, ask
	p.tickerSeq = max(p.tickerSeq, p.touch.seq)
	p.changedSec = max(p.changedSec, p.touch.sec)
}

func (p *pairState) foldTrade(e *engine.Event, opts *Options) {
	sec := floorSec(e.TimeNs)
	if p.tick.Trades != 0 && p.tick.Start != sec || p.tick.full() {
		p.merge(opts)
	}
	p.tick.add(sec, e.Price, e.Amount, e.Side)
	t := p.ring.add(e.Trade, e.TimeNs, opts.TradesMin, opts.TradesMax)
	t.Price, t.Amount, t.TakerSide = e.Price, e.Amount, e.Side
	if e.Side == engine.Buy {
		t.Buyer, t.Seller = e.Account, e.MakerAccount
	} else {
		t.Buyer, t.Seller = e.MakerAccount, e.Account
	}
	p.last = e.Price
	p.tradesSeq, p.tickerSeq, p.changedSec = e.Seq, e.Seq, sec
}

// foldPast begins the candles and the window of a pair with its past. The window counts a candle as trades of its last
// second, so that at a whole minute it holds exactly the candles of a day. The trades of the past are not kept:
// an answer that would reach back to them is incomplete.
func (p *pairState) foldPast(e *engine.Event, opts *Options) {
	past, nowSec := e.Control.Past, floorSec(e.TimeNs)
	for i := range past {
		t := tick{pastCandle(&past[i])}
		p.candles.mergeLonger(&t, past[i].Length, &opts.Candles)
		t.Start = min(t.Start+past[i].Length-1, nowSec)
		p.window.add(&t)
	}
	p.last = past[len(past)-1].Close
	p.ring.view.droppedNs = e.TimeNs - 1
	p.tradesSeq, p.tickerSeq, p.changedSec = e.Seq, e.Seq, nowSec
	p.candlesMoved = true
}

// merge adds the pending trades of the newest second to the candles and the window.
func (p *pairState) merge(opts *Options) {
	if p.tick.Trades == 0 {
		return
	}
	p.candles.merge(&p.tick, &opts.Candles)
	p.window.add(&p.tick)
	p.tick.Trades = 0
	p.candlesMoved = true
}

// retain drops the trades and candles beyond the limits and reports whether there were any.
func (p *pairState) retain(r *Retention) bool {
	trades := &p.ring.view
	first := trades.first
	if first != 0 {
		p.ring.trim(trades.at(trades.last).TimeNs, r.TradesMin, r.TradesMax)
	}
	dropped := trades.first != first
	for i := range p.candles.series {
		if p.candles.series[i].trim(r.Candles[i]) {
			p.candlesMoved, dropped = true, true
		}
	}
	return dropped
}

// settle moves the window to the second now. Trades that a view shows apart from the candles stay in the tick: a pair
// that trades often would copy ten candles at each publication. They are of the newest second that candles and window
// have, so no candle begins or ends with them.
func (p *pairState) settle(now int64, opts *Options) {
	if !p.window.counts(p.tick.Start, now) {
		p.merge(opts)
	}
	p.window.slide(now)
}

func (p *pairState) ticker() Ticker {
	t := Ticker{
		LastTrade: p.ring.view.last, Last: p.last, Bid: p.boundaryTouch[engine.Buy], Ask: p.boundaryTouch[engine.Sell],
		ChangedSec: max(p.changedSec, p.window.left()),
	}
	p.window.figures(&t)
	if p.tick.Trades != 0 {
		t.High, t.Low = max(t.High, p.tick.High), min(t.Low, p.tick.Low)
		t.Volume = t.Volume.AddWrap(p.tick.Volume)
		t.QuoteVolume = t.QuoteVolume.AddWrap(p.tick.QuoteVolume)
	}
	return t
}

// due orders the pairs by the second at which a trade next leaves their window. It is a heap
// with each pair at most once: as time passes, only windows that change are touched. Owner: the
// feed's goroutine.
type due struct{ heap dueHeap }

// next returns the earliest second; false when no window holds a trade.
func (d *due) next() (int64, bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].dueSec, true
}

// fix updates p's place in the heap after its window has changed; it removes p when the window is empty.
func (d *due) fix(p *pairState) {
	sec, ok := p.window.nextSec()
	switch {
	case !ok && p.dueAt == 0:
	case !ok:
		heap.Remove(&d.heap, p.dueAt-1)
	case p.dueAt == 0:
		p.dueSec = sec
		heap.Push(&d.heap, p)
	case p.dueSec != sec:
		p.dueSec = sec
		heap.Fix(&d.heap, p.dueAt-1)
	}
}

// dueHeap implements heap.Interface.
type dueHeap []*pairState

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].dueSec < h[j].dueSec }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].dueAt, h[j].dueAt = i+1, j+1
}

func (h *dueHeap) Push(x any) {
	*h = append(*h, x.(*pairState))
	(*h)[len(*h)-1].dueAt = len(*h)
}

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last], p.dueAt = nil, 0
	*h = (*h)[:last]
	return nil // fix does not ask which pair it was
}

// Stats holds the numbers of retained records by kind and the bytes allocated for them, for metrics.
type Stats struct {
	Pairs        int
	Levels       int   // price levels of all working books
	Trades       int   // retained trades of all pairs
	TradeBytes   int64 // bytes of the trades' chunks
	DroppedYoung uint64
	Candles      int // closed candles of all pairs and intervals
	CandleBytes  int64
	Seconds      int // traded seconds in all windows
	WindowBytes  int64
	TextBytes    int64 // bytes of the cached texts of trade chunks

	OpenOrders, ClosedOrders, Remembered, Fills int
	Lists                                       int // those that execute too
	Amendments, Prevented                       int
	OrderBytes                                  int64 // bytes of the order history, without the texts of client ids
}

// Stats counts the retained data; it walks over all pairs. Only the feed's goroutine may call it.
func (f *Feed) Stats() Stats {
	s := Stats{TextBytes: f.cache.bytes.Load()}
	for _, p := range f.pairs {
		if p == nil {
			continue
		}
		s.Pairs++
		s.Levels += p.sides[0].levels + p.sides[1].levels
		s.Trades += p.ring.view.Len()
		s.TradeBytes += int64(len(p.ring.view.chunks)) * int64(unsafe.Sizeof(tradeChunk{}))
		s.DroppedYoung += p.ring.young
		for i := range p.candles.series {
			v := &p.candles.series[i].view
			s.Candles += v.closed
			s.CandleBytes += int64(len(v.chunks)) * int64(unsafe.Sizeof(candleChunk{}))
		}
		w := &p.window
		s.Seconds += w.buckets.len() - w.out
		s.WindowBytes += int64(len(w.buckets.buf))*int64(unsafe.Sizeof(bucket{})) +
			int64(len(w.highs.buf)+len(w.lows.buf))*int64(unsafe.Sizeof(extreme{}))
		for _, page := range p.orders.pages {
			if page != nil {
				s.OrderBytes += int64(unsafe.Sizeof(idPage{}))
			}
		}
	}
	h := f.history
	s.OpenOrders = h.open.InUse()
	s.ClosedOrders = int(h.closed.end - h.closed.first())
	s.Remembered = int(h.remembered.end - h.remembered.first())
	s.Fills = 2 * int(h.fills.end-h.fills.first())
	s.Lists = h.lists.slab.InUse()
	s.Amendments = int(h.amendments.end - h.amendments.first())
	s.Prevented = int(h.prevented.end - h.prevented.first())
	s.OrderBytes += h.open.Bytes() + h.extras.Bytes() + h.closed.bytes() + h.remembered.bytes() + h.fills.bytes() +
		h.lists.slab.Bytes() + h.amendments.bytes() + h.prevented.bytes()
	return s
}
