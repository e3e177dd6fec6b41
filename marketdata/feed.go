package marketdata

import (
	"math"

	"tickhive/engine"
)

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
	f := &Feed{opts: opts.withDefaults(), gen: 1, assets: map[string]*engine.Asset{}}
	f.cache.limit = f.opts.ChunkText
	f.history = newHistory(f.opts)
	f.board.root.Store(&Root{names: &names{byCode: map[string]engine.PairID{}}})
	return f
}

// Board returns the board with the published views.
func (f *Feed) Board() *Board { return &f.board }

// History returns the order history, which belongs to the feed's goroutine.
func (f *Feed) History() *History { return f.history }

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
		if i == 0 || startsCommand(e) {
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

// startsCommand reports whether e is the first event of a command. A change of the touch that
// one command makes and undoes again does not count.
func startsCommand(e *engine.Event) bool {
	switch e.Kind {
	case engine.EventAccepted, engine.EventRejected, engine.EventReplaced, engine.EventNothing, engine.EventPair:
		return true
	case engine.EventCanceled:
		return e.Cause == engine.CauseRequest || e.Cause == engine.CauseReplace
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
		f.assets[e.Asset.Symbol] = e.Asset
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
