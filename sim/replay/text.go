package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// text is a JSON string or number as it was written: exchanges send prices as either.
type text []byte

// UnmarshalJSON keeps the literal without its quotes; anything else than a string or a
// number is refused.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' && b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return fmt.Errorf("%q is neither a string nor a number", clip(b))
	}
	*t = append((*t)[:0], bytes.Trim(b, `"`)...)
	return nil
}

// number parses the text.
func (t text) number(what string) (number, error) {
	n, err := parseNumber(t)
	if err != nil {
		return n, fmt.Errorf("%s %q: %w", what, clip(t), err)
	}
	if n.neg {
		return n, fmt.Errorf("%s %q is below zero", what, clip(t))
	}
	return n, nil
}

// priceLevel is one [price, amount] of a recorded book.
type priceLevel struct{ price, amount number }

// UnmarshalJSON reads an array of price and amount; more members are ignored.
func (l *priceLevel) UnmarshalJSON(b []byte) error {
	var parts []text
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("level: %w", err)
	}
	if len(parts) < 2 {
		return errors.New("level: want [price, amount]")
	}
	var err error
	if l.price, err = parts[0].number("price"); err != nil {
		return err
	}
	if l.price.mantissa == 0 {
		return errors.New("price must be above zero")
	}
	l.amount, err = parts[1].number("amount")
	return err
}

// intLevel is a level in ticks and lots.
type intLevel struct{ price, amount int64 }

// toLevels turns recorded levels into ticks and lots.
func toLevels(dst []intLevel, levels []priceLevel, digitsPrice, digitsAmount int) ([]intLevel, error) {
	for _, l := range levels {
		price, err := l.price.units(digitsPrice)
		if err != nil {
			return dst, fmt.Errorf("price: %w", err)
		}
		amount, err := l.amount.units(digitsAmount)
		if err != nil {
			return dst, fmt.Errorf("amount: %w", err)
		}
		dst = append(dst, intLevel{price, amount})
	}
	return dst, nil
}

// takeLevels follows the levels of a recorded book.
func (s *survey) takeLevels(levels []priceLevel, at place) {
	for _, l := range levels {
		s.price.take(l.price, at)
		s.amount.take(l.amount, at)
	}
}
