package loadtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// maxReportFile limits the bytes of a report that is read.
const maxReportFile = 16 << 20

// ReadReport reads a report that --json has written.
func ReadReport(file string) (r *Report, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d := json.NewDecoder(io.LimitReader(f, maxReportFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s is no report of this version: write one with load --json FILE: %w", file, err)
	}
	if r == nil || r.Target == "" || len(r.Latencies) == 0 {
		return nil, fmt.Errorf("%s is no report: write one with load --json FILE", file)
	}
	return r, nil
}

// WriteComparison prints two reports side by side, with the change in percent. Routes that only one of them has are
// named.
func WriteComparison(w io.Writer, before, after *Report) error {
	for _, r := range []*Report{before, after} {
		fmt.Fprintf(w, "%s  %s %s\n", r.Started.Format("2006-01-02 15:04:05"), r.Target, r.Mix)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\told\tnew\tchange\t\n")
	row := func(name, form string, a, b float64) {
		change := ""
		if a > 0 {
			change = fmt.Sprintf("%+.1f %%", 100*(b-a)/a)
		}
		fmt.Fprintf(t, "%s\t"+form+"\t"+form+"\t%s\t\n", name, a, b, change)
	}
	row("wanted rate, /s", "%.1f", before.WantedRate, after.WantedRate)
	row("rate, /s", "%.1f", before.Rate, after.Rate)
	row("answers", "%.0f", float64(before.Answers), float64(after.Answers))
	row("errors", "%.0f", float64(before.Errors), float64(after.Errors))
	row("sent late", "%.0f", float64(before.Late), float64(after.Late))
	for _, percent := range []float64{50, 90, 99, 99.9, 100} {
		row(fmt.Sprintf("p%g, ms", percent), "%.3f", ms(before.At(percent)), ms(after.At(percent)))
	}
	old := map[string]Route{}
	for _, r := range before.Routes {
		old[r.Name] = r
	}
	for _, r := range after.Routes {
		if was, both := old[r.Name]; both {
			row(r.Name+" p99, ms", "%.3f", float64(was.P99Us)/1e3, float64(r.P99Us)/1e3)
		} else {
			fmt.Fprintf(t, "%s p99, ms\t\t%.3f\tnew\t\n", r.Name, float64(r.P99Us)/1e3)
		}
		delete(old, r.Name)
	}
	for _, r := range before.Routes {
		if _, left := old[r.Name]; left {
			fmt.Fprintf(t, "%s p99, ms\t%.3f\t\tgone\t\n", r.Name, float64(r.P99Us)/1e3)
		}
	}
	return t.Flush()
}
