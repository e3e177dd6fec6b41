package accounts

import "tickhive/internal/fixed"

// Fold books engine events in the balances: one value per batch, between BeginFold and End, in
// the order of the engine's stream. No event of a known pair and known accounts may panic: the
// command is already in the journal, so each start would replay it and panic again. Balances
// and totals are wide (fixed.I192). A single order or trade beyond 10^20, which Reserve and the
// engine refuse, counts as 10^20 on both sides. Each method ignores an event whose Seq was
// folded before, so a recovery may offer events again. Owner: the goroutine that hands events
// on. Each engine event has its method:
//
//	EventPair -> Pair, EventAccepted -> Accepted (Rates.Discount = its TakerDiscount),
//	EventTrade -> Trade (ByQuote = FlagQuote, QuoteLeft = Quote), EventCanceled, Replaced,
//	Reduced, Triggered -> the method of that name, every other event of a pair -> Seen
//
// The accounts of an event must exist in the State: a user's number is the user's engine account.
type Fold struct{ s *State }

// BeginFold locks the state for a batch of events that ends at a command boundary; pos
// is the position of the engine's journal after that command.
func (s *State) BeginFold(pos uint64) Fold {
	s.gate.Lock()
	s.mu.Lock()
	s.gate.Unlock()
	s.enginePos = max(s.enginePos, pos)
	return Fold{s}
}

// End unlocks the state.
func (f Fold) End() { f.s.mu.Unlock() }

// PairAdded is the first event of a pair.
type PairAdded struct {
	Pair                      uint32
	Seq                       uint64
	Base, Quote               string
	DigitsPrice, DigitsAmount int
}

// OrderAccepted is a new order. For a market buy by quote (ByQuote) and for a funded market buy
// by amount (Funded), Quote is the most that the order may spend, in product units.
type OrderAccepted struct {
	Pair    uint32
	Seq     uint64
	Order   uint64
	Account uint32
	Side    Side
	Type    OrderType
	ByQuote bool
	Funded  bool
	Price   int64
	Amount  int64
	Quote   fixed.U128
	Earn    fixed.U128 // the limit of Reservation.EarnLimit, 0 for none
	Rates   Rates
}

// Trade is one trade. ByQuote says that the taker buys by quote: QuoteLeft then applies instead
// of TakerOpen.
type Trade struct {
	Pair                       uint32
	Seq                        uint64
	TimeNs                     int64
	TakerSide                  Side
	Taker, Maker               uint64 // orders
	TakerAccount, MakerAccount uint32
	Price, Amount              int64
	TakerOpen, MakerOpen       int64
	ByQuote                    bool
	QuoteLeft                  fixed.U128
	TakerRate, TakerDiscount   uint32
	MakerRate, MakerDiscount   uint32
	Rules                      uint8 // of the command, as Record.Rules
}

// TradeFees holds the fees that both sides paid, in the quote currency, 10^-18.
type TradeFees struct{ Taker, Maker fixed.I128 }

// OrderCanceled is the end of an order that was not filled.
type OrderCanceled struct {
	Pair  uint32
	Seq   uint64
	Order uint64
}

// OrderReplaced is a resting order with a new price or total.
type OrderReplaced struct {
	Pair   uint32
	Seq    uint64
	Order  uint64
	Price  int64
	Amount int64 // new total
	Open   int64
	Earn   fixed.U128 // the most that it may bring from here on, 0 for no limit
}

// OrderReduced is an order that lost lots without a trade; ByQuote as in Trade.
type OrderReduced struct {
	Pair      uint32
	Seq       uint64
	Order     uint64
	Open      int64
	ByQuote   bool
	QuoteLeft fixed.U128
}

// OrderTriggered is a stop that entered the book.
type OrderTriggered struct {
	Pair  uint32
	Seq   uint64
	Order uint64
}

// fresh records the seq of an event of a pair and reports whether the event is new.
func (f Fold) fresh(pair uint32, seq uint64) (*pairTerms, bool) {
	p := f.s.pairs[pair]
	if p == nil {
		panic("BUG: accounts: an event of a pair that was never added")
	}
	if seq <= p.seq {
		return p, false
	}
	p.seq = seq
	return p, true
}

// Pair adds a pair; a change of a known pair only advances its seq.
func (f Fold) Pair(e PairAdded) {
	if p := f.s.pairs[e.Pair]; p != nil {
		p.seq = max(p.seq, e.Seq)
		return
	}
	f.s.pairs[e.Pair] = &pairTerms{
		id: e.Pair, base: f.s.currency(e.Base), quote: f.s.currency(e.Quote),
		digitsPrice: e.DigitsPrice, digitsAmount: e.DigitsAmount, seq: e.Seq,
	}
}

// Seen records the seq of an event that changes no balance.
func (f Fold) Seen(pair uint32, seq uint64) {
	if p := f.s.pairs[pair]; p != nil {
		p.seq = max(p.seq, seq)
	}
}

// Accepted turns the order's reservation into its hold. Without a reservation (in a recovery)
// it takes the hold from the free balance.
func (f Fold) Accepted(e OrderAccepted) {
	p, fresh := f.fresh(e.Pair, e.Seq)
	if !fresh || e.Account == 0 {
		return
	}
	o := &orderHold{
		id: e.Order, account: e.Account, pair: e.Pair, side: e.Side, typ: e.Type, byQuote: e.ByQuote,
		waiting: e.Type.waits(), price: e.Price, open: e.Amount, quote: e.Quote, rates: e.Rates,
	}
	s := f.s
	key := o.key()
	key.earn = e.Earn
	reserved := s.takeOver(key)
	if e.Funded && e.Side == Buy && e.Type.atMarket() && !e.ByQuote {
		o.byQuote = true
	}
	need := o.needAtMost(p)
	if !reserved && need.Sign() > 0 {
		s.counts.Unreserved++
	}
	if o.byQuote && !e.ByQuote {
		o.byQuote, o.capped = false, true
	}
	s.orders[e.Order] = o
	s.grow(o, p, need)
	s.expectNew(o, p, e.Earn)
}

// grow raises a hold to need. A funded account holds at most its free balance: fees that were
// rounded up may have taken some 10^-18 of it since the reservation.
func (s *State) grow(o *orderHold, p *pairTerms, need fixed.I128) {
	u := s.must(o.account)
	add := positive(need.Sub(o.held))
	if !u.profile.Unlimited {
		add = least(add, positive(u.row(o.currency(p)).free.Clamp()))
	}
	if add.Sign() > 0 {
		s.hold(u, o.currency(p), add)
		o.held = o.held.Add(add)
	}
}

// release moves the part of the hold beyond need back to the free balance.
func (s *State) release(o *orderHold, p *pairTerms, need fixed.I128) {
	if spare := o.held.Sub(need); spare.Sign() > 0 {
		s.hold(s.must(o.account), o.currency(p), spare.Neg())
		o.held = need
	}
}

// Canceled releases the rest of the order's hold.
func (f Fold) Canceled(e OrderCanceled) {
	p, fresh := f.fresh(e.Pair, e.Seq)
	if o := f.s.orders[e.Order]; fresh && o != nil {
		f.s.finish(o, p)
	}
}

func (s *State) finish(o *orderHold, p *pairTerms) {
	s.release(o, p, fixed.I128{})
	delete(s.orders, o.id)
	s.expectOf(o, p, fixed.I128{})
}

// Replaced sets the hold to the need of the changed order.
func (f Fold) Replaced(e OrderReplaced) {
	p, fresh := f.fresh(e.Pair, e.Seq)
	o := f.s.orders[e.Order]
	if !fresh || o == nil {
		return
	}
	reserved := f.s.takeOver(replaceKey(o))
	o.price, o.open, o.filled = e.Price, e.Open, e.Amount-e.Open
	need := o.needAtMost(p)
	if !reserved && need.Cmp(o.held) > 0 {
		f.s.counts.Unreserved++
	}
	f.s.grow(o, p, need)
	f.s.release(o, p, need)
	f.s.expectNew(o, p, e.Earn)
}

// Reduced releases the hold of the lots that are gone.
func (f Fold) Reduced(e OrderReduced) {
	p, fresh := f.fresh(e.Pair, e.Seq)
	if o := f.s.orders[e.Order]; fresh && o != nil {
		if o.open = e.Open; e.ByQuote {
			o.quote = e.QuoteLeft // the limit of a funded buy by amount stays
		}
		f.s.settleDown(o, p)
	}
}

// Triggered marks a stop as no longer waiting.
func (f Fold) Triggered(e OrderTriggered) {
	if _, fresh := f.fresh(e.Pair, e.Seq); fresh {
		if o := f.s.orders[e.Order]; o != nil {
			o.waiting = false
		}
	}
}

// ReleaseUnknown ends every hold whose order the engine does not have
// (docs/contract/storage.md#recovery): after a power cut the engine's journal may end before the
// position of the snapshot. It returns the number of these holds. Call it once, after recovery.
func (s *State) ReleaseUnknown(open func(order uint64) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []*orderHold
	for id, o := range s.orders {
		if !open(id) {
			gone = append(gone, o)
		}
	}
	for _, o := range gone {
		s.finish(o, s.pairs[o.pair])
	}
	return len(gone)
}

// PairSeq returns the seq of the last event of a pair that the state reflects.
func (s *State) PairSeq(pair uint32) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.pairs[pair]; p != nil {
		return p.seq
	}
	return 0
}
