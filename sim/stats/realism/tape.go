package realism

import (
	"time"

	"tickhive/engine"
	"tickhive/sim/replay/format"
)

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
