package tickhivetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outsideTest is a test of a program that is not in this repository.
const outsideTest = `package bot

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/tickhivetest"
)

func TestBot(t *testing.T) {
	x := tickhivetest.Start(t)
	x.Sell("BTC_USDT", "1", "50000")
	x.Advance(time.Hour)
	book, err := x.Client().OrderBook(t.Context(), "BTC_USDT", 0)
	if err != nil || len(book.Asks) != 1 {
		t.Fatal(book, err)
	}
	t.Log("one offer at", book.Asks[0][0])
}
`

// A module of its own needs nothing but this module, which is all that it names.
func TestAModuleOutsideNeedsNothingElse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a module")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bot_test.go"), []byte(outsideTest), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir = dir
		// Only the cache of modules: the network is not asked for what this module has already.
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("mod", "init", "example.com/bot")
	run("mod", "edit", "-require=github.com/tickhive/tickhive@v0.0.0", "-replace=github.com/tickhive/tickhive="+root)
	if out := run("test", "-v", "."); !strings.Contains(out, "one offer at 50000.00") {
		t.Errorf("%s", out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), " v"); ok && strings.Contains(name, "/") &&
			!strings.Contains(line, "tickhive") && !strings.HasSuffix(strings.TrimSpace(line), "// indirect") {
			t.Errorf("go.mod names %s", line)
		}
	}
}
