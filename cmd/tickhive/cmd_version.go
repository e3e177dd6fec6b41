package main

import (
	"fmt"
	"runtime"

	"tickhive/internal/cmdline"
)

type versionCmd struct{}

// Run prints the version and the toolchain.
func (versionCmd) Run(p *program) error {
	fmt.Fprintf(p.out, "TickHive v%s (%s, %s/%s)\n", cmdline.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
