package marketdata

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
)

// groupViews is the number of views in a group. A publish copies the changed groups and the list
// of groups: with 1,000 pairs two small copies instead of one of 8 KB.
const groupViews = 32

type viewGroup [groupViews]*View

// Board holds the newest published root. The writer stores the root, any goroutine loads it. A
// reader that has loaded a root sees one instant of the whole market and may retain the root for
// any time.
type Board struct {
	root   atomic.Pointer[Root]
	sealed atomic.Int64
}

// SealedNs returns the time up to which the market is published for good: every later change has
// this time or a later one, and a candle that has ended by then is closed. Call Load afterwards: its
// root holds everything before that time.
func (b *Board) SealedNs() int64 { return b.sealed.Load() }

// Load returns the newest root. Before the first publish it returns an empty root, never nil.
func (b *Board) Load() *Root { return b.root.Load() }

// SeqOf returns the seq at which a pair is shown. A text that no pair can have as its code is at the largest seq, so
// that a reader who waits for a seq does not wait for it.
func (b *Board) SeqOf(code string) (seq uint64, known bool) {
	if v := b.Load().LookupAll(code); v != nil {
		return uint64(v.Seq), true
	}
	if !engine.ValidPairCode(code) {
		return math.MaxUint64, false
	}
	return 0, false
}

// Root holds everything published at one instant: a view of each pair, the assets, and the sums
// for documents over several pairs. Frozen.
type Root struct {
	groups []*viewGroup
	n      int
	names  *names
	assets []*engine.Asset

	Gen   uint64 // rises by one with each publish
	NowNs int64  // the time of the publish

	// SeqSum is the sum of all pairs' Seq, BookSeqSum and TradesSeqSum likewise.
	SeqSum, BookSeqSum, TradesSeqSum uint64
	// TickersSeqSum is the sum of all pairs' TickerSeq, the X-Seq of documents over tickers.
	TickersSeqSum uint64
	// TickersVersion changes exactly when the figures of a pair's ticker change or a pair is
	// added. ETags of documents over all tickers are made of it.
	TickersVersion uint64
	// DroppedYoung counts the trades of all pairs that were dropped while younger than 24 h.
	DroppedYoung uint64
	// ControlSeq is the seq of the control stream. It rises when an asset changes.
	ControlSeq engine.Seq
	// PairsVersion rises with each pair that is added or changed.
	PairsVersion uint64
}

// names holds the order of the pairs that are listed, and the index of all pairs; it is rebuilt when a pair is added or
// delisted.
type names struct {
	sorted []engine.PairID
	all    []engine.PairID // those that were delisted too
	byCode map[string]engine.PairID
}

// Len returns the highest pair id plus one; with one engine loop, the number of pairs.
func (r *Root) Len() int { return r.n }

// View returns the view of a pair, nil for an unknown pair.
func (r *Root) View(id engine.PairID) *View {
	if uint64(id) >= uint64(r.n) || r.groups[id/groupViews] == nil {
		return nil
	}
	return r.groups[id/groupViews][id%groupViews]
}

// Lookup returns the view of the listed pair with this code, nil when there is none.
func (r *Root) Lookup(code string) *View {
	if v := r.LookupAll(code); v != nil && v.Instrument.State != engine.Delisted {
		return v
	}
	return nil
}

// LookupAll returns the view of the pair with this code, also of one that was delisted, nil when there is none.
// Histories keep the pairs that were delisted, and so do operators.
func (r *Root) LookupAll(code string) *View {
	id, ok := r.names.byCode[code]
	if !ok {
		return nil
	}
	return r.View(id)
}

// Sorted returns the listed pairs by code in byte order. The caller must not change the slice.
func (r *Root) Sorted() []engine.PairID { return r.names.sorted }

// SortedAll returns the pairs by code in byte order, those that were delisted too. The caller must not change the
// slice.
func (r *Root) SortedAll() []engine.PairID { return r.names.all }

// Assets returns the configured assets by symbol in byte order. The caller must not change the
// slice.
func (r *Root) Assets() []*engine.Asset { return r.assets }

// Asset returns the asset with this symbol, nil when there is none.
func (r *Root) Asset(symbol string) *engine.Asset {
	i, ok := slices.BinarySearchFunc(r.assets, symbol, func(a *engine.Asset, symbol string) int {
		return strings.Compare(a.Symbol, symbol)
	})
	if !ok {
		return nil
	}
	return r.assets[i]
}

// AssetDigits returns the digits of the asset with this symbol, for Instrument.TakeDigits.
func (r *Root) AssetDigits(symbol string) (digits int, known bool) {
	if a := r.Asset(symbol); a != nil {
		return a.Digits, true
	}
	return 0, false
}

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
		n.all = append(n.all, p.id)
	}
	slices.SortFunc(n.all, func(a, b engine.PairID) int {
		return strings.Compare(f.pairs[a].instrument.Code, f.pairs[b].instrument.Code)
	})
	n.sorted = slices.DeleteFunc(slices.Clone(n.all), func(id engine.PairID) bool {
		return f.pairs[id].instrument.State == engine.Delisted
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
