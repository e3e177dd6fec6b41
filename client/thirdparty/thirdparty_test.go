package thirdparty

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// runTime limits one file of tests; with TICKHIVE_SOAK=1 the bots trade for botTime.
const (
	runTime = 15 * time.Minute
	botTime = 10 * time.Minute
)

// needed skips the test where something is not installed. `.ci/run` must have it.
func needed(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("TICKHIVE_STRICT") == "1" {
		t.Fatal(missing)
	}
	t.Skipf("%s: not run (TICKHIVE_STRICT=1 makes this an error)", missing)
}

// node runs one file of tests.
func node(t *testing.T, file string, env ...string) {
	t.Helper()
	limit := runTime
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		limit += botTime
		env = append(env, fmt.Sprintf("BOT_SECONDS=%.0f", botTime.Seconds()))
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	// some of the clients keep timers for connections that are closed
	c := exec.CommandContext(ctx, "node", "--test-reporter=tap", "--test-force-exit", file)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	text := noise.ReplaceAllString(string(out), "")
	if err != nil {
		t.Errorf("%s: %v\n%.20000s", file, err, text)
	}
	results := result.FindAllString(text, -1)
	t.Logf("%s: %d cases\n%s", file, len(results), strings.Join(results, "\n"))
}

// noise has what node prints of each case beside its result, result the results.
var (
	noise  = regexp.MustCompile(`(?m)^ *(---|\.\.\.|duration_ms: .*|type: 'test'|# Subtest: .*|1\.\.\d+)\n`)
	result = regexp.MustCompile(`(?m)^ *(not )?ok .*$`)
)

// The checks find planted faults. They need no package.
func TestTheChecksFindFaults(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		needed(t, "no node")
	}
	node(t, "check_test.mjs")
}

// long skips a test that runs for `make clients` only.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("TICKHIVE_CLIENTS") != "1" {
		t.Skip("run by `make clients`")
	}
}

// The clients of others work with the program. They take some time and run only for `make clients`.
func TestClients(t *testing.T) {
	long(t)
	if _, err := exec.LookPath("node"); err != nil {
		needed(t, "no node")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "ccxt")); err != nil {
		needed(t, "the packages are not installed: `npm ci` in client/thirdparty")
	}
	files, err := filepath.Glob("*_test.mjs")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		if file == "check_test.mjs" {
			continue
		}
		t.Run(file, func(t *testing.T) { node(t, file, "EXCHANGE="+serve(t)) })
	}
}

// serve starts an exchange with a demo market and returns its line of JSON.
func serve(t *testing.T) string {
	t.Helper()
	in := harness.Launch(t, nil, "serve", "--ephemeral", "--backfill", "3h", "--quiet", "--log-level", "warn")
	t.Cleanup(func() {
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 {
			t.Errorf("the program ended with %d", code)
		}
	})
	return in.WaitLine("{")
}
