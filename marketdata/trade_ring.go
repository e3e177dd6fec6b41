package marketdata

import (
	"sync/atomic"

	"tickhive/engine"
)

// chunkTrades is how many trades share one allocation and one kept text.
const chunkTrades = 1024

// tradeChunk is 1,024 trades in the order of their ids. The writer fills slots above
// every published last id only; a full chunk is never written again.
type tradeChunk struct {
	text [chunkTexts]atomic.Pointer[[]byte] // before the trades: the collector looks no further
	used atomic.Bool                        // a reader asked for the text since the sweep last came by

	trades [chunkTrades]Trade
}

// Trades is a view of a pair's kept trades: ids First to Last without a gap. Frozen.
type Trades struct {
	chunks      []*tradeChunk
	base        engine.TradeID // id of the first slot of chunks[0]
	first, last engine.TradeID
	droppedNs   int64
	cache       *textCache
}

// First is the oldest kept id, 0 when there is none.
func (t *Trades) First() engine.TradeID { return t.first }

// Last is the newest id, 0 when there is none.
func (t *Trades) Last() engine.TradeID { return t.last }

// Len is the number of kept trades.
func (t *Trades) Len() int {
	if t.last == 0 {
		return 0
	}
	return int(t.last-t.first) + 1
}

// At is the trade of an id within First..Last; another id panics.
func (t *Trades) At(id engine.TradeID) Trade { return *t.at(id) }

func (t *Trades) at(id engine.TradeID) *Trade {
	if id < t.first || id > t.last || id == 0 {
		panic("BUG: marketdata: trade id outside the view")
	}
	i := id - t.base
	return &t.chunks[i/chunkTrades].trades[i%chunkTrades]
}

// Search is the first kept id with TimeNs >= timeNs, Last()+1 when there is none. With
// no trades at all it is 1.
func (t *Trades) Search(timeNs int64) engine.TradeID {
	if t.last == 0 {
		return 1
	}
	lo, hi := t.first, t.last+1
	for lo < hi {
		if mid := lo + (hi-lo)/2; t.at(mid).TimeNs < timeNs {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// DroppedNs is the time of the newest trade that is no longer kept, 0 when none was
// dropped: an answer that reaches back to it or before is incomplete (X-Truncated,
// docs/contract/listing.md#historical-trades).
func (t *Trades) DroppedNs() int64 { return t.droppedNs }

// tradeRing is the writer's side. Owner: the feed's goroutine.
type tradeRing struct {
	view  Trades // chunks is appended to in place, above every published length
	young uint64 // trades dropped while younger than 24 h
}

// add appends the next trade, made at timeNs, and lets the oldest go: those older than 24 h
// beyond min trades, and any beyond max. What is kept is a function of the trades alone. The
// caller fills the rest of the trade in.
func (r *tradeRing) add(id engine.TradeID, timeNs int64, minKept, maxKept int) *Trade {
	v := &r.view
	if id != v.last+1 {
		panic("BUG: marketdata: trade ids have a gap")
	}
	if v.last == 0 {
		v.first, v.base = id, id
	}
	i := int(id - v.base)
	if i/chunkTrades == len(v.chunks) {
		v.chunks = append(v.chunks, new(tradeChunk))
	}
	t := &v.chunks[i/chunkTrades].trades[i%chunkTrades]
	t.TimeNs = timeNs
	v.last = id
	for n := int(id-v.first) + 1; n > minKept; n-- {
		oldest := v.at(v.first)
		age := timeNs - oldest.TimeNs
		if age <= secondsOfDay*nanosecond {
			if n <= maxKept {
				break
			}
			r.young++
		}
		v.droppedNs = oldest.TimeNs
		v.first++
	}
	if v.first-v.base >= chunkTrades {
		r.dropChunks()
	}
	return t
}

// dropChunks forgets the chunks before first. The list is copied: readers may hold the
// old one, and its slots must not keep dropped chunks alive for us.
func (r *tradeRing) dropChunks() {
	v := &r.view
	gone := int(v.first-v.base) / chunkTrades
	for _, c := range v.chunks[:gone] {
		v.cache.forget(c)
	}
	keep := make([]*tradeChunk, len(v.chunks)-gone, max(2*(len(v.chunks)-gone), 4))
	copy(keep, v.chunks[gone:])
	v.chunks = keep
	v.base += engine.TradeID(gone * chunkTrades)
}
