package tidy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// rules are those that look at one file.
var rules = map[string]func(*File) []string{
	"imports": Imports, "floats": Floats, "goroutines": Goroutines, "locks": Locks, "globals": Globals,
	"http": DomainHTTP, "json": JSONTags,
}

// wholeRules are those that look at all files together.
var wholeRules = []func([]*File) []string{PackageDocs}

func TestTheTreeIsTidy(t *testing.T) {
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files were read: the root is wrong", len(files))
	}
	for _, f := range files {
		for _, rule := range rules {
			for _, line := range rule(f) {
				t.Error(line)
			}
		}
	}
	for _, rule := range wholeRules {
		for _, line := range rule(files) {
			t.Error(line)
		}
	}
}

func TestTrackedFilesSayNothingStray(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		t.Skip("not a git checkout: there is no list of tracked files")
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed and not committed yet
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, line := range Text(name, text) {
			t.Error(line)
		}
	}
}

func TestEachRuleFindsAPlantedViolation(t *testing.T) {
	for _, c := range []struct{ rule, file, code string }{
		{"imports", "engine/x.go", `import "github.com/tickhive/tickhive/marketdata"`},
		{"imports", "engine/x.go", `import "github.com/tickhive/tickhive/server"`},
		{"imports", "engine/x.go", `import "github.com/tickhive/tickhive/internal/wal"`},
		{"imports", "engine/sequencer/x.go", `import "github.com/tickhive/tickhive/marketdata"`},
		{"imports", "internal/machine/x.go", `import "github.com/tickhive/tickhive/internal/wal"`},
		{"imports", "internal/machine/x.go", `import "crypto/rand"`},
		{"imports", "internal/machine/x.go", `import "time"`},
		{"imports", "hive/x.go", `import "os"`},
		{"imports", "accounts/x.go", `import "github.com/tickhive/tickhive/internal/wal"`},
		{"imports", "accounts/x.go", `import "github.com/tickhive/tickhive/internal/clock"`},
		{"imports", "accounts/auth/x.go", `import "crypto/rand"`},
		{"imports", "marketdata/x.go", `import "math/rand/v2"`},
		{"goroutines", "engine/loop_x.go", `func f() { go f() }`},
		{"imports", "accounts/x.go", `import "github.com/tickhive/tickhive/marketdata"`},
		{"imports", "launchpad/x.go", `import "github.com/tickhive/tickhive/hive"`},
		{"imports", "client/x.go", `import "github.com/tickhive/tickhive/internal/fixed"`},
		{"imports", "bench/x.go", `import "github.com/tickhive/tickhive/sim"`},
		{"imports", "engine/x.go", `import "github.com/tickhive/tickhive/internal/exchange"`},
		{"imports", "server/x.go", `import "github.com/tickhive/tickhive/internal/exchange"`},
		{"imports", "internal/wal/x.go", `import "github.com/tickhive/tickhive/internal/exchange"`},
		{"imports", "server/x.go", `import "github.com/tickhive/tickhive/internal/datadir"`},
		{"imports", "accounts/x.go", `import "github.com/tickhive/tickhive/internal/entry"`},
		{"imports", "internal/stream/x.go", `import "github.com/tickhive/tickhive/internal/clock"`},
		{"imports", "internal/stream/x.go", `import "github.com/nats-io/nats.go"`},
		{"imports", "cmd/tickhive/x_test.go", `import "github.com/nats-io/nats-server/v2/server"`},
		{"imports", "elsewhere/x.go", `import "fmt"`},
		{"floats", "engine/x.go", `var x float64`},
		{"floats", "hive/x.go", `const x = 0.5`},
		{"floats", "server/edge/x.go", `var x float64`},
		{"locks", "server/public/x.go", `import "sync"; var x sync.Once`},
		{"goroutines", "marketdata/x.go", `func f() { go f() }`},
		{"locks", "marketdata/x.go", `import "sync"; type x struct { mu sync.Mutex }`},
		{"locks", "server/public/x.go", `func f() chan int { return nil }`},
		{"locks", "aggregator/x.go", `func f() { select {} }`},
		{"globals", "engine/x.go", `import "sync"; var mu sync.Mutex`},
		{"globals", "engine/x.go", `import "sync/atomic"; var n atomic.Int64`},
		{"http", "hive/x.go", `import "net/http"; var status = http.StatusConflict`},
		{"http", "launchpad/x.go", `import "github.com/valyala/fasthttp"; var status = fasthttp.StatusConflict`},
		{"json", "marketdata/x.go", "type x struct { N int `toml:\"n\" json:\"n\"` }"},
	} {
		f, err := Parse(c.file, []byte("package x\n"+c.code+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if len(rules[c.rule](f)) == 0 {
			t.Errorf("%s: not found in %s: %.60s", c.rule, c.file, c.code)
		}
	}
}

func TestRulesLeaveWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ file, code string }{
		{"server/account/x.go", `import "github.com/tickhive/tickhive/accounts"`},
		{"cmd/tickhive/x.go", `import "time"; func f() { go f(); _ = time.Now() }`},
		{"engine/x_test.go", `import "github.com/tickhive/tickhive/marketdata"; var x float64`},
		{"engine/sequencer/loop_x.go", `func f() { go f() }`},
		{"hive/x.go", "// MaxComment bounds a comment.\nconst MaxComment = 500"},
		{"server/x.go", "var status, tag = 503, struct{ N int `json:\"n\"` }{}"},
		{"sim/stats/x.go", "// X is.\nvar X float64"},
		{"marketdata/x.go", "// V is.\ntype V struct { n int }\nfunc (v *V) String() string { return \"\" }"},
	} {
		f, err := Parse(c.file, []byte("package x\n"+c.code+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		for name, rule := range rules {
			if got := rule(f); len(got) > 0 {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

func TestPackageDocsAreAskedFor(t *testing.T) {
	short, err := Parse("engine/doc.go", []byte("// Package engine.\npackage engine\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(PackageDocs([]*File{short})) != 1 {
		t.Error("a doc.go that says nothing is taken")
	}
}

func TestStrayTextIsFound(t *testing.T) {
	for _, s := range []string{
		"// TO" + "DO: later", "see /w" + "ork/main", "not " + "implemented",
		"by Chat" + "GPT",
	} {
		if len(Text("x.go", []byte("a\n"+s+"\n"))) != 1 {
			t.Errorf("%q is not found", s)
		}
	}
	for _, s := range []string{"workshop/", "the network/layer", "rooted", "GET /api/tickers"} {
		if got := Text("x.go", []byte(s)); len(got) > 0 {
			t.Errorf("%v", got)
		}
	}
}
