package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The command of the README for a clone puts a program on the path that runs, and nothing else.
func TestGoInstallPutsTheProgramOnThePath(t *testing.T) {
	harness.Long(t)
	const command = "go install ./cmd/tickhive"
	if !strings.Contains(harness.ReadTree(t, "README.md"), "`"+command+"`") {
		t.Fatalf("README.md does not name %s", command)
	}
	bin := t.TempDir()
	words := strings.Fields(command)
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	// As the tests themselves were built: the profile doubles the time.
	c.Dir, c.Env = harness.SourceTree, append(harness.Environ(), "GOBIN="+bin, "GOFLAGS=-trimpath -pgo=off")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := os.ReadDir(bin)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %q", err, files)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "tickhive"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "TickHive v") {
		t.Errorf("%v: %s", err, out)
	}
}
