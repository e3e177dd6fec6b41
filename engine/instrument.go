package engine

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
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

// maxUnitDigits: an order moves at most 10^29 units of an asset, so that all orders that a machine can hold, 2^30, move
// less than 2^127 (docs/internals/bounds.md#accounts).
const maxUnitDigits = 29

// largestWhole limits prices and amounts of pairs that have no limit of their own, in whole units. Nine digits before
// the point fit into the number types of the known bots.
const largestWhole = 9_000_000_000

// Instrument holds the configuration of one pair. Immutable once published: a change makes a
// new one.
type Instrument struct {
	ID           PairID
	Code         string // BASE_QUOTE
	Base, Quote  string
	DigitsPrice  int // a tick is 10^-DigitsPrice quote
	DigitsAmount int // a lot is 10^-DigitsAmount base
	// BaseDigits and QuoteDigits are the digits of the two assets: their unit is 10^-digits. The core sets them when
	// it adds the pair; they never change.
	BaseDigits, QuoteDigits int
	// MaxPrice (ticks) and MaxAmount (lots) limit the price and the amount of an order; 0: LargestPrice and
	// LargestAmount have a default.
	MaxPrice, MaxAmount int64
	MinQuote            fixed.U128 // smallest order, product units; HasMinQuote says whether it exists
	HasMinQuote         bool
	MaxQuote            fixed.U128 // largest order, product units; 0: MaxSettled alone limits it
	// BandUp and BandDown limit prices of orders to factors of the last trade, 10^-8; 0: no limit.
	BandUp, BandDown uint64
	State            PairState
	MakerFee         uint32 // 10^-8
	TakerFee         uint32 // 10^-8
	CreatedNs        int64  // when the pair was added
}

// OutOfBand reports whether a price is beyond the factors of the last trade's price. Before the
// first trade (last is 0) no price is.
func (i *Instrument) OutOfBand(price, last int64) bool {
	if last == 0 || i.BandUp|i.BandDown == 0 {
		return false
	}
	p := fixed.Mul64(uint64(price), RateOne)
	return i.BandUp != 0 && fixed.Mul64(uint64(last), i.BandUp).Less(p) ||
		p.Less(fixed.Mul64(uint64(last), i.BandDown))
}

// CheckTotal returns the first limit that an order's worth, in product units, breaks.
func (i *Instrument) CheckTotal(worth fixed.U128) Reason {
	switch {
	case i.MaxSettled().Less(worth):
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

// MaxSettled is the largest price x amount of an order, in product units: MaxTotal, or 10^29 units of the quote if that
// is less.
func (i *Instrument) MaxSettled() fixed.U128 {
	return maxSettled[i.QuoteDigits-i.DigitsTotal()]
}

// maxSettled has MaxSettled by the digits that a unit of the quote has beyond a product unit.
var maxSettled = func() (most [fixed.Scale + 1]fixed.U128) {
	for d := range most {
		if most[d] = MaxTotal; d > 0 { // 10^28 is below 2^96, 10^29 is above
			most[d] = fixed.Mul64(fixed.Pow10[11], fixed.Pow10[maxUnitDigits-11-d])
		}
	}
	return most
}()

// LargestPrice returns the largest price of an order, in ticks: MaxPrice, or by default 9,000,000,000 whole units of
// the quote, or what int64 holds if that is less.
func (i *Instrument) LargestPrice() int64 { return largest(i.MaxPrice, i.DigitsPrice) }

// LargestAmount returns the largest amount of an order, in lots: MaxAmount, or by default 9,000,000,000 whole units of
// the base, or what int64 holds if that is less.
func (i *Instrument) LargestAmount() int64 { return largest(i.MaxAmount, i.DigitsAmount) }

func largest(limit int64, digits int) int64 {
	switch {
	case limit != 0:
		return limit
	case digits > 9: // 9 x 10^18 is below 2^63, 9 x 10^19 is above
		return math.MaxInt64
	}
	return largestWhole * int64(fixed.Pow10[digits])
}

// quoteUnit returns the units of the quote of one product unit.
func (i *Instrument) quoteUnit() uint64 { return fixed.Pow10[i.QuoteDigits-i.DigitsTotal()] }

// BaseUnits returns lots in units of the base.
func (i *Instrument) BaseUnits(lots int64) fixed.U128 {
	return fixed.Mul64(uint64(lots), fixed.Pow10[i.BaseDigits-i.DigitsAmount])
}

// QuoteUnits returns product units (ticks x lots) in units of the quote. The product is at most a sum of orders, of
// which each is at most MaxSettled.
func (i *Instrument) QuoteUnits(product fixed.U128) fixed.U128 {
	unit := i.quoteUnit()
	units := fixed.Mul64(product.Lo, unit)
	units.Hi += product.Hi * unit
	return units
}

// Received returns what a fill brings a side, without the fee: units of the base for Buy, of the quote for Sell.
func (i *Instrument) Received(side Side, price, amount int64) fixed.U128 {
	if side == Buy {
		return i.BaseUnits(amount)
	}
	return i.QuoteUnits(total(price, amount))
}

// DefaultDigits is the number of digits of an asset about which nothing else is known.
const DefaultDigits = 8

// TakeDigits sets the digits of the two assets: the known ones, or for an unknown asset DefaultDigits, or as many as
// the pair needs if that is more.
func (i *Instrument) TakeDigits(known func(currency string) (digits int, ok bool)) {
	take := func(currency string, need int) int {
		if d, ok := known(currency); ok {
			return d
		}
		return max(DefaultDigits, need)
	}
	i.BaseDigits = take(i.Base, i.DigitsAmount)
	i.QuoteDigits = take(i.Quote, i.DigitsTotal())
}

// AssetDigits holds the digits of currencies by code, for pairs that no core has added yet.
type AssetDigits map[string]int

// Give sets the digits of a pair's assets as the core does when it adds the pair behind those before, and remembers
// them.
func (d AssetDigits) Give(i *Instrument) {
	i.TakeDigits(func(currency string) (digits int, ok bool) { digits, ok = d[currency]; return digits, ok })
	d[i.Base], d[i.Quote] = i.BaseDigits, i.QuoteDigits
}

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
	if max(i.BaseDigits, i.QuoteDigits) > fixed.Scale {
		return fmt.Errorf("%s has %d digits and %s %d: the most is %d", i.Base, i.BaseDigits, i.Quote, i.QuoteDigits,
			fixed.Scale)
	}
	if i.DigitsAmount > i.BaseDigits {
		return fmt.Errorf("digitsAmount %d is more than the %d digits of %s", i.DigitsAmount, i.BaseDigits, i.Base)
	}
	if i.DigitsTotal() > i.QuoteDigits {
		return fmt.Errorf("digitsPrice %d + digitsAmount %d is more than the %d digits of %s", i.DigitsPrice,
			i.DigitsAmount, i.QuoteDigits, i.Quote)
	}
	if i.MaxPrice < 0 || i.MaxAmount < 0 {
		return errors.New("maxPrice or maxAmount is negative")
	}
	if most := fixed.Mul64(fixed.Pow10[12], fixed.Pow10[maxUnitDigits-12]); most.Less(i.BaseUnits(i.LargestAmount())) {
		return fmt.Errorf("maxAmount is more than 10^%d units of %s", maxUnitDigits, i.Base)
	}
	most := i.MaxSettled()
	if i.HasMinQuote && most.Less(i.MinQuote) {
		return errors.New("minQuoteAmount is beyond the largest order")
	}
	if most.Less(i.MaxQuote) {
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
	Digits               int  // 0 to 18: a unit of the asset is 10^-Digits
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
