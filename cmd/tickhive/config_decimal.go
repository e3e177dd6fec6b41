package main

import (
	"errors"
	"fmt"
	"reflect"

	"tickhive/internal/fixed"
)

var errNegative = errors.New("must not be negative")

// Decimal is an amount or a rate as text, in the form that the API accepts
// (docs/contract/market-data.md#decimals). It is a string in the file, so that no parser
// converts it to a float.
type Decimal string

// UnmarshalText checks the form.
func (d *Decimal) UnmarshalText(b []byte) error {
	v, err := fixed.Parse(string(b))
	if err != nil {
		return fmt.Errorf("%q is %w", b, err)
	}
	if v.Sign() < 0 {
		return errNegative
	}
	*d = Decimal(b)
	return nil
}

// MarshalText returns the text as configured.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d), nil }

// given reports whether a value was configured.
func (d Decimal) given() bool { return d != "" }

// value returns the exact value in units of 10^-18; the empty text is 0.
func (d Decimal) value() fixed.I128 {
	if d == "" {
		return fixed.I128{}
	}
	v, err := fixed.Parse(string(d))
	if err != nil {
		panic("BUG: config: an unchecked decimal: " + string(d))
	}
	return v
}

// rate returns a fee rate in units of 10^-8.
func (d Decimal) rate() (uint32, error) {
	v, exact, fits := fixed.Units(d.value(), rateDigits)
	if !exact || !fits || v > rateOne {
		return 0, fmt.Errorf("rate %q is not 0 to 1 with at most %d fractional digits", string(d), rateDigits)
	}
	return uint32(v), nil
}

// checkDecimals checks every Decimal: the TOML decoder does not call UnmarshalText.
func (c *Config) checkDecimals() error {
	var errs []error
	check := func(name string, v reflect.Value) {
		for v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem() == reflect.TypeFor[Decimal]() {
			errs = append(errs, checkDecimal(name, v.Index(0)))
			v = v.Slice(1, v.Len())
		}
		errs = append(errs, checkDecimal(name, v))
	}
	for _, k := range c.keys() {
		check(k.name, k.value)
	}
	for i := range c.Assets {
		v := reflect.ValueOf(c.Assets[i])
		for j := range v.NumField() {
			check("assets: "+c.Assets[i].Symbol+": "+v.Type().Field(j).Tag.Get("toml"), v.Field(j))
		}
	}
	for i := range c.Pairs {
		v := reflect.ValueOf(c.Pairs[i])
		for j := range v.NumField() {
			check("pairs: "+c.Pairs[i].Code+": "+v.Type().Field(j).Tag.Get("toml"), v.Field(j))
		}
	}
	return errors.Join(errs...)
}

func checkDecimal(name string, v reflect.Value) error {
	d, ok := v.Interface().(Decimal)
	if !ok || d == "" {
		return nil
	}
	if err := d.UnmarshalText([]byte(d)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const (
	rateDigits = 8
	rateOne    = 100_000_000
)
