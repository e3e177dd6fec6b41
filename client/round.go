package client

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

var decimalForm = regexp.MustCompile(`^-?[0-9]{1,40}(\.[0-9]{1,40})?$`)

// RoundDown returns d with at most the given fractional digits, towards zero.
func RoundDown(d Decimal, digits int) (Decimal, error) { return round(d, digits, false) }

// RoundUp returns d with at most the given fractional digits, away from zero.
func RoundUp(d Decimal, digits int) (Decimal, error) { return round(d, digits, true) }

// BidPrice returns the largest price of the pair that is not above d, for a buy that must not pay more.
func (p *PairSettings) BidPrice(d Decimal) (Decimal, error) { return RoundDown(d, p.DigitsPrice) }

// AskPrice returns the smallest price of the pair that is not below d, for a sale that must not bring less.
func (p *PairSettings) AskPrice(d Decimal) (Decimal, error) { return RoundUp(d, p.DigitsPrice) }

// Amount returns the largest amount of the pair that is not above d.
func (p *PairSettings) Amount(d Decimal) (Decimal, error) { return RoundDown(d, p.DigitsAmount) }

func round(d Decimal, digits int, up bool) (Decimal, error) {
	if !decimalForm.MatchString(string(d)) || digits < 0 {
		return "", fmt.Errorf("client: %q cannot be rounded to %d digits", d, digits)
	}
	whole, fraction, _ := strings.Cut(string(d), ".")
	if len(fraction) <= digits {
		return d, nil
	}
	kept, rest := fraction[:digits], fraction[digits:]
	minus := strings.HasPrefix(whole, "-")
	units, _ := new(big.Int).SetString(strings.TrimPrefix(whole, "-")+kept, 10)
	if up && strings.Trim(rest, "0") != "" {
		units.Add(units, big.NewInt(1))
	}
	text := units.String()
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	if digits > 0 {
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	if minus && units.Sign() != 0 {
		text = "-" + text
	}
	return Decimal(text), nil
}
