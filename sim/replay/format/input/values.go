package input

import (
	"errors"
	"fmt"

	"tickhive/sim/replay/format/decimal"
)

// Positive reads a number that must be above zero.
func Positive(what string, s []byte) (decimal.Decimal, error) {
	d, err := decimal.Parse(s)
	if err == nil && d.V.Sign() <= 0 {
		err = errors.New("must be above zero")
	}
	return d, Quoted(what, s, err)
}

// NotNegative reads a number that may be zero.
func NotNegative(what string, s []byte) (decimal.Decimal, error) {
	d, err := decimal.Parse(s)
	switch {
	case err != nil:
		return d, Quoted(what, s, err)
	case s[0] == '-':
		return d, fmt.Errorf("%s %q is below zero", what, Clip(s))
	}
	return d, nil
}

// Quoted adds to err the name and the text of the value in which it was found.
func Quoted(what string, s []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", what, Clip(s), err)
}

// Clip shortens a text for an error message.
func Clip(s []byte) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}
