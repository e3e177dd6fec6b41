package realism

import (
	"math"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/sim/replay/format"
	"github.com/tickhive/tickhive/sim/stats"
)

// statistic is one row of a report.
type statistic struct {
	Key, Name string
	Topic     int  // from 1, the question about a market that it answers; several rows may answer one
	Returns   bool // it needs returns of a horizon
}

// topics is the number of topics.
const topics = 11

// statistics lists all statistics in the order of a report.
var statistics = []statistic{
	{"spread", "spread, ticks", 1, false},
	{"gap", "distance of the best 10 levels, ticks", 2, false},
	{"depth_near", "best quote / median trade", 2, false},
	{"depth_far", "amount of levels 11-20 / levels 1-10", 2, false},
	{"levels", "levels per side", 2, false},
	{"order_size", "order size, 90th percentile / median", 3, false},
	{"trade_size", "trade size, 90th percentile / median", 4, false},
	{"cancels", "cancellations per trade", 5, false},
	{"kurtosis_10s", "kurtosis of 10 s returns", 6, true},
	{"kurtosis_60s", "kurtosis of 60 s returns", 7, true},
	{"clustering", "autocorrelation of |60 s returns|, lags 1-10", 8, true},
	{"sign_1", "autocorrelation of trade signs, lag 1", 9, false},
	{"sign_10", "autocorrelation of trade signs, lag 10", 9, false},
	{"sign_100", "autocorrelation of trade signs, lag 100", 9, false},
	{"impact_1", "sign and move of the mid, 1 order later", 10, false},
	{"impact_20", "sign and move of the mid, 20 orders later", topics, false},
}

// Statistics returns the number of statistics.
func Statistics() int { return len(statistics) }

// Samples holds the values of each statistic, one per window, by key.
type Samples map[string][]float64

// add appends a value. It leaves out values that a window could not determine.
func (s Samples) add(key string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		s[key] = append(s[key], v)
	}
}

// quantile returns the value below which a share q of the values lies; NaN without values.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	low := int(at)
	high := min(low+1, len(s)-1)
	return s[low] + (s[high]-s[low])*(at-float64(low))
}

// autocorr returns the autocorrelation of v at one lag; NaN when v is constant or too short.
func autocorr(v []float64, lag int) float64 {
	if len(v) <= lag {
		return math.NaN()
	}
	return correlate(v[:len(v)-lag], v[lag:])
}

// correlate returns the correlation of two series of one length.
func correlate(a, b []float64) float64 {
	n := float64(len(a))
	meanA, meanB := 0.0, 0.0
	for i := range a {
		meanA += a[i] / n
		meanB += b[i] / n
	}
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		ab += (a[i] - meanA) * (b[i] - meanB)
		aa += (a[i] - meanA) * (a[i] - meanA)
		bb += (b[i] - meanB) * (b[i] - meanB)
	}
	return ab / math.Sqrt(aa*bb)
}

// weighted is a value of one recording.
type weighted struct{ value, weight float64 }

// quantileOf returns the least value up to which the sorted values have a share q of the weight.
func quantileOf(all []weighted, q float64) float64 {
	total, sum := 0.0, 0.0
	for _, v := range all {
		total += v.weight
	}
	for _, v := range all {
		if sum += v.weight; sum >= q*total {
			return v.value
		}
	}
	return all[len(all)-1].value
}

const (
	secondNs = int64(time.Second)
	// windowLong is the length of a window of the book; windowShort the length in recordings shorter than an hour.
	windowLong, windowShort = 600 * secondNs, 10 * secondNs
	// samplesPerWindow is the number of times that the book is sampled in a window.
	samplesPerWindow = 60
	// windowOrders is the number of taker orders in a window of signs and impact.
	windowOrders = 250
	// windowLeast is the least number of orders or trades from which a distribution is taken.
	windowLeast = 30
	// stepNs is the shortest horizon of returns; returnSteps of them are a window.
	stepNs      = 10 * secondNs
	returnSteps = 360
	// maxGap bounds the time between two records; beyond it, new windows start.
	maxGap = 7 * 24 * 3600 * secondNs
)

// takerOrder holds the trades of one time and side.
type takerOrder struct {
	ns          int64
	sign        float64
	amount, mid float64 // mid: before the order; 0: unknown
}

// tape observes one market and cuts it into windows. Times, prices and amounts come in the market's own units.
type tape struct {
	out      Samples
	windowNs int64
	fine     bool // the market has trades, or bars that start within a minute

	levels   [2][]format.Level // the book, best first
	complete bool              // levels hold the whole book
	bid, ask int64             // the touch; 0: unknown
	tick     int64             // greatest common divisor of the prices of levels; 0: none yet

	windowEnd, sampleAt int64 // 0: no record yet
	spreads, gaps, near []float64
	far, counts         []float64
	placed              []float64 // amounts of the window's limit orders
	cancels             int
	trades              []float64 // amounts of the window's taker orders

	current takerOrder
	orders  []takerOrder // the current window of signs

	last   float64   // price of the last trade
	stepAt int64     // end of the current step of returns
	closes []float64 // price at the end of each step of the current window
}

func newTape(windowNs int64) *tape { return &tape{out: Samples{}, windowNs: windowNs} }

// advance takes the samples that are due before ns. The caller calls it before a record changes anything.
func (t *tape) advance(ns int64) {
	if t.windowEnd == 0 || ns-t.sampleAt > maxGap {
		t.windowEnd, t.sampleAt, t.stepAt = ns+t.windowNs, ns+t.windowNs/samplesPerWindow, ns+stepNs
		t.closes = t.closes[:0]
		return
	}
	for ; t.sampleAt <= ns; t.sampleAt += t.windowNs / samplesPerWindow {
		t.sample()
		if t.sampleAt >= t.windowEnd {
			t.closeWindow()
			t.windowEnd += t.windowNs
		}
	}
	for ; t.stepAt <= ns; t.stepAt += stepNs {
		t.closeStep()
	}
}

func (t *tape) place(amount int64) { t.placed = append(t.placed, float64(amount)) }

func (t *tape) cancel() { t.cancels++ }

// price records a price at which the market traded.
func (t *tape) price(price int64) { t.last = float64(price) }

// trade records a trade. The book must still be the one before it.
func (t *tape) trade(ns int64, taker engine.Side, price, amount int64) {
	t.price(price)
	t.fine = true
	sign := 1.0
	if taker == engine.Sell {
		sign = -1
	}
	if t.current.ns == ns && t.current.sign == sign {
		t.current.amount += float64(amount)
		return
	}
	t.closeOrder()
	t.current = takerOrder{ns: ns, sign: sign, amount: float64(amount)}
	if t.bid > 0 && t.ask > 0 {
		t.current.mid = float64(t.bid+t.ask) / 2
	}
}

// setTouch takes bid and ask from the levels.
func (t *tape) setTouch() {
	t.bid, t.ask = 0, 0
	if len(t.levels[engine.Buy]) > 0 {
		t.bid = t.levels[engine.Buy][0].Price
	}
	if len(t.levels[engine.Sell]) > 0 {
		t.ask = t.levels[engine.Sell][0].Price
	}
}

// finish returns the samples; the windows that are not full are left out.
func (t *tape) finish() Samples {
	for _, key := range []string{"spread", "gap"} {
		for i := range t.out[key] {
			t.out[key][i] /= float64(max(t.tick, 1))
		}
	}
	return t.out
}

const (
	levelsNear = 10 // levels of a side that count as near
	levelsFar  = 20 // the farthest level whose amount counts
)

// sample looks at the book.
func (t *tape) sample() {
	bids, asks := t.levels[0], t.levels[1]
	if len(bids) == 0 || len(asks) == 0 || asks[0].Price <= bids[0].Price {
		return
	}
	t.spreads = append(t.spreads, float64(asks[0].Price-bids[0].Price))
	t.near = append(t.near, float64(bids[0].Amount+asks[0].Amount)/2)
	for _, side := range t.levels {
		for _, l := range side[:min(len(side), levelsFar)] {
			t.tick = divisor(t.tick, l.Price)
		}
	}
	if len(bids) < levelsFar || len(asks) < levelsFar {
		return
	}
	for _, side := range t.levels {
		for i := 1; i < levelsNear; i++ {
			t.gaps = append(t.gaps, math.Abs(float64(side[i].Price-side[i-1].Price)))
		}
		t.far = append(t.far, amounts(side[levelsNear:levelsFar])/amounts(side[:levelsNear]))
		if t.complete {
			t.counts = append(t.counts, float64(len(side)))
		}
	}
}

func amounts(levels []format.Level) float64 {
	sum := 0.0
	for _, l := range levels {
		sum += float64(l.Amount)
	}
	return sum
}

func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// closeWindow computes the statistics of the book, the sizes and the cancellations.
func (t *tape) closeWindow() {
	t.out.add("spread", stats.Median(t.spreads))
	t.out.add("gap", stats.Median(t.gaps))
	t.out.add("depth_far", stats.Median(t.far))
	t.out.add("levels", stats.Median(t.counts))
	if len(t.trades) >= windowLeast {
		t.out.add("depth_near", stats.Median(t.near)/stats.Median(t.trades))
		t.out.add("trade_size", quantile(t.trades, 0.9)/stats.Median(t.trades))
	}
	if len(t.placed) >= windowLeast {
		t.out.add("order_size", quantile(t.placed, 0.9)/stats.Median(t.placed))
		if len(t.trades) > 0 {
			t.out.add("cancels", float64(t.cancels)/float64(len(t.trades)))
		}
	}
	t.spreads, t.gaps, t.near, t.far, t.counts = t.spreads[:0], t.gaps[:0], t.near[:0], t.far[:0], t.counts[:0]
	t.placed, t.trades, t.cancels = t.placed[:0], t.trades[:0], 0
}

// closeOrder ends the current taker order.
func (t *tape) closeOrder() {
	if t.current.ns == 0 {
		return
	}
	t.trades = append(t.trades, t.current.amount)
	if t.orders = append(t.orders, t.current); len(t.orders) == windowOrders {
		t.closeSigns()
		t.orders = t.orders[:0]
	}
}

// closeSigns computes the memory of the signs and the impact.
func (t *tape) closeSigns() {
	signs := make([]float64, len(t.orders))
	known := true
	for i := range t.orders {
		signs[i] = t.orders[i].sign
		known = known && t.orders[i].mid > 0
	}
	t.out.add("sign_1", autocorr(signs, 1))
	t.out.add("sign_10", autocorr(signs, 10))
	t.out.add("sign_100", autocorr(signs, 100))
	if known {
		t.out.add("impact_1", t.impact(signs, 1))
		t.out.add("impact_20", t.impact(signs, 20))
	}
}

// impact returns the correlation of the signs with the moves of the mid until lag orders later.
func (t *tape) impact(signs []float64, lag int) float64 {
	moves := make([]float64, len(signs)-lag)
	for i := range moves {
		moves[i] = t.orders[i+lag].mid - t.orders[i].mid
	}
	return correlate(signs[:len(moves)], moves)
}

// closeStep ends a step of returns, and a window of them when it is full.
func (t *tape) closeStep() {
	if t.last == 0 {
		return
	}
	if t.closes = append(t.closes, t.last); len(t.closes) <= returnSteps {
		return
	}
	if short := logReturns(t.closes, 1); t.fine {
		t.out.add("kurtosis_10s", stats.Kurtosis(short))
	}
	minutes := logReturns(t.closes, 6)
	t.out.add("kurtosis_60s", stats.Kurtosis(minutes))
	for i := range minutes {
		minutes[i] = math.Abs(minutes[i])
	}
	t.out.add("clustering", stats.MeanAutocorr(minutes))
	t.closes = append(t.closes[:0], t.last) // the next window's first return starts here
}

func logReturns(closes []float64, step int) []float64 {
	var out []float64
	for i := step; i < len(closes); i += step {
		out = append(out, math.Log(closes[i]/closes[i-step]))
	}
	return out
}
