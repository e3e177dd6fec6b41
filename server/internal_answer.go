package server

import (
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// orderAnswer is what one command of a batch came to. It is filled on the goroutine that
// owns the history (collect) and rendered by the request's own.
type orderAnswer struct {
	rec     marketdata.OrderRecord
	uuid    [16]byte
	found   bool          // rec is the order
	reason  engine.Reason // why it was refused
	order   engine.OrderID
	seq     engine.Seq // of a refusal
	timeNs  int64
	request *orderRequest      // place: what was asked
	ins     *engine.Instrument // nil: unknown pair
}

// collect fills a from the events of its command.
func (a *orderAnswer) collect(s *Internal, cmd *engine.Command, events []engine.Event) {
	h, first := s.opt.History, &events[0]
	a.order, a.timeNs, a.seq = cmd.Order, first.TimeNs, events[len(events)-1].Seq
	a.found, a.reason = false, engine.NotRejected
	switch {
	case first.Kind == engine.EventRejected && first.Reason != engine.NotRejected:
		if a.reason = first.Reason; a.reason == engine.UnknownPair && cmd.Kind != engine.Place {
			a.reason = engine.UnknownOrder // its id names a pair that is not there
		}
		return
	case first.Kind == engine.EventRejected:
		// A repeated client order id: the first answer again, or what is left of it.
		a.order = first.Order
		if a.rec, a.found = h.FirstAnswer(a.order); !a.found {
			a.rec, a.found = h.Order(a.order)
		}
		if !a.found {
			a.reason = engine.DuplicateClientOrderID
		}
		a.uuid = s.opt.Accounts.ID(a.rec.Account)
		return
	case cmd.Kind == engine.Place:
		a.order = first.Order
	}
	if a.rec, a.found = h.Order(a.order); !a.found {
		panic("BUG: server: the history lacks an order that was just answered")
	}
	a.uuid = s.opt.Accounts.ID(a.rec.Account)
}

// orderBatch is one request's way through the engine: what was decoded, the commands,
// the answers. It is pooled, and belongs to one request at a time.
type orderBatch struct {
	heldBatch
	s        *Internal
	reader   bodyReader
	decoded  []batchCommand
	answers  []orderAnswer
	rendered []byte
}

func newOrderBatch(s *Internal) *orderBatch {
	b := &orderBatch{s: s}
	b.collector(func(i int, cmd *engine.Command, events []engine.Event) { b.answers[i].collect(s, cmd, events) })
	return b
}

// resize makes room for n commands and their answers, all zero.
func (b *orderBatch) resize(n int) {
	b.heldBatch.resize(n)
	if cap(b.answers) < n {
		b.answers = make([]orderAnswer, n)
	}
	b.answers = b.answers[:n]
}

// submit takes the commands through accounts and engine.
func (b *orderBatch) submit() *refuse.Refusal {
	return b.heldBatch.submit(b.s.opt.Exchange, b.s.opt.Accounts)
}

// give drops what the batch references and puts it back into the pool.
func (s *Internal) give(b *orderBatch) {
	b.forget()
	clear(b.answers)
	clear(b.decoded)
	b.reader.reset(nil)
	if cap(b.rendered) > 2<<20 {
		b.rendered = nil
	}
	s.batches.Put(b)
}

func (s *Internal) take() *orderBatch { return s.batches.Get().(*orderBatch) }
