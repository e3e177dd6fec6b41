package config

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// hidden replaces a configured secret in the output.
const hidden = "(hidden)"

// Print writes the configuration as a TOML file. Decoding it gives the same values, except for secrets.
func (c *Config) Print(w io.Writer) error {
	return c.printSome(w, func(string) bool { return true })
}

// printSome prints the sections that wanted reports, and the tables.
func (c *Config) printSome(w io.Writer, wanted func(section string) bool) error {
	section := ""
	for _, k := range c.Keys() {
		s, name, _ := strings.Cut(k.Name, ".")
		if !wanted(s) {
			continue
		}
		if s != section {
			section = s
			fmt.Fprintf(w, "\n[%s]\n", s)
		}
		text, err := tomlValue(k.Value)
		if err != nil {
			return fmt.Errorf("config: print %s: %w", k.Name, err)
		}
		if k.Tag.Get("secret") != "" && !k.Value.IsZero() {
			text = `"` + hidden + `"`
		}
		fmt.Fprintf(w, "%s = %s # %s\n", name, text, k.Tag.Get("help"))
	}
	tables := struct {
		Assets []AssetConfig `toml:"assets"`
		Pairs  []PairConfig  `toml:"pairs"`
	}{c.Assets, c.Pairs}
	text, err := toml.Marshal(tables)
	if err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	if _, err = fmt.Fprintf(w, "\n%s", text); err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	return nil
}

// tomlValue returns a key's value as TOML on one line.
func tomlValue(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return "[]", nil
	}
	text, err := toml.Marshal(map[string]any{"v": v.Interface()})
	if err != nil {
		return "", err
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(l string) bool { return l == "" })
	return strings.TrimPrefix(strings.Join(lines, " "), "v = "), nil
}
