package setting

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Key is one configurable scalar or list: a member of a section, or of an asset or a pair.
type Key struct {
	Name  string // full name, for example rate.per_minute
	Tag   reflect.StructTag
	Value reflect.Value
}

// Keys returns the keys of a struct in their order, those of an embedded struct in its place. Their names begin with
// prefix.
func Keys(prefix string, v reflect.Value) (out []Key) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Anonymous:
			out = append(out, Keys(prefix, v.Field(i))...)
		case f.IsExported():
			out = append(out, Key{prefix + f.Tag.Get("toml"), f.Tag, v.Field(i)})
		}
	}
	return out
}

// Fill sets every zero member of a section that has a built-in value to it.
func Fill(section any) {
	for _, k := range Keys("", reflect.ValueOf(section).Elem()) {
		if text := k.Tag.Get("default"); text != "" && k.Value.IsZero() {
			if err := k.Set(text); err != nil {
				panic("BUG: config: the default of " + k.Name + ": " + err.Error())
			}
		}
	}
}

// Check reports every key of a section that is out of its limits, or a negative duration.
func Check(prefix string, section any) error {
	var errs []error
	for _, k := range Keys(prefix, reflect.ValueOf(section).Elem()) {
		errs = append(errs, k.CheckLimits(), k.CheckSign())
	}
	return errors.Join(errs...)
}

// Set parses text (from the environment, --set or a flag). Commas separate the items of a list; an empty text is an
// empty list.
func (k *Key) Set(text string) error { return setValue(k.Value, text) }

func setValue(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := parseSwitch(text)
		if err != nil {
			return err
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q must be an integer", text)
		}
		v.SetInt(n)
	case reflect.Slice:
		return setList(v, text)
	default:
		panic("BUG: config: a key of kind " + v.Kind().String())
	}
	return nil
}

// setList parses a list: `a, b`, or as in a file `["a", "b"]`.
func setList(v reflect.Value, text string) error {
	list := reflect.MakeSlice(v.Type(), 0, 4)
	text = strings.TrimSpace(text)
	if n := len(text); n > 1 && text[0] == '[' && text[n-1] == ']' {
		text = strings.TrimSpace(text[1 : n-1])
	}
	if text != "" {
		for part := range strings.SplitSeq(text, ",") {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := setValue(e, unquoted(strings.TrimSpace(part))); err != nil {
				return err
			}
			list = reflect.Append(list, e)
		}
	}
	v.Set(list)
	return nil
}

// unquoted returns text without the pair of quotes around it, if there is one.
func unquoted(text string) string {
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

func parseSwitch(text string) (bool, error) {
	switch text {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q must be true or false (on or off)", text)
}

// CheckForm checks the form of decimals. It is necessary because the TOML decoder does not call UnmarshalText for
// strings.
func (k *Key) CheckForm() error {
	decimals, _ := k.Value.Interface().([]Decimal)
	if d, ok := k.Value.Interface().(Decimal); ok {
		decimals = []Decimal{d}
	}
	var errs []error
	for _, d := range decimals {
		if err := d.UnmarshalText([]byte(d)); err != nil && d.Given() {
			errs = append(errs, fmt.Errorf("%s: %w", k.Name, err))
		}
	}
	return errors.Join(errs...)
}

// CheckLimits checks the limits in the tags range and oneof.
func (k *Key) CheckLimits() error {
	if words, ok := k.Tag.Lookup("oneof"); ok && !slices.Contains(strings.Split(words, ", "), k.Value.String()) {
		return fmt.Errorf("%s: %q must be one of %s", k.Name, k.Value, words)
	}
	if low, high, ok := k.Range(); ok {
		if v := k.Value.Int(); v < low || v > high {
			return fmt.Errorf("%s: %d must be from %d to %d", k.Name, v, low, high)
		}
	}
	return nil
}

// Range returns the limits in the tag range; ok is false without one.
func (k *Key) Range() (low, high int64, ok bool) {
	text, ok := k.Tag.Lookup("range")
	if !ok {
		return 0, 0, false
	}
	if _, err := fmt.Sscan(text, &low, &high); err != nil {
		panic("BUG: config: the range of " + k.Name + ": " + err.Error())
	}
	return low, high, true
}

// CheckSign refuses a negative duration, which a file can contain as a plain number.
func (k *Key) CheckSign() error {
	if d, ok := k.Value.Interface().(Duration); ok && d < 0 {
		return fmt.Errorf("%s: %w", k.Name, errNegative)
	}
	return nil
}
