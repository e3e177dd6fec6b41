package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/setting"
)

// EnvPrefix is the prefix of the program's environment variables.
const EnvPrefix = "TICKHIVE_"

// variable returns the key's environment variable: rate.allow -> TICKHIVE_RATE_ALLOW.
func variable(name string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// sections returns the sections of c in the order of Config.
func (c *Config) sections() []setting.Key {
	return slices.DeleteFunc(setting.Keys("", reflect.ValueOf(c).Elem()), func(k setting.Key) bool {
		return k.Value.Kind() != reflect.Struct // the tables of assets and pairs
	})
}

// Keys returns every key of c in the order of Config, except the tables of assets and pairs.
func (c *Config) Keys() (out []setting.Key) {
	for _, section := range c.sections() {
		out = append(out, setting.Keys(section.Name+".", section.Value)...)
	}
	return out
}

// Given reports whether file, environment or command line have set a key.
func (c *Config) Given(name string) bool { return c.given[name] }

// set parses text (from the environment, --set or a flag) into a key.
func (c *Config) set(name, text string) error {
	var names []string
	for _, k := range c.Keys() {
		if k.Name == name {
			if err := k.Set(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			c.given[name] = true
			return nil
		}
		names = append(names, k.Name)
	}
	return unknownKey(name, names)
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
