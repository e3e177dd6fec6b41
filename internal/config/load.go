package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/setting"
)

// Load reads the built-in configuration, the file, the environment and settings
// (KEY=VALUE from --set and the flags). A later source overrides an earlier one. Pairs of market.pairs come last.
func Load(file string, environ, settings []string) (*Config, error) {
	c := Default()
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		if err := c.read(file, data); err != nil {
			return nil, err
		}
	}
	before := c.Internal
	if err := c.readEnv(environ); err != nil {
		return nil, err
	}
	c.replaceToken(&before)
	before = c.Internal
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("config: --set %s: must have the form KEY=VALUE", s)
		}
		if err := c.set(strings.TrimSpace(name), value); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	c.replaceToken(&before)
	c.addPairs()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return c, nil
}

// replaceToken lets the token of a source replace the file of a token that an earlier source gave, and reverse: before
// is what the earlier ones said.
func (c *Config) replaceToken(before *exchange.InternalConfig) {
	now := &c.Internal
	switch newToken, newFile := now.Token != before.Token, now.TokenFile != before.TokenFile; {
	case newToken && !newFile && now.Token != "":
		now.TokenFile = ""
	case newFile && !newToken && now.TokenFile != "":
		now.Token = ""
	}
}

// serviceLink matches the variables that Kubernetes sets for a service named tickhive.
var serviceLink = regexp.MustCompile(`^TICKHIVE_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_[0-9]+_(TCP|UDP|` +
	`SCTP)(_.+)?)?)$`)

// binaryVariable names the program for the tests of a bot (docs/guide/test-your-bot.md). The program itself does not
// read it, but a shell that has it also starts the program.
const binaryVariable = EnvPrefix + "BINARY"

// readEnv sets the keys for which the environment has a variable. It returns an error for a variable that has
// the program's prefix but belongs to no key; of several, the first by name.
func (c *Config) readEnv(environ []string) error {
	env := make(map[string]string, len(environ))
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	var names []string
	for _, k := range c.Keys() {
		name := variable(k.Name)
		names = append(names, name)
		if text, ok := env[name]; ok {
			if err := c.set(k.Name, text); err != nil {
				return fmt.Errorf("config: environment %s: %w", name, err)
			}
			delete(env, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, EnvPrefix) && name != binaryVariable && !serviceLink.MatchString(name) {
			for removed := range removedKeys {
				if variable(removed) == name {
					return fmt.Errorf("config: environment %s: %w", name, unknownKey(removed, nil))
				}
			}
			return fmt.Errorf("config: environment %s: no key has this variable; did you mean %s?",
				name, nearest(name, names))
		}
	}
	return nil
}

// read decodes a file strictly. A table of assets or pairs in the file replaces the built-in one.
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
	var sections map[string]any
	if err := toml.Unmarshal(data, &sections); err != nil {
		return fileError(file, err)
	}
	for section, keys := range sections {
		if keys, ok := keys.(map[string]any); ok {
			for name := range keys {
				c.given[section+"."+name] = true
			}
		}
	}
	return nil
}

// fileError adds the file and the line to a decoder's error, and to an unknown key the nearest known key.
func fileError(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		var all []error
		names := slices.Sorted(maps.Keys(fileKeys()))
		for i := range strict.Errors {
			e := &strict.Errors[i]
			line, _ := e.Position()
			name := strings.Join(e.Key(), ".")
			all = append(all, fmt.Errorf("config: %s:%d: %w", file, line, unknownKey(name, names)))
		}
		return errors.Join(all...)
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, _ := decode.Position()
		what, name := strings.TrimPrefix(decode.Error(), "toml: "), strings.Join(decode.Key(), ".")
		if m := wrongType.FindStringSubmatch(what); m != nil {
			what = fmt.Sprintf("must be %[2]s, not a TOML %[1]s", m[1], expected(name))
		}
		if name != "" {
			what = name + ": " + what
		}
		return fmt.Errorf("config: %s:%d: %s", file, line, what)
	}
	return fmt.Errorf("config: %s: %w", file, err)
}

// wrongType matches the beginning of the decoder's error for a value of the wrong type. The rest of that text
// is the Go type of the whole section, which helps no user.
var wrongType = regexp.MustCompile(`^cannot decode TOML (\w+) into`)

// expected names the kind of value that a key of a file must have.
func expected(name string) string {
	t := fileKeys()[name]
	switch {
	case t == nil:
		return "another type"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || t.Kind() == reflect.String:
		return "text in quotes"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Bool:
		return "true or false"
	default:
		return "an integer"
	}
}

// fileKeys returns the type of every key that a file may contain, tables of assets and pairs included.
func fileKeys() map[string]reflect.Type {
	c, types := &Config{}, map[string]reflect.Type{}
	for _, k := range slices.Concat(c.Keys(), setting.Keys("assets.", reflect.ValueOf(AssetConfig{})),
		setting.Keys("pairs.", reflect.ValueOf(PairConfig{}))) {
		types[k.Name] = k.Value.Type()
	}
	return types
}
