package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tickhive/tickhive/internal/setting"
)

// clockCmd shows the clock of a running exchange, and moves a virtual one (docs/contract/internal.md#clock-and-state).
type clockCmd struct {
	internalFlags
	Advance setting.Duration `xor:"move" placeholder:"DURATION" help:"Move a virtual clock on, for example 1h."`
	Speed   *int64           `xor:"move" placeholder:"N" help:"Let a virtual clock run, N seconds in each second, at most 86400; 0 stops it."`
}

// Run moves the clock as the flags say, and prints it.
func (c *clockCmd) Run(p *program) error {
	method, q := http.MethodGet, map[string]any{}
	switch {
	case c.Speed != nil:
		method, q["speed"] = http.MethodPost, *c.Speed
	case c.Advance != 0:
		method, q["advance"] = http.MethodPost, c.Advance.String()
	}
	var now struct {
		NowNs   int64
		Virtual bool
		Speed   int64
	}
	if err := c.send(p, method, "/clock", q, &now); err != nil {
		return err
	}
	kind := "real"
	if now.Virtual {
		kind = "virtual"
	}
	_, err := fmt.Fprintf(p.out, "%s %s speed=%d\n", time.Unix(0, now.NowNs).UTC().Format(time.RFC3339Nano), kind,
		now.Speed)
	return err
}
