package recipes

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// recipe matches a command of the README or the guide that a reader pastes.
var recipe = regexp.MustCompile("bin/tickhive ((?:serve|replay --format trades --pair)[^`&>\n]*)")

// span matches a backfill, which the test shortens.
var span = regexp.MustCompile(`--backfill \S+`)

// The recipes of the README and the guide work one after the other in one folder, between two runs of `make
// run` there, and a second time.
func TestTheRecipesWorkInOneFolder(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "FILE"), []byte(harness.RecordedTrades), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := []string{"serve --backfill 25h"} // make run
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, m := range recipe.FindAllStringSubmatch(all[name], -1) {
			commands = append(commands, m[1])
		}
	}
	if len(commands) < 6 {
		t.Fatalf("only %q", commands)
	}
	for range 2 {
		for _, text := range commands {
			args := strings.Fields(span.ReplaceAllString(text, "--backfill 10m"))
			replays := args[0] == "replay"
			in := harness.LaunchWith(t, func(c *exec.Cmd) { c.Dir = work }, nil,
				append(args, "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0")...)
			if strings.Contains(text, "--ephemeral") {
				in.WaitLine("{")
			} else {
				in.WaitLine("ready ")
			}
			if !replays {
				in.Signal(syscall.SIGTERM)
			}
			if code, said := in.Wait(), in.Stderr.String(); code != 0 || strings.Contains(said, "level=WARN") ||
				strings.Contains(said, "level=ERROR") {
				t.Errorf("%s: exit code %d: %s", text, code, said)
			}
		}
	}
}

// The recipe of the scenarios shows a crash: the price falls by about 10 % in the minute after half past.
func TestTheRecipeOfACrashWorks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(harness.SourceTree + "/docs/contract/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`    tickhive serve --data-dir crash (.*) &\n` +
		`    curl \S+ \S+ \S+ 127.0.0.1:8081(\S+) -d '(\S+)'\n` +
		`    curl '127.0.0.1:8080(\S+)'\n`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the recipe is not understood")
	}
	in := harness.Start(t, strings.Fields(m[1])...)
	if a := in.Do("POST", in.Root+m[2], m[3]); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var candles []struct{ Open, Min float64 }
	if err := json.Unmarshal([]byte(in.Do("GET", in.Public+m[4], "").Body), &candles); err != nil {
		t.Fatal(err)
	}
	if len(candles) != 3 {
		t.Fatalf("%d candles, want those of 12:28, 12:29 and 12:30", len(candles))
	}
	if calm, crash := candles[0].Min/candles[0].Open, candles[2].Min/candles[2].Open; calm < 0.97 || crash > 0.93 {
		t.Errorf("the price fell to %.3f before and to %.3f in the crash", calm, crash)
	}
}

// use matches the first command of a row of the README's table of uses.
var use = regexp.MustCompile("(?m)^\\| [^|`]* \\| `(bin/tickhive ([a-z]+)[^`]*)`")

// The six uses of the README work: a server becomes ready (TestTheRecipesWorkInOneFolder), the demo of a cluster shows
// one (test/cluster), another command succeeds.
func TestTheUsesOfTheReadme(t *testing.T) {
	t.Parallel()
	r := newReader(t, harness.TheDemo(t))
	uses := use.FindAllStringSubmatch(harness.ReadTree(t, "README.md"), -1)
	for _, m := range uses {
		if m[2] == "serve" || m[2] == "replay" || m[2] == "cluster" {
			continue
		}
		if out, err := r.paste("sh", m[1]); err != nil {
			t.Errorf("%s: %v: %s", m[1], err, out)
		}
	}
	if len(uses) != 6 {
		t.Errorf("%d uses: %q", len(uses), uses)
	}
}

// pasted runs the block of a page that begins so, and returns what it prints.
func pasted(t *testing.T, page, begin string) string {
	t.Helper()
	r := newReader(t, harness.TheDemo(t))
	for _, m := range block.FindAllStringSubmatch(harness.ReadTree(t, page), -1) {
		if !strings.HasPrefix(m[2], begin) {
			continue
		}
		out, err := r.paste(m[1], m[2])
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	t.Fatalf("no block of %s begins with %s", page, begin)
	return ""
}

// The recipe of a test suite works when a reader pastes it.
func TestTheRecipeOfATestSuiteWorks(t *testing.T) {
	t.Parallel()
	out := pasted(t, "docs/guide/start.md", "bin/tickhive serve --ephemeral --sim off")
	if !strings.Contains(out, `"currencyCode":"BTC","free":10000.0`) {
		t.Error(out)
	}
}

// The order that another load tool sends is accepted each time.
func TestTheOrderOfOtherLoadToolsIsValid(t *testing.T) {
	t.Parallel()
	in := harness.TheDemo(t).Of(t)
	m := regexp.MustCompile(`(?m)^hey .* -d '(.*)' http://127.0.0.1:8081/internal/v1(/orders)$`).
		FindStringSubmatch(harness.ReadTree(t, "docs/guide/load.md"))
	if m == nil {
		t.Fatal("no order")
	}
	for range 2 {
		if o := in.Call(200, "POST", m[2], m[1]); o["status"] != "Canceled" || o["endReason"] != "remainder" {
			t.Errorf("%v", o)
		}
	}
}

// The first orders wait, are filled, are listed and are canceled.
func TestTheFirstOrders(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(pasted(t, "docs/guide/trade.md", "bin/tickhive demo-key key.json")), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	for i, want := range []string{
		`^key \S+ of user`, `^"\d+"$`, `^"\d+"$`, `"status":"Completed".*"type":"stop_market"`,
		`^\[{.*"currencyPairCode":"BTC_USDT".*}\]$`, `^{"canceled":1}$`,
	} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("%s\ndoes not match %s", lines[i], want)
		}
	}
}
