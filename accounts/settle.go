package accounts

import (
	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// maxRounding is the most by which rounded fees may overdraw one reservation, in 10^-18.
const maxRounding = 1_000_000

// leg is one side of a trade.
type leg struct {
	account uint32
	order   *orderHold // nil: the built-in account, or an order without a hold
	fee     fixed.I128
}

// tradeFees holds the fees that both sides of a trade paid, in the quote currency, 10^-18.
type tradeFees struct{ taker, maker fixed.I128 }

// trade settles one trade: base goes to the buyer, quote to the seller, the fees of both to
// the fee account and from there to the uplines. A fee is price x amount x rate x (1 - discount),
// rounded half even to 10^-18 (docs/contract/trading.md#fees); the built-in account pays none.
// The part of the hold that was for a worse price becomes free. trade returns the fees, zeros
// for an event that was folded before.
func (f fold) trade(e *engine.Event) tradeFees {
	p, fresh := f.fresh(e)
	if !fresh || (e.Account == 0 && e.MakerAccount == 0) {
		return tradeFees{}
	}
	s := f.s
	worth := atMost(p.notional(e.Price, e.Amount))
	goods := atMost(lotsOf(e.Amount, p.digitsAmount))
	taker := leg{account: uint32(e.Account), order: s.holds.orders[uint64(e.Order)]}
	maker := leg{account: uint32(e.MakerAccount), order: s.holds.orders[uint64(e.Maker)]}
	if taker.account != 0 {
		taker.fee = feeHalfEven(worth, e.TakerFee, e.TakerDiscount)
	}
	if maker.account != 0 {
		maker.fee = feeHalfEven(worth, e.MakerFee, e.MakerDiscount)
	}
	if o := taker.order; o != nil {
		o.filledBy(e.Price, e.Amount, e.OpenAmount, e.Quote)
	}
	if o := maker.order; o != nil {
		o.filledBy(e.Price, e.Amount, e.MakerOpen, fixed.U128{})
	}
	buyer, seller := &taker, &maker
	if e.Side == engine.Sell {
		buyer, seller = seller, buyer
	}
	s.holds.noteBrought(buyer, p, worth, goods)
	s.holds.noteBrought(seller, p, worth, goods)
	s.holds.pay(p, buyer, worth)
	s.holds.deliver(p, seller, goods)
	s.balances.credit(s.dir.mustFind(buyer.account), p.base, goods.Wide())
	s.balances.credit(s.dir.mustFind(seller.account), p.quote, worth.Sub(seller.fee).Wide())
	fees := &s.balances.totals[p.quote].fees
	*fees = fees.Plus(buyer.fee).Plus(seller.fee)
	for _, l := range [2]*leg{buyer, seller} {
		s.referral.payUplines(s.dir.mustFind(l.account), payment{
			typ: accrual.DealCommission, currency: p.quote, of: l.fee, timeNs: e.TimeNs,
		}, nil)
	}
	for _, o := range [2]*orderHold{taker.order, maker.order} {
		if o != nil {
			s.holds.shrink(o, p)
		}
	}
	return tradeFees{taker: taker.fee, maker: maker.fee}
}

// pay takes worth and the fee from the buyer: first from the order's hold, except for the amount
// that the remainder of the order may cost, then from free. A funded account never goes below zero:
// where the rounding of several fees needs more than the account has, the fee is reduced.
func (h *holds) pay(p *pairTerms, b *leg, worth fixed.I128) {
	u := h.dir.mustFind(b.account)
	rest := worth.Wide().Plus(b.fee) // may exceed an I128 for an account that may go below zero
	if o := b.order; o != nil {
		held := least(positive(o.held.Sub(o.principal(p))), rest.Clamp())
		o.held = o.held.Sub(held)
		h.balances.spendHeld(u, p.quote, held)
		rest = rest.Minus(held)
	}
	if rest.Sign() == 0 {
		return
	}
	if free := positive(u.row(p.quote).free); !u.profile.Unlimited && free.Cmp(rest) < 0 {
		cut := least(rest.Sub(free).Clamp(), b.fee)
		b.fee, rest = b.fee.Sub(cut), rest.Minus(cut)
		h.counts.Shortfalls++
		if free.Cmp(rest) < 0 && !h.coverShortfall(u, p.quote, rest.Sub(free).Clamp()) {
			h.counts.Overdrafts++
		}
	}
	h.balances.credit(u, p.quote, rest.Neg())
}

// coverShortfall pays the amount that a funded account lacks from the fee account: while an order
// was on its way to the engine, the rounded fees of other orders took it from the order's
// reservation. Rounding takes half a 10^-18 per trade, so more than maxRounding is a defect,
// and coverShortfall returns false.
func (h *holds) coverShortfall(u *user, currency uint32, missing fixed.I128) bool {
	t := &h.balances.totals[currency]
	if missing.Cmp(fixed.FromI64(maxRounding)) > 0 || t.fees.CmpTerm(missing) < 0 {
		return false
	}
	t.fees = t.fees.Minus(missing)
	h.balances.credit(u, currency, missing.Wide())
	h.counts.Shortfalls++
	return true
}

// deliver subtracts the sold amount from the seller.
func (h *holds) deliver(p *pairTerms, l *leg, goods fixed.I128) {
	u := h.dir.mustFind(l.account)
	if l.order != nil {
		held := least(l.order.held, goods)
		l.order.held = l.order.held.Sub(held)
		h.balances.spendHeld(u, p.base, held)
		goods = goods.Sub(held)
	}
	if goods.Sign() == 0 {
		return
	}
	if free := positive(u.row(p.base).free.Clamp()); !u.profile.Unlimited && free.Cmp(goods) < 0 &&
		!h.coverShortfall(u, p.base, goods.Sub(free)) {
		h.counts.Overdrafts++
	}
	h.balances.credit(u, p.base, goods.Wide().Neg())
}

// shrink releases the part of the hold that a smaller order no longer needs. It removes a filled order, except
// a buy by quote, which ends with its Canceled event.
func (h *holds) shrink(o *orderHold, p *pairTerms) {
	if o.open == 0 && !o.byQuote {
		h.finish(o, p)
	} else {
		h.release(o, p, o.needAtMost(p))
		h.expectRest(o, p)
	}
}
