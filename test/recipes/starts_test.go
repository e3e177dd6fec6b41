package recipes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// The JavaScript class starts exchanges of the program, which end with the test program.
func TestJavaScriptStarts(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), harness.NeedTool(t, "node"), harness.SourceTree+"/client/js/starts.mjs")
	c.Env = append(os.Environ(), "TICKHIVE_BINARY="+harness.Program(t))
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.8000s", err, out)
	}
}

// The tests of docs/guide/test-your-bot.md pass as they are printed but for the file of the package, and the path of
// the clone in the lines that make a module.
func TestGuideOfTestsRuns(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	text := harness.ReadTree(t, "docs/guide/test-your-bot.md")
	tree, err := filepath.Abs(harness.SourceTree)
	if err != nil {
		t.Fatal(err)
	}
	blockOf := func(t *testing.T, section, language, file string) string {
		t.Helper()
		_, part, _ := strings.Cut(text, "\n## "+section+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(part, -1)
		if len(blocks) != 1 {
			t.Fatalf("%d blocks", len(blocks))
		}
		file = filepath.Join(t.TempDir(), file)
		code := strings.ReplaceAll(blocks[0][1], "'tickhive/testing'", "'"+tree+"/client/js/testing.mjs'")
		code = strings.ReplaceAll(code, "PATH/TO/tickhive", tree)
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	run := func(t *testing.T, want, program string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), harness.NeedTool(t, program), args...)
		c.Dir = tree
		c.Env = append(os.Environ(), "TICKHIVE_BINARY="+harness.Program(t), "PYTHONDONTWRITEBYTECODE=1",
			"PYTHONPATH="+tree+"/client/python", "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"), "GOPROXY=off",
			"GOSUMDB=off", "GOWORK=off") // the caches alone, not the network
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %q\n%s", err, want, out)
		}
	}
	t.Run("go", func(t *testing.T) {
		file := blockOf(t, "Go", "go", "bot_test.go")
		run(t, "--- PASS: TestAnOrderIsPlacedOnceOnABadLine", "sh", "-ec", "cd \"$1\"\n. \"$2\"\ngo test -v .", "sh",
			filepath.Dir(file), blockOf(t, "Go", "sh", "module.sh"))
		namesThisModuleAlone(t, filepath.Join(filepath.Dir(file), "go.mod"))
	})
	t.Run("js", func(t *testing.T) {
		run(t, "# pass 1\n", "node", "--test-reporter=tap", blockOf(t, "JavaScript", "js", "bot.mjs"))
	})
	t.Run("python", func(t *testing.T) {
		file := blockOf(t, "Python", "python", "test_bot.py")
		run(t, "Ran 1 test", "python3", "-m", "unittest", "discover", "-v", "-s", filepath.Dir(file))
	})
}

// namesThisModuleAlone checks that a module outside this repository names no other one than this: what else it needs
// comes with it.
func namesThisModuleAlone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		name, _, ok := strings.Cut(line, " v")
		if !ok || !strings.Contains(name, "/") || strings.HasSuffix(line, "// indirect") {
			continue
		}
		if named++; name != "github.com/tickhive/tickhive" {
			t.Errorf("go.mod names %s", line)
		}
	}
	if named != 1 {
		t.Errorf("go.mod names %d modules:\n%s", named, text)
	}
}
