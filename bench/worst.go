package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"tickhive/bench/proc"
	"tickhive/bench/report"
)

// WorstRequest holds what the loop's thread did for a request: its steps, and their CPU times.
type WorstRequest struct {
	Name                       string
	Steps                      int
	MedianNs, LongestNs, AllNs int64
}

// worstRounds limits the rounds of the scenario: each fills a market with a million orders.
const worstRounds = 3

// runWorst measures O2 (docs/internals/performance.md#o2).
func runWorst(r *Run) error {
	c, err := proc.Start(nil, r.Program, "steps", r.Dir)
	if err != nil {
		return err
	}
	defer c.Stop()
	longest := r.S.Cost("longest step of the loop, of all requests", "ms",
		"CPU time of its thread, all sinks, 1 M resting orders of accounts with private streams; worst round").
		ByWorst().Aim("O2", 2)
	each := map[string]*report.Measure{}
	for round := range min(r.Rounds, worstRounds) {
		r.say("worst request, round %d", round+1)
		line, err := c.Ask("measure")
		if err != nil {
			return err
		}
		var found []WorstRequest
		if err := json.Unmarshal([]byte(line), &found); err != nil {
			return fmt.Errorf("worst: %w: %.300s", err, line)
		}
		most := int64(0)
		for _, f := range found {
			if each[f.Name] == nil {
				each[f.Name] = r.S.Cost(f.Name, "ms", fmt.Sprintf("longest of %d steps, median %.3f ms, %.1f ms in all",
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
