package main

import (
	"fmt"
	"net/http"
)

// simCmd shows and changes the behaviour of the simulated market of a running exchange
// (docs/contract/internal.md#simulated-market).
type simCmd struct {
	internalFlags
	Pause     bool   `xor:"pause" help:"Pause the market: nothing new comes, and its orders stay."`
	Resume    bool   `xor:"pause" help:"End a pause."`
	Scenario  string `placeholder:"NAME" help:"Begin a scenario now: flash-crash, trend, halt, thin-night, or none."`
	Intensity *int64 `placeholder:"PERCENT" help:"Activity in per cent, 10 to 1000."`
}

// Run changes what the flags name, and prints the behaviour.
func (c *simCmd) Run(p *program) error {
	q := map[string]any{}
	if c.Pause || c.Resume {
		q["paused"] = c.Pause
	}
	if c.Scenario != "" {
		q["scenario"] = c.Scenario
	}
	if c.Intensity != nil {
		q["intensity"] = *c.Intensity
	}
	method := http.MethodGet
	if len(q) > 0 {
		method = http.MethodPatch
	}
	var now struct {
		Enabled   bool
		Paused    bool
		Scenario  string
		Intensity int64
	}
	if err := c.send(p, method, "/sim", q, &now); err != nil {
		return err
	}
	state := "running"
	switch {
	case !now.Enabled:
		state = "none"
	case now.Paused:
		state = "paused"
	}
	_, err := fmt.Fprintf(p.out, "%s scenario=%s intensity=%d\n", state, now.Scenario, now.Intensity)
	return err
}
