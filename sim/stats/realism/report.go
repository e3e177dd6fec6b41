package realism

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// builtin holds the ranges of six public recordings: a day of AMZN and the first minute of AAPL on NASDAQ (LOBSTER,
// 2012-06-21), BTC/USDT on Binance (2024-08-08, 5 minutes), on Kraken (2025-11-10, 7 hours), BTC/USD on Bitstamp
// (2015-05-01, 2 hours) and on Coinbase (2016-10-07, the second bars of a day).
var builtin = []Range{
	{"spread", 1, 13.5, 24, 64},
	{"gap", 2, 7, 18, 22},
	{"depth_near", 1.042, 560.7, 4125, 47},
	{"depth_far", 0.2563, 0.516, 2.2, 22},
	{"levels", 1036, 1150, 1225, 9},
	{"order_size", 1, 2.961, 5.556, 55},
	{"trade_size", 1.187, 2.339, 58.33, 75},
	{"cancels", 2.21, 16.37, 71.55, 55},
	{"kurtosis_10s", 7.114, 14.52, 79.93, 35},
	{"kurtosis_60s", 3.246, 4.828, 10.77, 35},
	{"clustering", -0.03331, -0.0007463, 0.0408, 35},
	{"sign_1", 0.4734, 0.6222, 0.8349, 65},
	{"sign_10", -0.07674, 0.1379, 0.5928, 65},
	{"sign_100", -0.2044, -0.02398, 0.2277, 65},
	{"impact_1", -0.0497, 0.3443, 0.51, 63},
	{"impact_20", 0.0147, 0.2472, 0.4308, 63},
}

// Builtin returns the ranges of public recordings, for a comparison without their files.
func Builtin() []Range { return builtin }

// windowsLeast is the number of recorded windows from which the returns of a horizon are compared.
const windowsLeast = 30

// Range describes the recorded windows of one statistic.
type Range struct {
	Key     string  `json:"key"`
	P10     float64 `json:"p10"`
	Median  float64 `json:"median"`
	P90     float64 `json:"p90"`
	Windows int     `json:"windows"`
}

// windowsOwn is the number of windows of one recording from which it counts.
const windowsOwn = 3

// Ranges describes the windows of the recordings, in the order of a report; every recording has the same weight. It
// leaves out statistics without values, and returns of horizons with fewer than 30 windows.
func Ranges(recordings []Samples) []Range {
	var out []Range
	for _, st := range statistics {
		var all []weighted
		for _, r := range recordings {
			if v := r[st.Key]; len(v) >= windowsOwn {
				for _, x := range v {
					all = append(all, weighted{x, 1 / float64(len(v))})
				}
			}
		}
		if len(all) == 0 || st.Returns && len(all) < windowsLeast {
			continue
		}
		slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
		out = append(out, Range{st.Key, quantileOf(all, 0.1), quantileOf(all, 0.5), quantileOf(all, 0.9), len(all)})
	}
	return out
}

// Row compares one statistic of a pair with the recordings.
type Row struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	Topic     int    `json:"topic"` // from 1 to 11
	Simulated Range  `json:"simulated"`
	Recorded  Range  `json:"recorded"`
	Inside    bool   `json:"inside"` // the simulated median lies in the recorded 10th to 90th percentile
}

// PairReport compares one pair with the recordings.
type PairReport struct {
	Pair   string `json:"pair"`
	Rows   []Row  `json:"statistics"`
	Inside int    `json:"inside"` // number of rows that are inside
	// Topics is the number of topics that the recordings have. TopicsInside is the number of topics of which all rows
	// are inside.
	Topics       int `json:"topics"`
	TopicsInside int `json:"topicsInside"`
}

// Report compares simulated pairs with recordings.
type Report struct {
	Pairs []PairReport `json:"pairs"`
}

// Compare compares the samples of simulated pairs with recorded ranges. A statistic that the pair does not have is
// not inside.
func Compare(simulated map[string]Samples, recorded []Range) *Report {
	out := &Report{}
	for _, code := range slices.Sorted(maps.Keys(simulated)) {
		p := PairReport{Pair: code}
		for _, st := range statistics {
			at := slices.IndexFunc(recorded, func(r Range) bool { return r.Key == st.Key })
			if at < 0 {
				continue
			}
			row := Row{
				Key: st.Key, Name: st.Name, Topic: st.Topic, Recorded: recorded[at], Simulated: Range{Key: st.Key},
			}
			if v := simulated[code][st.Key]; len(v) > 0 {
				row.Simulated = Range{st.Key, quantile(v, 0.1), quantile(v, 0.5), quantile(v, 0.9), len(v)}
				row.Inside = row.Simulated.Median >= row.Recorded.P10 && row.Simulated.Median <= row.Recorded.P90
			}
			if p.Rows = append(p.Rows, row); row.Inside {
				p.Inside++
			}
		}
		p.countTopics()
		out.Pairs = append(out.Pairs, p)
	}
	return out
}

// countTopics counts the topics. One is inside when all its rows are.
func (p *PairReport) countTopics() {
	var seen, outside [topics + 1]bool
	for i := range p.Rows {
		seen[p.Rows[i].Topic] = true
		outside[p.Rows[i].Topic] = outside[p.Rows[i].Topic] || !p.Rows[i].Inside
	}
	for t := range seen {
		if seen[t] {
			p.Topics++
		}
		if seen[t] && !outside[t] {
			p.TopicsInside++
		}
	}
}

// Print writes a table per pair, each with a plot and a summary.
func (r *Report) Print(w io.Writer) error {
	for i := range r.Pairs {
		p := &r.Pairs[i]
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "%s\ttopic\tsimulated\trecorded 10 %%\t90 %%\twindows\tinside\t"+
			"[ recorded ]  - simulated  * median\n", p.Pair)
		for j := range p.Rows {
			row := &p.Rows[j]
			inside, median := "no", "-"
			if row.Inside {
				inside = "yes"
			}
			if row.Simulated.Windows > 0 {
				median = short(row.Simulated.Median)
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\n", row.Name, row.Topic, median,
				short(row.Recorded.P10), short(row.Recorded.P90), row.Recorded.Windows, inside, row.plot())
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("realism: %w", err)
		}
		if _, err := fmt.Fprintf(w, "%s: %d of %d inside, %d of %d topics\n\n", p.Pair, p.Inside, len(p.Rows),
			p.TopicsInside, p.Topics); err != nil {
			return fmt.Errorf("realism: %w", err)
		}
	}
	return nil
}

// short returns a number with three significant digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// plotWidth is the width of a plot in characters.
const plotWidth = 34

// plot draws the recorded and the simulated range on one axis. The axis is logarithmic when all values are positive
// and far apart.
func (r *Row) plot() string {
	s, q := &r.Simulated, &r.Recorded
	low, high := q.P10, q.P90
	if s.Windows > 0 {
		low, high = min(low, s.P10), max(high, s.P90)
	}
	scale := func(v float64) float64 { return v }
	if low > 0 && high > 20*low {
		scale = math.Log
	}
	at := func(v float64) int {
		if high <= low {
			return plotWidth / 2
		}
		return int((scale(v) - scale(low)) / (scale(high) - scale(low)) * (plotWidth - 1))
	}
	line := bytes.Repeat([]byte{' '}, plotWidth)
	if s.Windows > 0 {
		for i := at(s.P10); i <= at(s.P90); i++ {
			line[i] = '-'
		}
	}
	line[at(q.P10)], line[at(q.P90)] = '[', ']'
	if s.Windows > 0 {
		line[at(s.Median)] = '*'
	}
	return string(bytes.TrimRight(line, " "))
}
