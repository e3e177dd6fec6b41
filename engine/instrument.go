package engine

import (
	"errors"
	"fmt"
	"strings"

	"tickhive/internal/fixed"
)

// RateScale is the unit of fee rates and discounts: 10^-8 (docs/contract/market-data.md#decimals).
const RateScale = 8

// RateOne is the rate 1.0.
const RateOne = 100_000_000

// MaxBandUp is the largest BandUp: the factor 1,000,000.
const MaxBandUp = 1_000_000 * RateOne

// MaxTotal bounds price x amount of one order, in product units: 2^96. Two billion
// trades of the largest size still sum below 2^127 (docs/internals/bounds.md#engine).
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
	MaxQuote     fixed.U128 // largest order, product units; 0: MaxTotal alone limits it
	// BandUp and BandDown limit prices of orders to factors of the last trade, 10^-8; 0: no limit.
	// The core does not read them: internal/entry checks an order before it reserves money.
	BandUp, BandDown uint64
	State            PairState
	MakerFee         uint32 // 10^-8
	TakerFee         uint32 // 10^-8
	CreatedNs        int64  // when the pair was added
}

// OutOfBand reports whether a price is beyond the factors of the last trade's price. Before the
// first trade (last is 0) no price is.
func (i *Instrument) OutOfBand(price, last int64) bool {
	if last == 0 {
		return false
	}
	p := fixed.Mul64(uint64(price), RateOne)
	return i.BandUp != 0 && fixed.Mul64(uint64(last), i.BandUp).Less(p) ||
		p.Less(fixed.Mul64(uint64(last), i.BandDown))
}

// CheckTotal returns the first limit that an order's worth, in product units, breaks.
func (i *Instrument) CheckTotal(worth fixed.U128) Reason {
	switch {
	case MaxTotal.Less(worth):
		return TotalOutOfRange
	case i.HasMinQuote && worth.Less(i.MinQuote):
		return BelowMinQuoteAmount
	case !i.MaxQuote.IsZero() && i.MaxQuote.Less(worth):
		return AboveMaxQuoteAmount
	}
	return NotRejected
}

// DigitsTotal returns the number of fractional digits of price x amount.
func (i *Instrument) DigitsTotal() int { return i.DigitsPrice + i.DigitsAmount }

// Validate reports why the pair cannot be traded exactly: a code that is not of the form,
// digits whose products could overflow, rates beyond 1.
func (i *Instrument) Validate() error {
	if !ValidPairCode(i.Code) {
		return fmt.Errorf("pair code %q is not of the form BASE_QUOTE, %s each", i.Code, CurrencyForm)
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
	if MaxTotal.Less(i.MaxQuote) {
		return errors.New("maxQuoteAmount is beyond the largest order")
	}
	if !i.MaxQuote.IsZero() && i.HasMinQuote && i.MaxQuote.Less(i.MinQuote) {
		return errors.New("maxQuoteAmount is below minQuoteAmount")
	}
	if i.BandUp != 0 && i.BandUp < RateOne || i.BandUp > MaxBandUp || i.BandDown > RateOne {
		return fmt.Errorf("priceBandUp is not from 1 to %d, or priceBandDown not from 0 to 1", MaxBandUp/RateOne)
	}
	if i.MakerFee > RateOne || i.TakerFee > RateOne {
		return errors.New("a fee rate is above 1")
	}
	return nil
}

// Asset holds the configuration of one currency (PATCH /assets, docs/contract/internal.md#market).
// Immutable once published: a change makes a new one. Limits and fees in 10^-18.
type Asset struct {
	Symbol               string
	Name                 string
	Fiat                 bool // type fiat, else cryptocurrency
	UnifiedCryptoassetID int64
	HasUnifiedID         bool
	CanWithdraw          bool
	CanDeposit           bool
	MinWithdraw          fixed.I128
	MaxWithdraw          fixed.I128
	HasMinWithdraw       bool
	HasMaxWithdraw       bool
	MakerFee             fixed.I128
	TakerFee             fixed.I128
	HasMakerFee          bool
	HasTakerFee          bool
}
