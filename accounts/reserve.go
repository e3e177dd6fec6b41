package accounts

import (
	"tickhive/engine"
	"tickhive/internal/fixed"
)

// OrderParams is a new order on its way to the engine, in the pair's ticks and lots.
// The caller must stamp the same rates into the engine's command.
type OrderParams struct {
	Account uint32 // 0: the built-in account, which holds nothing
	Pair    uint32
	Side    engine.Side
	Type    engine.OrderType
	Price   int64      // ticks; 0 for market orders
	Amount  int64      // lots; 0 for a buy by quote
	ByQuote bool       // market buy by quote amount
	Quote   fixed.U128 // ByQuote: product units
	Rates   Rates
	Touch   int64 // best price of the other side in ticks, 0: the side is empty
	Stop    int64 // ticks: the stop price, 0 for an order that is not a stop
}

// normalize clears the values that the engine's Accepted event does not carry.
func (p *OrderParams) normalize() {
	if atMarket(p.Type) {
		p.Price = 0
	}
	if p.ByQuote = p.ByQuote && atMarket(p.Type) && p.Side == engine.Buy; p.ByQuote {
		p.Amount = 0
	} else {
		p.Quote = fixed.U128{}
	}
}

// ReplaceParams is a replace on its way to the engine. HasPrice and HasAmount say whether
// Price and Amount (the new total) change; the other values stay.
type ReplaceParams struct {
	Order     uint64
	Price     int64
	Amount    int64
	HasPrice  bool
	HasAmount bool
	Bid, Ask  int64 // ticks: the best prices of the book, 0 for none
}

// Reservation is the amount of a balance that is set aside for one command until the engine's
// event takes it over. Exactly one of two things must happen to each reservation: the engine
// accepts (or replaces) the order and the event is folded, or the caller calls Release.
type Reservation struct {
	key    reservationKey
	amount fixed.I128
	taken  bool
	in     uint32     // number of the currency that the order receives
	coming fixed.I128 // the most of it that the order may bring
	// Funded says that the engine must not spend more than SpendLimit (product units,
	// without the fee). It is set for a market buy by amount of an account that is not
	// unlimited. The engine's Accepted event must name the limit as its Quote.
	Funded     bool
	SpendLimit fixed.U128
	// EarnLimit is the most that the engine may let the order bring, without the fee: product units of a sell,
	// lots of a buy by quote; 0: no limit. The engine's Accepted event must repeat it. For a replaced sell, it
	// is the limit in addition to the worth of the open part at the old price, and 0 is a limit too; the
	// Replaced event carries the sum.
	EarnLimit fixed.U128
	// Replaces says that the reservation is for a replace. The engine must refuse the replace if the order needs
	// more than SpendLimit beyond its open part: product units of a buy, lots of a sell.
	Replaces bool
}

// reservationKey holds the values that a command and its event have in common. Two new orders
// with equal keys need equal holds and may bring equal amounts, so either one's reservation can
// be taken over. The key of a replace has order and account only: an order has one replace at
// a time, and the price and the total of the event may differ from the reserved ones.
type reservationKey struct {
	order   uint64 // order id of a replace; 0: a new order
	account uint32
	pair    uint32
	side    engine.Side
	typ     engine.OrderType
	byQuote bool
	price   int64
	amount  int64
	quote   fixed.U128
	earn    fixed.U128
	rates   Rates
}

// pendingEntry holds the reservations of one key; more than one is rare.
type pendingEntry struct {
	currency, in uint32
	// of each reservation: the reserved amount of currency, and the amount that it may bring of in
	amounts, coming []fixed.I128
}

// Reserve reserves the amount that an order must hold, before the engine sees the order.
// Refusals are AccountHalted, InsufficientFunds, TotalOutOfRange, UnknownPair and TooManyOrders. A stop_market
// buy of a funded account must give a quote amount: without one it is refused for lack of funds,
// because its cost is unknown until it triggers. An order that the engine refuses for its shape
// (no price, no amount) reserves nothing. Any goroutine.
func (s *State) Reserve(p OrderParams) (Reservation, engine.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pair := s.holds.pairs[p.Pair]
	if pair == nil {
		return Reservation{}, engine.UnknownPair
	}
	if p.Price < 0 || p.Amount < 0 || (p.Amount == 0 && !p.ByQuote) || (p.Price == 0 && !atMarket(p.Type)) {
		return Reservation{}, engine.NotRejected
	}
	p.normalize()
	u := s.dir.mustFind(p.Account)
	if p.Account == 0 {
		_, ok := pair.notional(p.Price, p.Amount)
		if !ok {
			return Reservation{}, engine.TotalOutOfRange
		}
		return Reservation{}, engine.NotRejected
	}
	if u.halted {
		return Reservation{}, engine.AccountHalted
	}
	o := orderHold{
		account: p.Account, pair: p.Pair, side: p.Side, typ: p.Type, byQuote: p.ByQuote,
		price: p.Price, open: p.Amount, quote: p.Quote, rates: p.Rates,
	}
	r := Reservation{key: o.key(), in: o.brought(pair)}
	touch := o.bestPrice(p.Touch, p.Stop)
	if atMarket(p.Type) && p.Side == engine.Buy && !p.ByQuote && !u.profile.Unlimited {
		if p.Type == engine.StopMarket {
			return Reservation{}, engine.InsufficientFunds // its cost is unknown until it triggers
		}
		available := positive(s.balances.available(u, u.row(pair.quote)))
		r.Funded, r.SpendLimit = true, spendLimit(available, pair, p.Rates)
		if r.SpendLimit.IsZero() {
			return Reservation{}, engine.InsufficientFunds
		}
		r.key.quote = r.SpendLimit
		o.byQuote, o.quote = true, r.SpendLimit
	}
	need, ok := o.need(pair)
	if !ok || !s.holds.fits(u, pair, &o, touch) {
		return Reservation{}, engine.TotalOutOfRange
	}
	r.coming, _, _ = o.moves(pair, touch)
	if p.Side == engine.Sell || p.ByQuote {
		digits := o.earnDigits(pair)
		r.EarnLimit = unitsOf(allowance(s.balances.headroom(u, r.in), r.coming), digits)
		if r.EarnLimit.IsZero() {
			return Reservation{}, engine.TotalOutOfRange
		}
		r.key.earn = r.EarnLimit
		r.coming, _ = moneyOf(r.EarnLimit, digits)
	}
	return s.holds.reserve(u, o.currency(pair), r, need)
}

// bestPrice returns the best price at which the order is likely to trade, 0 for none. That is the touch; for a
// stop it is the better of the touch and the stop price.
func (o *orderHold) bestPrice(touch, stop int64) int64 {
	switch {
	case stop == 0:
		return touch
	case o.side == engine.Sell:
		return max(touch, stop)
	case touch == 0:
		return stop
	}
	return min(touch, stop)
}

// fits reports whether every balance that the order may move stays within 10^20 on either side of
// zero at current prices: its account's balance with what the account's other orders may bring, the
// balance of an unlimited account that it takes from, and both balances of the built-in account.
// The built-in account holds nothing and is never refused a trade, so its balance is limited here
// too. The order trades at its own price or a better one, at best at touch.
func (h *holds) fits(u *user, p *pairTerms, o *orderHold, touch int64) bool {
	brings, gives, ok := o.moves(p, touch)
	if !ok {
		return false
	}
	in, out := p.base, p.quote
	if o.side == engine.Sell {
		in, out = out, in
	}
	has := h.balances.coming[balanceKey{u.n, in}].sum().Minus(o.coming)
	if r := u.find(in); r != nil {
		has = has.Add(r.total())
	}
	if has.Plus(brings).CmpTerm(MaxMoney) > 0 {
		return false
	}
	if r := u.find(out); u.profile.Unlimited && r != nil && h.balances.available(u, r).Cmp(gives.Sub(MaxMoney)) < 0 {
		return false
	}
	builtin := h.dir.mustFind(0)
	if r := builtin.find(in); r != nil && r.free.CmpTerm(brings.Sub(MaxMoney)) < 0 {
		return false
	}
	r := builtin.find(out)
	return r == nil || r.free.CmpTerm(MaxMoney.Sub(gives)) <= 0
}

// moves returns the most that the order may bring and give, without fees; ok is false when one of them is above
// 10^20.
func (o *orderHold) moves(p *pairTerms, touch int64) (brings, gives fixed.I128, ok bool) {
	if o.side == engine.Sell {
		gives, _ = lotsOf(o.open, p.digitsAmount) // int64 lots are always below 10^20
		brings, ok = p.notional(max(o.price, touch), o.open)
		return brings, gives, ok
	}
	if !o.byQuote {
		brings, _ = lotsOf(o.open, p.digitsAmount)
		price := o.price
		if atMarket(o.typ) {
			price = touch
		}
		gives, ok = p.notional(price, o.open)
		return brings, gives, ok
	}
	brings, _ = lotsOf(o.open, p.digitsAmount) // of a buy by amount
	gives, ok = moneyOf(o.quote, p.digitsTotal())
	if !ok || touch == 0 || o.open > 0 {
		return brings, gives, ok
	}
	lots, _ := o.quote.DivMod64(uint64(touch))
	brings, ok = moneyOf(lots, p.digitsAmount)
	return brings, gives, ok
}

func (h *holds) reserve(u *user, currency uint32, r Reservation, need fixed.I128) (Reservation, engine.Reason) {
	if h.waiting >= MaxReservations {
		return Reservation{}, engine.TooManyOrders
	}
	row, t := u.row(currency), &h.balances.totals[currency]
	left := h.balances.available(u, row)
	if u.profile.Unlimited {
		if left.Cmp(need.Sub(MaxMoney)) < 0 {
			return Reservation{}, engine.TotalOutOfRange
		}
	} else if need.Sign() > 0 && left.Cmp(need) < 0 {
		return Reservation{}, engine.InsufficientFunds
	}
	r.amount, r.taken = need, true
	row.pending = row.pending.Plus(need)
	t.pending = t.pending.Plus(need)
	e := h.pending[r.key]
	if e == nil {
		e = &pendingEntry{currency: currency, in: r.in}
		h.pending[r.key] = e
	}
	e.amounts, e.coming = append(e.amounts, need), append(e.coming, r.coming)
	h.balances.expect(u.n, r.in, fixed.I128{}, r.coming)
	h.waiting++
	u.reserved++
	h.balances.changed(u, currency)
	return r, engine.NotRejected
}

// ReserveReplace reserves the amount that a replace needs beyond the order's hold. An order without a hold
// (closed, unknown, or of the built-in account) gets no reservation, and Replaces is false. If the engine has
// an open order of a user under this id, it must refuse the replace, because no money is reserved. While one
// replace of an order is on its way to the engine, another is refused.
func (s *State) ReserveReplace(p ReplaceParams) (Reservation, engine.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.holds.orders[p.Order]
	if o == nil || o.waiting || atMarket(o.typ) {
		return Reservation{}, engine.NotRejected
	}
	pair, u := s.holds.pairs[o.pair], s.dir.mustFind(o.account)
	if u.halted {
		return Reservation{}, engine.AccountHalted
	}
	r := Reservation{key: replaceKey(o), Replaces: true}
	if s.holds.pending[r.key] != nil {
		return Reservation{}, engine.InsufficientFunds
	}
	next := *o
	total := o.filled + o.open
	if p.HasPrice {
		next.price = p.Price
	}
	if p.HasAmount {
		total = p.Amount
	}
	if next.open = total - o.filled; next.open <= 0 || next.price <= 0 {
		return s.holds.reserve(u, o.currency(pair), r, fixed.I128{})
	}
	need, ok := next.need(pair)
	touch := p.Ask
	if o.side == engine.Sell {
		touch = p.Bid
	}
	if !ok || !s.holds.fits(u, pair, &next, touch) {
		return Reservation{}, engine.TotalOutOfRange
	}
	r.in = o.brought(pair)
	r.coming, _, _ = next.moves(pair, touch)
	if o.side == engine.Sell {
		r.EarnLimit, r.coming = s.holds.earnMore(u, pair, o, r.coming)
	}
	r.coming = positive(r.coming.Sub(o.coming))
	if was, now := o.cost(), next.cost(); was.Less(now) {
		r.SpendLimit = now.Sub(was)
	}
	return s.holds.reserve(u, o.currency(pair), r, positive(need.Sub(o.held)))
}

// worth returns the remainder of a limit order at its price, in product units.
func (o *orderHold) worth() fixed.U128 { return fixed.Mul64(uint64(o.price), uint64(o.open)) }

// cost returns the amount that the remainder of a limit order takes at its price: product
// units of a buy, lots of a sell.
func (o *orderHold) cost() fixed.U128 {
	if o.side == engine.Sell {
		return fixed.FromU64(uint64(o.open))
	}
	return o.worth()
}

// Holding reports whether an order has a hold, and whether it is a stop that still waits. Any
// goroutine.
func (s *State) Holding(order uint64) (holds, waits bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.holds.orders[order]
	return o != nil, o != nil && o.waiting
}

// Release returns a reservation to the balance after the engine refused the command (or never
// saw it). The caller must not call it once the order was accepted or replaced.
func (s *State) Release(r Reservation) {
	if !r.taken {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds.takeOver(r.key)
}

// takeOver removes one reservation of a key. It returns false when there is none.
func (h *holds) takeOver(key reservationKey) bool {
	e := h.pending[key]
	if e == nil {
		return false
	}
	last := len(e.amounts) - 1
	amount := e.amounts[last]
	h.balances.expect(key.account, e.in, fixed.I128{}, e.coming[last].Neg())
	e.coming = e.coming[:last]
	if e.amounts = e.amounts[:last]; last == 0 {
		delete(h.pending, key)
	}
	h.waiting--
	u := h.dir.mustFind(key.account)
	u.reserved--
	r := u.row(e.currency)
	r.pending = r.pending.Minus(amount)
	h.balances.changed(u, e.currency)
	t := &h.balances.totals[e.currency]
	t.pending = t.pending.Minus(amount)
	return true
}

func (o *orderHold) key() reservationKey {
	return reservationKey{
		account: o.account, pair: o.pair, side: o.side, typ: o.typ, byQuote: o.byQuote,
		price: o.price, amount: o.open, quote: o.quote, rates: o.rates,
	}
}

func replaceKey(o *orderHold) reservationKey {
	return reservationKey{order: o.id, account: o.account}
}
