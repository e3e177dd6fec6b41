package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// judgeToy judges testdata/toy, with verdicts in out.
func judgeToy(t *testing.T, out string) report {
	t.Helper()
	root, err := filepath.Abs("testdata/toy")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := findMutants(root, ".")
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	r, err := judgePackage(options{root: root, out: out, jobs: 2}, packages[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerdictsOnTheToyPackage(t *testing.T) {
	out := t.TempDir()
	r := judgeToy(t, out)
	want := map[string][]string{
		survived: {
			"toy.go Clamp: kept++ -> kept--",
			"toy.go Clamp: x > most -> x >= most",
			"toy.go Down: 3 -> 3+1 in n -= 3",
			"toy.go Sum: x < 0 -> x <= 0",
			"toy.go Between: ordered(low, high) -> nil",
			"toy.go ordered: low > high -> low >= high",
		},
		notCovered: {
			"toy.go Unreached: a && b -> a",
			"toy.go Unreached: a && b -> b",
			"toy.go Unreached: a -> !a",
			"toy.go Unreached: b -> !b",
			"toy.go Between: return 0, err -> return zero values",
		},
		timedOut: {
			"toy.go Down: n -= 3 -> n += 3",  // an endless loop
			"toy.go Wait: remove go send(c)", // waits for ever
			"toy.go send: remove c <- 1",
		},
	}
	got := map[string][]string{}
	for _, m := range r.pkg.Mutants {
		if v := r.verdicts[m.Name()]; v != killed {
			got[v] = append(got[v], m.Name())
		}
	}
	for _, v := range []string{survived, notCovered, timedOut, ""} {
		if !slices.Equal(got[v], want[v]) {
			t.Errorf("%q:\n%s\nwant\n%s", v, strings.Join(got[v], "\n"), strings.Join(want[v], "\n"))
		}
	}
	for _, name := range []string{
		"toy.go Clamp: x > most -> x <= most", "toy.go Half: x / 2 -> x * 2", "toy.go Half: x < 0 -> x <= 0",
		"toy.go Half: x%2 == 1 || x < 0 -> x < 0", "toy.go Clamp: return x -> return zero values",
		"toy.go Sum: remove continue", "toy.go Between: max(x, low) -> low",
		"toy.go Sum: total += x -> total -= x",
	} {
		if v := r.verdicts[name]; v != killed {
			t.Errorf("%s: %q, want %q", name, v, killed)
		}
	}
	if len(r.left) != 0 {
		t.Errorf("tests that fail without a mutant: %q", r.left)
	}
	again(t, out, r)
}

// again judges a second time, from the results file alone, whose last line was cut off.
func again(t *testing.T, out string, first report) {
	t.Helper()
	name := filepath.Join(out, "toy.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	second := judgeToy(t, out)
	for name, v := range first.verdicts {
		if second.verdicts[name] != v {
			t.Errorf("%s: %q at first, then %q", name, v, second.verdicts[name])
		}
	}
	after, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Count(string(after), "\n"), strings.Count(string(data), "\n"); a != b {
		t.Errorf("%d lines of verdicts after the second run, want %d", a, b)
	}
}

func TestReasons(t *testing.T) {
	p := &pkg{
		Path: "toy", files: []*source{{rel: "toy.go"}},
		Mutants: []*mutant{
			{ID: 1, File: "toy.go", Func: "F", Change: "a"},
			{ID: 2, File: "toy.go", Func: "F", Change: "b"},
			{ID: 3, File: "toy.go", Func: "F", Change: "c"},
		},
	}
	verdicts := map[string]string{"toy.go F: a": survived, "toy.go F: b": killed, "toy.go F: c": notCovered}
	reasons, err := readAccepted("# It changes\n# nothing.\ntoy.go F: a\ntoy.go F: b\ntoy.go G: gone\nelse.go H: x\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := reasons.reason["toy.go F: a"]; got != "It changes nothing." {
		t.Errorf("reason %q", got)
	}
	stale := strings.Join(reasons.stale(p, verdicts), "\n")
	want := `accepted.txt:4: a test kills "toy.go F: b"; remove the row` + "\n" +
		`accepted.txt:5: there is no mutant "toy.go G: gone"; remove the row`
	if stale != want {
		t.Errorf("stale:\n%s\nwant\n%s", stale, want)
	}
	var text strings.Builder
	if printReports(&text, []report{{pkg: p, verdicts: verdicts}}, reasons) {
		t.Error("a mutant that no test reaches is not reported")
	}
	if s := text.String(); !strings.Contains(s, "not covered: F: c") || strings.Contains(s, "survived: F: a") {
		t.Errorf("report:\n%s", s)
	}
	delete(verdicts, "toy.go F: c")
	if !printReports(io.Discard, []report{{pkg: p, verdicts: verdicts}}, reasons) {
		t.Error("an accepted survivor fails the run")
	}
	for text, want := range map[string]string{
		"toy.go F: a\n":                      "has no reason",
		"# Why.\n\ntoy.go F: a\n":            "has no mutant",
		"# Why.\ntoy.go F: a\n# Why.\nb\n":   "put an empty line",
		"# Why.\ntoy.go F: a\ntoy.go F: a\n": "is in line 2 already",
	} {
		if _, err := readAccepted(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestAcceptedMutantsExist compares accepted.txt with the packages that it names. A run of
// the command also says which of its mutants a test kills.
func TestAcceptedMutantsExist(t *testing.T) {
	reasons, err := readAccepted(acceptedText)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, name := range reasons.order {
		file, _, _ := strings.Cut(name, " ")
		folders["./"+filepath.Dir(file)] = true
	}
	if len(folders) == 0 {
		return
	}
	var patterns []string
	for folder := range folders {
		patterns = append(patterns, folder)
	}
	slices.Sort(patterns)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := findMutants(root, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		for _, line := range reasons.stale(p, nil) {
			t.Error(line)
		}
	}
}
