package report

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// NoiseFloor is the smallest change that is reported, as a fraction. The placement of code and data and other
// users of the core change a ratio by as much.
const NoiseFloor = 0.08

// ErrNothing reports that two reports have no figure in common.
var ErrNothing = errors.New("the reports have no figure in common: compare reports of the same scenarios")

// Change compares one measure in two reports.
type Change struct {
	Scenario, Name string
	Before, After  float64 // the figures that judge the measure in each report (Measure.Best)
	// Worse is the fraction by which the later report is worse; negative: better.
	Worse float64
	// Noise is the sum of the noise of both reports, at least NoiseFloor.
	Noise      float64
	Regression bool
}

// Compare returns the change of every measure, latency and route that is in both reports. missing names the ones of a
// that b does not have.
func Compare(a, b *Report) (changes []Change, missing []string) {
	later := map[string]*Measure{}
	for _, s := range b.Scenarios {
		for _, m := range s.Measures {
			later[s.Name+"\x00"+m.Name] = m
		}
	}
	for _, s := range a.Scenarios {
		for _, m := range s.Measures {
			n := later[s.Name+"\x00"+m.Name]
			if n == nil {
				missing = append(missing, s.Name+": "+m.Name)
				continue
			}
			changes = append(changes, change(s.Name, m, n))
		}
	}
	more, gone := compareLoads(a, b)
	return append(changes, more...), append(missing, gone...)
}

// LoadNoise is the smallest change of a latency, a rate or a cost of a route that is reported, as a fraction. A report
// has one round of each, and the tail of a latency on a shared machine differs by as much.
const LoadNoise = 0.5

// ErrorShare is the smallest growth of the share of failed requests that is reported.
const ErrorShare = 0.001

// figure is one figure of a latency or a route.
type figure struct {
	scenario, name string
	value          float64
	higher, share  bool
}

// figures returns the figures of all latencies and routes.
func figures(r *Report) (out []figure) {
	for _, s := range r.Scenarios {
		for i := range s.Latencies {
			l := &s.Latencies[i]
			failed := l.Errors + l.Missed
			out = append(out, figure{scenario: s.Name, name: l.Name + ": p50, us", value: l.At(50)},
				figure{scenario: s.Name, name: l.Name + ": p99, us", value: l.At(99)},
				figure{
					scenario: s.Name, name: l.Name + ": errors, share", share: true,
					value: float64(failed) / float64(max(l.Count, 1)),
				})
			if len(l.PerSecond) > 0 {
				out = append(out, figure{
					scenario: s.Name, name: l.Name + ": answers", value: float64(l.Count - failed), higher: true,
				})
			}
		}
		for i := range s.Routes {
			q := &s.Routes[i]
			name := q.Name + " of " + q.Server
			out = append(out, figure{scenario: s.Name, name: name + ": answers/s", value: q.Rate, higher: true},
				figure{scenario: s.Name, name: name + ": CPU, us", value: q.CPU})
		}
	}
	return out
}

// compareLoads compares the latencies and routes of two reports.
func compareLoads(a, b *Report) (changes []Change, missing []string) {
	later := map[string]float64{}
	for _, f := range figures(b) {
		later[f.scenario+"\x00"+f.name] = f.value
	}
	for _, f := range figures(a) {
		after, ok := later[f.scenario+"\x00"+f.name]
		if !ok {
			missing = append(missing, f.scenario+": "+f.name)
			continue
		}
		c := Change{Scenario: f.scenario, Name: f.name, Before: f.value, After: after, Noise: LoadNoise}
		switch {
		case f.share:
			c.Worse, c.Noise = after-f.value, ErrorShare
		case f.higher && after == 0 && f.value > 0:
			c.Worse = 1
		case f.value == 0 || after == 0:
		case f.higher:
			c.Worse = f.value/after - 1
		default:
			c.Worse = after/f.value - 1
		}
		c.Regression = c.Worse > c.Noise
		changes = append(changes, c)
	}
	return changes, missing
}

func change(scenario string, a, b *Measure) Change {
	c := Change{Scenario: scenario, Name: a.Name, Before: a.Best(), After: b.Best()}
	c.Noise = max(NoiseFloor, a.Noise(), b.Noise())
	switch {
	case c.Before == 0 || c.After == 0:
		// A ratio to 0 does not exist. A cost that was 0 and is not 0 any more is a regression.
		c.Regression = !a.Higher && c.Before == 0 && c.After > 0 && a.Goal != "" && !b.Met()
	case a.Higher:
		c.Worse = c.Before/c.After - 1
	default:
		c.Worse = c.After/c.Before - 1
	}
	c.Regression = c.Regression || c.Worse > c.Noise
	return c
}

// WriteComparison prints the changes and returns the number of regressions.
func WriteComparison(w io.Writer, a, b *Report) (regressions int, err error) {
	changes, missing := Compare(a, b)
	fmt.Fprintf(w, "before: %s, commit %s, %s\nafter:  %s, commit %s, %s\n",
		a.Started.UTC().Format("2006-01-02 15:04"), a.Commit, a.Machine.CPU,
		b.Started.UTC().Format("2006-01-02 15:04"), b.Commit, b.Machine.CPU)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tmeasure\tbefore\tafter\tworse by\tnoise\t")
	for _, c := range changes {
		word := ""
		switch {
		case c.Regression:
			word = "REGRESSION"
			regressions++
		case c.Worse < -c.Noise:
			word = "better"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%+.1f %%\t%.1f %%\t%s\n", c.Scenario, c.Name, Figure(c.Before), Figure(c.After),
			100*c.Worse, 100*c.Noise, word)
	}
	if err := t.Flush(); err != nil {
		return regressions, err
	}
	for _, m := range missing {
		fmt.Fprintf(w, "not measured any more: %s\n", m)
	}
	_, err = fmt.Fprintf(w, "%d of %d figures are worse beyond the noise\n", regressions, len(changes))
	if err != nil {
		return regressions, err
	}
	if len(changes) == 0 {
		return 0, ErrNothing
	}
	return regressions, nil
}
