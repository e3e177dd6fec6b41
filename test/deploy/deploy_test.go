package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The unit for a program that its operator installed, and that of the package, which TestTheDebianPackage checks.
func TestTheSystemdUnit(t *testing.T) {
	checkUnit(t, harness.ReadTree(t, "deploy/tickhive.service"), "/usr/local/bin/tickhive", harness.Program(t))
}

// checkUnit checks that a unit starts the program as the manual does, and that systemd finds no fault in it and little
// that the program could do beyond its work. program stands for the one that the unit names.
func checkUnit(t *testing.T, unit, named, program string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ExecStart=` + named + ` (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("no ExecStart")
	}
	args := strings.Fields(line[1])
	code, printed, errs := harness.Run(t, append([]string{"config", "print"}, args[1:]...)...)
	dir := regexp.MustCompile(`(?ms)^\[data\]$.*?^dir = '/var/lib/(.*?)'`).FindStringSubmatch(printed)
	if code != 0 || args[0] != "serve" || dir == nil || !strings.Contains(unit, "\nStateDirectory="+dir[1]+"\n") {
		t.Errorf("%s: %q is not the directory that systemd makes: %s", line[1], dir, errs)
	}
	tool := harness.NeedTool(t, "systemd-analyze")
	// systemd asks for the program.
	copied := filepath.Join(t.TempDir(), "tickhive.service")
	unit = strings.ReplaceAll(unit, named, program)
	if err := os.WriteFile(copied, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", copied},
		{"security", "--offline=true", "--no-pager", "--threshold=16", copied}, // in tenths, of 100
	} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil ||
			args[0] == "verify" && len(out) > 0 {
			t.Errorf("%s: %v: %s", args[0], err, out)
		}
	}
}

// inTree runs a command in the source tree and returns what it prints.
func inTree(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = harness.SourceTree, harness.Environ()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}
