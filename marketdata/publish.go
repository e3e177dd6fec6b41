package marketdata

import (
	"maps"
	"slices"
	"strings"

	"tickhive/engine"
)

// Publish makes the folded events visible with one store: a new view for each pair that changed
// or whose window has moved up to the second of nowNs, unless it is withheld (Withhold). The owner calls it
// between commands, at the end of a batch and at NextNs. When nothing changed, it stores no root. No
// event that is folded later may have a time before nowNs, which becomes the board's SealedNs.
func (f *Feed) Publish(nowNs int64) {
	f.publish(nowNs)
	if nowNs > f.board.sealed.Load() { // never back: a test may publish behind the time of its trades
		f.board.sealed.Store(nowNs)
	}
}

func (f *Feed) publish(nowNs int64) {
	f.history.endCommand()
	sec := floorSec(nowNs)
	for _, p := range f.changed {
		p.noteTouch()
		p.settle(sec, &f.opts)
		f.due.fix(p)
	}
	for next, ok := f.due.next(); ok && next <= sec; next, ok = f.due.next() {
		p := f.due.heap[0]
		p.settle(sec, &f.opts)
		f.due.fix(p)
		f.markChanged(p)
	}
	f.makeRoomForText()
	old := f.board.Load()
	shown := len(f.changed)
	for _, p := range f.withheld {
		if p.changed {
			shown--
		}
	}
	if shown == 0 && f.controlSeq == old.ControlSeq {
		return
	}
	root := *old
	root.Gen, root.NowNs = old.Gen+1, nowNs
	f.publishViews(&root)
	f.publishNames(&root)
	f.gen++
	f.board.root.Store(&root)
}

func (f *Feed) publishViews(root *Root) {
	root.n = len(f.pairs)
	groups := (root.n + groupViews - 1) / groupViews
	copied := make([]*viewGroup, groups)
	old := copy(copied, root.groups)
	before := root.groups
	root.groups = copied
	later := f.changed[:0]
	for _, p := range f.changed {
		if p.withheld {
			later = append(later, p)
			continue
		}
		g := int(p.id) / groupViews
		if copied[g] == nil {
			copied[g] = new(viewGroup)
		} else if g < old && copied[g] == before[g] {
			c := *before[g]
			copied[g] = &c
		}
		v := f.view(p)
		root.count(p.view, -1)
		root.count(v, +1)
		copied[g][p.id%groupViews] = v
		p.view, p.changed = v, false
	}
	clear(f.changed[len(later):])
	f.changed = later
	root.PairsVersion = f.pairsNew
}

// count adds the seqs and counters of a view to the root's sums, or subtracts them when sign is -1. The sums
// wrap around.
func (r *Root) count(v *View, sign int) {
	if v == nil {
		return
	}
	s := uint64(int64(sign))
	r.SeqSum += s * uint64(v.Seq)
	r.BookSeqSum += s * uint64(v.BookSeq)
	r.TradesSeqSum += s * uint64(v.TradesSeq)
	r.TickersSeqSum += s * uint64(v.TickerSeq)
	r.TickersVersion += s * v.TickerVersion
	r.DroppedYoung += s * v.DroppedYoung
}

// view returns a frozen view of the pair's state.
func (f *Feed) view(p *pairState) *View {
	if p.candlesMoved || p.candlesView == nil {
		p.candlesView, p.candlesMoved = p.candles.publish(), false
	}
	v := &View{
		Instrument: p.instrument,
		Seq:        p.seq, BookSeq: p.bookSeq, TradesSeq: p.tradesSeq, TickerSeq: p.tickerSeq,
		TimeNs: p.timeNs, BookTimeNs: p.bookTimeNs,
		Ticker: p.ticker(),
		Bids:   p.sides[engine.Buy].publish(), Asks: p.sides[engine.Sell].publish(),
		Changes: p.changes.view, Trades: p.ring.view, candles: p.candlesView,
		DroppedYoung: p.ring.young,
	}
	if p.tick.Trades != 0 {
		v.tick = p.tick.Candle
	}
	if old := p.view; old != nil {
		v.TickerVersion = old.TickerVersion
		if v.Ticker != old.Ticker {
			v.TickerVersion = v.Ticker.version(p.id)
		}
		v.inherit(old)
	} else {
		v.TickerVersion = v.Ticker.version(p.id)
	}
	if f.opts.Checksums {
		v.Sum = v.Checksum()
	}
	return v
}

// publishNames updates the root's index of pairs and its assets when they have changed.
func (f *Feed) publishNames(root *Root) {
	root.ControlSeq = f.controlSeq
	if f.assetsNew {
		root.assets = make([]*engine.Asset, 0, len(f.assets))
		for _, symbol := range slices.Sorted(maps.Keys(f.assets)) {
			root.assets = append(root.assets, f.assets[symbol])
		}
		f.assetsNew = false
	}
	if !f.namesNew {
		return
	}
	n := &names{byCode: make(map[string]engine.PairID, len(f.pairs))}
	for _, p := range f.pairs {
		if p == nil {
			continue
		}
		n.byCode[p.instrument.Code] = p.id
		n.sorted = append(n.sorted, p.id)
	}
	slices.SortFunc(n.sorted, func(a, b engine.PairID) int {
		return strings.Compare(f.pairs[a].instrument.Code, f.pairs[b].instrument.Code)
	})
	root.names, f.namesNew = n, false
}

// sweepPlace is the position of the next sweep of the text cache.
type sweepPlace struct{ pair, chunk int }

// sweepChunks limits the chunks that one publish examines while the text cache is nearly full: about 10 us.
const sweepChunks = 256

// makeRoomForText removes texts that no reader requested since the last sweep, once the cache is three quarters
// full.
func (f *Feed) makeRoomForText() {
	for range sweepChunks {
		if f.cache.bytes.Load() <= f.cache.limit/4*3 || len(f.pairs) == 0 {
			return
		}
		at := &f.sweepAt
		if at.pair >= len(f.pairs) {
			at.pair, at.chunk = 0, 0
		}
		var chunks []*tradeChunk
		if p := f.pairs[at.pair]; p != nil {
			chunks = p.ring.view.chunks
		}
		if at.chunk >= len(chunks) {
			at.pair, at.chunk = at.pair+1, 0
			continue
		}
		f.cache.sweep(chunks[at.chunk])
		at.chunk++
	}
}
