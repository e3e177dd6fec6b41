package marketdata

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Trade is a public execution. It never changes. Its id is its position in the pair's ring.
type Trade struct {
	TimeNs        int64 // Unix ns
	Price         int64 // ticks, the maker's price
	Amount        int64 // lots
	Buyer, Seller engine.AccountID
	TakerSide     engine.Side // Buy: the taker bought
}

// Candle returns the candle of the trade alone. Its Start is the trade's second.
func (t *Trade) Candle() Candle { return candleOf(floorSec(t.TimeNs), t.Price, t.Amount, t.TakerSide) }

func candleOf(sec, price, amount int64, taker engine.Side) Candle {
	c := Candle{
		Start: sec, Open: price, High: price, Low: price, Close: price, Volume: fixed.FromU64(uint64(amount)),
		QuoteVolume: fixed.Mul64(uint64(price), uint64(amount)), Trades: 1,
	}
	if taker == engine.Buy {
		c.TakerVolume, c.TakerQuote = c.Volume, c.QuoteVolume
	}
	return c
}

// chunkTrades is the number of trades in one allocation and one cached text.
const chunkTrades = 1024

// tradeChunk holds 1,024 consecutive trades. The writer fills only slots above every published last id, and
// never changes a full chunk.
type tradeChunk struct {
	// first in the struct, so that the garbage collector scans no pointer-free member
	text [textSlots]atomic.Pointer[[]byte]
	used atomic.Bool // a reader has requested a text since the last sweep

	trades [chunkTrades]Trade
}

// Trades is a view of a pair's retained trades: ids First to Last without a gap. Frozen.
type Trades struct {
	chunks      []*tradeChunk
	base        engine.TradeID // id of the first slot of chunks[0]
	first, last engine.TradeID
	droppedNs   int64
	cache       *textCache
}

// First returns the oldest retained id, 0 when there is none.
func (t *Trades) First() engine.TradeID { return t.first }

// Last returns the newest id, 0 when there is none.
func (t *Trades) Last() engine.TradeID { return t.last }

// Len returns the number of retained trades.
func (t *Trades) Len() int {
	if t.last == 0 {
		return 0
	}
	return int(t.last-t.first) + 1
}

// At returns the trade with this id. It panics on an id outside First..Last.
func (t *Trades) At(id engine.TradeID) Trade { return *t.at(id) }

func (t *Trades) at(id engine.TradeID) *Trade {
	if id < t.first || id > t.last || id == 0 {
		panic("BUG: marketdata: trade id outside the view")
	}
	i := id - t.base
	return &t.chunks[i/chunkTrades].trades[i%chunkTrades]
}

// Search returns the first retained id with TimeNs >= timeNs, Last()+1 when there is none. With
// no trades at all it returns 1.
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

// DroppedNs returns the time of the newest dropped trade, 0 when none was dropped. A response
// that reaches back to this time or further is incomplete (X-Truncated,
// docs/contract/listing.md#historical-trades).
func (t *Trades) DroppedNs() int64 { return t.droppedNs }

// tradeRing is the writer's copy of a pair's trades. Owner: the feed's goroutine.
type tradeRing struct {
	view  Trades // what a publication copies; the writer appends chunks beyond the length of every published copy
	young uint64 // trades dropped while younger than 24 h
}

// add appends the trade with this id and time and trims the ring. It returns the trade, whose other members the caller
// sets. It panics unless id is the one after the last.
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
	r.trim(timeNs, minKept, maxKept)
	return t
}

// trim drops the oldest trades: those older than 24 h at the time of the newest, newestNs, while more than minKept
// remain, and any beyond maxKept. Which trades are retained depends on the trades and the limits alone.
func (r *tradeRing) trim(newestNs int64, minKept, maxKept int) {
	v := &r.view
	for n := v.Len(); n > minKept; n-- {
		oldest := v.at(v.first)
		if newestNs-oldest.TimeNs <= secondsOfDay*nanosecond {
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
}

// dropChunks drops the chunks whose trades are all older than first. It copies the list of chunks: readers may
// hold the old list, and a list with the old slots would keep dropped chunks alive.
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
