package tidy

import (
	"fmt"
	"strings"
	"testing"
)

// planted parses a tree of made files: path to text without the package clause.
func planted(t *testing.T, texts map[string]string) (files []*File) {
	t.Helper()
	for name, text := range texts {
		f, err := Parse(name, []byte("package x\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func TestLargeThingsAreFound(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	manyFiles := func(n int) map[string]string {
		texts := map[string]string{}
		for i := range n {
			texts[fmt.Sprintf("fresh/f%02d.go", i)] = ""
		}
		return texts
	}
	long := map[string]string{}
	for i := range 13 {
		long[fmt.Sprintf("fresh/f%02d.go", i)] = strings.Repeat("\n", maxFileLines-1)
	}
	for _, c := range []struct {
		name  string
		texts map[string]string
		want  string
	}{
		{
			"a long file",
			map[string]string{"fresh/a.go": strings.Repeat("\n", maxFileLines)},
			"fresh/a.go has 401 lines",
		},
		{
			"a long test",
			map[string]string{"fresh/a_test.go": strings.Repeat("\n", maxFileLines)},
			"fresh/a_test.go has 401 lines",
		},
		{"a file within the limit", map[string]string{"fresh/a.go": strings.Repeat("\n", maxFileLines-1)}, ""},
		{"many files", manyFiles(maxPackageFiles + 1), "fresh has 41 files"},
		{"as many files as may be", manyFiles(maxPackageFiles), ""},
		{"many lines", long, "fresh has 5200 lines"},
		{
			"a large type",
			map[string]string{"fresh/a.go": repeat(maxMethods+1, "func (t *T[K, V]) m%d() {}")},
			"fresh.T has 41 methods",
		},
		{
			"two types",
			map[string]string{"fresh/a.go": repeat(30, "func (t T) m%[1]d() {}\nfunc (u *U) m%[1]d() {}")},
			"",
		},
		{
			"many names",
			map[string]string{"fresh/a.go": repeat(31, "func F%[1]d() {}\ntype T%[1]d int")},
			"fresh has 62 exported",
		},
		{"many variables", map[string]string{"fresh/a.go": repeat(61, "var V%d int")}, "fresh has 61 exported"},
		{"constants, methods and tests", map[string]string{
			"fresh/a.go":      repeat(61, "const C%d = 1") + repeat(39, "func (t T) M%d() {}"),
			"fresh/a_test.go": repeat(61, "func TestF%d() {}"),
		}, ""},
		{"more names of the engine", map[string]string{"engine/a.go": repeat(100, "func F%d() {}")}, ""},
		{
			"too many names of the engine",
			map[string]string{"engine/a.go": repeat(101, "func F%d() {}")},
			"engine has 101 exported",
		},
	} {
		// Rows of things that the made tree lacks are reported by the rule, too.
		var got []string
		for _, line := range Large(planted(t, c.texts)) {
			if !strings.Contains(line, "remove its row") {
				got = append(got, line)
			}
		}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}

// The list of large things only shrinks: a row that is not needed fails, whether its thing
// is small now or gone, and a thing that grows beyond its row fails, too.
func TestRowsOfLargeThingsGo(t *testing.T) {
	before := overLimit
	defer func() { overLimit = before }()
	overLimit = map[size]int{
		{"lines", "fresh/small.go"}: 500, {"lines", "fresh/gone.go"}: 500,
		{"lines", "fresh/long.go"}: 500, {"lines", "fresh/longer.go"}: 500,
	}
	got := Large(planted(t, map[string]string{
		"fresh/small.go": "", "fresh/long.go": strings.Repeat("\n", 499), "fresh/longer.go": strings.Repeat("\n", 500),
	}))
	if len(got) != 3 || !strings.Contains(got[0], "longer.go has 501 lines, at most 500") ||
		!strings.Contains(got[1], "small.go has 1 lines") || !strings.Contains(got[2], "there is no fresh/gone.go") {
		t.Error(strings.Join(got, "\n"))
	}
}
