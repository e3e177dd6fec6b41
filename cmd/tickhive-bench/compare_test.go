package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/bench/report"
)

// saved writes a report of one measure and returns its file.
func saved(t *testing.T, name string, figures ...float64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	r := &report.Report{Format: report.Format, Scenarios: []*report.Scenario{{
		Name: "engine", Measures: []*report.Measure{{Name: "w1", Unit: "ns/op", Product: figures}},
	}}}
	if err := r.Save(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// compare exits 1 on a regression beyond the noise, 0 without one, and returns an error when a
// file is not a report.
func TestBenchCompareExitCode(t *testing.T) {
	before, same, slower := saved(t, "a.json", 100, 101, 103), saved(t, "b.json", 102, 103, 104),
		saved(t, "c.json", 121, 122, 124)
	for _, c := range []struct {
		a, b string
		code int
		says string
	}{
		{before, same, 0, "0 of 1 figures are worse"},
		{before, slower, 1, "REGRESSION"},
		{slower, before, 0, "better"},
		{before, filepath.Join(t.TempDir(), "none.json"), 1, "no such file"},
	} {
		var out bytes.Buffer
		code := run([]string{"compare", c.a, c.b}, &program{out: &out, err: &out})
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("compare %s %s: exit %d\n%s", filepath.Base(c.a), filepath.Base(c.b), code, out.String())
		}
	}
}

// An unknown scenario is refused before anything runs.
func TestBenchKnowsItsScenarios(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"everything"}, &program{out: &out, err: &out}); code != 2 {
		t.Errorf("exit %d\n%s", code, out.String())
	}
}
