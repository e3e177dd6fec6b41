package accounts

import (
	"sync/atomic"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

func atMarket(t engine.OrderType) bool { return t == engine.Market || t == engine.StopMarket }

func waits(t engine.OrderType) bool { return t == engine.StopLimit || t == engine.StopMarket }

// Rates holds the fee rates and the discount of an order, in 10^-8.
type Rates struct{ Maker, Taker, Discount uint32 }

// holds keeps the money of open orders, and of orders on their way to the engine, separate from the free
// balances. It also settles trades.
//
// Owner: State's mu guards it.
//
// Invariant: held of an account is the sum of the holds of its open orders. Reservations and asides are a table beside
// the state: no part of held, in no snapshot, and neither Do nor the fold decides by them.
type holds struct {
	dir      *directory
	balances *balances

	pairs   map[uint32]*pairTerms
	orders  map[uint64]*orderHold
	pending map[reservationKey]*pendingEntry
	waiting int                                                        // number of reservations in pending
	asides  map[uint64]aside                                           // by number
	lastNo  uint64                                                     // number of the last aside
	counts  struct{ shortfalls, unreserved, overdrafts atomic.Uint64 } // see Counts
}

func newHolds(dir *directory, b *balances) *holds {
	return &holds{
		dir: dir, balances: b, pairs: map[uint32]*pairTerms{}, orders: map[uint64]*orderHold{},
		pending: map[reservationKey]*pendingEntry{}, asides: map[uint64]aside{},
	}
}

// pairTerms holds the facts about a pair that settlement needs.
type pairTerms struct {
	id           uint32
	base, quote  uint32 // currency numbers
	digitsPrice  int
	digitsAmount int
}

func (p *pairTerms) digitsTotal() int { return p.digitsPrice + p.digitsAmount }

// notional returns price x amount as money of 10^-18; ok is false beyond MaxMoney.
func (p *pairTerms) notional(price, amount int64) (fixed.I128, bool) {
	return moneyOf(fixed.Mul64(uint64(price), uint64(amount)), p.digitsTotal())
}

// orderHold is the hold of a user's open order on the user's balance. Orders of the built-in
// account have none.
type orderHold struct {
	id      uint64
	account uint32
	pair    uint32
	side    engine.Side
	typ     engine.OrderType
	byQuote bool // market buy by quote: quote is the amount left to spend
	capped  bool // funded market buy by amount: quote is the rest of its spending limit
	waiting bool // a stop that has not been triggered
	price   int64
	open    int64 // lots
	filled  int64 // lots
	quote   fixed.U128
	rates   Rates
	held    fixed.I128
	coming  fixed.I128 // the amount that it may still bring; a part of balances.coming
	limited bool       // the engine prevents that it brings more than coming
}

// currency returns the number of the currency that the order spends.
func (o *orderHold) currency(p *pairTerms) uint32 {
	if o.side == engine.Buy {
		return p.quote
	}
	return p.base
}

// brought returns the number of the currency that the order receives.
func (o *orderHold) brought(p *pairTerms) uint32 {
	if o.side == engine.Buy {
		return p.base
	}
	return p.quote
}

// earnDigits returns the number of digits of the units of an earn limit: product units of a
// sell, lots of a buy.
func (o *orderHold) earnDigits(p *pairTerms) int {
	if o.side == engine.Sell {
		return p.digitsTotal()
	}
	return p.digitsAmount
}

// need returns the amount that the order must hold for its remainder
// (docs/contract/trading.md#balances-and-holds); ok is false beyond 10^20. A capped market buy
// needs all that it holds until it ends. A market buy of an unlimited account holds nothing.
func (o *orderHold) need(p *pairTerms) (fixed.I128, bool) {
	switch {
	case o.side == engine.Sell:
		return lotsOf(o.open, p.digitsAmount)
	case o.byQuote:
		return withFee(o.quote, p, o.rates)
	case o.capped:
		return o.held, true
	case atMarket(o.typ):
		return fixed.I128{}, true
	}
	n, ok := p.notional(o.price, o.open)
	if !ok {
		return n, false
	}
	return addFee(n, o.rates)
}

// needAtMost returns need, limited to 10^20.
func (o *orderHold) needAtMost(p *pairTerms) fixed.I128 { return atMost(o.need(p)) }

// principal returns the part of need that fees must not use: the price of a buy's remainder.
func (o *orderHold) principal(p *pairTerms) fixed.I128 {
	switch {
	case o.side == engine.Sell:
	case o.byQuote || o.capped:
		return atMost(moneyOf(o.quote, p.digitsTotal()))
	case !atMarket(o.typ):
		return atMost(p.notional(o.price, o.open))
	}
	return fixed.I128{}
}

// filledBy updates the order after a fill. left is the amount that a buy by quote may still spend.
func (o *orderHold) filledBy(price, amount, open int64, left fixed.U128) {
	o.open, o.filled = open, o.filled+amount
	switch {
	case o.byQuote:
		o.quote = left
	case o.capped:
		o.quote = o.quote.SubFloor(fixed.Mul64(uint64(price), uint64(amount)))
	}
}

func withFee(quote fixed.U128, p *pairTerms, r Rates) (fixed.I128, bool) {
	n, ok := moneyOf(quote, p.digitsTotal())
	if !ok {
		return n, false
	}
	return addFee(n, r)
}

// addFee returns n plus the fee. It uses the higher of the pair's maker and taker rate, because a resting buy
// may pay the maker rate.
func addFee(n fixed.I128, r Rates) (fixed.I128, bool) {
	fee := feeHalfEven(n, max(r.Taker, r.Maker), r.Discount)
	if fee.Cmp(MaxMoney.Sub(n)) > 0 {
		return n, false
	}
	return n.Add(fee), true
}

// spendLimit returns the most product units that free, or 10^20 of it, covers with the fee on top, at the
// higher of the maker and taker rates. The rounding of the fee cannot exceed what is left for it, because that is
// a whole number of 10^-18 and at least the exact fee.
func spendLimit(free fixed.I128, p *pairTerms, r Rates) fixed.U128 {
	rate := uint64(max(r.Taker, r.Maker)) * uint64(RateOne-r.Discount)
	most, _ := mulDiv(least(free, MaxMoney), rateSquare, rateSquare+rate)
	units, _ := most.DivMod64(fixed.Pow10[fixed.Scale-p.digitsTotal()])
	return units
}

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
		available := positive(u.row(pair.quote).available())
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
	if r := u.find(out); u.profile.Unlimited && r != nil && r.available().Cmp(gives.Sub(MaxMoney)) < 0 {
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
	row := u.row(currency)
	left := row.available()
	if u.profile.Unlimited {
		if left.Cmp(need.Sub(MaxMoney)) < 0 {
			return Reservation{}, engine.TotalOutOfRange
		}
	} else if need.Sign() > 0 && left.Cmp(need) < 0 {
		return Reservation{}, engine.InsufficientFunds
	}
	r.amount, r.taken = need, true
	row.pending = row.pending.Plus(need)
	e := h.pending[r.key]
	if e == nil {
		e = &pendingEntry{currency: currency, in: r.in}
		h.pending[r.key] = e
	}
	e.amounts, e.coming = append(e.amounts, need), append(e.coming, r.coming)
	h.balances.expect(u.n, r.in, fixed.I128{}, r.coming)
	h.waiting++
	u.reserved++
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
