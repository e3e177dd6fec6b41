package conformance

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

// The elements of JUnit's XML that the systems of continuous integration read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes reports as JUnit's XML: a suite for each standard, a class for each route, a case for each check. A
// failed check of severity error is a failure. A warning is in the output of its case, which passes.
func WriteJUnit(w io.Writer, reports []*Report) error {
	all := junitSuites{Name: "tickhive conformance"}
	var total time.Duration
	for _, r := range reports {
		took := time.Duration(r.lastNs - r.startNs)
		suite := junitSuite{
			Name: r.Standard, Tests: len(r.Results), Failures: r.Errors, Time: seconds(took),
			Timestamp:  time.Unix(0, r.startNs).UTC().Format("2006-01-02T15:04:05"),
			Properties: []junitProperty{{"target", r.Target}},
		}
		for _, x := range r.Results {
			suite.Cases = append(suite.Cases, x.junit(r.Standard))
		}
		total += took
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (x Result) junit(standard string) junitCase {
	route, name, _ := strings.Cut(x.Check, ": ")
	c := junitCase{Class: standard + "." + route, Name: name, Time: seconds(x.Took)}
	text := fmt.Sprintf("%s\n%s", x.Evidence, x.URL)
	if x.Count > 1 {
		text += fmt.Sprintf("\n%d times", x.Count)
	}
	switch x.Severity {
	case Error:
		c.Failure = &junitFailure{Message: x.Evidence, Type: string(x.Severity), Text: text}
	case Warning:
		c.Out = "warning: " + text
	case OK:
	}
	return c
}

// seconds returns a duration as JUnit has it.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%d.%06d", d/time.Second, d%time.Second/time.Microsecond)
}

// WriteHTML writes reports as a page, which needs no other file.
func WriteHTML(w io.Writer, reports []*Report) error { return page.Execute(w, reports) }

// By returns the results of a severity, in the order of the checks.
func (r *Report) By(s Severity) (some []Result) {
	for _, x := range r.Results {
		if x.Severity == s {
			some = append(some, x)
		}
	}
	return some
}

// Severities returns the severities, the worst first.
func (r *Report) Severities() []Severity { return []Severity{Error, Warning, OK} }

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;width:100%}
td,th{padding:.2rem 1rem .2rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}
tr{border-top:1px solid #8884}.error{color:light-dark(#b3261e,#ff8a80);font-weight:600}
.warning{color:light-dark(#7a5200,#f0b429);font-weight:600}
</style></head><body><main>
<h1>Conformance</h1>
{{range $r := .}}<h2>{{.Standard}} at {{.Target}}</h2>
<p>{{len .Results}} checks, {{.Errors}} errors, {{.Warnings}} warnings.</p>
<table><thead><tr><th scope="col">Result</th><th scope="col">Check</th><th scope="col">Seen</th>
<th scope="col">Times</th><th scope="col">Request</th></tr></thead><tbody>
{{range $s := .Severities}}{{range $r.By $s}}<tr><td class="{{.Severity}}">{{.Severity}}</td><td>{{.Check}}</td>` +
	`<td>{{.Evidence}}</td><td>{{.Count}}</td><td>{{.URL}}</td></tr>
{{end}}{{end}}</tbody></table>
{{end}}</main></body></html>
`))
