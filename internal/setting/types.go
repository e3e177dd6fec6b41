package setting

import (
	"errors"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fixed"
)

var errNegative = errors.New("must not be negative")

// Duration is a time.Duration whose text form also has the units d (day) and w (week).
type Duration time.Duration

// UnmarshalText parses the text form.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := clock.ParseDuration(string(b))
	if err == nil && v < 0 {
		return errNegative
	}
	*d = Duration(v)
	return err
}

// MarshalText returns Go's text form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns Go's text form.
func (d Duration) String() string { return time.Duration(d).String() }

// Decimal is the text of an amount or a rate, in the form that the API accepts
// (docs/contract/market-data.md#decimals). It is a string in the file, so that no parser converts it to a
// float.
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

// Given reports whether the value is configured.
func (d Decimal) Given() bool { return d != "" }

// Value returns the exact value in units of 10^-18; the empty text is 0.
func (d Decimal) Value() fixed.I128 {
	if d == "" {
		return fixed.I128{}
	}
	v, err := fixed.Parse(string(d))
	if err != nil {
		panic("BUG: config: an unchecked decimal: " + string(d))
	}
	return v
}

// RateDigits are the fractional digits of a rate, RateOne is the rate 1.
const (
	RateDigits = 8
	RateOne    = 100_000_000
)

// Rate returns the value as a fee rate in units of 10^-8.
func (d Decimal) Rate() (uint32, error) {
	v, exact, fits := fixed.Units(d.Value(), RateDigits)
	if !exact || !fits || v > RateOne {
		return 0, fmt.Errorf("rate %q must be from 0 to 1 with at most %d fractional digits", string(d), RateDigits)
	}
	return uint32(v), nil
}
