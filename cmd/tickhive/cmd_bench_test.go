package main

import (
	"bytes"
	"strings"
	"testing"
)

// `tickhive bench` with any arguments names the program that measures now, and exits 2.
func TestBenchHasMoved(t *testing.T) {
	for _, args := range [][]string{{"bench"}, {"bench", "all", "--quick"}, {"bench", "compare", "a.json", "b.json"}} {
		var out, errs bytes.Buffer
		code := run(args, &program{out: &out, err: &errs})
		if code != 2 || out.Len() != 0 || !strings.Contains(errs.String(), "tickhive-bench") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, out.String(), errs.String())
		}
	}
}
