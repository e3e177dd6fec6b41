package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// WriteTable prints the report for a terminal.
func (r *Report) WriteTable(w io.Writer) error {
	m := &r.Machine
	fmt.Fprintf(w, "%s\n%s, commit %s, %s\n", r.Command, r.Version, r.Commit,
		r.Started.UTC().Format("2006-01-02 15:04:05Z"))
	fmt.Fprintf(w, "%s, %d cores, %d MiB, Linux %s, %s, load %s, %d files\n", m.CPU, m.Cores, m.MemoryMiB, m.Kernel,
		m.Go, m.Load, m.Files)
	for _, s := range r.Settings {
		fmt.Fprintf(w, "  %s: %s\n", s.Name, s.Value)
	}
	for _, s := range r.Scenarios {
		if err := s.writeTable(w); err != nil {
			return err
		}
	}
	return r.WriteGoals(w)
}

func (s *Scenario) writeTable(w io.Writer) error {
	fmt.Fprintf(w, "\n%s (%.0f s; other processes took %.0f %% of the machine)\n", s.Name, s.Seconds, s.Others)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(s.Measures) > 0 {
		fmt.Fprintln(t, "  measure\tbest\tmin\tmedian\tmax\tproduct\treference\tunit\twith")
	}
	for _, m := range s.Measures {
		sp := m.Spread()
		ref := "-"
		if len(m.Reference) > 0 {
			ref = Figure(m.Of(m.Reference)) + " " + m.RefName
		}
		product := "-"
		if len(m.Product) > 0 {
			product = Figure(m.Of(m.Product))
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, Figure(m.Best()),
			Figure(sp.Min), Figure(sp.Median), Figure(sp.Max), product, ref, m.Unit, m.With)
	}
	if len(s.Latencies) > 0 {
		fmt.Fprintln(t, "  latency, us from the intended send time\tp50\tp99\tp99.9\tmax\tcount\tlate\tmissed\terrors")
	}
	for i := range s.Latencies {
		l := &s.Latencies[i]
		fmt.Fprintf(t, "  %s\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\t%d\t%d\n", l.Name, l.At(50), l.At(99), l.At(99.9),
			l.At(100), l.Count, l.Late, l.Missed, l.Errors)
	}
	if len(s.Routes) > 0 {
		fmt.Fprintln(t, "  route\tserver\tbytes\tanswers/s\tserver us\tclient us\tstatus")
	}
	for _, x := range s.Routes {
		fmt.Fprintf(t, "  %s\t%s\t%d\t%.0f\t%s\t%.2f\t%s\n", x.Name, x.Server, x.Bytes, x.Rate, Figure(x.CPU), x.Client,
			x.Statuses)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range s.Curves {
		fmt.Fprintf(w, "  %s, %s over %s, slope %.2f:", c.Name, c.YLabel, c.XLabel, c.Slope)
		for i := range c.X {
			fmt.Fprintf(w, " %s: %s", Figure(c.X[i]), Figure(c.Y[i]))
		}
		fmt.Fprintln(w, "", c.Note)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
	return nil
}

// WriteGoals prints the table of goals. It prints nothing when there are none.
func (r *Report) WriteGoals(w io.Writer) error {
	goals := r.Goals()
	if len(goals) == 0 {
		return nil
	}
	met := 0
	fmt.Fprintln(w, "\nGoals")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  goal\twhat\ttarget\tmeasured\tmin\tmedian\tmax\t")
	for _, m := range goals {
		sp := m.Spread()
		if m.Met() {
			met++
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Goal, m.Name, m.TargetText(), Figure(m.Best()),
			Figure(sp.Min), Figure(sp.Median), Figure(sp.Max), m.Verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w,
		"%d of %d met; measured = best round of the product to best round of the reference, or the worst (pauses, "+
			"stale answers) or the median (a disk) where the goal is judged so; beside it the rounds' own ratios\n",
		met, len(goals))
	return err
}

// TargetText returns the target with its direction: <= for costs, >= for rates.
func (m *Measure) TargetText() string {
	sign := "<="
	if m.Higher {
		sign = ">="
	}
	if m.RefName != "" {
		return sign + " " + Figure(m.Target) + " x"
	}
	return sign + " " + Figure(m.Target) + " " + m.Unit
}

// Verdict returns "met" or "not met", with the reason if there is one.
func (m *Measure) Verdict() string {
	switch {
	case m.Met():
		return "met"
	case m.Reason != "":
		return "not met: " + m.Reason
	}
	return "not met"
}

// Figure formats a number with three significant digits.
func Figure(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case a >= 1e9:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", v/1e9), ".00") + " G"
	case a >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", v/1e6), ".00") + " M"
	case a >= 1e4:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e3), ".0") + " k"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.01:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
