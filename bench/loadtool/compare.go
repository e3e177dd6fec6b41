package loadtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
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

// WriteComparison prints two reports side by side, with the change in percent, and names the routes that only one of
// them has. met is false when after is worse by more than limit percent: a lower rate, a higher p99 of the report or of
// a route, or a higher share of errors. A route that after lacks is worse. Without a limit (nil) met is true.
func WriteComparison(w io.Writer, before, after *Report, limit *float64) (met bool, err error) {
	for _, r := range []*Report{before, after} {
		fmt.Fprintf(w, "%s  %s\n", r.Started.Format("2006-01-02 15:04:05"), r.Target)
	}
	text := func(v any) any {
		if reflect.ValueOf(v).IsZero() {
			return "none"
		}
		return v
	}
	for _, p := range []struct {
		what     string
		old, new any
	}{
		{"targets", before.Target, after.Target},
		{"mixes", before.Mix, after.Mix},
		{"methods", before.Method, after.Method},
		{"stages", before.Stages, after.Stages},
		{"wanted rates", before.WantedRate, after.WantedRate},
		{"connections", before.Connections, after.Connections},
	} {
		if p.old != p.new {
			fmt.Fprintf(w, "the runs differ: their %s are %v and %v\n", p.what, text(p.old), text(p.new))
		}
	}
	c := comparison{
		table: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight), limit: limit, met: true,
	}
	fmt.Fprintf(c.table, "\told\tnew\tchange\t\t\n")
	if before.WantedRate+after.WantedRate > 0 { // stages have several
		c.row("wanted rate, /s", "%.1f", before.WantedRate, after.WantedRate, indifferent)
	}
	c.row("rate, /s", "%.1f", before.Rate, after.Rate, lowerIsWorse)
	c.row(after.unit(), "%.0f", float64(before.Answers), float64(after.Answers), indifferent)
	c.row("errors", "%.0f", float64(before.Errors), float64(after.Errors), indifferent)
	c.row("errors, %", "%.3f", before.errorShare(), after.errorShare(), higherIsWorse)
	c.row("sent late", "%.0f", float64(before.Late), float64(after.Late), indifferent)
	for _, percent := range []float64{50, 90, 99, 99.9, 100} {
		worse := indifferent
		if percent == 99 {
			worse = higherIsWorse
		}
		c.row(fmt.Sprintf("p%g, ms", percent), "%.3f", ms(before.At(percent)), ms(after.At(percent)), worse)
	}
	c.routes(before, after)
	return c.met, c.table.Flush()
}

// Directions in which a figure gets worse.
const (
	lowerIsWorse  = -1.0
	indifferent   = 0.0
	higherIsWorse = 1.0
)

// rounding is the error of a change in percent: 2.2 is 10.000000000000009 % above 2.
const rounding = 1e-9

// comparison is a table under construction.
type comparison struct {
	table *tabwriter.Writer
	limit *float64
	met   bool
}

// row writes a figure of both reports and judges its change.
func (c *comparison) row(name, form string, a, b, worse float64) {
	change, missed := "", false
	if a > 0 {
		percent := 100 * (b - a) / a
		change = fmt.Sprintf("%+.1f %%", percent)
		missed = c.limit != nil && percent*worse > *c.limit+rounding
	} else {
		missed = c.limit != nil && b > a && worse == higherIsWorse
	}
	c.write(fmt.Sprintf("%s\t"+form+"\t"+form+"\t%s", name, a, b, change), missed)
}

// write ends a line of the table.
func (c *comparison) write(line string, missed bool) {
	word := ""
	if missed {
		c.met, word = false, "MISSED"
	}
	fmt.Fprintf(c.table, "%s\t%s\t\n", line, word)
}

// routes writes the p99 of each route.
func (c *comparison) routes(before, after *Report) {
	for _, r := range after.Routes {
		if was, both := before.route(r.Name); both {
			c.row(r.Name+" p99, ms", "%.3f", float64(was.P99Us)/1e3, float64(r.P99Us)/1e3, higherIsWorse)
		} else {
			c.write(fmt.Sprintf("%s p99, ms\t\t%.3f\tnew", r.Name, float64(r.P99Us)/1e3), false)
		}
	}
	for _, r := range before.Routes {
		if _, left := after.route(r.Name); !left {
			c.write(fmt.Sprintf("%s p99, ms\t%.3f\t\tgone", r.Name, float64(r.P99Us)/1e3), c.limit != nil)
		}
	}
}
