package stats

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Series holds the data of one pair from which Compute derives the figures.
type Series struct {
	Code   string
	Closes []float64 // close of every minute; a minute without trades repeats the close before it
	Traded int       // number of minutes with trades
	// Spreads are samples of (ask - bid) / mid in basis points.
	Spreads []float64
	Volume  float64 // volume of these minutes, in the quote currency
	Last    float64 // price of the last trade
}

// Figures holds the figures of one pair over up to 24 hours.
type Figures struct {
	Code    string
	Minutes int // number of minutes examined
	Traded  int // number of minutes with trades
	Samples int // number of samples of the spread

	SpreadBp    float64 // median spread in basis points
	Kurtosis    float64 // kurtosis of one-minute returns; a normal distribution has 3
	AbsAutocorr float64 // mean autocorrelation of absolute returns at lags 1 to 10
	Autocorr    float64 // the same mean for the returns with their signs
	Volatility  float64 // standard deviation of one-minute returns in basis points
	Volume      float64 // volume in the quote currency
	Last        float64
}

// autocorrLags is the number of lags that the mean autocorrelations cover.
const autocorrLags = 10

// Compute returns the figures of a series.
func Compute(s *Series) Figures {
	f := Figures{
		Code: s.Code, Minutes: len(s.Closes), Traded: s.Traded, Samples: len(s.Spreads), Volume: s.Volume,
		SpreadBp: Median(s.Spreads), Last: s.Last,
	}
	r := returns(s.Closes)
	abs := make([]float64, len(r))
	for i, v := range r {
		abs[i] = math.Abs(v)
	}
	f.Kurtosis = Kurtosis(r)
	f.Volatility = 1e4 * math.Sqrt(moment(r, 2))
	f.Autocorr = MeanAutocorr(r)
	f.AbsAutocorr = MeanAutocorr(abs)
	return f
}

// TradedShare returns the share of minutes with trades, 0 to 1.
func (f *Figures) TradedShare() float64 {
	if f.Minutes == 0 {
		return 0
	}
	return float64(f.Traded) / float64(f.Minutes)
}

// Fault describes the first figure that is outside the range of a real market; "" when all are inside.
func (f *Figures) Fault() string {
	switch {
	case f.TradedShare() < 0.95:
		return "trades in less than 95 % of the minutes"
	case !(f.SpreadBp > 0 && f.SpreadBp <= 20):
		return "median spread not above 0 and at most 20 bp"
	case !(f.Kurtosis > 5):
		return "kurtosis not above 5"
	case !(f.AbsAutocorr > 0.1):
		return "autocorrelation of absolute returns not above 0.1"
	case !(math.Abs(f.Autocorr) <= 0.1):
		return "autocorrelation of returns beyond 0.1"
	}
	return ""
}

func returns(closes []float64) []float64 {
	var out []float64
	for i := 1; i < len(closes); i++ {
		out = append(out, math.Log(closes[i]/closes[i-1]))
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// moment returns the k-th central moment.
func moment(v []float64, k int) float64 {
	m, sum := mean(v), 0.0
	for _, x := range v {
		sum += math.Pow(x-m, float64(k))
	}
	return sum / float64(len(v))
}

// Kurtosis returns the fourth moment divided by the square of the second; a normal distribution has 3.
func Kurtosis(v []float64) float64 {
	m2 := moment(v, 2)
	return moment(v, 4) / (m2 * m2)
}

// MeanAutocorr returns the mean autocorrelation at lags 1 to autocorrLags.
func MeanAutocorr(v []float64) float64 {
	m, sum := mean(v), 0.0
	for lag := 1; lag <= autocorrLags; lag++ {
		c := 0.0
		for i := lag; i < len(v); i++ {
			c += (v[i] - m) * (v[i-lag] - m)
		}
		sum += c / (moment(v, 2) * float64(len(v)))
	}
	return sum / autocorrLags
}

// Median returns the middle value, NaN without values.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// VolumeRatio returns the largest volume of a pair divided by the smallest. It compares volumes in one
// currency, the quote currency of most pairs; it converts other volumes with the price of a pair that has both
// currencies. It returns NaN when no two volumes can be compared.
func VolumeRatio(all []Figures) float64 {
	count := map[string]int{}
	for i := range all {
		_, quote := split(all[i].Code)
		count[quote]++
	}
	common := ""
	for q, n := range count {
		if n > count[common] || n == count[common] && q < common {
			common = q
		}
	}
	least, most := math.Inf(1), 0.0
	for i := range all {
		_, quote := split(all[i].Code)
		if rate := rateTo(all, quote, common); rate > 0 {
			least, most = min(least, all[i].Volume*rate), max(most, all[i].Volume*rate)
		}
	}
	if most == 0 {
		return math.NaN()
	}
	return most / least
}

// rateTo returns the price of one unit of from in units of to; 0: unknown.
func rateTo(all []Figures, from, to string) float64 {
	if from == to {
		return 1
	}
	last := func(code string) float64 {
		for i := range all {
			if all[i].Code == code {
				return all[i].Last
			}
		}
		return 0
	}
	if direct := last(from + "_" + to); direct > 0 {
		return direct
	}
	for i := range all {
		base, quote := split(all[i].Code)
		if other := last(base + "_" + to); quote == from && other > 0 && all[i].Last > 0 {
			return other / all[i].Last
		}
	}
	return 0
}

func split(code string) (base, quote string) {
	for i := range code {
		if code[i] == '_' {
			return code[:i], code[i+1:]
		}
	}
	return code, ""
}

// Print writes the figures as a table, one pair per row. A row ends with the first figure that is outside the
// range of a real market. The ratio of volumes follows below the table.
func Print(w io.Writer, all []Figures) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "pair\tminutes\ttraded %\tspread bp\tkurtosis\tautocorr |r|\tautocorr r\tsd bp\tvolume\t")
	for i := range all {
		f := &all[i]
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.2f\t%.2f\t", f.Code, f.Minutes, 100*f.TradedShare(),
			f.SpreadBp, f.Kurtosis, f.AbsAutocorr, f.Autocorr, f.Volatility, f.Volume)
		if fault := f.Fault(); fault != "" {
			fmt.Fprintf(t, "  %s", fault)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	if _, err := fmt.Fprintf(w, "volume of the largest pair / smallest: %.1f\n", VolumeRatio(all)); err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	return nil
}
