package launchpad

import (
	"math/big"

	"tickhive/internal/fixed"
)

// cents is an amount in hundredths of a USD, rounded half even to two digits
// (docs/contract/launchpad.md#pools). Rows are sorted by this printed figure, so that rows which
// read the same are in the order of their addresses.
type cents = fixed.U128

var maxCents = cents{Hi: 1<<64 - 1, Lo: 1<<64 - 1}

// usdCents returns times x quote in USD: USBI is 1 USD, wNATIVE is nativeUSD.
func (o *Options) usdCents(quote Amount, side Side, times int64) cents {
	if quote.IsZero() {
		return cents{}
	}
	v := quote.Big()
	v.Mul(v, big.NewInt(times))
	unit := pow10(Decimals - 2)
	if side == WNative {
		v.Mul(v, o.NativeUSD.Big())
		unit.Mul(unit, pow10(Decimals))
	}
	v = quoHalfEven(v, unit)
	if v.BitLen() > 128 {
		return maxCents // beyond 10^36 USD only the order at the top is lost
	}
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return cents{Hi: v.Rsh(v, 64).Uint64(), Lo: lo}
}
