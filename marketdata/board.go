package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
)

// groupViews is how many views share a group: a publish copies the touched groups and
// the list of groups, so that 1,000 pairs cost two small copies and not one of 8 KB.
const groupViews = 32

type viewGroup [groupViews]*View

// Board is where readers find what is published. The writer stores the root, anyone
// loads it; a reader that has loaded a root sees everything of it as of one instant and
// may keep it as long as it likes.
type Board struct {
	root atomic.Pointer[Root]
}

// Load is the newest root, never nil: before the first publish it is empty.
func (b *Board) Load() *Root { return b.root.Load() }

// Root is everything published at one instant: a view per pair, the assets, and the sums
// for documents over several pairs. Frozen.
type Root struct {
	groups []*viewGroup
	n      int
	names  *names
	assets []*engine.Asset

	Gen   uint64 // rises by one with each publish
	NowNs int64  // the time that it was published with

	// SeqSum is the sum of all pairs' Seq, BookSeqSum and TradesSeqSum likewise.
	SeqSum, BookSeqSum, TradesSeqSum uint64
	// TickersSeqSum is the sum of all pairs' TickerSeq: X-Seq of documents over tickers.
	TickersSeqSum uint64
	// TickersVersion changes whenever the figures of any pair's ticker do or a pair is
	// added, and only then: what ETags of documents over all tickers are made of.
	TickersVersion uint64
	// DroppedYoung is how many trades of all pairs were dropped while younger than 24 h.
	DroppedYoung uint64
	// ControlSeq is the seq of the control stream: assets change with it.
	ControlSeq engine.Seq
	// PairsVersion rises with each pair that is added or changed.
	PairsVersion uint64
}

// names is the order and the index of the pairs; made anew when a pair is added.
type names struct {
	sorted []engine.PairID
	places []int32 // by pair id: its place in sorted
	byCode map[string]engine.PairID
}

// Len is one more than the highest pair id; with one engine loop, the number of pairs.
func (r *Root) Len() int { return r.n }

// View is the pair's view, nil for a pair that is not there.
func (r *Root) View(id engine.PairID) *View {
	if uint64(id) >= uint64(r.n) || r.groups[id/groupViews] == nil {
		return nil
	}
	return r.groups[id/groupViews][id%groupViews]
}

// Lookup is the view of the pair with this code, nil when there is none.
func (r *Root) Lookup(code string) *View {
	id, ok := r.names.byCode[code]
	if !ok {
		return nil
	}
	return r.View(id)
}

// Sorted are the pairs by code in byte order. Do not change it.
func (r *Root) Sorted() []engine.PairID { return r.names.sorted }

// Changed yields the places in Sorted of the pairs whose views are not those of before, in
// no order, until yield says no. It is false when yield said no or the pairs are not the
// same ones.
func (r *Root) Changed(before *Root, yield func(place int) bool) bool {
	if r.names != before.names || r.n != before.n {
		return false
	}
	for g, group := range r.groups {
		old := before.groups[g]
		if group == old {
			continue
		}
		for i, v := range group {
			if v != old[i] && !yield(int(r.names.places[g*groupViews+i])) {
				return false
			}
		}
	}
	return true
}

// Assets are the configured assets by symbol in byte order. Do not change it.
func (r *Root) Assets() []*engine.Asset { return r.assets }

// Asset is the asset with this symbol, nil when there is none.
func (r *Root) Asset(symbol string) *engine.Asset {
	lo, hi := 0, len(r.assets)
	for lo < hi {
		if mid := (lo + hi) / 2; r.assets[mid].Symbol < symbol {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(r.assets) && r.assets[lo].Symbol == symbol {
		return r.assets[lo]
	}
	return nil
}
