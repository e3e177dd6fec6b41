package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Format is the version of the JSON file's layout.
const Format = 1

// Report is one run of the harness.
type Report struct {
	Format    int         `json:"format"`
	Started   time.Time   `json:"started"`
	Seconds   float64     `json:"seconds"`
	Command   string      `json:"command"`
	Version   string      `json:"version"`
	Commit    string      `json:"commit"`
	Rounds    int         `json:"rounds"`
	Machine   Machine     `json:"machine"`
	Settings  []Setting   `json:"settings"`
	Scenarios []*Scenario `json:"scenarios"`
}

// Machine describes the machine of the run.
type Machine struct {
	CPU       string `json:"cpu"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memoryMiB"`
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
	Load      string `json:"load"` // load averages at the start: other processes on the machine
	Files     uint64 `json:"files"`
}

// Setting is one setting of the product during the run.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Scenario holds the results of one scenario.
type Scenario struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// Others is the share of the machine that other processes used during the scenario, in percent.
	Others    float64    `json:"others"`
	Notes     []string   `json:"notes,omitempty"`
	Measures  []*Measure `json:"measures,omitempty"`
	Latencies []Latency  `json:"latencies,omitempty"`
	Routes    []Route    `json:"routes,omitempty"`
	Curves    []Curve    `json:"curves,omitempty"`
}

// Latency is a distribution of latencies in us, each measured from the time at which the request should have
// been sent.
type Latency struct {
	Name   string    `json:"name"`
	Count  int64     `json:"count"`
	Late   int64     `json:"late"`   // number of requests sent more than a millisecond late
	Missed int64     `json:"missed"` // number of requests not sent before the end
	Errors int64     `json:"errors"`
	P      []float64 `json:"percentiles"` // percentiles of Quantiles, in us
	// PerSecond holds the number of answers in each second of the run.
	PerSecond []int64 `json:"perSecond,omitempty"`
}

// Quantiles returns the percentiles, in percent, that Latency.P holds.
func Quantiles() []float64 { return []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100} }

// At returns a percentile in us, or 0 for a percentile that is not one of Quantiles.
func (l *Latency) At(percent float64) float64 {
	for i, q := range Quantiles() {
		if q == percent && i < len(l.P) {
			return l.P[i]
		}
	}
	return 0
}

// Route is one row of the table of routes.
type Route struct {
	Name     string  `json:"name"`
	Server   string  `json:"server"`
	Bytes    int64   `json:"bytes"`    // bytes of an answer's body
	Rate     float64 `json:"rate"`     // answers a second, best round
	CPU      float64 `json:"cpu"`      // microseconds of server CPU an answer, best round; 0: unknown
	Client   float64 `json:"client"`   // microseconds of client CPU an answer
	Statuses string  `json:"statuses"` // counts of answers by status
}

// Curve holds costs over sizes.
type Curve struct {
	Name   string    `json:"name"`
	XLabel string    `json:"x"`
	YLabel string    `json:"y"`
	X      []float64 `json:"xs"`
	Y      []float64 `json:"ys"`
	Slope  float64   `json:"slope"` // exponent: slope of log y over log x; 1: the cost is proportional to the size
	Note   string    `json:"note,omitempty"`
}

// Note adds a note.
func (s *Scenario) Note(format string, a ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, a...))
}

// Goals returns the measures that have a goal, sorted by it.
func (r *Report) Goals() []*Measure {
	var out []*Measure
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			if m.Goal != "" {
				out = append(out, m)
			}
		}
	}
	sortGoals(out)
	return out
}

// Save writes the report as a JSON file.
func (r *Report) Save(file string) error {
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Load reads a JSON file that Save wrote.
func Load(file string) (*Report, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := new(Report)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("report: %s: %w", file, err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("report: %s has format %d, this program reads %d", file, r.Format, Format)
	}
	return r, nil
}
