package hive

import (
	"math/big"

	"github.com/cockroachdb/apd/v3"
)

// MinLevel is the lowest level that may vote (docs/contract/api.md).
const MinLevel = 20

// weightDigits is the precision of the logarithm. Rounding to two digits needs far fewer: the logarithm of a
// holding is either an integer or irrational, so it never lies exactly between two results.
const weightDigits = 40

// oneToken is the number of units of one token, 10^18.
var oneToken = new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)

// weightCents returns the weight of a vote in hundredths, rounded half to even: 1 + 0.9 x (level - 20) + owned
// tokens + log10(holdings in whole tokens). holdings must be at least one token.
func weightCents(level, owned int64, holdings *big.Int) int64 {
	ctx := apd.BaseContext.WithPrecision(weightDigits)
	ctx.Traps = apd.InvalidOperation | apd.DivisionByZero | apd.Overflow
	x := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(holdings), -18)
	var log apd.Decimal
	if _, err := ctx.Log10(&log, x); err != nil {
		panic("BUG: hive: log10 of " + x.String() + ": " + err.Error())
	}
	base := apd.New(10+9*(level-MinLevel)+10*owned, -1)
	var sum, cents apd.Decimal
	if _, err := ctx.Add(&sum, base, &log); err != nil {
		panic("BUG: hive: weight: " + err.Error())
	}
	ctx.Rounding = apd.RoundHalfEven
	if _, err := ctx.Quantize(&cents, &sum, -2); err != nil {
		panic("BUG: hive: weight: " + err.Error())
	}
	return cents.Coeff.Int64()
}
