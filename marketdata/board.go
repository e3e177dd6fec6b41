package marketdata

import (
	"slices"
	"strings"
	"sync/atomic"

	"tickhive/engine"
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

// names holds the order and the index of the pairs; it is rebuilt when a pair is added.
type names struct {
	sorted []engine.PairID
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

// Lookup returns the view of the pair with this code, nil when there is none.
func (r *Root) Lookup(code string) *View {
	id, ok := r.names.byCode[code]
	if !ok {
		return nil
	}
	return r.View(id)
}

// Sorted returns the pairs by code in byte order. The caller must not change the slice.
func (r *Root) Sorted() []engine.PairID { return r.names.sorted }

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
