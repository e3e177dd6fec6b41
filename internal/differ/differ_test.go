package differ

import (
	"strings"
	"testing"
)

// loose has a method by which all its values are equal.
type loose struct{ n int }

func (loose) Equal(loose) bool { return true }

func TestValuesThatDiffer(t *testing.T) {
	type hidden struct{ a, b int }
	for name, c := range map[string]struct {
		want, got any
		says      string // empty: equal
	}{
		"equal":                      {hidden{1, 2}, hidden{1, 2}, ""},
		"a member that is hidden":    {hidden{1, 2}, hidden{1, 3}, "b: 2"},
		"none and an empty list":     {[]int(nil), []int{}, "[]int"},
		"a member of a map":          {map[string]int{"a": 1}, map[string]int{"a": 2}, `"a"`},
		"a type that hides it":       {loose{1}, loose{2}, "loose{n:2}"},
		"values of different types":  {1, "1", `"1"`},
		"a list that is one shorter": {[]int{1, 2}, []int{1}, "2"},
	} {
		d := strings.ReplaceAll(Diff(c.want, c.got), "\u00a0", " ")
		if (d == "") != (c.says == "") || !strings.Contains(d, c.says) {
			t.Errorf("%s: %q", name, d)
		}
	}
}
