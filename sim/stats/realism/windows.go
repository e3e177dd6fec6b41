package realism

import (
	"math"

	"tickhive/sim/replay/format"
	"tickhive/sim/stats"
)

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
