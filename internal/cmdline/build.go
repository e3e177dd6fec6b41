package cmdline

import (
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the version of the exchange; GET /api/healthcheck returns it.
const Version = "1.0.0.0"

// HeapFloor is the size in bytes of an allocation that a program retains and never touches. It
// delays the first collection until 24 MiB more than the market's size have been allocated: a market
// of 10 MiB that changes 10,000 times a second would be collected for every 10 MiB of views. With 64 MiB
// the working set leaves the processor's cache, and a fold costs 5 % more. A higher GOGC would make a
// market of 1 GB pay with gigabytes.
const HeapFloor = 24 << 20

// Build describes this build of a program: version, commit, toolchain and platform.
func Build() string {
	return fmt.Sprintf("TickHive v%s (commit %s, %s, %s/%s)", Version, Commit(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
}

// Commit returns the first 12 digits of the revision that the binary was built from, followed
// by " with changes" when the tree had uncommitted changes. A binary without version control stamps
// has the revision "unknown".
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownRevision
	}
	revision, dirty := unknownRevision, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	return revision + dirty
}

const unknownRevision = "unknown"

// CommitHere returns Commit, or the revision of the current folder for a binary without stamps. The bench calls
// it, which runs in the tree that it measures.
func CommitHere() string {
	if c := Commit(); !strings.HasPrefix(c, unknownRevision) {
		return c
	}
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return unknownRevision
	}
	return strings.TrimSpace(string(out))
}
