package main

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/setting"
)

// faultsCmd sets the fault rules of a running exchange (docs/contract/faults.md).
type faultsCmd struct {
	Apply faultsApplyCmd `cmd:"" help:"Put a ready scenario in force: dirty-listing, failing-cdn, flaky-network, lost-ack, overload or stale-feed."`
	Add   faultsAddCmd   `cmd:"" help:"Put rules in force, each a text such as \"latency probability=0.1 delay=250ms\"."`
	List  faultsListCmd  `cmd:"" help:"List the rules in force and their counters."`
	Clear faultsClearCmd `cmd:"" help:"Remove all rules, or one."`
}

type faultsApplyCmd struct {
	internalFlags
	Scenario string           `arg:"" help:"Name of the scenario."`
	Seed     uint64           `default:"1" help:"Seed of the decisions (${default})."`
	For      setting.Duration `placeholder:"DURATION" help:"Time after which the rules end (never)."`
}

type faultsAddCmd struct {
	internalFlags
	Rules []string `arg:"" help:"Texts of the rules."`
}

type faultsListCmd struct{ internalFlags }

type faultsClearCmd struct {
	internalFlags
	ID string `arg:"" optional:"" help:"Id of the rule (all)."`
}

// Run puts a scenario in force and prints its rules.
func (c *faultsApplyCmd) Run(p *program) error {
	if _, err := fault.Scenario(c.Scenario, c.Seed, 0); err != nil {
		return usage("faults apply: %v", err)
	}
	q := map[string]any{"scenario": c.Scenario, "seed": c.Seed}
	if c.For > 0 {
		q["for"] = c.For.String()
	}
	return c.printRules(p, http.MethodPost, q)
}

// Run puts rules in force and prints them.
func (c *faultsAddCmd) Run(p *program) error {
	if _, err := fault.ParseAll(c.Rules); err != nil {
		return usage("faults add: %v", err)
	}
	return c.printRules(p, http.MethodPost, map[string]any{"rules": c.Rules})
}

// Run prints the rules in force.
func (c *faultsListCmd) Run(p *program) error { return c.printRules(p, http.MethodGet, nil) }

// Run removes rules and prints their number.
func (c *faultsClearCmd) Run(p *program) error {
	path := "/faults"
	if c.ID != "" {
		id, err := strconv.ParseUint(c.ID, 10, 64)
		if err != nil {
			return usage("faults clear: %q is no id: tickhive faults list shows the ids; without one all rules are "+
				"removed", c.ID)
		}
		path = fmt.Sprintf("/faults/%d", id)
	}
	var answer struct{ Removed int }
	if err := c.send(p, http.MethodDelete, path, nil, &answer); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "removed %d rules\n", answer.Removed)
	return nil
}

func (c *internalFlags) printRules(p *program, method string, q map[string]any) error {
	var answer struct {
		Rules []struct {
			ID, Matched, Applied, Skipped uint64
			Rule, Warning                 string
		}
	}
	if err := c.send(p, method, "/faults", q, &answer); err != nil {
		return err
	}
	for _, r := range answer.Rules {
		fmt.Fprintf(p.out, "%d  %s  matched=%d applied=%d skipped=%d\n", r.ID, r.Rule, r.Matched, r.Applied, r.Skipped)
		if r.Warning != "" {
			fmt.Fprintf(p.out, "    warning: %s\n", r.Warning)
		}
	}
	if len(answer.Rules) == 0 {
		fmt.Fprintln(p.out, "no fault rules are in force")
	}
	return nil
}
