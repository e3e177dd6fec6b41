package marketdata

// chunkCandles is the number of candles in one allocation. It is small, because each pair has ten series and
// the yearly one never fills a chunk.
const chunkCandles = 64

// candleChunk holds 64 closed candles. The writer fills each slot once, above every published
// length.
type candleChunk [chunkCandles]Candle

// Candles is a view of one interval of a pair: the retained closed candles and, last, the open
// candle of the newest trade. Ascending by Start; intervals without trades are absent. Frozen.
type Candles struct {
	chunks []*candleChunk
	first  int // index in chunks[0] of the oldest retained candle
	closed int
	open   Candle // the candle that still changes; Trades is 0 when there is none
}

// Len returns the number of candles.
func (c *Candles) Len() int {
	if c.open.Trades == 0 {
		return 0
	}
	return c.closed + 1
}

// At returns the i-th candle, ascending. The last candle may still change in later views.
func (c *Candles) At(i int) Candle { return *c.at(i) }

func (c *Candles) at(i int) *Candle {
	if i == c.closed && c.open.Trades != 0 {
		return &c.open
	}
	if uint(i) >= uint(c.closed) {
		panic("BUG: marketdata: candle outside the view")
	}
	i += c.first
	return &c.chunks[i/chunkCandles][i%chunkCandles]
}

// Search returns the first i with At(i).Start >= startSec, Len() when there is none.
func (c *Candles) Search(startSec int64) int {
	lo, hi := 0, c.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if c.at(mid).Start < startSec {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Fold returns the sum of the candles that begin from startSec up to, not including, endSec. Its Trades is 0 when there
// are none.
func (c *Candles) Fold(startSec, endSec int64) Candle {
	sum := Candle{Start: startSec}
	for i := c.Search(startSec); i < c.Len() && c.at(i).Start < endSec; i++ {
		sum.Merge(c.at(i))
	}
	return sum
}

// candleSeries builds the candles of one interval. Owner: the feed's goroutine.
type candleSeries struct {
	view Candles
	end  int64 // Unix seconds at which the open candle closes
}

// merge adds t, the trades of one second, to the open candle. When t is past its end, merge closes the candle
// and opens the next one.
func (s *candleSeries) merge(i Interval, t *tick, keep int) {
	open := &s.view.open
	if t.Start >= s.end || open.Trades == 0 {
		if open.Trades != 0 {
			s.close(*open, keep)
		}
		s.end = i.Next(t.Start)
		*open = Candle{Start: i.Floor(t.Start)}
	}
	open.Merge(&t.Candle)
}

func (s *candleSeries) close(c Candle, keep int) {
	v := &s.view
	at := v.first + v.closed
	if at/chunkCandles == len(v.chunks) {
		v.chunks = append(v.chunks, new(candleChunk))
	}
	v.chunks[at/chunkCandles][at%chunkCandles] = c
	v.closed++
	for v.closed > keep {
		v.closed--
		v.first++
	}
	if gone := v.first / chunkCandles; gone > 0 {
		// Copy the list: readers may hold the old one, and dropped chunks must not stay
		// reachable.
		chunks := make([]*candleChunk, len(v.chunks)-gone, 2*(len(v.chunks)-gone))
		copy(chunks, v.chunks[gone:])
		v.chunks = chunks
		v.first -= gone * chunkCandles
	}
}
