package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// text holds the text of a JSON string or number; exchanges send prices as either.
type text []byte

// UnmarshalJSON stores the value without quotes. It returns an error for anything but a string or a number.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' && b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return fmt.Errorf("%q is neither a string nor a number", clip(b))
	}
	*t = append((*t)[:0], bytes.Trim(b, `"`)...)
	return nil
}

// level is one [price, amount] of a recorded book.
type level struct{ price, amount Decimal }

// UnmarshalJSON reads an array of price and amount and ignores further elements.
func (l *level) UnmarshalJSON(b []byte) error {
	var parts []text
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("level: %w", err)
	}
	if len(parts) < 2 {
		return errors.New("level: want [price, amount]")
	}
	var err error
	if l.price, err = notNegative("price", parts[0]); err != nil {
		return err
	}
	if l.price.V.Sign() == 0 {
		return errors.New("price must be above zero")
	}
	l.amount, err = notNegative("amount", parts[1])
	return err
}

// levels appends recorded levels, converted to ticks and lots.
func (s *Survey) levels(dst []Level, recorded []level, at Position) ([]Level, error) {
	for i := range recorded {
		price, err := s.Price.units(recorded[i].price, at)
		if err != nil {
			return dst, err
		}
		amount, err := s.Amount.units(recorded[i].amount, at)
		if err != nil {
			return dst, err
		}
		dst = append(dst, Level{price, amount})
	}
	return dst, nil
}

// book sets the levels of a record.
func (s *Survey) book(r *Record, bids, asks []level) (err error) {
	if r.Levels[0], err = s.levels(r.Levels[0], bids, r.At); err != nil {
		return err
	}
	r.Levels[1], err = s.levels(r.Levels[1], asks, r.At)
	return err
}

// trade sets price and amount of a record.
func (s *Survey) trade(r *Record, price, amount Decimal) (err error) {
	if r.Price, err = s.Price.units(price, r.At); err != nil {
		return err
	}
	r.Amount, err = s.Amount.units(amount, r.At)
	return err
}

// prices sets the prices and the volume of a bar or a candle.
func (s *Survey) prices(r *Record, p [4]Decimal, volume Decimal, volumeAt Position) (err error) {
	for i, into := range []*int64{&r.Bar.Open, &r.Bar.High, &r.Bar.Low, &r.Bar.Close} {
		if *into, err = s.Price.units(p[i], r.At); err != nil {
			return err
		}
	}
	r.Bar.Volume, err = s.Amount.units(volume, volumeAt)
	return err
}

func unquote(b []byte) []byte { return bytes.Trim(b, `"`) }

// memberAt returns the offset of a member in a JSON object, 0 when it is missing.
func memberAt(doc []byte, name string) int {
	return max(bytes.Index(doc, []byte(`"`+name+`"`)), 0)
}

// locateMember adds to err the offset of a member in a JSON object.
func locateMember(doc []byte, name string, err error) error {
	return locate(memberAt(doc, name), err)
}

// locateJSON returns err with its offset in the document.
func locateJSON(err error, remedy string) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	default: // the syntax is valid, a value in the document is wrong
		remedy = remedyValue
	}
	return flawAt(int(max(at-1, 0)), remedy, "JSON: %v", err)
}
