package edge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
)

// asked returns a request with this query to a route that lists the declarations.
func asked(query string, list ...Declared) *Ctx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Request.SetRequestURI("/api/x?" + query)
	c := &Ctx{RequestCtx: ctx, route: &Route{Method: "GET", Path: "/api/x", Params: Params(list...)}}
	c.parseQuery()
	return c
}

// What a declaration says in the OpenAPI document is what a request may send, and gets when it sends nothing.
func TestWhatADocumentSaysIsWhatIsRead(t *testing.T) {
	for _, p := range []*Param[int64]{
		Integer("n", 0, 5).Default(3), Int32("n", 1, 9).Default(1), Int64("n", -7, 7).Default(0),
	} {
		if v, given, err := p.Find(asked("", p)); err != nil || given || v != p.spec.Default {
			t.Errorf("an integer of %v without the parameter is %d (%v), want the default %v", p.spec.Range, v, err,
				p.spec.Default)
		}
		low, high := p.spec.Range[0], p.spec.Range[1]
		for text, right := range map[string]bool{
			fmt.Sprint(low): true, fmt.Sprint(high): true, fmt.Sprint(low - 1): false, fmt.Sprint(high + 1): false,
			"x": false, "1.0": false,
		} {
			if v, err := p.Of(asked("n="+text, p)); (err == nil) != right || right && fmt.Sprint(v) != text {
				t.Errorf("an integer of %v: n=%s is read as %d (%v), want it taken: %v", p.spec.Range, text, v, err,
					right)
			}
		}
	}
	word := Word("w", "up", "down").Default(1)
	if i, err := word.Of(asked("", word)); err != nil || i != 1 || word.spec.Default != "down" {
		t.Errorf("without the parameter the word is number %d (%v), the document says %v, want 1, which is down", i,
			err, word.spec.Default)
	}
	for i, text := range word.spec.Words {
		if got, err := word.Of(asked("w="+text, word)); err != nil || got != i {
			t.Errorf("w=%s is read as %d (%v), want %d", text, got, err, i)
		}
	}
	flag := Flag("f").Default(true)
	if v, err := flag.Of(asked("", flag)); err != nil || v != flag.spec.Default {
		t.Errorf("without the parameter the flag is %v (%v), the document says %v", v, err, flag.spec.Default)
	}
	for _, open := range []*Param[int64]{Int32("n", 1, math.MaxInt32), Int64("n", 1, math.MaxInt64)} {
		if !slices.Equal(open.spec.Range, []int64{1}) {
			t.Errorf("%v: the range is %v, want 1 alone: the format has the other", open.spec.Kind, open.spec.Range)
		}
	}
	if _, _, err := Int32("n", 1, math.MaxInt32).read(asked("n=2147483648")); err == nil {
		t.Error("an int32 takes 2147483648")
	}
}

// A handler cannot read a parameter that its route does not list.
func TestAParameterThatIsNotListedIsABug(t *testing.T) {
	listed, other := Integer("n", 0, 5), Integer("n", 0, 6)
	pages := PagesOf(listed, Integer("size", 1, 9))
	for name, read := range map[string]func(c *Ctx) *refuse.Refusal{
		"Of": func(c *Ctx) *refuse.Refusal {
			_, err := other.Of(c)
			return err
		},
		"Given": func(c *Ctx) *refuse.Refusal {
			_, err := other.Given(c)
			return err
		},
		"Several": func(c *Ctx) *refuse.Refusal {
			_, err := Several("n", other).Of(c)
			return err
		},
		"RowOf": func(c *Ctx) *refuse.Refusal {
			_, err := RowOf(pages).Of(c)
			return err
		},
		"PagesOf": func(c *Ctx) *refuse.Refusal {
			_, _, err := pages.Of(c)
			return err
		},
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "BUG: edge: GET /api/x reads the parameter ") {
					t.Errorf("%s: %s, want a panic that names route and parameter", name, p)
				}
			}()
			_ = read(asked("n=1", listed))
			t.Errorf("%s reads a parameter that the route does not list", name)
		}()
	}
	if v, err := listed.Of(asked("n=1", listed)); err != nil || v != 1 {
		t.Errorf("the listed parameter is read as %d (%v), want 1", v, err)
	}
}

// The order of the document is that of the declarations.
func TestParametersAreListedInOrder(t *testing.T) {
	pages := PagesOf(Integer("page", 1, 9), Integer("size", 1, 9))
	var names []string
	for _, f := range Params(Text("a"), pages, RowOf(pages), Several("b", Text("c")), Decimals) {
		names = append(names, f.Name)
	}
	if want := []string{"a", "page", "size", "cursor", "b", "decimals"}; !slices.Equal(names, want) {
		t.Errorf("listed are %v, want %v", names, want)
	}
}
