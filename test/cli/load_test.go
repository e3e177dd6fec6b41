package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/bench/loadtool"

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
		"--method GET --body x": "--body is for a request that has one", "--method HEAD": "--method must be",
		"--body @/nope": "--body: open /nope", "--header Accept": "--header must be",
		"--stages 1s:1": "--stages name rates and lengths", "old.json": "only --compare takes files",
		"--compare a b":                   "--compare takes two reports and no other flag",
		"--max-worse 5":                   "--max-worse is for --compare",
		"--route-p99 pairs=1s":            "--route-p99 and --route-errors are for --mix",
		"--find-max":                      "--find-max needs a threshold",
		"--find-max --rps 0 --max-p99 1s": "--rps from 1 on",
		"--json - --html -":               "cannot both write", "--pairs 3": "--pairs is for --mix",
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

// load sends a body from a file with its headers, in stages, behind a warm-up. The report has a row by route and
// compares with another one. A search for a rate that nothing meets ends with the code of a missed threshold.
func TestLoadOfARequest(t *testing.T) {
	var wrong atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Method != "PUT" || string(body) != "hello" || r.Header.Get("X-A") != "1, 2" || err != nil {
			wrong.Add(1)
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	body, report := filepath.Join(dir, "body"), filepath.Join(dir, "r.json")
	if err := os.WriteFile(body, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"load", "--quiet", "--connections", "2", "--method", "PUT", "--body", "@" + body, "--header", "X-A: 1, 2",
	}
	code, out, errs := harness.Run(t, append(args, "--target", s.URL+"/x", "--stages", "500ms:40,500ms:40",
		"--warm-up", "500ms", "--json", report)...)
	if code != 0 || !strings.Contains(out, "stages 500ms:40,500ms:40") || wrong.Load() != 0 {
		t.Errorf("exit code %d, %d wrong requests, %s %s", code, wrong.Load(), out, errs)
	}
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r loadtool.Report
	if err := json.Unmarshal(raw, &r); err != nil || r.Answers+r.Missed != 30 || r.WarmSeconds != 0.5 ||
		len(r.Routes) != 1 || r.Routes[0].Name != "PUT /x" {
		t.Errorf("the report: %s", raw)
	}
	if code, out, errs := harness.Run(t, "load", "--compare", report, report); code != 0 ||
		!strings.Contains(out, "p99, ms") || !strings.Contains(out, "PUT /x p99, ms") {
		t.Errorf("comparison: exit code %d, %s %s", code, out, errs)
	}
	slower := filepath.Join(t.TempDir(), "slower.json")
	r.Routes[0].P99Us = 2*r.Routes[0].P99Us + 1
	if raw, err = json.Marshal(r); err != nil || os.WriteFile(slower, raw, 0o600) != nil {
		t.Fatal(err)
	}
	for new, want := range map[string]int{report: 0, slower: 4} {
		if code, out, errs := harness.Run(t, "load", "--compare", "--max-worse", "50", report, new); code != want ||
			strings.Contains(out, "MISSED") != (want == 4) {
			t.Errorf("comparison with a limit: exit code %d, want %d: %s %s", code, want, out, errs)
		}
	}
	if code, _, errs := harness.Run(t, "load", "--compare", report, body); code != 2 ||
		!strings.Contains(errs, "is no report") {
		t.Errorf("comparison with no report: exit code %d, %s", code, errs)
	}
	code, out, errs = harness.Run(t, append(args, "--target", s.URL+"/bad", "--duration", "1s", "--rps", "1",
		"--find-max", "--max-errors", "10")...)
	if code != 4 || !strings.Contains(out, "search: 1/s") {
		t.Errorf("a search without a rate: exit code %d, %s %s", code, out, errs)
	}
}

// load signs any request with the key of a user.
func TestLoadOfASignedRequest(t *testing.T) {
	t.Parallel()
	f := startFaulty(t, "--set", "rate.allow=127.0.0.1")
	key := keyFile(t, f.alice)
	for target, args := range map[string][]string{
		"/api/wallets/balances": nil,
		"/api/orders":           {"--body", `{"currencyPairCode":"AA_BB","side":"buy","amount":1,"price":10}`},
	} {
		code, out, errs := harness.Run(t, append([]string{
			"load", "--quiet", "--target", f.Public + target, "--signed", key, "--rps", "20",
			"--duration", "1s", "--json", "-",
		}, args...)...)
		var r loadtool.Report // a busy machine misses some
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Answers+r.Missed != 20 ||
			r.Answers == 0 || r.Statuses != fmt.Sprint("2xx x ", r.Answers) {
			t.Errorf("%s: exit code %d, %s %s", target, code, out, errs)
		}
		if open, _ := f.ordersOfAlice(); args != nil && int64(len(open)) != r.Answers {
			t.Errorf("%d open orders after %d answers", len(open), r.Answers)
		}
	}
}

// A run that is interrupted says what it waits for, and a second interrupt ends it at once.
func TestTheSecondInterruptEndsALoadAtOnce(t *testing.T) {
	t.Parallel()
	asked, hang := make(chan struct{}, 10), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hang
	}))
	defer s.Close()
	defer close(hang)
	cmd := exec.Command(harness.Program(t), "load", "--target", s.URL, "--rps", "1", "--duration", "1h", "--quiet")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(errs).ReadString('\n')
	const want = "load: ends, and waits for the answers under way, up to 30s; Ctrl-C again ends at once, without a " +
		"report\n"
	if err != nil || line != want {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", err)
	}
}
