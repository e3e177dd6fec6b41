package marketdata

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
)

// Amendment is a change of an order that lowered its amount and kept its place.
type Amendment struct {
	Order  engine.OrderID
	Number uint64 // seq of its event: it rises from amendment to amendment of the pair
	TimeNs int64
	// Old and New are the amounts before and after it, in lots of the whole order.
	Old, New int64
	// OldClient and NewClient are the order's client ids before and after it; they differ when it gave the order
	// another one.
	OldClient, NewClient string
	Filled               int64 // lots that had traded
}

// amendRec is the retained record of an amendment.
type amendRec struct {
	Amendment
	prev uint64 // 1 + number of the order's previous amendment in the ring, 0: none
}

// amend notes an amendment, before the order has its new amount, and gives the order its new client id.
func (h *History) amend(o *orderRec, e *engine.Event) {
	x := h.extra(o)
	a := Amendment{
		Order: e.Order, Number: uint64(e.Seq), TimeNs: e.TimeNs, Old: o.amount, New: e.Amount, Filled: o.filled,
	}
	if x.client != nil {
		a.OldClient = x.client.Text
	}
	a.NewClient = a.OldClient
	if e.Client.Named() {
		a.NewClient = e.Client.Text
		renamed := *e.Client
		if x.client != nil {
			renamed.Strategy, renamed.StrategyType = x.client.Strategy, x.client.StrategyType
		}
		x.client = &renamed
	}
	h.pushAmendment(x, &a)
}

// pushAmendment appends an amendment, the newest one of the order that has the members x.
func (h *History) pushAmendment(x *orderExtra, a *Amendment) {
	prev := x.amended
	x.amended = h.amendments.end + 1
	*h.amendments.push() = amendRec{*a, prev}
}

// Amendments returns the retained amendments of an order from the number from on, oldest first, at most limit.
func (h *History) Amendments(order engine.OrderID, from uint64, limit int) []Amendment {
	o := h.retained(order)
	if o == nil || o.extra == 0 {
		return nil
	}
	var out []Amendment
	for n := h.extras.At(o.extra).amended; n != 0 && h.amendments.has(n-1); { // an order has at most 10
		a := h.amendments.at(n - 1)
		if a.Number < from {
			break
		}
		out = append(out, a.Amendment)
		n = a.prev
	}
	slices.Reverse(out)
	return out[:min(max(limit, 0), len(out))]
}

// NewestAmendment returns the newest amendment of an order, for an observer of the feed (Current).
func (h *History) NewestAmendment(order engine.OrderID) (Amendment, bool) {
	o, _ := h.find(order)
	if o == nil || o.extra == 0 {
		return Amendment{}, false
	}
	n := h.extras.At(o.extra).amended
	if n == 0 || !h.amendments.has(n-1) {
		return Amendment{}, false
	}
	return h.amendments.at(n - 1).Amendment, true
}

// PreventedMatch is a trade that self-trade prevention has prevented.
type PreventedMatch struct {
	Number       uint64 // from 1 in each pair
	Pair         engine.PairID
	TimeNs       int64
	Taker, Maker engine.OrderID
	Account      engine.AccountID // of both
	Side         engine.Side      // the taker's
	Price        int64            // ticks
	// TakerAmount and MakerAmount are the lots by which it lowered the open amounts of the two orders.
	TakerAmount, MakerAmount int64
	STP                      engine.SelfTrade
}

// prevent notes a prevented match. The orders do not change by it: the events that follow change them.
func (h *History) prevent(p *pairState, e *engine.Event) {
	m := PreventedMatch{
		Number: uint64(e.Trade), Pair: e.Pair, TimeNs: e.TimeNs, Taker: e.Order, Maker: e.Maker, Account: e.Account,
		Side: e.Side, Price: e.Price, TakerAmount: e.Amount, MakerAmount: e.OpenAmount, STP: e.STP,
	}
	for _, id := range [...]engine.OrderID{e.Order, e.Maker} {
		h.extra(h.open.At(h.openSlot(p, id))).prevented = m.Number
	}
	h.pushPrevented(&m)
}

// pushPrevented appends a prevented match to the ring and to those of its pair.
func (h *History) pushPrevented(m *PreventedMatch) {
	if h.prevented.full() {
		h.pairs[h.prevented.atPlace(h.prevented.next).Pair].prevented.popFront()
	}
	h.pairs[m.Pair].prevented.pushBack(h.prevented.end)
	*h.prevented.push() = *m
}

// PreventedQuery chooses prevented matches of an account in a pair.
type PreventedQuery struct {
	Account engine.AccountID
	Pair    engine.PairID
	Order   engine.OrderID // its taker or its maker; 0: of every order
	From    uint64         // matches of this number and higher ones
	Limit   int
}

// PreventedMatches returns the retained prevented matches that q chooses, by number. turn has the same meaning as in
// Orders.
func (h *History) PreventedMatches(q PreventedQuery, turn func(func()) error) ([]PreventedMatch, error) {
	var out []PreventedMatch
	for done := q.Limit <= 0; !done; {
		err := turn(func() {
			done = true
			if int(q.Pair) >= len(h.pairs) || h.pairs[q.Pair] == nil {
				return
			}
			kept := &h.pairs[q.Pair].prevented
			if kept.len() == 0 {
				return
			}
			first := h.prevented.at(*kept.at(0)).Number // numbers have no gap
			for range walkRecords {
				q.From = max(q.From, first)
				if q.From-first >= uint64(kept.len()) || len(out) == q.Limit {
					return
				}
				h.visited++
				m := h.prevented.at(*kept.at(int(q.From - first)))
				q.From++
				if m.Account == q.Account && (q.Order == 0 || q.Order == m.Taker || q.Order == m.Maker) {
					out = append(out, *m)
				}
			}
			done = false
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// walkNotes encodes or decodes amendments and prevented matches, oldest first.
func (h *History) walkNotes(w walker) {
	at := h.amendments.first()
	for range w.Len(int(h.amendments.end - at)) {
		var a Amendment
		if !w.Reading() {
			a = h.amendments.at(at).Amendment
			at++
		}
		if w.amendment(&a); w.Err() != nil {
			return
		}
		if w.Reading() {
			x := &orderExtra{} // of an order that is no longer retained
			if o, _ := h.lookup(a.Order); o != nil {
				x = h.extra(o)
			}
			h.pushAmendment(x, &a)
		}
	}
	at = h.prevented.first()
	for range w.Len(int(h.prevented.end - at)) {
		var m PreventedMatch
		if !w.Reading() {
			m = *h.prevented.at(at)
			at++
		}
		w.prevented(&m)
		if !w.Reading() {
			continue
		}
		if int(m.Pair) >= len(h.pairs) || h.pairs[m.Pair] == nil {
			w.Fail("prevented match %d belongs to no pair", m.Number)
		} else if kept := &h.pairs[m.Pair].prevented; kept.len() > 0 &&
			m.Number != h.prevented.at(*kept.at(kept.len() - 1)).Number+1 {
			w.Fail("prevented match %d does not follow the one before", m.Number)
		}
		if w.Err() != nil {
			return
		}
		h.pushPrevented(&m)
	}
}

func (w walker) amendment(a *Amendment) {
	w.U64((*uint64)(&a.Order))
	w.U64(&a.Number)
	for _, v := range [...]*int64{&a.TimeNs, &a.Old, &a.New, &a.Filled} {
		w.I64(v)
	}
	w.Text(&a.OldClient, maxClientText)
	w.Text(&a.NewClient, maxClientText)
}

func (w walker) prevented(m *PreventedMatch) {
	w.U64(&m.Number)
	w.U32((*uint32)(&m.Pair))
	w.I64(&m.TimeNs)
	w.U64((*uint64)(&m.Taker))
	w.U64((*uint64)(&m.Maker))
	w.U32((*uint32)(&m.Account))
	w.U8((*uint8)(&m.Side), 1)
	w.I64(&m.Price)
	w.I64(&m.TakerAmount)
	w.I64(&m.MakerAmount)
	w.U8((*uint8)(&m.STP), uint8(engine.Decrement))
}
