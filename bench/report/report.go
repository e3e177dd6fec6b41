package report

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Format is the version of the JSON file.
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

// Setting is one value that the product ran with.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Scenario holds the results of one scenario.
type Scenario struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// Others is the share of the machine in percent that other processes took meanwhile.
	Others    float64    `json:"others"`
	Notes     []string   `json:"notes,omitempty"`
	Measures  []*Measure `json:"measures,omitempty"`
	Latencies []Latency  `json:"latencies,omitempty"`
	Routes    []Route    `json:"routes,omitempty"`
	Curves    []Curve    `json:"curves,omitempty"`
}

// Latency is a distribution in microseconds from the intended send time.
type Latency struct {
	Name   string    `json:"name"`
	Count  int64     `json:"count"`
	Late   int64     `json:"late"`   // sent more than a millisecond after their time
	Missed int64     `json:"missed"` // never sent before the end
	Errors int64     `json:"errors"`
	P      []float64 `json:"percentiles"` // of Quantiles, in microseconds
	// PerSecond are answers of each second of the run.
	PerSecond []int64 `json:"perSecond,omitempty"`
}

// Quantiles returns the percentiles of Latency.P, in percent.
func Quantiles() []float64 { return []float64{50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100} }

// At returns a percentile in microseconds, NaN-free: 0 when it is not one of Quantiles.
func (l *Latency) At(percent float64) float64 {
	for i, q := range Quantiles() {
		if q == percent && i < len(l.P) {
			return l.P[i]
		}
	}
	return 0
}

// Route is one line of the table of routes.
type Route struct {
	Name     string  `json:"name"`
	Server   string  `json:"server"`
	Bytes    int64   `json:"bytes"`    // of an answer's body
	Rate     float64 `json:"rate"`     // answers a second, best round
	CPU      float64 `json:"cpu"`      // server microseconds an answer, best round; 0: not known
	Client   float64 `json:"client"`   // client microseconds an answer
	Statuses string  `json:"statuses"` // status x count
}

// Curve is a cost over a size.
type Curve struct {
	Name   string    `json:"name"`
	XLabel string    `json:"x"`
	YLabel string    `json:"y"`
	X      []float64 `json:"xs"`
	Y      []float64 `json:"ys"`
	Slope  float64   `json:"slope"` // of log y over log x: 1 is linear
	Note   string    `json:"note,omitempty"`
}

// Add appends a measure and returns it.
func (s *Scenario) Add(m *Measure) *Measure {
	s.Measures = append(s.Measures, m)
	return m
}

// Cost appends a measure of which less is better.
func (s *Scenario) Cost(name, unit, with string) *Measure {
	return s.Add(&Measure{Name: name, Unit: unit, With: with})
}

// Rate appends a measure of which more is better.
func (s *Scenario) Rate(name, unit, with string) *Measure {
	return s.Add(&Measure{Name: name, Unit: unit, With: with, Higher: true})
}

// Note appends a sentence.
func (s *Scenario) Note(format string, a ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, a...))
}

// Goals returns the measures with a target, in order.
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

// Save writes the JSON file.
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
