package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tickhive/internal/cmdline"
)

// key is one configurable scalar or list: a member of a section, or of an asset or a pair.
type key struct {
	name  string // full name, for example rate.per_minute
	tag   reflect.StructTag
	value reflect.Value
}

// envPrefix is the prefix of the program's environment variables.
const envPrefix = "TICKHIVE_"

// env returns the key's environment variable: rate.allow -> TICKHIVE_RATE_ALLOW.
func (k *key) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// keys returns every key of c in the order of Config, except the tables of assets and pairs.
func (c *Config) keys() (out []key) {
	for _, section := range members("", reflect.ValueOf(c).Elem()) {
		if section.value.Kind() == reflect.Struct {
			out = append(out, members(section.name+".", section.value)...)
		}
	}
	return out
}

// members returns the members of a struct that a file may set. Their names begin with prefix.
func members(prefix string, v reflect.Value) (out []key) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			out = append(out, key{prefix + f.Tag.Get("toml"), f.Tag, v.Field(i)})
		}
	}
	return out
}

// set parses text (from the environment, --set or a flag) into a key. Commas separate the items of a list; an
// empty text is an empty list.
func (c *Config) set(name, text string) error {
	var names []string
	for _, k := range c.keys() {
		if k.name == name {
			if err := setValue(k.value, text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			c.given[name] = true
			return nil
		}
		names = append(names, k.name)
	}
	return unknownKey(name, names)
}

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

// removedKeys says, for each key that an earlier program had, what to do.
var removedKeys = map[string]string{
	"engine.loops": "one goroutine carries out all commands: leave the key out",
}

// unknownKey returns the error for an unknown key. It suggests the nearest of names.
func unknownKey(name string, names []string) error {
	if remedy := removedKeys[name]; remedy != "" {
		return fmt.Errorf("the key %s is gone; %s", name, remedy)
	}
	return fmt.Errorf("unknown key %s; did you mean %s?", name, nearest(name, names))
}

// nearest returns the candidate with the smallest edit distance to name.
func nearest(name string, candidates []string) string {
	best, _ := cmdline.Nearest(name, candidates)
	return best
}
