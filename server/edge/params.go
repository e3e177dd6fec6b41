package edge

import (
	"strconv"
	"strings"

	"tickhive/internal/refuse"
)

// Raw returns the value of a parameter; an empty value counts as missing. It refuses a
// parameter that is given twice (docs/contract/errors.md#parameters).
func (c *Ctx) Raw(name string) ([]byte, *refuse.Refusal) {
	var value []byte
	found := false
	for i := range c.params {
		if string(c.params[i].key) != name {
			continue
		}
		if found {
			return nil, refuse.Param(name, "The parameter %s must not be given more than once.", name)
		}
		value, found = c.params[i].value, true
	}
	return value, nil
}

// Str returns the text of a parameter, empty when the parameter is missing.
func (c *Ctx) Str(name string) (string, *refuse.Refusal) {
	v, err := c.Raw(name)
	return string(v), err
}

// Required returns the text of a parameter and refuses a request without it.
func (c *Ctx) Required(name string) (string, *refuse.Refusal) {
	v, err := c.Raw(name)
	if err == nil && len(v) == 0 {
		err = MissingParam(name)
	}
	return string(v), err
}

// MissingParam returns the refusal of a request without a required parameter.
func MissingParam(name string) *refuse.Refusal {
	return refuse.Param(name, "The parameter %s is required.", name)
}

// All returns the values of an array parameter in the order given, without empty ones.
func (c *Ctx) All(name string) []string {
	var values []string
	for i := range c.params {
		if string(c.params[i].key) == name && len(c.params[i].value) > 0 {
			values = append(values, string(c.params[i].value))
		}
	}
	return values
}

// Int returns an integer parameter from low to high. When it is missing, given is false and v
// is def.
func (c *Ctx) Int(name string, def, low, high int64) (v int64, given bool, err *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return def, false, err
	}
	v, ok := parseInteger(raw)
	if !ok {
		return 0, false, refuse.Param(name, "The parameter %s must be an integer.", name)
	}
	if v < low || v > high {
		return 0, false, refuse.Param(name, "The parameter %s must be an integer from %d to %d.", name, low, high)
	}
	return v, true, nil
}

// Bool returns a parameter that is true or false, def when it is missing.
func (c *Ctx) Bool(name string, def bool) (bool, *refuse.Refusal) {
	raw, err := c.Raw(name)
	switch {
	case err != nil || len(raw) == 0:
		return def, err
	case string(raw) == "true":
		return true, nil
	case string(raw) == "false":
		return false, nil
	}
	return false, refuse.Param(name, "The parameter %s must be true or false.", name)
}

// Enum returns the index of a parameter's value in values, -1 when it is missing.
func (c *Ctx) Enum(name string, values ...string) (int, *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return -1, err
	}
	for i, v := range values {
		if string(raw) == v {
			return i, nil
		}
	}
	return -1, refuse.Param(name, "The parameter %s must be one of %s.", name, strings.Join(values, ", "))
}

// Page reads the number of a page, from 1, and pageSize, 1 to 100. The page can be far
// beyond the end, so page * pageSize can overflow.
func (c *Ctx) Page(pageName string, defSize int64) (page, size int64, err *refuse.Refusal) {
	if page, _, err = c.Int(pageName, 1, 1, 1<<63-1); err != nil {
		return 0, 0, err
	}
	size, _, err = c.Int("pageSize", defSize, 1, MaxPageSize)
	return page, size, err
}

// MaxPageSize is the largest page of every paged route (docs/contract/api.md#limits).
const MaxPageSize = 100

// Saturating returns an integer parameter, at least 0, clamped to int64: the aggregator's depth
// and limit (docs/contract/errors.md#parameters).
func (c *Ctx) Saturating(name string) (int64, *refuse.Refusal) {
	raw, err := c.Raw(name)
	if err != nil || len(raw) == 0 {
		return 0, err
	}
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	zero := true
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, refuse.Param(name, "The parameter %s must be an integer.", name)
		}
		zero = zero && d == '0'
	}
	switch {
	case len(digits) == 0:
		return 0, refuse.Param(name, "The parameter %s must be an integer.", name)
	case len(digits) < len(raw) && !zero:
		return 0, refuse.Param(name, "The parameter %s must not be negative.", name)
	}
	v, perr := strconv.ParseInt(string(digits), 10, 64)
	if perr != nil {
		return 1<<63 - 1, nil
	}
	return v, nil
}

// parseInteger parses -?[0-9]{1,19}; it clamps values beyond int64.
func parseInteger(raw []byte) (int64, bool) {
	digits, neg := raw, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, neg = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, false
		}
		u = u*10 + uint64(d-'0')
	}
	u = min(u, 1<<63-1)
	if neg {
		return -int64(u), true
	}
	return int64(u), true
}

// readDecimals reads ?decimals=number|string.
func (c *Ctx) readDecimals() *refuse.Refusal {
	i, err := c.Enum("decimals", "number", "string")
	c.DecimalsText = i == 1
	return err
}
