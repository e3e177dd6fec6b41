package main

import (
	"tickhive/bench/report"
	"tickhive/internal/cmdline"
)

// compareCmd compares two reports.
type compareCmd struct {
	Before string `arg:"" help:"JSON report."`
	After  string `arg:"" help:"JSON report."`
}

// Run prints the change of every measure that both reports have. It exits 1 on a regression beyond the noise of
// both.
func (b *compareCmd) Run(p *program) error {
	before, err := report.Load(b.Before)
	if err != nil {
		return err
	}
	after, err := report.Load(b.After)
	if err != nil {
		return err
	}
	n, err := report.WriteComparison(p.out, before, after)
	if err != nil {
		return err
	}
	if n > 0 {
		return cmdline.ExitError(1)
	}
	return nil
}
