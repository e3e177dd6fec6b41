package main

import "fmt"

// movedBenchCmd reports that `tickhive bench` is now the program tickhive-bench, and exits 2.
type movedBenchCmd struct {
	Args []string `arg:"" optional:""`
}

// Run prints the command to use instead.
func (movedBenchCmd) Run(p *program) error {
	fmt.Fprintln(p.err,
		"tickhive: the benchmarks are now in the program tickhive-bench: `make bench` builds and runs it "+
			"(`tickhive bench http` is now `bin/tickhive-bench http`)")
	return exitError(2)
}
