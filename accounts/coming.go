package accounts

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// expectOf sets to n the amount that an open order may still bring.
func (h *holds) expectOf(o *orderHold, p *pairTerms, n fixed.I128) {
	if n != o.coming {
		h.balances.expect(o.account, o.brought(p), n.Sub(o.coming), fixed.I128{})
		o.coming = n
	}
}

// expectNew sets the amount that an accepted or replaced order may still bring: its earn limit, which the
// engine enforces, or the worth of its remainder when it has none.
func (h *holds) expectNew(o *orderHold, p *pairTerms, limit fixed.U128) {
	if o.limited = !limit.IsZero(); o.limited {
		h.expectOf(o, p, atMost(moneyOf(limit, o.earnDigits(p))))
	} else {
		h.expectRest(o, p)
	}
}

// expectRest sets the amount that an open order without an earn limit may still bring: the worth of its
// remainder at its own price. It is not known for a buy by quote.
func (h *holds) expectRest(o *orderHold, p *pairTerms) {
	if !o.limited && !o.byQuote {
		brings, _, ok := o.moves(p, 0)
		h.expectOf(o, p, atMost(brings, ok))
	}
}

// noteBrought subtracts the amount that a fill brought from the amount that the order may yet bring. For an order
// without an earn limit, shrink does so.
func (h *holds) noteBrought(l *leg, p *pairTerms, worth, goods fixed.I128) {
	o := l.order
	switch {
	case o == nil || !o.limited:
	case o.side == engine.Sell:
		h.expectOf(o, p, positive(o.coming.Sub(worth)))
	default:
		h.expectOf(o, p, positive(o.coming.Sub(goods)))
	}
}

// roomShare divides the free room of a balance: an order gets at least headroom / roomShare, even if it needs
// less. The price may move while the order is on its way or before a stop is triggered. Far from the limit,
// this part is 10^14. An account cannot have enough orders to use up its headroom in such parts.
const roomShare = 1 << 20

// allowance returns how much of room an order may reserve that brings n at current prices.
func allowance(room, n fixed.I128) fixed.I128 {
	share, _ := fixed.U128{Hi: uint64(room.Hi), Lo: room.Lo}.DivMod64(roomShare)
	if part := share.ToI128(); n.Cmp(part) < 0 {
		return part
	}
	return least(n, room)
}

// unitsOf returns the number of whole units of 10^-digits in an amount.
func unitsOf(n fixed.I128, digits int) fixed.U128 {
	units, _ := n.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	return units
}

// earnMore returns two limits for a sell that is replaced: the product units that it may bring beyond the worth
// of its open part, and the whole amount that it may bring. n is the amount that the new order brings at current
// prices.
func (h *holds) earnMore(u *user, p *pairTerms, o *orderHold, n fixed.I128) (spare fixed.U128, all fixed.I128) {
	room := least(h.balances.headroom(u, p.quote).Wide().Plus(o.coming), MaxMoney.Wide()).Clamp()
	own, most := o.worth(), unitsOf(allowance(room, n), p.digitsTotal())
	spare = most.SubFloor(own)
	return spare, atMost(moneyOf(own.Add(spare), p.digitsTotal()))
}
