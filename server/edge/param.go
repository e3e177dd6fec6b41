package edge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
)

// Param declares a parameter of a path or a query once: name, kind, bounds, default and text. A route lists the
// declaration, the handler reads the value with Of, and the OpenAPI document shows it, so the three cannot differ: a
// handler that reads a parameter which its route does not list panics.
//
// Immutable after its declaration. Any goroutine may use it.
type Param[T any] struct {
	spec  json.Field
	key   any // the name, as a key of the path's parameters
	none  T   // the value of a request without the parameter
	parse func(raw []byte) (v T, rule string)
}

// Declared is a declaration that a route can list.
type Declared interface{ fields() []*json.Field }

// Params returns the parameters of a route, in the order of the contract.
func Params(list ...Declared) (all []*json.Field) {
	for _, d := range list {
		all = append(all, d.fields()...)
	}
	return all
}

// Declare returns a parameter that parse reads. parse returns the rule that a wrong value breaks, empty for a right
// one: the refusal says "The parameter NAME RULE". raw aliases the request.
func Declare[T any](spec json.Field, parse func(raw []byte) (v T, rule string)) *Param[T] {
	return &Param[T]{spec: spec, key: spec.Name, parse: parse}
}

// Text declares a parameter of any text.
func Text(name string) *Param[string] {
	return Declare(json.Field{Name: name}, func(raw []byte) (string, string) { return string(raw), "" })
}

// Integer declares an integer from low to high, Int32 and Int64 the same with the format's name in the document.
func Integer(name string, low, high int64) *Param[int64] {
	return integer(name, json.KindInteger, low, high)
}

// Int32 is Integer with the format int32.
func Int32(name string, low, high int64) *Param[int64] {
	return integer(name, json.KindInt32, low, high)
}

// Int64 is Integer with the format int64.
func Int64(name string, low, high int64) *Param[int64] {
	return integer(name, json.KindInt64, low, high)
}

func integer(name string, kind json.Kind, low, high int64) *Param[int64] {
	spec := json.Field{Name: name, Kind: kind}
	widest := kind != json.KindInt32 && high == math.MaxInt64 || kind == json.KindInt32 && high == math.MaxInt32
	switch {
	case !widest:
		spec.Range = []int64{low, high}
	case low != math.MinInt64:
		spec.Range = []int64{low}
	}
	rule := fmt.Sprintf("must be an integer from %d to %d.", low, high)
	return Declare(spec, func(raw []byte) (int64, string) {
		v, ok := parseInteger(raw)
		switch {
		case !ok:
			return 0, "must be an integer."
		case v < low || v > high:
			return 0, rule
		}
		return v, ""
	})
}

// Count declares an integer of at least 0 with any number of digits, clamped to int64: the aggregator's depth and limit
// (docs/contract/errors.md#parameters).
func Count(name string) *Param[int64] {
	return Declare(json.Field{Name: name, Pattern: "^[0-9]+$", Form: "Integer of any number of digits."}, parseCount)
}

// Flag declares a parameter that is true or false.
func Flag(name string) *Param[bool] {
	return Declare(json.Field{Name: name, Kind: json.KindBoolean}, func(raw []byte) (bool, string) {
		switch string(raw) {
		case "true":
			return true, ""
		case "false":
			return false, ""
		}
		return false, "must be true or false."
	})
}

// Word declares a parameter that is one of words. Its value is the index of the word, -1 for a missing parameter
// without a default.
func Word(name string, words ...string) *Param[int] {
	rule := "must be one of " + strings.Join(words, ", ") + "."
	p := Declare(json.Field{Name: name, Kind: json.KindWord, Words: words}, func(raw []byte) (int, string) {
		for i := range words {
			if words[i] == string(raw) {
				return i, ""
			}
		}
		return -1, rule
	})
	p.none = -1
	return p
}

// WordFor declares a parameter that is one of words, each of which parse takes.
func WordFor[T any](name string, words []string, parse func(text string) (T, bool)) *Param[T] {
	rule := "must be one of " + strings.Join(words, ", ") + "."
	return Declare(json.Field{Name: name, Kind: json.KindWord, Words: words}, func(raw []byte) (v T, broken string) {
		v, ok := parse(string(raw))
		if !ok {
			broken = rule
		}
		return v, broken
	})
}

// Date declares a date of the market-data routes (docs/contract/market-data.md#deals): YYYY-MM-DD or
// YYYY-MM-DDTHH:MM:SS with up to 9 fractional digits and an optional Z.
func Date(name string) *Param[Moment] {
	return moment(name, json.KindDate, parseDate, "must be a UTC date of the form YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS "+
		"with up to 9 fractional digits and an optional Z.")
}

// DateTime declares a date-time of the account routes. Unlike the market-data routes, they accept any RFC 3339 offset;
// without one the time is UTC (docs/contract/accounts.md#accruals).
func DateTime(name string) *Param[Moment] {
	return moment(name, json.KindDateTime, ParseDateTime, "must be a date-time such as 2026-01-01T00:00:00Z; any "+
		"offset is taken, none means UTC. A plus sign in a query is written %2B.")
}

func moment(name string, kind json.Kind, parse func(raw []byte) (Moment, bool), rule string) *Param[Moment] {
	return Declare(json.Field{Name: name, Kind: kind}, func(raw []byte) (m Moment, broken string) {
		m, ok := parse(raw)
		if !ok {
			broken = rule
		}
		return m, broken
	})
}

// Need returns p as a parameter that a request must have.
func (p *Param[T]) Need() *Param[T] {
	p.spec.Required = true
	return p
}

// Default returns p with the value of a request without the parameter.
func (p *Param[T]) Default(v T) *Param[T] {
	p.none, p.spec.Default = v, v
	if i, ok := any(v).(int); ok && p.spec.Words != nil {
		p.spec.Default = p.spec.Words[i]
	}
	return p
}

// As returns p with another kind in the OpenAPI document: a text that its handler looks up, so that an unknown one is
// not found instead of wrong.
func (p *Param[T]) As(kind json.Kind) *Param[T] {
	p.spec.Kind = kind
	return p
}

// Matches returns p with the pattern of its values, which the parser of the domain decides.
func (p *Param[T]) Matches(pattern string) *Param[T] {
	p.spec.Pattern = pattern
	return p
}

// Sized returns p with the least and the greatest length of its values, which the domain decides.
func (p *Param[T]) Sized(low, high int64) *Param[T] {
	p.spec.Range = []int64{low, high}
	return p
}

// Says returns p with the text that the OpenAPI document shows.
func (p *Param[T]) Says(text string) *Param[T] {
	p.spec.Text = text
	return p
}

// Like returns p with an example for the OpenAPI document.
func (p *Param[T]) Like(example string) *Param[T] {
	p.spec.Example = example
	return p
}

// Written returns p with a text that says how its values are written.
func (p *Param[T]) Written(form string) *Param[T] {
	p.spec.Form = form
	return p
}

// Name returns the name of p.
func (p *Param[T]) Name() string { return p.spec.Name }

func (p *Param[T]) fields() []*json.Field { return []*json.Field{&p.spec} }

// Of returns the value of p in a request, the default when the request does not have it.
func (p *Param[T]) Of(c *Ctx) (T, *refuse.Refusal) {
	v, _, err := p.Find(c)
	return v, err
}

// Find is Of, and reports whether the request has the parameter. An empty value counts as missing.
func (p *Param[T]) Find(c *Ctx) (v T, given bool, err *refuse.Refusal) {
	c.mustList(&p.spec)
	return p.read(c)
}

// Given reports whether the request has the parameter.
func (p *Param[T]) Given(c *Ctx) (bool, *refuse.Refusal) {
	c.mustList(&p.spec)
	raw, err := p.raw(c)
	return len(raw) > 0, err
}

// mustList panics when the route does not list a parameter that the handler reads.
func (c *Ctx) mustList(spec *json.Field) {
	if !slices.Contains(c.route.Params, spec) {
		panic(fmt.Sprintf("BUG: edge: %s %s reads the parameter %s, which the route does not list", c.route.Method,
			c.route.Path, spec.Name))
	}
}

func (p *Param[T]) raw(c *Ctx) ([]byte, *refuse.Refusal) {
	if slices.Contains(c.route.inPath, p.spec.Name) {
		text, _ := c.UserValue(p.key).(string)
		return unsafe.Slice(unsafe.StringData(text), len(text)), nil // parse does not change it
	}
	return c.query(p.spec.Name)
}

// read is Find for a parameter that every route has.
func (p *Param[T]) read(c *Ctx) (v T, given bool, err *refuse.Refusal) {
	raw, err := p.raw(c)
	if err == nil && len(raw) == 0 && p.spec.Required {
		err = refuse.Param(p.spec.Name, "The parameter %s is required.", p.spec.Name)
	}
	if err != nil || len(raw) == 0 {
		return p.none, false, err
	}
	v, rule := p.parse(raw)
	if rule != "" {
		return p.none, false, refuse.Param(p.spec.Name, "The parameter %s %s", p.spec.Name, rule)
	}
	return v, true, nil
}

// Several declares a parameter that may be repeated; each occurrence has a value that one would accept.
func Several[T any](name string, one *Param[T]) *Repeated[T] {
	element := one.spec
	element.Name = ""
	return &Repeated[T]{json.Field{Name: name, Kind: json.KindArray, Element: &element}, one.parse}
}

// Repeated is a parameter with any number of values.
type Repeated[T any] struct {
	spec  json.Field
	parse func(raw []byte) (v T, rule string)
}

func (p *Repeated[T]) fields() []*json.Field { return []*json.Field{&p.spec} }

// Says returns p with the text that the OpenAPI document shows.
func (p *Repeated[T]) Says(text string) *Repeated[T] {
	p.spec.Text = text
	return p
}

// Of returns the values in the order given, without empty ones.
func (p *Repeated[T]) Of(c *Ctx) (all []T, err *refuse.Refusal) {
	c.mustList(&p.spec)
	for i := range c.params {
		if string(c.params[i].key) != p.spec.Name || len(c.params[i].value) == 0 {
			continue
		}
		v, rule := p.parse(c.params[i].value)
		if rule != "" {
			return nil, refuse.Param(p.spec.Name, "The parameter %s %s", p.spec.Name, rule)
		}
		all = append(all, v)
	}
	return all, nil
}

// Decimals is a parameter of every route: it turns the decimals of an answer into strings. A route lists it when
// its answer has decimals.
var Decimals = Word("decimals", "number", "string").Default(0).
	Says("`string` turns every decimal of the body into a string with the same text.")

// Format is a parameter of the routes with Rows.
var Format = Word("format", "json", "csv").Default(0).
	Says("`csv` answers comma-separated values, with a first line of names; `decimals` has no effect then.")

// readForm reads ?decimals=number|string and, of a route with rows, ?format=json|csv.
func (c *Ctx) readForm() *refuse.Refusal {
	i, _, err := Decimals.read(c)
	c.DecimalsText = i == 1
	if err == nil && c.route.Rows != nil {
		i, _, err = Format.read(c)
		c.csv = i == 1
	}
	return err
}

// MaxPageSize is the largest page of every paged route (docs/contract/api.md#limits).
const MaxPageSize = 100

// Pages declares the page of a list: its number from 1, and its size from 1 to MaxPageSize.
type Pages struct{ number, size *Param[int64] }

// PagesOf returns the declaration of a page. number can be far beyond the end, so number * size can overflow.
func PagesOf(number, size *Param[int64]) *Pages { return &Pages{number, size} }

func (p *Pages) fields() []*json.Field { return []*json.Field{&p.number.spec, &p.size.spec} }

// Of returns number and size of the page.
func (p *Pages) Of(c *Ctx) (number, size int64, err *refuse.Refusal) {
	if number, err = p.number.Of(c); err != nil {
		return 0, 0, err
	}
	size, err = p.size.Of(c)
	return number, size, err
}

// Cursor is the parameter that continues a list behind a row; its values are the header X-Next-Cursor. A list that
// moves on by cursor neither loses nor repeats a row while rows arrive, because the cursor names the last row, and the
// number of a page counts from the newest.
type Cursor[T any] struct {
	*Param[T]
	pages *Pages
}

// CursorOf returns the cursor of a list with pages. parse reads what the list has written as X-Next-Cursor, and returns
// false for anything else.
func CursorOf[T any](pages *Pages, pattern string, parse func(text string) (T, bool)) *Cursor[T] {
	number := pages.number.spec.Name
	return &Cursor[T]{Declare(json.Field{
		Name: "cursor", Pattern: pattern, Text: "X-Next-Cursor of the page before, instead of " + number + ".",
	}, func(raw []byte) (v T, rule string) {
		v, ok := parse(string(raw))
		if !ok {
			rule = "must be the X-Next-Cursor of the page before."
		}
		return v, rule
	}), pages}
}

// Says returns p with the text that the OpenAPI document shows.
func (p *Cursor[T]) Says(text string) *Cursor[T] {
	p.spec.Text = text
	return p
}

// Of returns the cursor, the zero value when the request has none.
func (p *Cursor[T]) Of(c *Ctx) (v T, err *refuse.Refusal) {
	given, err := p.Given(c)
	if err != nil || !given {
		return v, err
	}
	numbered, err := p.pages.number.Given(c)
	if err == nil && numbered {
		err = refuse.Param(p.spec.Name, "The parameters %s and %s must not be given together.", p.spec.Name,
			p.pages.number.spec.Name)
	}
	if err != nil {
		return v, err
	}
	return p.Param.Of(c)
}

// RowOf returns the cursor of a list whose rows have numbers: the number of the row behind which the list continues; 0:
// none.
func RowOf(pages *Pages) *Cursor[uint64] {
	return CursorOf(pages, "^[1-9][0-9]{0,18}$", func(text string) (uint64, bool) {
		row, bad := strconv.ParseUint(text, 10, 63)
		return row, bad == nil && row != 0 && text[0] != '0'
	})
}

var hdrNextCursor = []byte("X-Next-Cursor")

// NextCursor sets the header of a page that is not the last.
func (c *Ctx) NextCursor(text []byte) { c.Response.Header.SetCanonical(hdrNextCursor, text) }

// NextRow sets the header of a page that ends with the row of this number; 0: it is the last page.
func (c *Ctx) NextRow(row uint64) {
	if row != 0 {
		c.NextCursor(strconv.AppendUint(c.number[:0], row, 10))
	}
}

// parseCount parses the value of a Count.
func parseCount(raw []byte) (v int64, rule string) {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	zero := true
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, "must be an integer."
		}
		zero = zero && d == '0'
	}
	switch {
	case len(digits) == 0:
		return 0, "must be an integer."
	case len(digits) < len(raw) && !zero:
		return 0, "must not be negative."
	}
	v, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return math.MaxInt64, ""
	}
	return v, ""
}
