package conformance

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

var plainDecimal = regexp.MustCompile(`^-?[0-9]{1,40}(\.[0-9]{1,40})?$`)

// decimal returns a member that is a decimal, as a number or as a string.
func decimal(v any) (*big.Rat, error) {
	var text string
	switch t := v.(type) {
	case json.Number:
		text = t.String()
	case string:
		text = t
	case nil:
		return nil, fmt.Errorf("missing or null")
	default:
		return nil, fmt.Errorf("%s, want a decimal", shown(v))
	}
	if !plainDecimal.MatchString(text) {
		return nil, fmt.Errorf("%.60q, want a decimal without exponent", text)
	}
	d, _ := new(big.Rat).SetString(text)
	return d, nil
}

// milliseconds returns a member that is a Unix time in milliseconds, between 2010 and 2100.
func milliseconds(v any) (time.Time, error) {
	d, err := decimal(v)
	if err != nil {
		return time.Time{}, err
	}
	const year2010, year2100 = 1_262_304_000_000, 4_102_444_800_000
	if !d.IsInt() || !d.Num().IsInt64() || d.Num().Int64() < year2010 || d.Num().Int64() > year2100 {
		return time.Time{}, fmt.Errorf("%v is no Unix time in milliseconds", v)
	}
	return time.UnixMilli(d.Num().Int64()), nil
}

// form names the members of an object.
type form struct {
	texts, decimals []string
	optional        []string // members that may be missing
}

// check reports members of o that are missing or of the wrong type, and extra members to spare.
func (f form) check(fields, spare *check, at string, o object) {
	for _, name := range f.texts {
		if s, ok := o[name].(string); !ok || s == "" {
			fields.fail("%s: %s is %s, want a text", at, name, shown(o[name]))
		}
	}
	for _, name := range f.decimals {
		if _, present := o[name]; !present && slices.Contains(f.optional, name) {
			spare.fail("%s: %s is missing", at, name)
			continue
		}
		if v, present := o[name]; present && v == nil {
			fields.fail("%s: %s is null", at, name)
		} else if _, err := decimal(v); err != nil {
			fields.fail("%s: %s is %v", at, name, err)
		}
	}
}

// asText reports whether every decimal of o is a string.
func (f form) asText(o object) bool {
	for _, name := range f.decimals {
		if _, number := o[name].(json.Number); number {
			return false
		}
	}
	return true
}

// of returns a decimal member, or 0.
func of(o object, name string) *big.Rat {
	d, err := decimal(o[name])
	if err != nil {
		return new(big.Rat)
	}
	return d
}

// shown returns a value as text for a Result's evidence.
func shown(v any) string {
	if v == nil {
		return "missing or null"
	}
	b, _ := json.Marshal(v)
	if len(b) > 60 {
		return string(b[:60]) + "..."
	}
	return string(b)
}

// agree reports whether two values differ by at most perMille thousandths of the larger one.
func agree(a, b *big.Rat, perMille int64) bool {
	diff := new(big.Rat).Sub(a, b)
	larger := a
	if new(big.Rat).Abs(b).Cmp(new(big.Rat).Abs(a)) > 0 {
		larger = b
	}
	allowed := new(big.Rat).Mul(new(big.Rat).Abs(larger), big.NewRat(perMille, 1000))
	return diff.Abs(diff).Cmp(allowed) <= 0
}

// number returns a decimal with at most 8 fractional digits.
func number(d *big.Rat) string {
	return strings.TrimRight(strings.TrimRight(d.FloatString(8), "0"), ".")
}
