package audit

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/marketdata"
)

// Fills verifies what the order history shows of the trades among events: each fee is within half a unit of
// received x rate x (1 - discount). Fills that are not retained any more are left out.
func Fills(core *engine.Core, h *marketdata.History, events []engine.Event) error {
	for i := range events {
		e := &events[i]
		if e.Kind != engine.EventTrade {
			continue
		}
		in, _ := core.Pair(e.Pair)
		for _, side := range [2]struct {
			order          engine.OrderID
			side           engine.Side
			rate, discount uint32
			maker          bool
		}{
			{e.Order, e.Side, e.TakerFee, e.TakerDiscount, false},
			{e.Maker, e.Side.Opposite(), e.MakerFee, e.MakerDiscount, true},
		} {
			o, _ := h.Order(side.order)
			for _, f := range o.Fills {
				if f.Trade != e.Trade || f.IsMaker != side.maker {
					continue
				}
				exact := received(in, side.side, e)
				exact.Mul(exact, big.NewRat(int64(side.rate), engine.RateOne))
				exact.Mul(exact, big.NewRat(int64(engine.RateOne-side.discount), engine.RateOne))
				fee := new(big.Int).SetUint64(f.Fee.Hi)
				fee.Add(fee.Lsh(fee, 64), new(big.Int).SetUint64(f.Fee.Lo))
				off := new(big.Rat).Sub(new(big.Rat).SetInt(fee), exact)
				if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
					return fmt.Errorf("order %d has paid %s units for trade %d, exact are %s", side.order, fee, e.Trade,
						exact.FloatString(3))
				}
			}
		}
	}
	return nil
}

// received returns what a side of a trade receives, in units of the asset.
func received(in *engine.Instrument, side engine.Side, e *engine.Event) *big.Rat {
	if side == engine.Buy {
		return new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(e.Amount), ten(in.BaseDigits-in.DigitsAmount)))
	}
	worth := new(big.Int).Mul(big.NewInt(e.Price), big.NewInt(e.Amount))
	return new(big.Rat).SetInt(worth.Mul(worth, ten(in.QuoteDigits-in.DigitsPrice-in.DigitsAmount)))
}
