package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// Severity is the importance of a result for a listing.
type Severity string

// The severities.
const (
	OK      Severity = "ok"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Result is the outcome of one check.
type Result struct {
	Check    string   `json:"check"` // route and property, for example "tickers: fields"
	Severity Severity `json:"severity"`
	Evidence string   `json:"evidence"` // what was seen; of a failed check also what was expected
	URL      string   `json:"url"`
	Count    int      `json:"count"` // how often the check failed; 1 when it held
	// Took is the time since the check before ended: the request, if the check is the first of its answer.
	Took time.Duration `json:"-"`
}

// Report holds the results of a run, in the order of the checks.
type Report struct {
	Standard string   `json:"standard"`
	Target   string   `json:"target"`
	Results  []Result `json:"results"`
	Errors   int      `json:"errors"`   // failed checks of severity error
	Warnings int      `json:"warnings"` // failed checks of severity warning
	// Deep is the number of pairs whose books and trades were checked, Of that of all pairs; 0: all were.
	Deep int `json:"deepPairs,omitempty"`
	Of   int `json:"ofPairs,omitempty"`

	startNs, lastNs int64 // when the run began, when the last check ended
}

// check collects the failures of one property of a route. The first failure is its evidence.
type check struct {
	report *Report
	result Result
	failed int
}

// check begins a check of this severity; done adds its result.
func (r *Report) check(name, url string, severity Severity) *check {
	return &check{r, Result{Check: name, URL: url, Severity: severity}, 0}
}

// fail records that the property does not hold.
func (c *check) fail(format string, args ...any) {
	if c.failed++; c.failed == 1 {
		c.result.Evidence = fmt.Sprintf(format, args...)
	}
}

// done adds the result. seen describes what held.
func (c *check) done(seen string, args ...any) {
	c.result.Count = max(c.failed, 1)
	switch {
	case c.failed == 0:
		c.result.Severity, c.result.Evidence = OK, fmt.Sprintf(seen, args...)
	case c.result.Severity == Error:
		c.report.Errors++
	default:
		c.report.Warnings++
	}
	c.result.Evidence = strings.Join(strings.Fields(c.result.Evidence), " ") // a body has line breaks
	nowNs := clock.MachineNs()
	c.result.Took = time.Duration(nowNs - c.report.lastNs)
	c.report.lastNs = nowNs
	c.report.Results = append(c.report.Results, c.result)
}
