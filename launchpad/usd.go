package launchpad

import (
	"math/big"

	"tickhive/internal/fixed"
)

// cents is an amount in hundredths of a USD, rounded half to even (docs/contract/launchpad.md#pools). Lists
// sort by this rounded figure, so that rows which print the same figure are ordered by address.
type cents = fixed.U128

var maxCents = cents{Hi: 1<<64 - 1, Lo: 1<<64 - 1}

// usdCents returns times x quote in USD. 1 USBI is 1 USD, 1 wNATIVE is NativeUSD.
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
		return maxCents // above 10^36 USD all figures are equal, so only the order among them is lost
	}
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return cents{Hi: v.Rsh(v, 64).Uint64(), Lo: lo}
}
