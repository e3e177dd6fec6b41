package engine

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tickhive/internal/fixed"
)

// RateScale is the unit of fee rates and discounts: 10^-8 (docs/contract/market-data.md#decimals).
const RateScale = 8

// RateOne is the rate 1.0.
const RateOne = 100_000_000

// MaxTotal bounds price x amount of one order, in product units: 2^96. Two billion
// trades of the largest size still sum below 2^127.
var MaxTotal = fixed.U128{Hi: 1 << 32}

// MaxSettled is the largest price x amount of an order that moves money: MaxTotal, or 10^20 whole units of the
// quote currency if that is less, which is the case for pairs with few digits. A trade is never larger than its
// resting order.
func (i *Instrument) MaxSettled() fixed.U128 {
	if d := i.DigitsTotal(); d <= 8 { // 10^28 is below 2^96
		return fixed.Mul64(fixed.Pow10[18], fixed.Pow10[2+d])
	}
	return MaxTotal
}

// Instrument holds the configuration of one pair. Immutable once published: a change makes a
// new one.
type Instrument struct {
	ID           PairID
	Code         string // BASE_QUOTE
	Base, Quote  string
	DigitsPrice  int        // a tick is 10^-DigitsPrice quote
	DigitsAmount int        // a lot is 10^-DigitsAmount base
	MinQuote     fixed.U128 // smallest order, product units; HasMinQuote says whether it exists
	HasMinQuote  bool
	State        PairState
	MakerFee     uint32 // 10^-8
	TakerFee     uint32 // 10^-8
	CreatedNs    int64  // when the pair was added
}

// DigitsTotal returns the number of fractional digits of price x amount.
func (i *Instrument) DigitsTotal() int { return i.DigitsPrice + i.DigitsAmount }

var pairCode = regexp.MustCompile(`^[A-Z0-9]{2,12}_[A-Z0-9]{2,12}$`)

// ValidPairCode reports whether code has the form of
// docs/contract/market-data.md#pair-codes-and-order-of-lists.
func ValidPairCode(code string) bool { return pairCode.MatchString(code) }

// Validate reports why the pair cannot be traded exactly: a code that is not of the form,
// digits whose products could overflow, rates beyond 1.
func (i *Instrument) Validate() error {
	if !ValidPairCode(i.Code) {
		return fmt.Errorf("pair code %q is not of the form %s", i.Code, pairCode)
	}
	if b, q, _ := strings.Cut(i.Code, "_"); b != i.Base || q != i.Quote || b == q {
		return fmt.Errorf("pair code %q does not name two different currencies", i.Code)
	}
	if i.DigitsPrice < 0 || i.DigitsAmount < 0 || i.DigitsTotal() > fixed.Scale {
		return fmt.Errorf("digitsPrice %d + digitsAmount %d is more than %d: exact products would overflow",
			i.DigitsPrice, i.DigitsAmount, fixed.Scale)
	}
	if i.HasMinQuote && MaxTotal.Less(i.MinQuote) {
		return errors.New("minQuoteAmount is beyond the largest order")
	}
	if i.MakerFee > RateOne || i.TakerFee > RateOne {
		return errors.New("a fee rate is above 1")
	}
	return nil
}
