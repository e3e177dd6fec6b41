package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Ctrl-C ends a run with its own exit code and leaves no scratch files.
func TestAnInterruptedRunLeavesNoFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), self, "engine", "--dir", dir, "--product", self)
	c.Env = append(os.Environ(), asProgram+"=1")
	out, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "engine (1 of 1") {
		t.Fatalf("the first line is %q", lines.Text())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d folders while it runs: %v", len(left), err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted ||
		!strings.HasPrefix(last, "stopped: ") {
		t.Errorf("%v, the last line is %q", err, last)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d folders stay behind: %v", len(left), err)
	}
}
