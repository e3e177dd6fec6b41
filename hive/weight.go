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

// weightCents returns the weight of a vote in hundredths: 1 + 0.9 x (level - 20) + owned tokens + log, the logCents of
// the holdings.
func weightCents(level, owned, log int64) int64 { return 100 + 90*(level-MinLevel) + 100*owned + log }

// logCents returns log10(holdings in whole tokens) in hundredths, rounded half to even; 0 below one token. The other
// parts of a weight are whole hundredths, so the sum is rounded like this part alone.
func logCents(holdings *big.Int) int64 {
	if holdings.Cmp(oneToken) < 0 {
		return 0
	}
	ctx := apd.BaseContext.WithPrecision(weightDigits)
	ctx.Traps = apd.InvalidOperation | apd.DivisionByZero | apd.Overflow
	x := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(holdings), -18)
	var log apd.Decimal
	if _, err := ctx.Log10(&log, x); err != nil {
		panic("BUG: hive: log10 of " + x.String() + ": " + err.Error())
	}
	var cents apd.Decimal
	ctx.Rounding = apd.RoundHalfEven
	if _, err := ctx.Quantize(&cents, &log, -2); err != nil {
		panic("BUG: hive: log10 of " + x.String() + ": " + err.Error())
	}
	return cents.Coeff.Int64()
}
