package marketdata

import (
	"math"
	"math/bits"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// Fill is one side of a trade, as one of its two orders sees it. The fee is in the quote
// currency.
type Fill struct {
	Pair      engine.PairID
	Order     engine.OrderID
	Account   engine.AccountID
	Trade     engine.TradeID
	TimeNs    int64       // Unix ns
	Price     int64       // ticks
	Amount    int64       // lots
	Fee       fixed.I128  // 10^-18 of the quote currency
	Side      engine.Side // the order's side: Buy when this order bought
	TakerSide engine.Side // the taker's side; isBuy of the public deal
	IsMaker   bool
}

// fillRec is the retained record of a trade, shared by its two orders. Each Prev member links to the previous
// record of the same order or account: it holds the distance between their numbers, 0 when there is none.
type fillRec struct {
	trade                              engine.TradeID
	taker, maker                       engine.OrderID
	timeNs                             int64
	price, amount                      int64
	takerFee, takerDiscount            uint32
	makerFee, makerDiscount            uint32
	takerPrev, makerPrev               uint32
	takerAccountPrev, makerAccountPrev uint32
	takerAccount, makerAccount         engine.AccountID
	side                               engine.Side // the taker's
}

// fill returns the trade as its maker or its taker sees it.
func (f *fillRec) fill(maker bool, digitsTotal int) Fill {
	out := Fill{
		Pair: f.taker.Pair(), Trade: f.trade, TimeNs: f.timeNs, Price: f.price, Amount: f.amount,
		TakerSide: f.side, IsMaker: maker,
	}
	if maker {
		out.Order, out.Account, out.Side = f.maker, f.makerAccount, f.side.Opposite()
	} else {
		out.Order, out.Account, out.Side = f.taker, f.takerAccount, f.side
	}
	out.Fee = f.fee(maker, digitsTotal)
	return out
}

// order returns the order of the maker or of the taker.
func (f *fillRec) order(maker bool) engine.OrderID {
	if maker {
		return f.maker
	}
	return f.taker
}

// fee returns the fee that the maker or the taker of the trade pays.
func (f *fillRec) fee(maker bool, digitsTotal int) fixed.I128 {
	if maker {
		return Fee(f.price, f.amount, digitsTotal, f.makerFee, f.makerDiscount)
	}
	return Fee(f.price, f.amount, digitsTotal, f.takerFee, f.takerDiscount)
}

// Fee returns price x amount x rate x (1 - discount) in 10^-18 of the quote currency, rounded half even
// (docs/contract/trading.md#fees). price is in ticks, amount in lots; digitsTotal is the number of digits of
// their product; rate and discount are in 10^-8. The largest I128 caps the fee; it is eighteen orders of
// magnitude above the largest possible balance.
func Fee(price, amount int64, digitsTotal int, rate, discount uint32) fixed.I128 {
	if rate == 0 || discount >= engine.RateOne {
		return fixed.I128{}
	}
	// The product price x amount x share has the unit 10^-(digitsTotal+16) and at most 126+54 bits.
	share := uint64(rate) * uint64(engine.RateOne-discount)
	product := fixed.Mul64(uint64(price), uint64(amount))
	mid, low := bits.Mul64(product.Lo, share)
	high, carry := bits.Mul64(product.Hi, share)
	mid, c := bits.Add64(mid, carry, 0)
	high += c
	if digitsTotal < 2 {
		q := fixed.U128{Hi: mid, Lo: low}
		scaled, fits := q.MulCheck(fixed.Pow10[2-digitsTotal])
		if high != 0 || !fits {
			return maxFee
		}
		return saturate(scaled)
	}
	div := fixed.Pow10[digitsTotal-2]
	if high >= div {
		return maxFee
	}
	var rest uint64
	mid, rest = bits.Div64(high, mid, div)
	low, rest = bits.Div64(rest, low, div)
	q := fixed.U128{Hi: mid, Lo: low}
	if half := div - rest; rest > half || (rest == half && q.Lo&1 == 1) {
		if q == (fixed.U128{Hi: math.MaxUint64, Lo: math.MaxUint64}) {
			return maxFee
		}
		q = q.Add(fixed.FromU64(1))
	}
	return saturate(q)
}

var maxFee = fixed.I128{Hi: math.MaxInt64, Lo: math.MaxUint64}

func saturate(q fixed.U128) fixed.I128 {
	if q.Hi>>63 != 0 {
		return maxFee
	}
	return q.ToI128()
}
