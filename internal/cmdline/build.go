package cmdline

import (
	"os/exec"
	"runtime/debug"
	"strings"
)

// Version is the version of the exchange; GET /api/healthcheck returns it.
const Version = "1.0.0.0"

// HeapFloor is the size in bytes of an allocation that a program retains and never touches. It
// delays the first collection until 24 MiB more than the market's size have been allocated;
// docs/adr/0011-heap-floor-of-24-mib.md has the measurements.
const HeapFloor = 24 << 20

// Commit returns the first 12 digits of the revision that the binary was built from, followed
// by " with changes" when the tree had uncommitted changes. For a binary without version
// control stamps it asks git about the current folder. If git fails too, the revision is
// "unknown".
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if revision == "unknown" {
		if out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output(); err == nil {
			revision = strings.TrimSpace(string(out))
		}
	}
	return revision + dirty
}
