package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// NoiseFloor is the smallest change that is reported: the placement of code and data, and other
// users of the core, move a ratio by this much.
const NoiseFloor = 0.08

// Change is one measure in two reports.
type Change struct {
	Scenario, Name string
	Before, After  float64 // best rounds
	// Worse is the fraction by which the later report is worse; negative: better.
	Worse float64
	// Noise is the noise that both files measured together, at least NoiseFloor.
	Noise      float64
	Regression bool
}

// Compare returns the change of every measure that both reports have; missing names the measures of
// a that b lacks.
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
		// From nothing to something has no ratio; a cost that appears is a regression.
		c.Regression = !a.Higher && c.Before == 0 && c.After > 0 && a.HasTarget && !b.Met()
	case a.Higher:
		c.Worse = c.Before/c.After - 1
	default:
		c.Worse = c.After/c.Before - 1
	}
	c.Regression = c.Regression || c.Worse > c.Noise
	return c
}

// WriteComparison prints the changes and reports how many are regressions.
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
