package setting

import (
	"reflect"
	"testing"
)

type section struct {
	First string `toml:"first" default:"a" oneof:"a, b"`
	inner
	Last Duration `toml:"last" default:"1d"`
}

type inner struct {
	Count int       `toml:"count" default:"7" range:"-1 9"`
	Rates []Decimal `toml:"rates" default:"0.5, 1"`
}

// Fill sets what is zero, in the order of the members, and leaves the others.
func TestFillSetsTheBuiltInValues(t *testing.T) {
	s := section{First: "b"}
	Fill(&s)
	want := section{"b", inner{7, []Decimal{"0.5", "1"}}, Duration(24 * 3600e9)}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
	var names []string
	for _, k := range Keys("x.", reflect.ValueOf(s)) {
		names = append(names, k.Name)
	}
	if want := []string{"x.first", "x.count", "x.rates", "x.last"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// The limits of a tag belong to the permitted values.
func TestCheckKnowsTheLimitsOfTheTags(t *testing.T) {
	for _, c := range []struct {
		s    section
		want string // empty: valid
	}{
		{section{"a", inner{Count: -1}, 0}, ""},
		{section{"b", inner{Count: 9}, 1}, ""},
		{section{"a", inner{Count: -2}, 0}, "x.count: -2 must be from -1 to 9"},
		{section{"a", inner{Count: 10}, 0}, "x.count: 10 must be from -1 to 9"},
		{section{"c", inner{}, -1}, "x.first: \"c\" must be one of a, b\nx.last: must not be negative"},
	} {
		got := ""
		if err := Check("x.", &c.s); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}
