package tidy

import (
	"strings"
	"testing"
)

func TestReferencesAreLinks(t *testing.T) {
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, f := range files {
		for _, line := range OldReferences(f) {
			t.Error(line)
		}
		links += strings.Count(string(f.Text), "docs/contract/")
	}
	if links < 200 {
		t.Errorf("only %d links into the contract were found", links)
	}
}

func TestReferencesThatAreNoLinksAreFound(t *testing.T) {
	for comment, found := range map[string]int{
		"// X is wrong (Decisions section 2.1).":                 1,
		"// X is wrong (Decisions\n// section 2.1).":             1,
		"// Decisions 11.2, 11.3: X is wrong.":                   1,
		"/* X is wrong\nby Decisions sections 1.5 and 2.7. */":   1,
		"// X is the limit of api.md, \"Limits\".":               1,
		"// matching.md 36: X is wrong.":                         1,
		"// X has a goal (performance.md, H10) and another one.": 1,
		"// X is as decisions.md and api.md say.":                1,
		"// X is the limit of docs/contract/api.md#limits.":      0,
		"// docs/contract/matching.md#case-36: X is right.":      0,
		"// Decisions are values; RFC 9110 section 5.3 is not.":  0,
		"// X reads internal/wal/FORMAT.md.":                     0,
	} {
		f, err := Parse("engine/x.go", []byte("package x\n\n"+comment+"\nvar X = \"api.md\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := OldReferences(f); len(got) != found || found > 0 && !strings.HasPrefix(got[0], "engine/x.go:") {
			t.Errorf("%q: %v, want %d", comment, got, found)
		}
	}
}
