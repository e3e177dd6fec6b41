package loadtool

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// Size of a chart, in pixels.
const (
	chartWidth, chartHeight = 720.0, 220.0
	chartLeft, chartBottom  = 64.0, 24.0
)

// chart draws one line through points whose values are from 0 to top. labels are the texts below the points, empty
// for none.
func chart(title, unit string, values []float64, labels []string, log bool) template.HTML {
	low, top := 0.0, 1.0
	for _, v := range values {
		top = max(top, v)
	}
	scale := func(v float64) float64 { return v / top }
	if log {
		low = top
		for _, v := range values {
			low = min(low, max(v, 0.001))
		}
		scale = func(v float64) float64 {
			if top <= low {
				return 0
			}
			return math.Log(max(v, low)/low) / math.Log(top/low)
		}
	}
	x := func(i int) float64 {
		return chartLeft + (chartWidth-chartLeft-16)*(float64(i)+0.5)/float64(max(len(values), 1))
	}
	y := func(v float64) float64 { return 16 + (chartHeight-chartBottom-16)*(1-scale(v)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWidth, chartHeight,
		template.HTMLEscapeString(title))
	for _, v := range []float64{low, top} {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, chartLeft, chartWidth-16, y(v),
			y(v))
		fmt.Fprintf(&b, `<text class="y" x="%g" y="%.1f">%.4g %s</text>`, chartLeft-6, y(v)+4, v,
			template.HTMLEscapeString(unit))
	}
	b.WriteString(`<polyline points="`)
	for i, v := range values {
		fmt.Fprintf(&b, "%.1f,%.1f ", x(i), y(v))
	}
	b.WriteString(`"/>`)
	for i, text := range labels {
		if text != "" {
			fmt.Fprintf(&b, `<text class="x" x="%.1f" y="%g">%s</text>`, x(i), chartHeight-6,
				template.HTMLEscapeString(text))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Load of {{.Target}}</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem 1rem .2rem 0;text-align:left}
svg{width:100%;height:auto}text{font:11px system-ui,sans-serif;fill:currentColor}
.y{text-anchor:end}.x{text-anchor:middle}.grid{stroke:currentColor;opacity:.25}
polyline{fill:none;stroke:#2a7de1;stroke-width:2}.missed{color:#c62828;font-weight:600}
</style>
<h1>Load of {{.Target}}</h1>
<p>{{.Started.Format "2006-01-02 15:04:05 MST"}}{{if .Mix}}, mix {{.Mix}}{{end}}
{{- if .Stopped}}, stopped early{{end}}</p>
<table>
<tr><th>Rate<td>{{printf "%.1f" .Rate}}/s{{if .WantedRate}} of {{.WantedRate}}/s{{end}}
<tr><th>Length<td>{{printf "%.1f" .Seconds}} s, {{.Connections}} connections
{{if eq .Mix "streams"}}<tr><th>Messages<td>{{.Answers}}
<tr><th>Errors<td>{{.Errors}}{{else}}<tr><th>Answers<td>{{.Answers}} ({{.Statuses}})
<tr><th>Sent late<td>{{.Late}}
<tr><th>Errors<td>{{.Errors}}, of which {{.Missed}} were never sent{{end}}
{{- if .FirstError}}; first: {{.FirstError}}{{end}}
{{range $reason, $n := .Reasons}}<tr><th>{{$reason}}<td>{{$n}}
{{end}}</table>
{{if .Checks}}<h2>Thresholds</h2><table>
{{range .Checks}}<tr><th>{{.Name}}<td>{{printf "%.3f" .Got}}<td>limit {{.Limit}}
<td>{{if .OK}}ok{{else}}<span class="missed">missed</span>{{end}}
{{end}}</table>{{end}}
<h2>Latency by percentile, ms</h2>
{{.LatencyChart}}
<table>{{range .Latencies}}<tr><th>p{{.Percent}}<td>{{.Us}} us{{end}}</table>
<h2>{{if eq .Mix "streams"}}Messages{{else}}Answers{{end}} in each second</h2>
{{.RateChart}}
`))

// WriteHTML writes the report as one page without scripts and without other files.
func (r *Report) WriteHTML(w io.Writer) error {
	var values, rates []float64
	var labels, seconds []string
	for _, p := range r.Latencies {
		values, labels = append(values, float64(p.Us)/1e3), append(labels, fmt.Sprint(p.Percent))
	}
	for i, n := range r.PerSecond {
		text := ""
		if i%max(len(r.PerSecond)/10, 1) == 0 {
			text = fmt.Sprint(i, " s")
		}
		rates, seconds = append(rates, float64(n)), append(seconds, text)
	}
	return page.Execute(w, struct {
		*Report
		LatencyChart, RateChart template.HTML
	}{
		r, chart("Latency by percentile", "ms", values, labels, true),
		chart("Answers in each second", "/s", rates, seconds, false),
	})
}
