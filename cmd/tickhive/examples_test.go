package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every command shows at least two examples, and each of them is a command line that the program takes.
func TestEveryCommandHasExamplesThatItTakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"day.csv.gz", "key.json", "before.snap"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The shell splits the line and opens no file: programs and files of the examples are here.
	for _, folder := range []string{".config/fish/completions", "data"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	parser, err := new(program).line(&cli{}).Parser()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = kong.Visit(parser.Model.Node, func(at kong.Visitable, next kong.Next) error {
		n, ok := at.(*kong.Node)
		if !ok || n.Hidden {
			return nil
		}
		all, path := commandExamples[n.FullPath()], n.FullPath()
		if len(all) > 0 {
			seen++
		}
		if len(n.Children) == 0 && len(all) < 2 || strings.Count(n.Detail, "  # ") < min(2, len(n.Children)+2) {
			t.Errorf("%s has %d examples:\n%s", path, len(all), n.Detail)
		}
		for _, e := range all {
			takesExample(t, path, e.Text)
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen != len(commandExamples) {
		t.Errorf("%d examples are of commands that do not exist", len(commandExamples)-seen)
	}
}

// takesExample parses the command lines of the program in an example.
func takesExample(t *testing.T, path, text string) {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(wd, "said")
	script := `tickhive() { printf '%s\n' "$@" > "$SAID"; }; sudo() { shift 2; "$@"; }; less() { cat; }; ` +
		`openssl() { cat; }; man() { cat; }; ` + text
	c := exec.CommandContext(t.Context(), "bash", "-euc", script)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "SAID=" + said, "HOME=" + wd}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %s: %v: %s", path, text, err, out)
		return
	}
	args, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Split(strings.TrimSuffix(string(args), "\n"), "\n")
	if line[0] == "help" || line[0] == "--version" {
		return
	}
	if name := strings.TrimPrefix(path, "tickhive"); !strings.HasPrefix(" "+strings.Join(line, " "), name) {
		t.Errorf("%s: %s is another command", path, text)
	}
	parsed(t, seekArgs(line)) // as main does
}
