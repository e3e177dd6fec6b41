package tidy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readTree reads every Markdown file that git knows, new ones included.
func readTree(t *testing.T) *Tree {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		t.Skip("not a git checkout: there is no list of files")
	}
	tree := &Tree{Root: root, Pages: map[string]*Page{}}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		tree.Pages[name] = ParsePage(name, string(text))
	}
	if len(tree.Pages) < 20 {
		t.Fatalf("only %d pages were found", len(tree.Pages))
	}
	return tree
}

func TestLinksLeadSomewhere(t *testing.T) {
	tree := readTree(t)
	for _, p := range tree.Pages {
		for _, line := range append(tree.Links(p), tree.CodePaths(p)...) {
			t.Error(line)
		}
	}
	files, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, line := range tree.References(f) {
			t.Error(line)
		}
	}
}

// Every page of the contract is in the map of its README.
func TestTheContractHasAMap(t *testing.T) {
	tree := readTree(t)
	readme := strings.Join(tree.Pages["docs/contract/README.md"].Lines, "\n")
	for name := range tree.Pages {
		file, ok := strings.CutPrefix(name, "docs/contract/")
		if !ok || file == "README.md" {
			continue
		}
		if !strings.Contains(readme, "]("+file+")") {
			t.Errorf("%s is not in the map of docs/contract/README.md", name)
		}
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	tree := &Tree{Root: root, Pages: map[string]*Page{
		"docs/b.md": ParsePage("docs/b.md", "# Of X-Seq, `a` and b\n## Two\n## Two\n<a id=\"own\"></a>\n"),
	}}
	for _, c := range []struct {
		line string
		dead int
	}{
		{
			"[x](b.md) [x](b.md#of-x-seq-a-and-b) [x](b.md#two-1) [x](b.md#own) [x](../go.mod) " +
				"[x](https://x.example/y)",
			0,
		},
		{"[x](b.md#two-2)", 1},
		{"[x](c.md) ![x](shots/none.png)", 2},
		{"`[x](c.md)`", 0},
		{"```\n[x](c.md)\n```", 0},
		{"text\n\n    [x](c.md)\n", 0},
		{"[x](../../outside)", 1},
	} {
		if got := tree.Links(ParsePage("docs/a.md", c.line)); len(got) != c.dead {
			t.Errorf("%q: %d dead links, want %d: %v", c.line, len(got), c.dead, got)
		}
	}
	text := "package x\n\n// See docs/b.md#two and docs/b.md#three, docs/no.md.\nvar X int\n"
	f, err := Parse("engine/x.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := tree.References(f); len(got) != 2 || !strings.HasPrefix(got[0], "engine/x.go:3: docs/b.md#three: ") {
		t.Error(got)
	}
}

func TestPathsOfCodeThatIsNotThereAreFound(t *testing.T) {
	tree := &Tree{Root: root}
	for line, dead := range map[string]int{
		"`internal/tidy/links.go:CodePaths`, `notices.go`, `links.go:Tree`": 0,
		"`meta.json` and `engine.wal`":                                      0,
		"`internal/tidy/gone.go`":                                           1,
		"`internal/tidy/links.go`, `gone.go`":                               1,
		"`internal/tidy/links.go:Gone`":                                     1,
		"`links.go`":                                                        1,
	} {
		if got := tree.CodePaths(ParsePage("docs/internals/x.md", line)); len(got) != dead {
			t.Errorf("%s: %v, want %d", line, got, dead)
		}
	}
	if got := tree.CodePaths(ParsePage("docs/contract/x.md", "`internal/gone.go`")); got != nil {
		t.Error("a page that names no files is checked:", got)
	}
}
