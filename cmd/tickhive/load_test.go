package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tickhive/bench/loadtool"
)

// load prints a report, writes it as JSON and as a page, and tells a missed threshold (4) from a wrong command line
// (2) and a server that is not there (1) by the exit code.
func TestLoad(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	}))
	dir := t.TempDir()
	file, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	args := []string{"load", "--target", s.URL + "/x", "--rps", "50", "--duration", "1s", "--connections", "2"}
	code, out, errs := subcommand(append(args, "--max-errors", "100", "--json", file, "--html", page)...)
	if code != 0 || !strings.Contains(out, "50/s wanted, 2 connections") {
		t.Errorf("exit code %d, %s %s", code, out, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil || object(t, string(raw))["wantedRate"] == nil {
		t.Errorf("%v, %s", err, raw)
	}
	if raw, err = os.ReadFile(page); err != nil || !strings.Contains(string(raw), "<svg ") {
		t.Errorf("%v, %s", err, raw)
	}
	code, out, errs = subcommand(append(args, "--quiet", "--json", "-", "--max-p99", "1ns")...)
	if code != 4 || errs != "" || object(t, out)["thresholds"].([]any)[0].(map[string]any)["ok"] != false {
		t.Errorf("a missed threshold: exit code %d, %s %s", code, out, errs)
	}
	if code, _, errs := subcommand(append(args, "--rps=-1")...); code != 2 ||
		!strings.Contains(errs, "--rps must be") {
		t.Errorf("a wrong rate: exit code %d, %s", code, errs)
	}
	if code, _, errs := subcommand("load", "--target", "http://example.com/"); code != 2 ||
		!strings.Contains(errs, "--remote") {
		t.Errorf("another machine: exit code %d, %s", code, errs)
	}
	for flags, want := range map[string]string{
		"--json - --html -": "cannot both write", "--pairs 3": "--pairs is for --mix",
		"--max-errors=-1": "--max-errors", "--min-rate 90 --rps 0": "--rps 0 wants no rate",
	} {
		if code, _, errs := subcommand(append(args, strings.Fields(flags)...)...); code != 2 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s", flags, code, errs)
		}
	}
	if code, out, _ := subcommand(append(args, "--html", "-")...); code != 0 ||
		!strings.HasPrefix(out, "<!doctype html>") {
		t.Errorf("a page on standard output: exit code %d, %.60s", code, out)
	}
	s.Close()
	if code, _, errs := subcommand(args...); code != 1 || !strings.Contains(errs, "connection refused") {
		t.Errorf("no server: exit code %d, %s", code, errs)
	}
}

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
