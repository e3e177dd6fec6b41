package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

func TestFindingsInTestFilesAreLeftOut(t *testing.T) {
	fset, found := token.NewFileSet(), []string(nil)
	pass := &analysis.Pass{Fset: fset}
	for _, name := range []string{"a.go", "a_test.go"} {
		file, err := parser.ParseFile(fset, name, "package x", 0)
		if err != nil {
			t.Fatal(err)
		}
		pass.Files = append(pass.Files, file)
	}
	pass.Report = func(d analysis.Diagnostic) { found = append(found, fset.Position(d.Pos).Filename) }
	a := &analysis.Analyzer{Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			pass.Report(analysis.Diagnostic{Pos: f.Pos(), Message: "found"})
		}
		return nil, nil
	}}
	leaveOutTests(a)
	if _, err := a.Run(pass); err != nil || !slices.Equal(found, []string{"a.go"}) {
		t.Errorf("findings in %q, %v", found, err)
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
