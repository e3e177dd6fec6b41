package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// loadConfig reads the configuration: built in, then the file, then the environment,
// then settings (KEY=VALUE: --set and the flags); the later wins.
func loadConfig(file string, environ, settings []string) (*Config, error) {
	c := defaultConfig()
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		if err := c.read(file, data); err != nil {
			return nil, err
		}
	}
	env := make(map[string]string, len(environ))
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	for _, k := range c.keys() {
		if text, ok := env[k.env()]; ok {
			if err := c.set(k.name, text); err != nil {
				return nil, fmt.Errorf("config: environment %s: %w", k.env(), err)
			}
		}
	}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("config: --set %s: not of the form KEY=VALUE", s)
		}
		if err := c.set(strings.TrimSpace(name), value); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return c, nil
}

// read decodes a file strictly. Its tables of assets and pairs replace the built-in ones.
func (c *Config) read(file string, data []byte) error {
	assets, pairs := c.Assets, c.Pairs
	c.Assets, c.Pairs = nil, nil
	dec := toml.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(c); err != nil {
		return fileError(file, err)
	}
	if c.Assets == nil && c.Pairs == nil {
		c.Assets, c.Pairs = assets, pairs
	}
	return nil
}

// fileError names file and line, and for an unknown key the nearest known one.
func fileError(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		for i := range strict.Errors {
			e := &strict.Errors[i]
			line, _ := e.Position()
			name := strings.Join(e.Key(), ".")
			hint := ""
			if best := nearest(name, fileKeys()); best != "" {
				hint = "; the nearest known key is " + best
			}
			all = append(all, fmt.Errorf("config: %s:%d: unknown key %s%s", file, line, name, hint))
		}
		return errors.Join(all...)
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, _ := decode.Position()
		what := strings.TrimPrefix(decode.Error(), "toml: ")
		if k := decode.Key(); len(k) > 0 {
			what = strings.Join(k, ".") + ": " + what
		}
		return fmt.Errorf("config: %s:%d: %s", file, line, what)
	}
	return fmt.Errorf("config: %s: %w", file, err)
}

// fileKeys are all names that a file may use, those of the tables included.
func fileKeys() []string {
	c := &Config{}
	var names []string
	for _, k := range c.keys() {
		names = append(names, k.name)
	}
	for prefix, t := range map[string]reflect.Type{
		"assets.": reflect.TypeFor[AssetConfig](), "pairs.": reflect.TypeFor[PairConfig](),
	} {
		for i := range t.NumField() {
			names = append(names, prefix+t.Field(i).Tag.Get("toml"))
		}
	}
	return names
}
