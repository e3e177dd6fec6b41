package main

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/cmdline"
)

type versionCmd struct{}

// Run prints the version, the commit and the toolchain.
func (versionCmd) Run(p *program) error {
	fmt.Fprintln(p.out, cmdline.Build())
	return nil
}
