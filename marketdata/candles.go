package marketdata

import (
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Seconds returns the length of an interval; 0 for Month and Year.
func (i Interval) Seconds() int64 {
	return [Intervals]int64{60, 180, 300, 900, 1800, 3600, 14400, 86400, 0, 0}[i]
}

// Floor returns the Unix second (UTC) at which the interval containing sec starts. Intervals of fixed length
// start at multiples of the length; months and years follow the calendar.
func (i Interval) Floor(sec int64) int64 {
	if n := i.Seconds(); n != 0 {
		r := sec % n
		if r < 0 {
			r += n
		}
		return sec - r
	}
	t := time.Unix(sec, 0).UTC()
	month := t.Month()
	if i == Year {
		month = time.January
	}
	return time.Date(t.Year(), month, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// Next returns the first boundary after sec: the end of the interval that contains sec.
func (i Interval) Next(sec int64) int64 {
	if n := i.Seconds(); n != 0 {
		return i.Floor(sec) + n
	}
	t := time.Unix(sec, 0).UTC()
	if i == Year {
		return time.Date(t.Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// Fitting returns the longest interval of fixed length whose boundaries include all multiples of length seconds from
// offset on: its candles add up to the candles that a reader cuts there. Both are whole minutes.
func Fitting(length, offset int64) Interval {
	i := Day
	for length%i.Seconds() != 0 || offset%i.Seconds() != 0 {
		i-- // every whole minute is a boundary of Minute
	}
	return i
}

// floorSec returns the whole second of a time in Unix ns.
func floorSec(ns int64) int64 { return fixed.FloorDiv(ns, nanosecond) }

// Interval is one of the ten candle lengths of docs/contract/api.md.
type Interval uint8

// The intervals, shortest first. Month and Year follow the calendar in UTC.
const (
	Minute Interval = iota
	Minutes3
	Minutes5
	Minutes15
	Minutes30
	Hour
	Hour4
	Day
	Month
	Year
	Intervals = 10
)

var intervalNames = [Intervals]string{
	"minute", "minutes3", "minutes5", "minutes15", "minutes30", "hour", "hour4", "day", "month", "year",
}

func (i Interval) String() string { return intervalNames[i] }

// IntervalNames returns the names of all intervals, shortest first.
func IntervalNames() []string { return slices.Clone(intervalNames[:]) }

// ParseInterval returns the interval with this wire name.
func ParseInterval(name string) (Interval, bool) {
	for i, n := range intervalNames {
		if n == name {
			return Interval(i), true
		}
	}
	return 0, false
}

// Candle holds open, high, low, close and volume of one interval that has trades.
type Candle struct {
	Start                  int64      // Unix seconds of the interval's boundary
	Open, High, Low, Close int64      // ticks
	Volume                 fixed.U128 // lots; saturates at 2^128-1 (after 2^65 trades of the largest size)
	QuoteVolume            fixed.U128 // product units; saturates at 2^128-1 (after 2^32 trades of the largest size)
	Trades                 int64

	// TakerVolume and TakerQuote are the parts of Volume and QuoteVolume that takers have bought.
	TakerVolume, TakerQuote fixed.U128
}

// Merge adds the trades of a later candle. A candle without trades takes all but the later one's Start.
func (c *Candle) Merge(later *Candle) {
	if c.Trades == 0 {
		start := c.Start
		*c = *later
		c.Start = start
		return
	}
	c.High = max(c.High, later.High)
	c.Low = min(c.Low, later.Low)
	c.Close = later.Close
	c.Volume = c.Volume.AddSat(later.Volume)
	c.QuoteVolume = c.QuoteVolume.AddSat(later.QuoteVolume)
	c.Trades += later.Trades
	c.TakerVolume = c.TakerVolume.AddSat(later.TakerVolume)
	c.TakerQuote = c.TakerQuote.AddSat(later.TakerQuote)
}

// tick sums up the trades of one second until they are merged into the ten candles and the
// window. Merging is associative: a trade costs one update instead of eleven, and the result
// does not depend on the time of the merge.
type tick struct {
	Candle // Start is the second; Trades is 0 before its first trade
}

// full reports whether another trade could overflow the tick's sums: price x amount is below 2^126,
// so a sum below 2^127 has room for one more. On a virtual clock a second may have any number of
// trades. Candles saturate and windows take any sum.
func (t *tick) full() bool { return t.QuoteVolume.Hi>>63 != 0 }

func (t *tick) add(sec, price, amount int64, taker engine.Side) {
	one := candleOf(sec, price, amount, taker)
	t.Start = sec
	t.Merge(&one)
}

// candleBuilder builds the ten candle series of a pair. Owner: the feed's goroutine.
type candleBuilder struct {
	series [Intervals]candleSeries
}

func (b *candleBuilder) merge(t *tick, keep *[Intervals]int) {
	for i := range b.series {
		b.series[i].merge(Interval(i), t, keep[i])
	}
}

// mergeLonger adds a candle to the series whose candles have whole candles of its length.
func (b *candleBuilder) mergeLonger(t *tick, length int64, keep *[Intervals]int) {
	for i := range b.series {
		if Interval(i).Seconds()%length == 0 { // months and years have whole days
			b.series[i].merge(Interval(i), t, keep[i])
		}
	}
}

// pastCandle returns a candle of a pair's past.
func pastCandle(c *engine.PastCandle) Candle {
	price := uint64(c.Average)
	return Candle{
		Start: c.Start, Open: c.Open, High: c.High, Low: c.Low, Close: c.Close, Trades: c.Trades,
		Volume: fixed.FromU64(uint64(c.Volume)), QuoteVolume: fixed.Mul64(price, uint64(c.Volume)),
		TakerVolume: fixed.FromU64(uint64(c.TakerVolume)), TakerQuote: fixed.Mul64(price, uint64(c.TakerVolume)),
	}
}

// publish returns views of all ten series, in one allocation.
func (b *candleBuilder) publish() *[Intervals]Candles {
	views := new([Intervals]Candles)
	for i := range b.series {
		views[i] = b.series[i].view
	}
	return views
}

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
	s.trim(keep)
}

// trim drops the oldest closed candles beyond keep and reports whether there were any.
func (s *candleSeries) trim(keep int) bool {
	v := &s.view
	n := v.closed - keep
	if n <= 0 {
		return false
	}
	v.closed, v.first = keep, v.first+n
	if gone := v.first / chunkCandles; gone > 0 {
		// Copy the list: readers may hold the old one, and dropped chunks must not stay
		// reachable.
		chunks := make([]*candleChunk, len(v.chunks)-gone, 2*(len(v.chunks)-gone))
		copy(chunks, v.chunks[gone:])
		v.chunks = chunks
		v.first -= gone * chunkCandles
	}
	return true
}
