package worst

import (
	"encoding/json"
	"fmt"
	"strings"

	"tickhive/bench/proc"
	"tickhive/bench/report"
)

// Request holds what the loop's thread did for a request: its steps, and their CPU times.
type Request struct {
	Name                       string
	Steps                      int
	MedianNs, LongestNs, AllNs int64
}

// maxRounds limits the rounds: each fills a market with a million orders.
const maxRounds = 3

// Measure adds the figures to a scenario. program is the bench's binary, dir a folder for the exchange's data.
func Measure(s *report.Scenario, program, dir string, rounds int) error {
	c, err := proc.Start(nil, program, "steps", dir)
	if err != nil {
		return err
	}
	defer c.Stop()
	longest := s.Cost("longest step of the loop, of all requests", "ms",
		"CPU time of its thread, all sinks, 1 M resting orders of accounts with private streams; worst round").
		ByWorst().Aim("O2", 2)
	each := map[string]*report.Measure{}
	for range min(rounds, maxRounds) {
		line, err := c.Ask("measure")
		if err != nil {
			return err
		}
		var found []Request
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			return fmt.Errorf("worst: %w: %.300s", err, line)
		}
		most := int64(0)
		for _, f := range found {
			if each[f.Name] == nil {
				each[f.Name] = s.Cost(f.Name, "ms", fmt.Sprintf("longest of %d steps, median %.3f ms, %.1f ms in all",
					f.Steps, float64(f.MedianNs)/1e6, float64(f.AllNs)/1e6)).ByWorst()
			}
			each[f.Name].Round(float64(f.LongestNs) / 1e6)
			most = max(most, f.LongestNs)
		}
		longest.Round(float64(most) / 1e6)
	}
	var above []string
	for name, m := range each {
		if m.Best() > longest.Target {
			above = append(above, name)
		}
	}
	if len(above) > 0 {
		longest.Reason = "above: " + strings.Join(above, ", ")
	}
	return nil
}
