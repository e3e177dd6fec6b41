package accounts

import (
	"fmt"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Fold implements engine.Funds. The accounts of an event must exist: a user's number is the user's engine account.
//
// What an order holds follows from its events alone (docs/contract/trading.md#balances-and-holds): each event names all
// that changes a hold, so the ledger remembers no order. The built-in account holds nothing.
//
// No event of a known pair and known accounts may panic: the command is already in the log, so each start would replay
// it and panic again. Sums are therefore taken modulo 2^128, which the bounds of orders, deposits and debts keep them
// far away from (docs/internals/bounds.md#accounts).
func (s *State) Fold(events []engine.Event) {
	for i := range events {
		s.fold(&events[i])
	}
}

// Advance sets the position of the log after the last record that was applied, which readers see (Shown.Pos).
func (s *State) Advance(pos uint64) { s.report.pos = max(s.report.pos, pos) }

// fold books one event.
func (s *State) fold(e *engine.Event) {
	switch e.Kind {
	case engine.EventTrade:
		s.trade(e)
	case engine.EventAccepted:
		s.accepted(e)
	case engine.EventCanceled:
		s.canceled(e)
	case engine.EventReplaced:
		s.replaced(e)
	case engine.EventReduced:
		s.reduced(e)
	case engine.EventTriggered:
		s.triggered(e)
	case engine.EventPair:
		s.addPair(e)
	case engine.EventAsset:
		asset := e.Control.Asset
		s.balances.setDigits(s.balances.currency(asset.Symbol), asset.Digits)
	case engine.EventList:
		s.beginList(e)
	case engine.EventListEnded:
		s.endList(e)
	case engine.EventReleased:
		s.released(e)
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventNothing, engine.EventActivated,
		engine.EventPrevented, engine.EventPast:
	default:
		panic(fmt.Sprintf("BUG: accounts: event kind %d", e.Kind))
	}
}

// addPair adds a pair, unless it is known: its digits never change.
func (s *State) addPair(e *engine.Event) {
	b, in := s.balances, e.Instrument
	if int(e.Pair) < len(b.pairs) && b.pairs[e.Pair].in != nil {
		return
	}
	p := pair{base: b.currency(in.Base), quote: b.currency(in.Quote), in: in}
	b.setDigits(p.base, in.BaseDigits)
	b.setDigits(p.quote, in.QuoteDigits)
	b.setPair(e.Pair, p)
}

func (b *balances) setPair(id engine.PairID, p pair) {
	for int(id) >= len(b.pairs) {
		b.pairs = append(b.pairs, pair{})
	}
	b.pairs[id] = p
	b.use(p.base)
	b.use(p.quote)
}

// pair returns a pair that was added.
func (b *balances) pair(id engine.PairID) *pair {
	if int(id) >= len(b.pairs) || b.pairs[id].in == nil {
		panic("BUG: accounts: a pair that was never added")
	}
	return &b.pairs[id]
}

// units returns lots in units of the base.
func (p *pair) units(lots int64) fixed.I128 { return amountOf(p.in.BaseUnits(lots)) }

// cost returns price x amount in units of the quote.
func (p *pair) cost(price, amount int64) fixed.I128 {
	return p.worth(fixed.Mul64(uint64(price), uint64(amount)))
}

// worth returns product units in units of the quote.
func (p *pair) worth(product fixed.U128) fixed.I128 { return amountOf(p.in.QuoteUnits(product)) }

// amountOf converts units, which the bounds keep below 2^127.
func amountOf(v fixed.U128) fixed.I128 { return fixed.I128{Hi: int64(v.Hi), Lo: v.Lo} }

// hold moves an amount of what an order spends from free to held; a negative one back.
func (b *balances) hold(u *user, currency uint32, amount fixed.I128) {
	b.move(u, currency, amount.Neg(), amount)
}

// opened counts open orders of a user.
func (s *State) opened(u *user, n int) {
	u.orders += n
	s.digest.orders += uint64(n) * mixOrder(u.n)
}

// accepted takes the hold of a new order. A buy without a price holds Quote: a market buy by quote what it may spend,
// one by amount what it costs at the prices of the book, a waiting one by amount its stop price x amount.
func (s *State) accepted(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	s.opened(u, 1)
	if e.Maker != 0 {
		s.acceptedOfList(e, p, u)
		return
	}
	s.balances.hold(u, p.spends(e.Side), p.holds(e))
}

// holds returns the hold of the order that an EventAccepted adds, or the rest of it that an EventCanceled ends. Nothing
// is left of that of a market sell by quote amount.
func (p *pair) holds(e *engine.Event) fixed.I128 {
	switch {
	case e.Side == engine.Sell && e.Amount == 0: // at market by quote amount
		return p.units(e.OpenAmount)
	case e.Side == engine.Sell:
		return p.units(e.Amount)
	case e.Price == 0:
		return p.worth(e.Quote)
	}
	return p.cost(e.Price, e.Amount)
}

// canceled releases the rest of the order's hold.
func (s *State) canceled(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	s.opened(u, -1)
	if len(u.lists) != 0 && s.canceledOfList(e, p, u) {
		return
	}
	s.balances.hold(u, p.spends(e.Side), p.holds(e).Neg())
}

// replaced changes the hold from the need of the order before to the need of the order after it. The event has the
// price before in MakerOpen and the open amount before in Display, of a waiting market buy by amount the prices of its
// hold. One by quote has no amount, and holds the same.
func (s *State) replaced(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	before, after := p.units(e.Display), p.units(e.OpenAmount)
	if e.Side == engine.Buy {
		before, after = p.cost(e.MakerOpen, e.Display), p.cost(e.Price, e.OpenAmount)
	}
	s.changed(e, p, u, after.SubWrap(before))
}

// changed changes the hold of an order.
func (s *State) changed(e *engine.Event, p *pair, u *user, by fixed.I128) {
	if len(u.lists) != 0 && s.changedOfList(e, p, u, by) {
		return
	}
	s.balances.hold(u, p.spends(e.Side), by)
}

// reduced releases the hold of the lots that self-trade prevention took off. A market buy by amount and a market sell
// by quote amount never held anything for them.
func (s *State) reduced(e *engine.Event) {
	if e.Account == 0 {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	spare := fixed.I128{}
	switch {
	case e.Side == engine.Sell && e.Flags&engine.FlagQuote != 0:
	case e.Side == engine.Sell:
		spare = p.units(e.Amount)
	case e.Display != 0:
		spare = p.cost(e.Display, e.Amount)
	case e.Flags&engine.FlagQuote != 0:
		spare = p.cost(e.Price, e.Amount)
	}
	s.changed(e, p, u, spare.Neg())
}

// triggered changes the hold of a market buy by amount that has waited, from the price of its hold x amount to what it
// may spend, and takes the hold of a market sell by quote amount, which has held nothing. Every other stop holds the
// same as before: of a buy by quote, the event has neither an amount nor money.
func (s *State) triggered(e *engine.Event) {
	if e.Account == 0 || !e.Type.AtMarket() {
		return
	}
	p, u := s.balances.pair(e.Pair), s.dir.mustFind(uint32(e.Account))
	if e.Side == engine.Sell {
		s.balances.hold(u, p.base, p.units(e.Amount))
		return
	}
	s.balances.hold(u, p.quote, p.worth(e.Quote).SubWrap(p.cost(e.Display, e.OpenAmount)))
}

// trade settles one trade: base goes to the buyer, quote to the seller, of each less the fee, which goes to the fee
// account and from there to the uplines. The taker's hold at its own limit is released: what it did not pay becomes
// free. The maker pays exactly its hold.
func (s *State) trade(e *engine.Event) {
	p := s.balances.pair(e.Pair)
	taker, maker := s.dir.mustFind(uint32(e.Account)), s.dir.mustFind(uint32(e.MakerAccount))
	goods, worth := p.units(e.Amount), p.cost(e.Price, e.Amount)
	if e.Account != 0 && e.OpenAmount == 0 && e.Flags&engine.FlagQuote == 0 {
		s.opened(taker, -1)
	}
	if e.MakerAccount != 0 && e.MakerOpen == 0 {
		s.opened(maker, -1)
	}
	if e.Side == engine.Buy {
		held := worth // of a market order
		if e.Display != 0 {
			held = p.cost(e.Display, e.Amount)
		}
		s.buys(p, taker, e.Order, goods, worth, held, e.TimeNs, e.TakerFee, e.TakerDiscount)
		s.sells(p, maker, goods, worth, e.TimeNs, e.MakerFee, e.MakerDiscount)
		return
	}
	s.buys(p, maker, e.Maker, goods, worth, worth, e.TimeNs, e.MakerFee, e.MakerDiscount)
	s.sells(p, taker, goods, worth, e.TimeNs, e.TakerFee, e.TakerDiscount)
}

// buys books the buyer's side of a trade of an order, which pays worth out of the hold held.
func (s *State) buys(
	p *pair, u *user, id engine.OrderID, goods, worth, held fixed.I128, timeNs int64, rate, discount uint32,
) {
	if u.n == 0 {
		s.balances.move(u, p.quote, worth.Neg(), fixed.I128{})
		s.balances.move(u, p.base, goods, fixed.I128{})
		return
	}
	s.balances.move(u, p.quote, held.SubWrap(worth), held.Neg())
	received := s.receives(u, p.base, goods, timeNs, rate, discount)
	if len(u.lists) != 0 {
		s.bring(u, id, p.base, received)
	}
}

// sells books the seller's side of a trade.
func (s *State) sells(p *pair, u *user, goods, worth fixed.I128, timeNs int64, rate, discount uint32) {
	if u.n == 0 {
		s.balances.move(u, p.base, goods.Neg(), fixed.I128{})
		s.balances.move(u, p.quote, worth, fixed.I128{})
		return
	}
	s.balances.move(u, p.base, fixed.I128{}, goods.Neg())
	s.receives(u, p.quote, worth, timeNs, rate, discount)
}

// receives credits what a fill brings less its fee, which it returns, and pays the uplines out of the fee.
func (s *State) receives(
	u *user, currency uint32, amount fixed.I128, timeNs int64, rate, discount uint32,
) (received fixed.I128) {
	fee := amountOf(fixed.Fee(amount.Abs(), rate, discount))
	received = amount.SubWrap(fee)
	s.balances.move(u, currency, received, fixed.I128{})
	if fee.Sign() == 0 {
		return received
	}
	t := s.balances.use(currency)
	t.fees = t.fees.AddWrap(fee)
	s.referral.payUplines(u, payment{typ: accrual.DealCommission, currency: currency, of: fee, timeNs: timeNs}, nil)
	return received
}
