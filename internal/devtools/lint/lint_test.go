package main

import (
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

// runOn applies an analyzer that reports one finding in each file of a package but clean ones.
func runOn(t *testing.T, name, importPath string, tests bool, files ...string) (messages []string) {
	t.Helper()
	fset := token.NewFileSet()
	pass := &analysis.Pass{Fset: fset, Pkg: types.NewPackage(importPath, "x")}
	for _, file := range files {
		tree, err := parser.ParseFile(fset, file, "package x", 0)
		if err != nil {
			t.Fatal(err)
		}
		pass.Files = append(pass.Files, tree)
	}
	pass.Report = func(d analysis.Diagnostic) { messages = append(messages, d.Message) }
	a := &analysis.Analyzer{Name: name, Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			if !strings.Contains(fset.Position(f.Pos()).Filename, "clean") {
				pass.Report(analysis.Diagnostic{Pos: f.Pos(), Message: "found"})
			}
		}
		return nil, nil
	}}
	ratchet(a, tests)
	if _, err := a.Run(pass); err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestOpenPackagesAreSilentUntilTheyAreClean(t *testing.T) {
	before := open
	defer func() { open = before }()
	open = map[string][]string{"fake": {"old"}}
	for _, c := range []struct {
		path  string
		tests bool
		files []string
		want  string
	}{
		{"tickhive/fresh", false, []string{"a.go"}, "found"},
		{"tickhive/fresh [tickhive/fresh.test]", false, []string{"a.go"}, "found"},
		{"tickhive/older", false, []string{"a.go"}, "found"},
		{"tickhive/old", false, []string{"a.go"}, ""},
		{"tickhive/old [tickhive/old.test]", false, []string{"a.go", "a_test.go"}, ""},
		{"tickhive/old", false, []string{"clean.go"}, "fake finds nothing here: " + closeRow},
		{"tickhive/fresh", false, []string{"a_test.go"}, ""},
		{"tickhive/fresh", true, []string{"a_test.go"}, "found"},
	} {
		if got := strings.Join(runOn(t, "fake", c.path, c.tests, c.files...), "; "); got != c.want {
			t.Errorf("%s %v, tests %v: %q, want %q", c.path, c.files, c.tests, got, c.want)
		}
	}
}

func TestShrinkLeavesWhatIsNotOpen(t *testing.T) {
	before := open
	defer func() { open = before }()
	open = map[string][]string{"fake": {"old/one", "old/two"}}
	got := shrink("fake", []string{"old/one/a.go:1:2: unused", "fresh/a.go:3:4: unused"})
	want := []string{"fresh/a.go:3:4: unused", "old/two: fake finds nothing here: " + closeRow}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMisspelledWordsAreFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const wrong = "rec" + "ieve"
	names := []string{
		write("a.md", "We "+wrong+" it.\n"),
		write("b.go", "package b // we "+wrong+" it\n"),
		write("c.go", "package c\n\nvar "+wrong+" int\n"), // code, no comment
		write("d.bin", "\x00 "+wrong),
		filepath.Join(dir, "gone.md"),
	}
	found, err := misspelled(strings.NewReader(strings.Join(names, "\n") + "\n"))
	if err != nil || len(found) != 2 || !strings.HasPrefix(found[0], names[0]+":1:3: ") ||
		!strings.HasPrefix(found[1], names[1]+":1:") {
		t.Errorf("%q, %v", found, err)
	}
}

func TestTheGoCommandIsRecognized(t *testing.T) {
	for line, want := range map[string]bool{
		"-V=full": true, "-flags": true, "-json /tmp/x/vet.cfg": true,
		"": false, "unparam ./...": false, "misspell": false,
	} {
		if got := vetCalls(strings.Fields(line)); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
