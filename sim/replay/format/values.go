package format

import (
	"errors"
	"fmt"

	"tickhive/sim/replay/format/decimal"
)

// positive reads a number that must be above zero.
func positive(what string, s []byte) (decimal.Decimal, error) {
	d, err := decimal.Parse(s)
	if err == nil && d.V.Sign() <= 0 {
		err = errors.New("must be above zero")
	}
	return d, quoted(what, s, err)
}

// notNegative reads a number that may be zero.
func notNegative(what string, s []byte) (decimal.Decimal, error) {
	d, err := decimal.Parse(s)
	switch {
	case err != nil:
		return d, quoted(what, s, err)
	case s[0] == '-':
		return d, fmt.Errorf("%s %q is below zero", what, clip(s))
	}
	return d, nil
}

// quoted adds to err the name and the text of the value in which it was found.
func quoted(what string, s []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", what, clip(s), err)
}

// clip shortens a text for an error message.
func clip(s []byte) string {
	const most = 40
	if len(s) > most {
		return string(s[:most]) + "..."
	}
	return string(s)
}
