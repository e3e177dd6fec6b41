package accounts

import (
	"fmt"

	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// FoldEvents books the events of whole commands in the balances, in the order of the engine's stream, each once; pos is
// the position of the log after the last of them, which readers see (Shown.Pos). Without events it moves the position
// alone. The accounts of an event must exist: a user's number is the user's engine account.
//
// No event of a known pair and known accounts may panic: the command is already in the log, so each start would replay
// it and panic again. Balances and totals are wide (fixed.I192). A single order or trade beyond 10^20, which Reserve
// and the engine refuse, counts as 10^20 on both sides.
func (s *State) FoldEvents(events []engine.Event, pos uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.pos = max(s.report.pos, pos)
	for i := range events {
		fold{s}.event(&events[i])
	}
}

// fold books events. Its owner holds the state's lock.
type fold struct{ s *State }

// event folds one event.
func (f fold) event(e *engine.Event) {
	switch e.Kind {
	case engine.EventAccepted:
		f.accepted(e)
	case engine.EventTrade:
		f.trade(e)
	case engine.EventCanceled:
		f.canceled(e)
	case engine.EventReplaced:
		f.replaced(e)
	case engine.EventReduced:
		f.reduced(e)
	case engine.EventTriggered:
		f.triggered(e)
	case engine.EventPair:
		f.pair(e)
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventNothing, engine.EventAsset:
	default:
		panic(fmt.Sprintf("BUG: accounts: event kind %d", e.Kind))
	}
}

// terms returns the pair of an event.
func (f fold) terms(e *engine.Event) *pairTerms {
	p := f.s.holds.pairs[uint32(e.Pair)]
	if p == nil {
		panic("BUG: accounts: an event of a pair that was never added")
	}
	return p
}

// order returns the pair of an event, and the hold of its order; nil: it has none.
func (f fold) order(e *engine.Event) (*pairTerms, *orderHold) {
	return f.terms(e), f.s.holds.orders[uint64(e.Order)]
}

// pair adds a pair, unless it is known: its digits never change.
func (f fold) pair(e *engine.Event) {
	id, in := uint32(e.Pair), e.Instrument
	if f.s.holds.pairs[id] != nil {
		return
	}
	f.s.holds.pairs[id] = &pairTerms{
		id: id, base: f.s.balances.currency(in.Base), quote: f.s.balances.currency(in.Quote),
		digitsPrice: in.DigitsPrice, digitsAmount: in.DigitsAmount,
	}
}

// accepted turns the order's reservation into its hold. Without a reservation (in a replay)
// it takes the hold from the free balance. For a market buy by quote and for a funded market
// buy by amount, the event's Quote is the most that the order may spend, in product units.
func (f fold) accepted(e *engine.Event) {
	p := f.terms(e)
	if e.Account == 0 {
		return
	}
	byQuote := e.Flags&engine.FlagQuote != 0
	o := &orderHold{
		id: uint64(e.Order), account: uint32(e.Account), pair: p.id, side: e.Side, typ: e.Type, byQuote: byQuote,
		waiting: waits(e.Type), price: e.Price, open: e.Amount, quote: e.Quote,
		rates: Rates{Maker: e.MakerFee, Taker: e.TakerFee, Discount: e.TakerDiscount},
	}
	s, earn := f.s, e.EarnLimit()
	key := o.key()
	key.earn = earn
	reserved := s.holds.takeOver(key)
	if e.Flags&engine.FlagFunded != 0 && e.Side == engine.Buy && atMarket(e.Type) {
		o.byQuote = true
	}
	need := o.needAtMost(p)
	if !reserved && need.Sign() > 0 {
		s.holds.counts.unreserved.Add(1)
	}
	if o.byQuote && !byQuote {
		o.byQuote, o.capped = false, true
	}
	s.holds.add(o)
	s.holds.raise(o, p, need)
	s.holds.expectNew(o, p, earn)
}

// add adds an open order.
func (h *holds) add(o *orderHold) {
	h.orders[o.id] = o
	h.dir.mustFind(o.account).orders++
}

// raise increases a hold to need. A funded account cannot hold more than its free balance: the rounding of fees
// may have used some 10^-18 of it since the reservation.
func (h *holds) raise(o *orderHold, p *pairTerms, need fixed.I128) {
	u := h.dir.mustFind(o.account)
	add := positive(need.Sub(o.held))
	if !u.profile.Unlimited {
		add = least(add, positive(u.row(o.currency(p)).free.Clamp()))
	}
	if add.Sign() > 0 {
		h.balances.hold(u, o.currency(p), add)
		o.held = o.held.Add(add)
	}
}

// release returns the part of the hold above need to the free balance.
func (h *holds) release(o *orderHold, p *pairTerms, need fixed.I128) {
	if spare := o.held.Sub(need); spare.Sign() > 0 {
		h.balances.hold(h.dir.mustFind(o.account), o.currency(p), spare.Neg())
		o.held = need
	}
}

// canceled releases the rest of the order's hold.
func (f fold) canceled(e *engine.Event) {
	if p, o := f.order(e); o != nil {
		f.s.holds.finish(o, p)
	}
}

func (h *holds) finish(o *orderHold, p *pairTerms) {
	h.release(o, p, fixed.I128{})
	delete(h.orders, o.id)
	h.dir.mustFind(o.account).orders--
	h.expectOf(o, p, fixed.I128{})
}

// replaced changes the hold to the need of the replaced order.
func (f fold) replaced(e *engine.Event) {
	p, o := f.order(e)
	if o == nil {
		return
	}
	reserved := f.s.holds.takeOver(replaceKey(o))
	o.price, o.open, o.filled = e.Price, e.OpenAmount, e.Amount-e.OpenAmount
	need := o.needAtMost(p)
	if !reserved && need.Cmp(o.held) > 0 {
		f.s.holds.counts.unreserved.Add(1)
	}
	f.s.holds.raise(o, p, need)
	f.s.holds.release(o, p, need)
	f.s.holds.expectNew(o, p, e.EarnLimit())
}

// reduced releases the hold for the lots that self-trade prevention removed.
func (f fold) reduced(e *engine.Event) {
	if p, o := f.order(e); o != nil {
		if o.open = e.OpenAmount; e.Flags&engine.FlagQuote != 0 {
			o.quote = e.Quote // the spending limit of a funded buy by amount does not change
		}
		f.s.holds.shrink(o, p)
	}
}

// triggered marks a stop as no longer waiting.
func (f fold) triggered(e *engine.Event) {
	if _, o := f.order(e); o != nil {
		o.waiting = false
	}
}

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
// The part of the hold that was for a worse price becomes free. trade returns the fees.
func (f fold) trade(e *engine.Event) tradeFees {
	p := f.terms(e)
	if e.Account == 0 && e.MakerAccount == 0 {
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
	t := s.balances.total(p.quote)
	t.fees = t.fees.Plus(buyer.fee).Plus(seller.fee)
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
		h.counts.shortfalls.Add(1)
		if free.Cmp(rest) < 0 && !h.coverShortfall(u, p.quote, rest.Sub(free).Clamp()) {
			h.counts.overdrafts.Add(1)
		}
	}
	h.balances.credit(u, p.quote, rest.Neg())
}

// coverShortfall pays the amount that a funded account lacks from the fee account: while an order
// was on its way to the engine, the rounded fees of other orders took it from the order's
// reservation. Rounding takes half a 10^-18 per trade, so more than maxRounding is a defect,
// and coverShortfall returns false.
func (h *holds) coverShortfall(u *user, currency uint32, missing fixed.I128) bool {
	t := h.balances.total(currency)
	if missing.Cmp(fixed.FromI64(maxRounding)) > 0 || t.fees.CmpTerm(missing) < 0 {
		return false
	}
	t.fees = t.fees.Minus(missing)
	h.balances.credit(u, currency, missing.Wide())
	h.counts.shortfalls.Add(1)
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
		h.counts.overdrafts.Add(1)
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
