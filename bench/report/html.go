package report

import (
	"fmt"
	"html/template"
	"io"
)

// page holds the data of the HTML template.
type page struct {
	*Report
	GoalPlot template.HTML
	Parts    []part
}

// part is one scenario with its plots.
type part struct {
	*Scenario
	Plots []template.HTML
}

// WriteHTML writes the report as one HTML page that loads nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page{Report: r}
	add := func(to *[]template.HTML, text string, err error) error {
		if err == nil && text != "" {
			*to = append(*to, template.HTML(text))
		}
		return err
	}
	text, err := ratioPlot(r.Goals())
	if err != nil {
		return err
	}
	p.GoalPlot = template.HTML(text)
	for _, s := range r.Scenarios {
		x := part{Scenario: s}
		if len(s.Latencies) > 0 {
			text, err := latencyPlot(s.Latencies)
			if err := add(&x.Plots, text, err); err != nil {
				return err
			}
			text, err = throughputPlot(s.Latencies)
			if err := add(&x.Plots, text, err); err != nil {
				return err
			}
		}
		for i := range s.Curves {
			text, err := curvePlot(&s.Curves[i])
			if err := add(&x.Plots, text, err); err != nil {
				return err
			}
		}
		p.Parts = append(p.Parts, x)
	}
	t, err := template.New("report").Funcs(template.FuncMap{
		"figure": Figure,
		"ref": func(m *Measure) string {
			if len(m.Reference) == 0 {
				return ""
			}
			return fmt.Sprintf("%s %s", Figure(m.Of(m.Reference)), m.RefName)
		},
		"own": func(m *Measure) string {
			if len(m.Product) == 0 {
				return ""
			}
			return Figure(m.Of(m.Product))
		},
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>TickHive benchmark</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;color:#1c2430;max-width:1080px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;border-bottom:1px solid #d5dbe3;padding-bottom:.2rem}
table{border-collapse:collapse;width:100%;font-size:13px;margin:.6rem 0}
th{text-align:left;color:#5a6675;font-weight:600}
th,td{padding:.28rem .5rem;border-bottom:1px solid #e8ecf1;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.met{color:#12764a;font-weight:600}.not{color:#b3261e;font-weight:600}.dim{color:#5a6675;font-size:13px}
svg{max-width:100%;height:auto}code{background:#f1f4f8;padding:.1rem .3rem;border-radius:3px}
@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}th,.dim{color:#93a0b0}
td,th{border-color:#2a323c}h2{border-color:#2a323c}code{background:#222a33}
svg{background:#fff;border-radius:4px}.met{color:#59c894}.not{color:#ff8f86}}
</style></head><body>
<h1>TickHive benchmark</h1>
<p class="dim"><code>{{.Command}}</code> &middot; {{.Version}},
commit {{.Commit}} &middot; {{.Started.UTC.Format "2006-01-02 15:04:05 UTC"}}, {{figure .Seconds}} s,
{{.Rounds}} rounds<br>
{{.Machine.CPU}}, {{.Machine.Cores}} cores, {{.Machine.MemoryMiB}} MiB, Linux {{.Machine.Kernel}}, {{.Machine.Go}},
load at the start {{.Machine.Load}}, {{.Machine.Files}} descriptors{{range .Settings}}<br>{{.Name}}:
{{.Value}}{{end}}</p>
{{with .Goals}}<h2>Goals</h2>
<p class="dim">Measured: best round of the product to best round of its reference; beside it the ratios of the single
rounds.</p>
<table><tr><th>Goal<th>What<th class="n">Target<th class="n">Measured<th class="n">Min<th class="n">Median
<th class="n">Max<th></tr>
{{range .}}{{$s := .Spread}}<tr><td>{{.Goal}}<td>{{.Name}}<div class="dim">{{.With}}</div>
<td class="n">{{.TargetText}}<td class="n">{{figure .Best}}<td class="n">{{figure $s.Min}}
<td class="n">{{figure $s.Median}}<td class="n">{{figure $s.Max}}
<td class="{{if .Met}}met{{else}}not{{end}}">{{.Verdict}}</tr>
{{end}}</table>{{end}}
{{.GoalPlot}}
{{range .Parts}}<h2>{{.Name}} <span class="dim">{{figure .Seconds}} s,
other processes took {{figure .Others}} % of the machine</span></h2>
{{with .Measures}}<table><tr><th>Measure<th class="n">Best<th class="n">Min<th class="n">Median<th class="n">Max
<th class="n">Product<th class="n">Reference<th>Unit</tr>
{{range .}}{{$s := .Spread}}<tr><td>{{.Name}}<div class="dim">{{.With}}</div><td class="n">{{figure .Best}}
<td class="n">{{figure $s.Min}}<td class="n">{{figure $s.Median}}<td class="n">{{figure $s.Max}}
<td class="n">{{own .}}<td class="n">{{ref .}}<td>{{.Unit}}</tr>
{{end}}</table>{{end}}
{{with .Latencies}}<table><tr><th>Latency, ms from the intended send time<th class="n">p50<th class="n">p99
<th class="n">p99.9<th class="n">max<th class="n">Count<th class="n">Late<th class="n">Missed<th class="n">Errors</tr>
{{range .}}<tr><td>{{.Name}}<td class="n">{{figure (.Ms 50)}}<td class="n">{{figure (.Ms 99)}}
<td class="n">{{figure (.Ms 99.9)}}<td class="n">{{figure (.Ms 100)}}<td class="n">{{.Count}}<td class="n">{{.Late}}
<td class="n">{{.Missed}}<td class="n">{{.Errors}}</tr>
{{end}}</table>{{end}}
{{with .Routes}}<table><tr><th>Route<th>Server<th class="n">Bytes<th class="n">Answers/s<th class="n">Server &micro;s
<th class="n">Client &micro;s<th>Status</tr>
{{range .}}<tr><td>{{.Name}}<td>{{.Server}}<td class="n">{{.Bytes}}<td class="n">{{figure .Rate}}
<td class="n">{{figure .CPU}}<td class="n">{{figure .Client}}<td>{{.Statuses}}</tr>
{{end}}</table>{{end}}
{{range .Plots}}<p>{{.}}</p>{{end}}
{{range .Curves}}<p class="dim">{{.Name}}, {{.YLabel}} over {{.XLabel}}: slope {{figure .Slope}}. {{.Note}}</p>{{end}}
{{with .Notes}}<ul class="dim">{{range .}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{end}}</body></html>
`

// Ms returns a percentile in milliseconds.
func (l Latency) Ms(percent float64) float64 { return l.At(percent) / 1e3 }
