package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
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
	code, out, errs := harness.Run(t, append(args, "--max-errors", "100", "--json", file, "--html", page)...)
	if code != 0 || !strings.Contains(out, "50/s wanted, 2 connections") {
		t.Errorf("exit code %d, %s %s", code, out, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil || harness.Object(t, string(raw))["wantedRate"] == nil {
		t.Errorf("%v, %s", err, raw)
	}
	if raw, err = os.ReadFile(page); err != nil || !strings.Contains(string(raw), "<svg ") {
		t.Errorf("%v, %s", err, raw)
	}
	code, out, errs = harness.Run(t, append(args, "--quiet", "--json", "-", "--max-p99", "1ns")...)
	if code != 4 || errs != "" || harness.Object(t, out)["thresholds"].([]any)[0].(map[string]any)["ok"] != false {
		t.Errorf("a missed threshold: exit code %d, %s %s", code, out, errs)
	}
	if code, _, errs := harness.Run(t, append(args, "--rps=-1")...); code != 2 ||
		!strings.Contains(errs, "--rps must be") {
		t.Errorf("a wrong rate: exit code %d, %s", code, errs)
	}
	if code, _, errs := harness.Run(t, "load", "--target", "http://example.com/"); code != 2 ||
		!strings.Contains(errs, "--remote") {
		t.Errorf("another machine: exit code %d, %s", code, errs)
	}
	for flags, want := range map[string]string{
		"--json - --html -": "cannot both write", "--pairs 3": "--pairs is for --mix",
		"--max-errors=-1": "--max-errors", "--min-rate 90 --rps 0": "--rps 0 wants no rate",
	} {
		if code, _, errs := harness.Run(t, append(args, strings.Fields(flags)...)...); code != 2 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s", flags, code, errs)
		}
	}
	if code, out, _ := harness.Run(t, append(args, "--html", "-")...); code != 0 ||
		!strings.HasPrefix(out, "<!doctype html>") {
		t.Errorf("a page on standard output: exit code %d, %.60s", code, out)
	}
	s.Close()
	if code, _, errs := harness.Run(t, args...); code != 1 || !strings.Contains(errs, "connection refused") {
		t.Errorf("no server: exit code %d, %s", code, errs)
	}
}
