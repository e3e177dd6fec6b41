package accounts

import (
	"fmt"
	"math"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// FoldEvents books the events of whole commands in the balances, in the order of the engine's
// stream; pos is the position of the engine's journal after the last of them. It ignores an
// event whose Seq was folded before, so a recovery may offer events again. The accounts of an
// event must exist: a user's number is the user's engine account. Owner: the goroutine that
// hands events on.
//
// No event of a known pair and known accounts may panic: the command is already in the journal,
// so each start would replay it and panic again. Balances and totals are wide (fixed.I192). A
// single order or trade beyond 10^20, which Reserve and the engine refuse, counts as 10^20 on
// both sides.
func (s *State) FoldEvents(events []engine.Event, pos uint64) {
	f := beginFold(s, pos)
	defer f.end()
	for i := range events {
		f.event(&events[i])
	}
}

// Sink passes the events of the sequencer's loop to a State. It runs before the market's sinks,
// so that a client that sees a trade also sees the settled balances.
type Sink struct{ State *State }

// Fold folds the events of whole commands.
func (s Sink) Fold(events []engine.Event, pos uint64) { s.State.FoldEvents(events, pos) }

// Publish does nothing, because balances are read live.
func (Sink) Publish(int64) {}

// NextNs returns math.MaxInt64, because time alone changes no balance.
func (Sink) NextNs() int64 { return math.MaxInt64 }

// fold books a batch of events, between beginFold and end. It holds the state's lock.
type fold struct{ s *State }

// beginFold locks the state for a batch of events that ends at a command boundary; pos
// is the position of the engine's journal after that command.
func beginFold(s *State, pos uint64) fold {
	s.foldLock.Lock()
	s.mu.Lock()
	s.foldLock.Unlock()
	s.enginePos = max(s.enginePos, pos)
	return fold{s}
}

// end unlocks the state.
func (f fold) end() { f.s.mu.Unlock() }

// event folds one event. For an event that moves no money it only records the seq.
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
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventNothing:
		if p := f.s.holds.pairs[uint32(e.Pair)]; p != nil {
			p.seq = max(p.seq, uint64(e.Seq))
		}
	case engine.EventAsset:
	default:
		panic(fmt.Sprintf("BUG: accounts: event kind %d", e.Kind))
	}
}

// fresh records the seq of an event of a pair and reports whether the event is new.
func (f fold) fresh(e *engine.Event) (*pairTerms, bool) {
	p := f.s.holds.pairs[uint32(e.Pair)]
	if p == nil {
		panic("BUG: accounts: an event of a pair that was never added")
	}
	seq := uint64(e.Seq)
	if seq <= p.seq {
		return p, false
	}
	p.seq = seq
	return p, true
}

// pair adds a pair, or records the seq when the pair is known.
func (f fold) pair(e *engine.Event) {
	id, seq, in := uint32(e.Pair), uint64(e.Seq), e.Instrument
	if p := f.s.holds.pairs[id]; p != nil {
		p.seq = max(p.seq, seq)
		return
	}
	f.s.holds.pairs[id] = &pairTerms{
		id: id, base: f.s.balances.currency(in.Base), quote: f.s.balances.currency(in.Quote),
		digitsPrice: in.DigitsPrice, digitsAmount: in.DigitsAmount, seq: seq,
	}
}

// accepted turns the order's reservation into its hold. Without a reservation (in a recovery)
// it takes the hold from the free balance. For a market buy by quote and for a funded market
// buy by amount, the event's Quote is the most that the order may spend, in product units.
func (f fold) accepted(e *engine.Event) {
	p, fresh := f.fresh(e)
	if !fresh || e.Account == 0 {
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
		s.holds.counts.Unreserved++
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
	p, fresh := f.fresh(e)
	if o := f.s.holds.orders[uint64(e.Order)]; fresh && o != nil {
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
	p, fresh := f.fresh(e)
	o := f.s.holds.orders[uint64(e.Order)]
	if !fresh || o == nil {
		return
	}
	reserved := f.s.holds.takeOver(replaceKey(o))
	o.price, o.open, o.filled = e.Price, e.OpenAmount, e.Amount-e.OpenAmount
	need := o.needAtMost(p)
	if !reserved && need.Cmp(o.held) > 0 {
		f.s.holds.counts.Unreserved++
	}
	f.s.holds.raise(o, p, need)
	f.s.holds.release(o, p, need)
	f.s.holds.expectNew(o, p, e.EarnLimit())
}

// reduced releases the hold for the lots that self-trade prevention removed.
func (f fold) reduced(e *engine.Event) {
	p, fresh := f.fresh(e)
	if o := f.s.holds.orders[uint64(e.Order)]; fresh && o != nil {
		if o.open = e.OpenAmount; e.Flags&engine.FlagQuote != 0 {
			o.quote = e.Quote // the spending limit of a funded buy by amount does not change
		}
		f.s.holds.shrink(o, p)
	}
}

// triggered marks a stop as no longer waiting.
func (f fold) triggered(e *engine.Event) {
	if _, fresh := f.fresh(e); fresh {
		if o := f.s.holds.orders[uint64(e.Order)]; o != nil {
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
	for id, o := range s.holds.orders {
		if !open(id) {
			gone = append(gone, o)
		}
	}
	for _, o := range gone {
		s.holds.finish(o, s.holds.pairs[o.pair])
	}
	return len(gone)
}
