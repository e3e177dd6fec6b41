package realism

import (
	"math"
	"slices"
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
