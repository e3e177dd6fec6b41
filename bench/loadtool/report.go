package loadtool

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tickhive/tickhive/bench/load"
)

// Report holds what a run measured.
type Report struct {
	Target      string    `json:"target"`
	Mix         string    `json:"mix,omitempty"`
	Started     time.Time `json:"started"`
	Method      string    `json:"method,omitempty"`
	Stages      string    `json:"stages,omitempty"`
	WarmSeconds float64   `json:"warmSeconds,omitempty"` // before the run, not counted
	Seconds     float64   `json:"seconds"`
	Connections int       `json:"connections"`
	WantedRate  float64   `json:"wantedRate"` // requests a second; 0: as many as are answered
	Rate        float64   `json:"rate"`       // answers a second
	// Requests counts what was due: answered, failed without an answer, or never sent. MixStreams has none.
	Requests   int64  `json:"requests,omitempty"`
	Answers    int64  `json:"answers"` // with any status; of MixStreams updates
	Bytes      int64  `json:"bytes"`   // of bodies
	Errors     int64  `json:"errors"`  // no answer, or a status other than 2xx and 304, or never sent
	Late       int64  `json:"late"`    // of which the sending began more than 1 ms late
	Missed     int64  `json:"missed"`  // never sent
	Statuses   string `json:"statuses"`
	FirstError string `json:"firstError,omitempty"`
	// Reasons counts refusals by status and code, such as "429 RATE_LIMIT", lost connections by how they ended, and
	// errors of MixStreams by gap, slow and the code of an error message.
	Reasons map[string]int64 `json:"reasons,omitempty"`
	// Messages has the first message of each reason that has one.
	Messages map[string]string `json:"messages,omitempty"`
	// Stopped reports that the run was ended early.
	Stopped   bool    `json:"stopped,omitempty"`
	Latencies []Point `json:"latencies"`
	// ClockError is of MixStreams, whose latencies are by the exchange's clock.
	ClockError *ClockError `json:"clockError,omitempty"`
	// Routes has a row for each kind of request, by name; of MixStreams for each channel.
	Routes    []Route  `json:"routes,omitempty"`
	Timeline  []Moment `json:"timeline,omitempty"`
	PerSecond []int64  `json:"perSecond"` // answers in each second
	Checks    []Check  `json:"thresholds"`
	// Search has the runs of FindMax, Verdict what it found, and HighestRate the rate; 0: none.
	Search      []Trial `json:"search,omitempty"`
	Verdict     string  `json:"verdict,omitempty"`
	HighestRate float64 `json:"highestRate,omitempty"`
}

// ClockError says how exactly the exchange's clock is known. Latencies may be wrong by as much.
type ClockError struct {
	Us    int64 `json:"us"`    // the largest of the run
	Below int64 `json:"below"` // latencies that are less than the error, shown as 0
}

// String says what the error means for latencies.
func (e *ClockError) String() string {
	return fmt.Sprintf("error of the exchange's clock, and up to 1 ms more because times have whole ms; %d updates "+
		"came in less than the error and count as 0", e.Below)
}

// Route holds the results of one kind of request.
type Route struct {
	Name string `json:"name"`
	// The members of the same names of Report, of this kind.
	Requests int64 `json:"requests,omitempty"`
	Answers  int64 `json:"answers"`
	Errors   int64 `json:"errors"`
	Missed   int64 `json:"missed"`
	P50Us    int64 `json:"p50Us"`
	P99Us    int64 `json:"p99Us"`
	MaxUs    int64 `json:"maxUs"`
}

// Moment holds the results of about a second.
type Moment struct {
	At     float64 `json:"at"` // s since the start, at the end of the moment
	Rate   float64 `json:"rate"`
	Missed int64   `json:"missed"` // were due in the moment and never sent
	P50Us  int64   `json:"p50Us"`  // 0 with a Rate of 0: no request ended in the moment
	P99Us  int64   `json:"p99Us"`
	MaxUs  int64   `json:"maxUs"`
}

// Point is one percentile of the latencies.
type Point struct {
	Percent float64 `json:"percent"`
	Us      int64   `json:"us"`
}

// Check is a threshold and what was measured.
type Check struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"`
	Got   float64 `json:"got"`
	OK    bool    `json:"ok"`
}

// Thresholds of a run; nil: none.
type Thresholds struct {
	P99, P999 *time.Duration
	MaxErrors *float64 // percent of the requests
	MinRate   *float64 // percent of the wanted rate
	// RouteP99 and RouteErrors are thresholds of single routes, by name. One without requests misses them.
	RouteP99    map[string]time.Duration
	RouteErrors map[string]float64 // percent of the route's requests
	// NoErrors allows no errors, except of the routes of RouteErrors.
	NoErrors bool
}

// Validate checks the ranges.
func (t *Thresholds) Validate(o *Options) error {
	switch {
	case t.P99 != nil && *t.P99 <= 0:
		return fmt.Errorf("--max-p99 must be above 0: %s", *t.P99)
	case t.P999 != nil && *t.P999 <= 0:
		return fmt.Errorf("--max-p999 must be above 0: %s", *t.P999)
	case t.MaxErrors != nil && !(*t.MaxErrors >= 0 && *t.MaxErrors <= 100):
		return fmt.Errorf("--max-errors must be from 0 to 100 percent: %g", *t.MaxErrors)
	case t.MinRate != nil && !(*t.MinRate > 0 && *t.MinRate <= 100):
		return fmt.Errorf("--min-rate must be above 0 and at most 100 percent: %g", *t.MinRate)
	case t.MinRate != nil && o.Mix == MixStreams:
		return errors.New("--min-rate is a share of --rps, which --mix streams does not have")
	case t.MinRate != nil && o.Stages != nil:
		return errors.New("--min-rate is a share of --rps, and --stages have several rates")
	case t.MinRate != nil && o.RPS == 0:
		return errors.New("--min-rate is a share of --rps, and --rps 0 wants no rate")
	case o.Mix == "" && len(t.RouteP99)+len(t.RouteErrors) > 0:
		return errors.New("--route-p99 and --route-errors are for --mix: one URL is one route, so give --max-p99 or " +
			"--max-errors")
	}
	for name, limit := range t.RouteP99 {
		if limit <= 0 {
			return fmt.Errorf("--route-p99 must be above 0: %s=%s", name, limit)
		}
	}
	for name, limit := range t.RouteErrors {
		if !(limit >= 0 && limit <= 100) {
			return fmt.Errorf("--route-errors must be from 0 to 100 percent: %s=%g", name, limit)
		}
	}
	return nil
}

// percents are the percentiles of a report.
var percents = []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100}

func newReport(o *Options, started time.Time, res *load.Result, stopped bool) *Report {
	r := &Report{
		Target: o.Target, Mix: o.Mix, Started: started.UTC(), Seconds: res.Elapsed.Seconds(),
		Connections: o.Connections, WantedRate: o.RPS, Rate: res.Rate(), Answers: res.Answers, Bytes: res.Bytes,
		Errors: res.Errors + res.Missed, Late: res.Late, Missed: res.Missed, Statuses: res.Statuses(),
		Reasons: res.Reasons, Messages: res.Messages, Stopped: stopped, PerSecond: res.Seconds, Checks: []Check{},
	}
	if o.Mix != MixStreams {
		r.Requests = res.Hist.TotalCount()
	}
	if o.Mix == "" {
		r.Method = o.method()
	}
	if o.Stages != nil {
		r.WantedRate, r.Stages = 0, stagesText(o.Stages)
	}
	if r.WarmSeconds = o.Warm.Seconds(); o.RPS > 0 || o.Stages != nil { // a closed run begins after its warm-up
		r.PerSecond = r.PerSecond[min(int(r.WarmSeconds), len(r.PerSecond)):]
	}
	if res.Err != nil {
		r.FirstError = res.Err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(res.Routes)) {
		of := res.Routes[name]
		row := Route{
			Name: name, Answers: of.Answers, Errors: of.Errors + of.Missed, Missed: of.Missed,
			P50Us: of.Hist.ValueAtQuantile(50), P99Us: of.Hist.ValueAtQuantile(99), MaxUs: of.Hist.Max(),
		}
		if o.Mix != MixStreams {
			row.Requests = of.Hist.TotalCount()
		}
		r.Routes = append(r.Routes, row)
	}
	for _, p := range percents {
		us := res.Hist.ValueAtQuantile(p)
		if p == 0 {
			us = res.Hist.Min()
		}
		r.Latencies = append(r.Latencies, Point{p, us})
	}
	return r
}

func stagesText(stages load.Stages) string {
	var parts []string
	for _, s := range stages {
		parts = append(parts, fmt.Sprintf("%s:%g", s.For, s.PerSecond))
	}
	return strings.Join(parts, ",")
}

// addTimeline adds the seconds that lie behind the warm-up, at least with their greater part. unsent holds the requests
// due in each second that were never sent; the moment in which a second has its middle has them.
func (r *Report) addTimeline(o *Options, seconds []Second, unsent []int64) {
	second := 0
	for i, s := range seconds {
		var missed int64
		for ; second < len(unsent); second++ {
			if middle := time.Duration(second)*time.Second + time.Second/2; middle >= s.At && i < len(seconds)-1 {
				break
			}
			missed += unsent[second]
		}
		if !s.WarmingUp {
			r.Timeline = append(r.Timeline, Moment{
				At: (s.At - o.Warm).Seconds(), Rate: s.Rate, Missed: missed, P50Us: s.P50.Microseconds(),
				P99Us: s.P99.Microseconds(), MaxUs: s.Slowest.Microseconds(),
			})
		}
	}
}

// unit names what the rate of a report counts.
func (r *Report) unit() string {
	if r.Mix == MixStreams {
		return "updates"
	}
	return "answers"
}

// Hint returns what an operator of TickHive does about a reason of errors, or the first message of the reason.
func (r *Report) Hint(reason string) string {
	if strings.HasSuffix(reason, " RATE_LIMIT") {
		return "rate.allow of the exchange lifts the limits of an address"
	}
	return strings.Join(strings.Fields(r.Messages[reason]), " ")
}

// At returns a percentile of the latencies.
func (r *Report) At(percent float64) time.Duration {
	for _, p := range r.Latencies {
		if p.Percent == percent {
			return time.Duration(p.Us) * time.Microsecond
		}
	}
	return 0
}

// Apply compares the report with thresholds and reports whether all are met.
func (r *Report) Apply(t Thresholds) bool {
	check := func(name string, limit, got float64, ok bool) {
		r.Checks = append(r.Checks, Check{name, limit, got, ok})
	}
	for _, p := range []struct {
		percent float64
		limit   *time.Duration
	}{{99, t.P99}, {99.9, t.P999}} {
		if p.limit != nil {
			got := r.At(p.percent)
			check(checkName(p.percent), ms(*p.limit), ms(got), got <= *p.limit && r.Answers > 0)
		}
	}
	if share := r.errorShare(); t.MaxErrors != nil {
		check(checkErrors, *t.MaxErrors, share, share <= *t.MaxErrors)
	}
	if t.NoErrors {
		name, left := checkErrors, r.Errors
		for of := range t.RouteErrors {
			got, _ := r.route(of)
			name, left = "errors of other routes, %, at most", left-got.Errors
		}
		check(name, 0, percentOf(left, r.due()), left <= 0)
	}
	if t.MinRate != nil {
		share := 100 * r.Rate / r.WantedRate
		check("rate, % of --rps, at least", *t.MinRate, share, share >= *t.MinRate)
	}
	for _, name := range slices.Sorted(maps.Keys(t.RouteP99)) {
		got, found := r.route(name)
		check(name+": p99, ms, at most"+r.otherRoutes(found), ms(t.RouteP99[name]), float64(got.P99Us)/1e3,
			got.Answers > 0 && got.P99Us <= t.RouteP99[name].Microseconds())
	}
	for _, name := range slices.Sorted(maps.Keys(t.RouteErrors)) {
		got, found := r.route(name)
		share := percentOf(got.Errors, max(got.Requests, got.Answers+got.Missed))
		check(name+": errors, %, at most"+r.otherRoutes(found), t.RouteErrors[name], share,
			got.Answers > 0 && share <= t.RouteErrors[name])
	}
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK })
}

// checkName returns the name of the threshold of a percentile.
func checkName(percent float64) string { return fmt.Sprintf("p%g, ms, at most", percent) }

// checkErrors is the name of the threshold of errors.
const checkErrors = "errors, %, at most"

// due returns the number of requests that were due, or of updates.
func (r *Report) due() int64 { return max(r.Requests, r.Answers+r.Missed) }

// errorShare returns the errors in percent of the requests, or of the updates.
func (r *Report) errorShare() float64 {
	if r.due() == 0 && (r.Mix != MixStreams || r.Errors > 0) { // an exchange may have nothing to send
		return 100
	}
	return percentOf(r.Errors, r.due())
}

// percentOf returns a share in percent, 0 of nothing. Gaps of a stream may be more than its updates.
func percentOf(part, all int64) float64 {
	return min(100*float64(part)/float64(max(all, 1)), 100)
}

// route returns the results of a route, if there are any.
func (r *Report) route(name string) (Route, bool) {
	at := slices.IndexFunc(r.Routes, func(of Route) bool { return of.Name == name })
	if at < 0 {
		return Route{}, false
	}
	return r.Routes[at], true
}

// otherRoutes returns what the name of a check adds when no request of its route was sent.
func (r *Report) otherRoutes(found bool) string {
	if found {
		return ""
	}
	var names []string
	for _, of := range r.Routes {
		names = append(names, of.Name)
	}
	return " (no such request; the routes are " + strings.Join(names, ", ") + ")"
}

// writeLatencies writes how exactly the latencies are known, and a line for each.
func (r *Report) writeLatencies(w io.Writer) {
	if e := r.ClockError; e != nil {
		fmt.Fprintf(w, "latencies\t±%s\t%s\n", msText(e.Us), e)
	}
	for _, p := range r.Latencies {
		fmt.Fprintf(w, "p%g\t%s\t\n", p.Percent, msText(p.Us))
	}
}

// msText returns a latency as the report writes it.
func msText(us int64) string { return fmt.Sprintf("%.3f ms", float64(us)/1e3) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// WriteText prints the report.
func (r *Report) WriteText(w io.Writer) error {
	wanted := "as many as are answered"
	if r.Mix == MixStreams {
		wanted = "as many as are sent"
	}
	if r.Stages != "" {
		wanted = "stages " + r.Stages
	}
	if r.WantedRate > 0 {
		wanted = fmt.Sprintf("%g/s wanted", r.WantedRate)
	}
	fmt.Fprintf(w, "%s\n", r.Target)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "rate\t%.1f/s\t%s, %d connections, %.1f s\n", r.Rate, wanted, r.Connections, r.Seconds)
	if r.Mix == MixStreams {
		fmt.Fprintf(t, "updates\t%d\t%.1f MB\n", r.Answers, float64(r.Bytes)/1e6)
		fmt.Fprintf(t, "errors\t%d\t\n", r.Errors)
	} else {
		fmt.Fprintf(t, "requests\t%d\tdue\n", r.due())
		fmt.Fprintf(t, "answers\t%d\t%s, %.1f MB\n", r.Answers, r.Statuses, float64(r.Bytes)/1e6)
		fmt.Fprintf(t, "errors\t%d\t%d never sent\n", r.Errors, r.Missed)
		fmt.Fprintf(t, "sent late\t%d\tby more than 1 ms; latency counts from the intended time\n", r.Late)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(t, "  %s\t%d\t%s\n", reason, r.Reasons[reason], r.Hint(reason))
	}
	r.writeLatencies(t)
	if len(r.Routes) > 1 {
		fmt.Fprintf(t, "\nby %s\terrors\tp50\tp99\tp100\n", map[bool]string{
			true: "channel\tupdates", false: "route\trequests\tanswers",
		}[r.Mix == MixStreams])
		for _, of := range r.Routes {
			fmt.Fprintf(t, "%s\t", of.Name)
			if r.Mix != MixStreams {
				fmt.Fprintf(t, "%d\t", of.Requests)
			}
			fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\n", of.Answers, of.Errors, msText(of.P50Us), msText(of.P99Us),
				msText(of.MaxUs))
		}
	}
	for _, c := range r.Checks {
		word := "ok"
		if !c.OK {
			word = "MISSED"
		}
		fmt.Fprintf(t, "%s\t%.3f\tlimit %g: %s\n", c.Name, c.Got, c.Limit, word)
	}
	for _, s := range r.Search {
		word := "ok"
		if !s.OK {
			word = "missed"
		}
		fmt.Fprintf(t, "search: %s\t%.1f/s\tp99 %s, errors %d, %.1f s: %s\n", perSecond(s.Wanted), s.Rate,
			msText(s.P99Us), s.Errors, s.Seconds, word)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Verdict != "" {
		fmt.Fprintln(w, r.Verdict)
	}
	if r.FirstError != "" {
		fmt.Fprintf(w, "first error: %s\n", r.FirstError)
	}
	if r.Stopped {
		fmt.Fprintln(w, "the run was stopped early")
	}
	return nil
}

// Size of a chart, in pixels.
const (
	chartWidth, chartHeight = 720.0, 220.0
	chartLeft, chartBottom  = 64.0, 24.0
)

// line is a line of a chart.
type line struct {
	name   string    // empty: the chart has one line
	values []float64 // NaN: a gap
}

// chart is a chart under construction.
type chart struct {
	title, unit string
	lines       []line
	labels      []string // the texts below the points, empty for none
	limits      []line   // thresholds, each with one value
	log         bool     // the axis has powers of ten, and begins below the smallest value
}

// ticks returns the values at which an axis up to top has marks, the last of which is top or more: powers of ten from
// low on, or about five multiples of 1, 2 or 5 times one.
func ticks(low, top float64, log bool) (all []float64) {
	if log {
		at := math.Pow10(int(math.Floor(math.Log10(low))))
		for all = append(all, at); at < top; all = append(all, at) {
			at *= 10
		}
		return all
	}
	step := math.Pow10(int(math.Floor(math.Log10(top / 5))))
	for _, times := range []float64{1, 2, 5, 10} {
		if step*times*5 >= top {
			step *= times
			break
		}
	}
	for n := 0.; n == 0 || all[len(all)-1] < top; n++ {
		all = append(all, n*step)
	}
	return all
}

// markText returns the value of a mark without an exponent.
func markText(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// draw returns the chart as SVG.
func (c *chart) draw() template.HTML {
	low, top := math.Inf(1), 0.001
	for _, l := range append(slices.Clip(c.lines), c.limits...) {
		for _, v := range l.values {
			if !math.IsNaN(v) {
				low, top = min(low, max(v, 0.001)), max(top, v)
			}
		}
	}
	marks := ticks(min(low, top), top, c.log)
	low, top = marks[0], marks[len(marks)-1]
	x := func(i int) float64 {
		return chartLeft + (chartWidth-chartLeft-16)*(float64(i)+0.5)/float64(max(len(c.labels), 1))
	}
	y := func(v float64) float64 {
		share := v / top
		if c.log {
			share = math.Log(max(v, low)/low) / max(math.Log(top/low), 1)
		}
		return 16 + (chartHeight-chartBottom-16)*(1-share)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight,
		template.HTMLEscapeString(c.title))
	across := func(class string, v float64) {
		fmt.Fprintf(&b, `<line class="%s" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, class, chartLeft, chartWidth-16, y(v),
			y(v))
	}
	for _, v := range marks {
		across("grid", v)
		fmt.Fprintf(&b, `<text class="y" x="%g" y="%.1f">%s %s</text>`, chartLeft-6, y(v)+4, markText(v),
			template.HTMLEscapeString(c.unit))
	}
	for _, l := range c.limits {
		across("limit", l.values[0])
		fmt.Fprintf(&b, `<text class="limit" x="%g" y="%.1f">%s</text>`, chartWidth-16, y(l.values[0])-3,
			template.HTMLEscapeString(l.name))
	}
	for n, l := range c.lines {
		for i, v := range l.values {
			if math.IsNaN(v) {
				continue
			}
			point := fmt.Sprintf("%.1f,%.1f ", x(i), y(v))
			if i == 0 || math.IsNaN(l.values[i-1]) { // twice, so that a point between two gaps is drawn
				fmt.Fprintf(&b, `<polyline class="line%d" points="%s`, n, point)
			}
			b.WriteString(point)
			if i == len(l.values)-1 || math.IsNaN(l.values[i+1]) {
				b.WriteString(`"/>`)
			}
		}
		if l.name != "" {
			fmt.Fprintf(&b, `<text class="line%d" x="%g" y="12">%s</text>`, n, chartLeft+60*float64(n),
				template.HTMLEscapeString(l.name))
		}
	}
	for i, text := range c.labels {
		if text != "" {
			fmt.Fprintf(&b, `<text class="x" x="%.1f" y="%g">%s</text>`, x(i), chartHeight-6,
				template.HTMLEscapeString(text))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{"ms": msText}).Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Load of {{.Target}}</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem 1rem .2rem 0;text-align:left}
svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:currentColor}
.y{text-anchor:end}.x{text-anchor:middle}.grid{stroke:currentColor;opacity:.25}
polyline{fill:none;stroke-width:2;stroke-linecap:round}polyline.line0{stroke:#2a7de1}polyline.line1{stroke:#d9480f}
text.line0{fill:#2a7de1}text.line1{fill:#d9480f}
line.limit{stroke:#c62828;stroke-dasharray:6 4}text.limit{fill:#c62828;text-anchor:end}
.missed{color:#c62828;font-weight:600}
</style>
<h1>Load of {{.Target}}</h1>
<p>{{.Started.Format "2006-01-02 15:04:05 MST"}}{{if .Mix}}, mix {{.Mix}}{{end}}
{{- if .Method}}, {{.Method}}{{end}}{{if .Stages}}, stages {{.Stages}}{{end}}
{{- if .WarmSeconds}}, after a warm-up of {{.WarmSeconds}} s{{end}}
{{- if .Stopped}}, stopped early{{end}}</p>
<table>
<tr><th>Rate<td>{{printf "%.1f" .Rate}}/s{{if .WantedRate}} of {{.WantedRate}}/s{{end}}
<tr><th>Length<td>{{printf "%.1f" .Seconds}} s, {{.Connections}} connections
{{if eq .Mix "streams"}}<tr><th>Updates<td>{{.Answers}}
{{with .ClockError}}<tr><th>Latencies<td>±{{ms .Us}}: {{.}}
{{end}}<tr><th>Errors<td>{{.Errors}}{{else}}<tr><th>Requests<td>{{.Requests}} due
<tr><th>Answers<td>{{.Answers}} ({{.Statuses}})
<tr><th>Sent late<td>{{.Late}}
<tr><th>Errors<td>{{.Errors}}, of which {{.Missed}} were never sent{{end}}
{{- if .FirstError}}; first: {{.FirstError}}{{end}}
{{range $reason, $n := .Reasons}}<tr><th>{{$reason}}<td>{{$n}} {{$.Hint $reason}}
{{end}}</table>
{{if .Checks}}<h2>Thresholds</h2><table>
{{range .Checks}}<tr><th>{{.Name}}<td>{{printf "%.3f" .Got}}<td>limit {{.Limit}}
<td>{{if .OK}}ok{{else}}<span class="missed">missed</span>{{end}}
{{end}}</table>{{end}}
{{if .Search}}<h2>Search for the highest rate</h2><p>{{.Verdict}}</p>
<table><tr><th>Wanted<th>Rate<th>p99<th>Errors<th>Length<th>
{{range .Search}}<tr><td>{{.Wanted}}/s<td>{{printf "%.1f" .Rate}}/s<td>{{ms .P99Us}}<td>{{.Errors}}
<td>{{printf "%.1f" .Seconds}} s
<td>{{if .OK}}ok{{else}}<span class="missed">missed</span>{{end}}
{{end}}</table>{{end}}
{{if .Routes}}<h2>By {{if eq .Mix "streams"}}channel{{else}}route{{end}}</h2>
<table><tr><th>{{if eq .Mix "streams"}}<th>Updates{{else}}<th>Requests<th>Answers{{end}}<th>Errors<th>p50<th>p99<th>p100
{{range .Routes}}<tr><td>{{.Name}}{{if ne $.Mix "streams"}}<td>{{.Requests}}{{end}}<td>{{.Answers}}<td>{{.Errors}}
<td>{{ms .P50Us}}<td>{{ms .P99Us}}<td>{{ms .MaxUs}}
{{end}}</table>{{end}}
{{if .Timeline}}<h2>Latency over time</h2>
{{.TimeChart}}
<h2>{{if eq .Mix "streams"}}Updates{{else}}Answers{{end}} a second over time</h2>
{{.RateChart}}{{end}}
<h2>Latency by percentile</h2>
{{.LatencyChart}}
<table>{{range .Latencies}}<tr><th>p{{.Percent}}<td>{{ms .Us}}{{end}}</table>
`))

// gapped returns a latency in ms, a gap for none. At a rate there is one, which may be 0 by ClockError.
func gapped(us int64, rate float64) float64 {
	if us == 0 && rate == 0 {
		return math.NaN()
	}
	return float64(us) / 1e3
}

// WriteHTML writes the report as one page without scripts and without other files.
func (r *Report) WriteHTML(w io.Writer) error {
	var values, p50, p99, rates, unsent []float64
	var labels, times []string
	began := 0.
	for _, p := range r.Latencies {
		values, labels = append(values, float64(p.Us)/1e3), append(labels, fmt.Sprint(p.Percent))
	}
	for i, m := range r.Timeline {
		text := ""
		if i%max(len(r.Timeline)/10, 1) == 0 {
			text = fmt.Sprintf("%.0f s", m.At)
		}
		p50, p99 = append(p50, gapped(m.P50Us, m.Rate)), append(p99, gapped(m.P99Us, m.Rate))
		times = append(times, text)
		rates, unsent = append(rates, m.Rate), append(unsent, float64(m.Missed)/(m.At-began))
		began = m.At
	}
	var limits []line
	for _, c := range r.Checks {
		if c.Name == checkName(99) || c.Name == checkName(99.9) {
			limits = append(limits, line{"limit of " + strings.TrimSuffix(c.Name, ", ms, at most"), []float64{c.Limit}})
		}
	}
	var wanted []line
	if r.WantedRate > 0 {
		wanted = []line{{"wanted", []float64{r.WantedRate}}}
	}
	byPercent := chart{"Latency by percentile", "ms", []line{{"", values}}, labels, limits, true}
	byTime := chart{"Latency over time", "ms", []line{{"p50", p50}, {"p99", p99}}, times, limits, false}
	byRate := []line{{"", rates}}
	if r.Missed > 0 {
		byRate = []line{{r.unit(), rates}, {"never sent", unsent}}
	}
	rate := chart{"Rate over time", "/s", byRate, times, wanted, false}
	return page.Execute(w, struct {
		*Report
		LatencyChart, TimeChart, RateChart template.HTML
	}{r, byPercent.draw(), byTime.draw(), rate.draw()})
}
