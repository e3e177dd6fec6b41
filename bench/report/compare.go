package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// NoiseFloor is the smallest change that is reported, as a fraction. The placement of code and data and other
// users of the core change a ratio by as much.
const NoiseFloor = 0.08

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

// Compare returns the change of every measure that is in both reports. missing names the measures of a that b
// does not have.
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
	return changes, missing
}

func change(scenario string, a, b *Measure) Change {
	c := Change{Scenario: scenario, Name: a.Name, Before: a.Best(), After: b.Best()}
	c.Noise = max(NoiseFloor, a.Noise(), b.Noise())
	switch {
	case c.Before == 0 || c.After == 0:
		// A ratio to 0 does not exist. A cost that was 0 and is not 0 any more is a regression.
		c.Regression = !a.Higher && c.Before == 0 && c.After > 0 && a.HasTarget && !b.Met()
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
	_, err = fmt.Fprintf(w, "%d of %d measures are worse beyond the noise\n", regressions, len(changes))
	return regressions, err
}
