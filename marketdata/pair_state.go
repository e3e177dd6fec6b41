package marketdata

import (
	"tickhive/engine"
)

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
