package account

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

const (
	demoWorth    = 100_000 // of the currency in which most pairs are quoted
	demoUnpriced = "10000" // of a currency without a price
	demoFigures  = 2       // significant digits of an amount
)

// DemoAmounts returns the amount that a demo user gets of each currency, a decimal with at most the digits of the
// currency. prices has the price of each pair by its code, nil without one. Amounts are worth about the same: a user
// with as many BTC as USDT could buy up the book with the first and nothing with the others.
func DemoAmounts(prices map[string]*big.Rat, digits map[string]int) map[string]string {
	worth := worths(prices)
	amounts := make(map[string]string, len(digits))
	for currency, most := range digits {
		amounts[currency] = demoUnpriced
		if w := worth[currency]; w != nil {
			amounts[currency] = roundFigures(new(big.Rat).Quo(big.NewRat(demoWorth, 1), w), most)
		}
	}
	return amounts
}

// worths returns what a unit of each currency is worth in the currency in which most pairs are quoted. Currencies that
// no pair connects with it are missing.
func worths(prices map[string]*big.Rat) map[string]*big.Rat {
	pairs := slices.Sorted(maps.Keys(prices))
	root, quoted := "", map[string]int{}
	for _, code := range pairs {
		_, quote, _ := strings.Cut(code, "_")
		if quoted[quote]++; quoted[quote] > quoted[root] {
			root = quote
		}
	}
	worth := map[string]*big.Rat{root: big.NewRat(1, 1)}
	for before := 0; before != len(worth); { // until a round finds no further currency
		before = len(worth)
		for _, code := range pairs {
			base, quote, _ := strings.Cut(code, "_")
			switch {
			case prices[code] == nil:
			case worth[base] == nil && worth[quote] != nil:
				worth[base] = new(big.Rat).Mul(prices[code], worth[quote])
			case worth[base] != nil && worth[quote] == nil:
				worth[quote] = new(big.Rat).Quo(worth[base], prices[code])
			}
		}
	}
	if len(worth) == 1 {
		return nil // no pair has a price
	}
	return worth
}

// roundFigures returns a decimal with the first significant digits of v, the others cut off, and at most digits
// decimals. It is at least 1 of them.
func roundFigures(v *big.Rat, digits int) string {
	text := []byte(v.FloatString(digits))
	figures := 0
	for i, c := range text {
		switch {
		case c == '.' || c == '0' && figures == 0:
		case figures < demoFigures:
			figures++
		default:
			text[i] = '0'
		}
	}
	if figures == 0 {
		text[len(text)-1] = '1'
	}
	if digits > 0 {
		text = []byte(strings.TrimRight(strings.TrimRight(string(text), "0"), "."))
	}
	return string(text)
}
