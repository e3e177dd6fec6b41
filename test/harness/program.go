package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// edition is the program as go build makes it, or with one place of its source replaced.
type edition struct{ name, file, place, instead string }

var (
	present = edition{name: "tickhive"}
	// next is the next version of the program, whose records the present one does not know.
	next = edition{"next", "internal/node/rules.go", "const Rules = uint16(", "const Rules = 1 + uint16("}
)

// AsNext in the environment of a started program selects the next edition of it.
const AsNext = "TEST_EDITION=next"

// editionOf returns the edition that an environment selects, and the environment without the selection.
func editionOf(env []string) (edition, []string) {
	e := present
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		if s == AsNext {
			e = next
		}
		return s == AsNext
	})
	return e, env
}

// testSwitches are variables of the tests. They are no keys, so the program would refuse them.
var testSwitches = []string{
	"TICKHIVE_SOAK", "TICKHIVE_STRICT", "TICKHIVE_SHOTS", "TICKHIVE_BENCH",
	"TICKHIVE_BENCH_DIR", "TICKHIVE_CLIENTS", "TICKHIVE_LONG",
}

// Environ returns the environment of a started program.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(testSwitches, name)
	})
}

// programs are the files of the editions that this process has built.
var programs struct{ sync.Map } // edition name: func() (string, error)

// Program returns the file of the built program.
func Program(t testing.TB) string {
	t.Helper()
	return present.build(t)
}

// Prepare builds the program that an environment selects, so that a start within a load does not wait for the compiler.
func Prepare(t testing.TB, env []string) {
	t.Helper()
	e, _ := editionOf(env)
	e.build(t)
}

func (e edition) build(t testing.TB) string {
	t.Helper()
	once, _ := programs.LoadOrStore(e.name, sync.OnceValues(e.make))
	file, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// make builds an edition in bin/test, as the test itself was built. Packages of tests that run at the same time build
// it in turn: the first one links it, and the others find that it is up to date.
func (e edition) make() (string, error) {
	dir, err := filepath.Abs(SourceTree + "/bin/test")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, e.name)
	args := []string{"build", "-pgo=off", "-buildvcs=false", "-ldflags=-w"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Value == "true" && (s.Key == "-race" || s.Key == "-trimpath") {
				args, file = append(args, s.Key), file+s.Key
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o644) // unchanged: go test sees what a test opens
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if e.file != "" {
		overlay, err := e.overlay(file)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay="+overlay)
	}
	if _, err := goTool(append(args, "-o", file, "./cmd/tickhive")...); err != nil {
		return "", err
	}
	return file, watchSources()
}

// overlay writes the source of an edition beside its file, and returns the file that tells go build of it.
func (e edition) overlay(file string) (string, error) {
	name, err := filepath.Abs(filepath.Join(SourceTree, e.file))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(e.place)) != 1 {
		return "", fmt.Errorf("%s has not one %s", name, e.place)
	}
	text = bytes.Replace(text, []byte(e.place), []byte(e.instead), 1)
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{name: file + ".source"}})
	if err != nil {
		return "", err
	}
	if err := keep(file+".source", text); err != nil {
		return "", err
	}
	return file + ".json", keep(file+".json", list)
}

// keep writes a file, unless it is so: go test repeats no result of a test whose files have changed.
func keep(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(file, text, 0o644)
}

// watchSources lists the folders of the program's sources. go test keeps the result of a test until a file or a folder
// changes that the test has read, and a test that starts the program imports none of them.
func watchSources() error {
	list, err := goTool("list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}/.\n"+
		"{{range .EmbedFiles}}{{$.Dir}}/{{.}}\n{{end}}{{end}}{{end}}", "./cmd/tickhive")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range strings.Fields(list) {
		folder := name[:strings.LastIndex(name, "/")]
		if seen[folder] {
			continue
		}
		seen[folder] = true
		if _, err := os.ReadDir(folder); err != nil {
			return err
		}
	}
	return nil
}

// goTool runs the go command in the source tree.
func goTool(args ...string) (string, error) {
	c := exec.Command("go", args...)
	var errs bytes.Buffer
	c.Dir, c.Stderr = SourceTree, &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}

// Command returns a command line of the built program.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(Program(t), args...)
	c.Env = Environ()
	return c
}

// Run runs the program to its end, and returns exit code and output.
func Run(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	c := Command(t, args...)
	c.Stdout, c.Stderr = &o, &e
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), o.String(), e.String()
}
