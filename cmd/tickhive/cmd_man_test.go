package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/test/harness"
)

// The manual page has every command, flag and key, and troff finds no fault in it.
func TestTheManualPage(t *testing.T) {
	t.Parallel()
	var page, errs bytes.Buffer
	if code := run([]string{"man"}, &program{out: &page, err: &errs}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	parser, err := new(program).line(&cli{}).Parser()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(true) {
		if !strings.Contains(page.String(), `.SS "`+escapeTroff(n.FullPath())) {
			t.Errorf("no command %s", n.FullPath())
		}
		for _, f := range flagsOf(n) {
			if !strings.Contains(page.String(), `\fB`+escapeTroff(flagUsage(f))+`\fR`) {
				t.Errorf("no flag --%s of %s", f.Name, n.FullPath())
			}
		}
	}
	for _, k := range config.Default().Keys() {
		if !strings.Contains(page.String(), `\fB`+k.Name+`\fR`) {
			t.Errorf("no key %s", k.Name)
		}
	}
	groff := harness.NeedTool(t, "groff")
	c := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z", "-Tutf8")
	c.Stdin = &page
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
