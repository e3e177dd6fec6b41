package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/bench/loadtool"
)

// Each threshold is met at its bound and on the good side, and missed (exit code 4) right behind the bound. The figures
// of the report differ, so a threshold that is compared with another figure fails.
func TestAThresholdOfLoadIsMissedRightBehindItsBound(t *testing.T) {
	const (
		us  = time.Microsecond
		met = 0
	)
	for _, test := range []struct {
		what string
		c    loadCmd
		code int
	}{
		{"p99, above", loadCmd{MaxP99: new(9901 * us)}, met},
		{"p99, equal", loadCmd{MaxP99: new(9900 * us)}, met},
		{"p99, below", loadCmd{MaxP99: new(9899 * us)}, exitThreshold},
		{"p99.9, above", loadCmd{MaxP999: new(9991 * us)}, met},
		{"p99.9, equal", loadCmd{MaxP999: new(9990 * us)}, met},
		{"p99.9, below", loadCmd{MaxP999: new(9989 * us)}, exitThreshold},
		{"errors, above", loadCmd{MaxErrors: new(2.51)}, met},
		{"errors, equal", loadCmd{MaxErrors: new(2.5)}, met},
		{"errors, below", loadCmd{MaxErrors: new(2.49)}, exitThreshold},
		{"rate, above", loadCmd{MinRate: new(87.51)}, exitThreshold},
		{"rate, equal", loadCmd{MinRate: new(87.5)}, met},
		{"rate, below", loadCmd{MinRate: new(87.49)}, met},
		{"one of two", loadCmd{MaxP99: new(time.Second), MaxErrors: new(0.)}, exitThreshold},
		{"both", loadCmd{MaxP99: new(time.Second), MaxErrors: new(100.)}, met},
		{"none", loadCmd{}, met},
	} {
		r := &loadtool.Report{ // 10 of 400 requests failed: 2 of 392 answers, and 8 that were never sent
			Answers: 392, Errors: 10, Missed: 8, WantedRate: 200, Rate: 175,
			Latencies: []loadtool.Point{
				{Percent: 90, Us: 9000},
				{Percent: 95, Us: 9500},
				{Percent: 99, Us: 9900},
				{Percent: 99.5, Us: 9950},
				{Percent: 99.9, Us: 9990},
				{Percent: 99.99, Us: 9999},
				{Percent: 100, Us: 10000},
			},
		}
		var out bytes.Buffer
		var code exitError
		if err := test.c.judge(&program{out: &out}, r, nil); err != nil && !errors.As(err, &code) {
			t.Fatal(err)
		}
		if int(code) != test.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", test.what, int(code), test.code, &out)
		}
		if missed := strings.Contains(out.String(), "MISSED"); missed != (test.code != met) {
			t.Errorf("%s: the text says missed: %t\n%s", test.what, missed, &out)
		}
	}
}

// A report that could not be written is refused before the run. A run that does not start leaves an older report as it
// was, and no new file.
func TestFilesOfLoadAreCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := os.WriteFile(old, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		json, html string
		want       string // empty: the run itself fails
	}{
		{filepath.Join(dir, "none", "a"), "", "load: --json: open "},
		{"", dir, "load: --html: open "},
		{fresh, fresh, "cannot both write to " + fresh},
		{"-", "-", "cannot both write to standard output"},
		{old, fresh, ""},
		{fresh, os.DevNull, ""},
	} {
		c := loadCmd{Target: "http://127.0.0.1:1/", Connections: 1, JSON: test.json, HTML: test.html}
		var usage usageError
		err := c.Run(&program{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
		if err == nil || errors.As(err, &usage) != (test.want != "") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	text, err := os.ReadFile(old)
	left, errs := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || errs != nil || string(text) != "older" || !slices.Equal(left, []string{old}) {
		t.Errorf("%s, %v, %v %v", text, left, err, errs)
	}
}

// What a comparison needs is named before the target, which it does not need.
func TestFlagsOfAComparisonNeedCompare(t *testing.T) {
	for want, c := range map[string]loadCmd{
		"--max-worse is for --compare: give --compare OLD.json NEW.json": {
			MaxWorse: new(10.), Reports: []string{"a", "b"},
		},
		`"a" is no flag: only --compare takes files`: {Reports: []string{"a", "b"}},
		"--target is missing":                        {},
	} {
		if _, err := c.options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
