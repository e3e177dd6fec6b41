package fault

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// scenarios are ready sets of rules (docs/contract/faults.md#scenarios).
var scenarios = map[string][]string{
	"flaky-network": {
		"latency probability=0.2 delay=150ms distribution=exponential max=3s",
		"close probability=0.02",
		"half-open probability=0.005 delay=20s",
		"truncate method=GET probability=0.02 keep=100",
		"drop probability=0.02",
		"delay probability=0.05 delay=200ms distribution=uniform max=2s",
		"close channel=* probability=0.001",
	},
	"overload": {
		"latency delay=400ms distribution=exponential max=10s",
		"rate-limit probability=0.1 retry-after=2",
		"status probability=0.1 status=503 retry-after=1",
		"delay delay=300ms distribution=uniform max=1s",
	},
	"stale-feed": {
		"stale age=30s",
		"delay delay=5s",
	},
	"lost-ack": {
		"lost-ack probability=0.2",
	},
	"failing-cdn": {
		"html probability=0.05 status=503 retry-after=5",
		"html method=GET probability=0.02",
		"empty method=GET probability=0.02",
		"redirect method=GET probability=0.01",
		"stale probability=0.1 age=20s",
		"broken-json method=GET probability=0.02",
		"content-type method=GET probability=0.05 type=text/plain",
		"slow method=GET probability=0.05 rate=2048",
	},
	"dirty-listing": {
		"missing probability=0.05",
		"null probability=0.05",
		"zero probability=0.05",
		"null probability=0.05 member=amount",
		"crossed probability=0.05",
		"doubled probability=0.05",
	},
}

// Scenarios returns the names of the ready scenarios.
func Scenarios() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Scenario returns the rules of a ready scenario, decided by seed and in force for a time; 0: until they are removed.
func Scenario(name string, seed uint64, lasts time.Duration) ([]Rule, error) {
	if err := oneOf(name, Scenarios()); err != nil {
		return nil, err
	}
	rules, err := ParseAll(scenarios[name])
	if err != nil {
		panic("BUG: fault: scenario " + name + ": " + err.Error())
	}
	for i := range rules {
		rules[i].Seed, rules[i].For = seed, lasts
	}
	return rules, nil
}

// ParseAll parses the texts of several rules. The error names the number of the wrong one, from 1.
func ParseAll(texts []string) ([]Rule, error) {
	var rules []Rule
	for i, text := range texts {
		r, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}
