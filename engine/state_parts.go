package engine

import (
	"math"
	"slices"

	"tickhive/engine/slots"
)

// partState is the unfinished command of a pair as the state has it:
//
//	part     0 or 1 and the record of its command, first number to cancel, canceled;
//	         0 or 1 and the taker: n, account, client, side, type, limits, amounts, rates;
//	         check of a fill-or-kill order: need, earn limit, price, n, shown, whole;
//	         wave; number of reached stops; each in the order in which they are triggered:
//	         wave, n, side, then as a waiting stop
type partState struct {
	continuation
	record  []byte
	account AccountID // of the taker
	named   bool      // the taker has a client id
	stops   []reachedState
}

type reachedState struct {
	wave    uint32
	order   order
	stop    stopOrder
	account AccountID
}

// partState returns the unfinished command of b, nil for none.
func (b *book) partState() *partState {
	if b.unfinished == nil {
		return nil
	}
	p := &partState{continuation: *b.unfinished}
	if p.cmd != nil {
		p.record = AppendCommand(nil, p.cmd)
	}
	if p.taker != nil {
		p.account, p.named = p.taker.account, p.taker.client != 0
	}
	queue := slices.Clone(b.stops.queue)
	slices.SortFunc(queue, slots.Queued.Compare)
	p.stops = make([]reachedState, len(queue))
	for i, r := range queue {
		o := b.orders.at(r.Slot)
		p.stops[i] = reachedState{r.Wave, *o, *b.stops.parked.At(b.orders.cold.At(r.Slot).stop), b.orders.account(o)}
	}
	return p
}

// codePart codes the unfinished command.
func (s *pairState) codePart() {
	if s.Reading() {
		s.part = &partState{}
	}
	p, b := s.part, s.b
	s.codeCommand(p)
	hasTaker := p.taker != nil
	if s.Bool(&hasTaker); hasTaker {
		if s.Reading() {
			p.taker = &taker{}
		}
		s.codeTaker(p, p.taker)
	}
	at := &b.scan
	s.I63(&at.need)
	s.u128(&at.earn)
	s.I63(&at.price)
	s.UpTo(&at.n, b.lastN)
	s.I63(&at.shown)
	s.I63(&at.whole)
	s.U32(&b.stops.wave)
	n := s.Len(len(p.stops))
	for i := range n {
		if s.Err() != nil {
			return
		}
		if s.Reading() {
			p.stops = append(p.stops, reachedState{})
		}
		r := &p.stops[i]
		s.U32(&r.wave)
		s.U64(&r.order.n)
		s.U8((*uint8)(&r.order.side), uint8(Sell))
		s.stop(&r.order, &r.stop, &r.account)
	}
	if p.cmd != nil && p.taker != nil || (at.need != 0) != s.checks(p) {
		s.Fail("the unfinished command does not add up")
	}
}

// checks reports whether p must be in the check of a fill-or-kill order.
func (s *pairState) checks(p *partState) bool {
	if p.cmd != nil {
		return p.cmd.Kind == Place
	}
	return p.taker != nil && s.b.scan.need != 0
}

func (s *pairState) codeCommand(p *partState) {
	has := p.cmd != nil
	if s.Bool(&has); !has {
		return
	}
	text := string(p.record)
	if s.Text(&text, maxStateText); s.Reading() {
		p.cmd = &Command{}
		if err := DecodeCommand([]byte(text), p.cmd); err != nil ||
			p.cmd.Kind != Place && p.cmd.Kind != CancelAll || p.cmd.Pair != s.b.id {
			s.Fail("the unfinished command is none: %v", err)
		}
	}
	s.U64(&p.from)
	s.Bool(&p.canceled)
}

func (s *pairState) codeTaker(p *partState, t *taker) {
	s.UpTo(&t.n, s.b.lastN)
	s.U32((*uint32)(&p.account))
	s.Bool(&p.named)
	s.U8((*uint8)(&t.side), uint8(Sell))
	s.Bool(&t.market)
	s.U8((*uint8)(&t.tif), uint8(FOK))
	s.U8((*uint8)(&t.stp), uint8(Decrement))
	s.U8(&t.flags, math.MaxUint8)
	for _, v := range [...]*int64{&t.limit, &t.left, &t.filled, &t.display, &t.was, &t.found} {
		s.I63(v)
	}
	s.Bool(&t.capped)
	s.u128(&t.money)
	s.Bool(&t.bounded)
	s.u128(&t.earn)
	s.U32(&t.makerFee)
	s.U32(&t.takerFee)
	s.U32(&t.discount)
	if s.Reading() {
		t.cause, t.account = CauseRemainder, p.account
	}
}

// restorePart restores the taker and the reached stops of a book that is read.
func (s *pairState) restorePart() {
	b, p := s.b, s.part
	if t := p.taker; t != nil {
		if t.n == 0 || b.orders.ids.Get(t.n) != 0 || t.left < 1 || t.limit < 1 {
			s.Fail("the unfinished order %d does not add up", t.n)
		}
		o := order{n: t.n, side: t.side, stp: t.stp, makerFee: t.makerFee, takerFee: t.takerFee, discount: t.discount}
		if p.named {
			o.marks = markClient
		}
		t.id = MakeOrderID(b.id, t.n)
		t.slot = b.orders.restore(o, coldOrder{}, p.account)
		t.owner = b.orders.at(t.slot).owner
	}
	before := slots.Queued{}
	for i := range p.stops {
		r := &p.stops[i]
		now := slots.Queued{N: r.order.n, Wave: r.wave}
		n := r.order.n
		if n == 0 || n > b.lastN || b.orders.ids.Get(n) != 0 || before.Compare(now) >= 0 || r.wave > b.stops.wave {
			s.Fail("the reached stop %d is out of order", n)
		}
		before = now
		now.Slot = s.restoreStop(&r.order, &r.stop, r.account)
		b.stops.queue = append(b.stops.queue, now) // sorted, so it is a heap
	}
	c := p.continuation
	b.unfinished = &c
}

// linkTaker gives the taker the client id that was read after it.
func (s *pairState) linkTaker() {
	if t := s.part.taker; s.part.named {
		t.client = s.b.orders.cold.At(t.slot).client
	}
}
