package accounts

import "tickhive/internal/fixed"

// balanceKey names a balance.
type balanceKey struct{ account, currency uint32 }

// coming is what may yet come into a balance. A balance and what comes stay within 10^20:
// an order is let in only with room for the most that it may bring, which it keeps until it
// ends, and the engine lets it bring no more. So whatever prices do, no fill can take a
// balance beyond the bound, a stop's that triggers long after it was parked least of all.
type coming struct {
	open    fixed.I192 // into open orders: a function of records and events alone
	pending fixed.I192 // into orders on their way to the engine, and by a planned deposit
}

// sum is both.
func (c coming) sum() fixed.I192 { return c.open.Add(c.pending) }

// expect adds to what may come in.
func (s *State) expect(account, currency uint32, open, pending fixed.I128) {
	k := balanceKey{account, currency}
	c := s.coming[k]
	c.open, c.pending = c.open.Plus(open), c.pending.Plus(pending)
	if c == (coming{}) {
		delete(s.coming, k)
	} else {
		s.coming[k] = c
	}
}

// expectOf brings what is expected of an open order to n.
func (s *State) expectOf(o *orderHold, p *pairTerms, n fixed.I128) {
	if n != o.coming {
		s.expect(o.account, o.brought(p), n.Sub(o.coming), fixed.I128{})
		o.coming = n
	}
}

// expectNew is expectOf for an order that the engine has taken, or has replaced: the limit
// that the engine keeps, or what its rest brings.
func (s *State) expectNew(o *orderHold, p *pairTerms, limit fixed.U128) {
	if o.limited = !limit.IsZero(); o.limited {
		s.expectOf(o, p, atMost(moneyOf(limit, o.earnDigits(p))))
	} else {
		s.expectRest(o, p)
	}
}

// expectRest brings what is expected of an open order without a limit to what its rest
// brings at its own price.
func (s *State) expectRest(o *orderHold, p *pairTerms) {
	switch {
	case o.limited:
	case o.byQuote:
		s.expectOf(o, p, fixed.I128{})
	default:
		brings, _, ok := o.moves(p, 0)
		s.expectOf(o, p, atMost(brings, ok))
	}
}

// brings takes what a fill has brought off what is expected of the order.
func (s *State) brings(l *leg, p *pairTerms, worth, goods fixed.I128) {
	o := l.order
	switch {
	case o == nil:
	case !o.limited:
		s.expectRest(o, p)
	case o.side == Sell:
		s.expectOf(o, p, positive(o.coming.Sub(worth)))
	default:
		s.expectOf(o, p, positive(o.coming.Sub(goods)))
	}
}

// headroom is what may still come into a balance, beyond what is expected.
func (s *State) headroom(u *user, currency uint32) fixed.I128 {
	has := s.coming[balanceKey{u.n, currency}].sum()
	if r := u.find(currency); r != nil {
		has = has.Add(r.total())
	}
	return positive(MaxMoney.Wide().Sub(has)).Clamp()
}

// roomShare is the part of the headroom that an order gets when less would do: a price may
// move on its way, and a stop's before it triggers. It is 10^14 of an account that is far
// from the bound. Orders enough to use up the headroom so are more than an account may have.
const roomShare = 1 << 20

// allowance is how much of room an order gets that moves n by the prices of now.
func allowance(room, n fixed.I128) fixed.I128 {
	share, _ := fixed.U128{Hi: uint64(room.Hi), Lo: room.Lo}.DivMod64(roomShare)
	if part := share.ToI128(); n.Cmp(part) < 0 {
		return part
	}
	return least(n, room)
}

// unitsOf is how many whole units of 10^-digits an amount has.
func unitsOf(n fixed.I128, digits int) fixed.U128 {
	units, _ := n.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	return units
}

// earnMore is what a sell that is replaced may bring beyond the worth of its open part,
// product units, and all that it may bring then. It moves n by the prices of now.
func (s *State) earnMore(u *user, p *pairTerms, o *orderHold, n fixed.I128) (spare fixed.U128, all fixed.I128) {
	room := least(s.headroom(u, p.quote).Wide().Plus(o.coming), MaxMoney.Wide()).Clamp()
	own, most := o.worth(), unitsOf(allowance(room, n), p.digitsTotal())
	spare = most.SubFloor(own)
	return spare, atMost(moneyOf(own.Add(spare), p.digitsTotal()))
}
