package server

import (
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// orderAnswer is the outcome of one command of a batch. The goroutine that owns the history
// fills it (collect); the request's goroutine renders it.
type orderAnswer struct {
	rec     marketdata.OrderRecord
	uuid    [16]byte
	found   bool          // rec holds the order
	reason  engine.Reason // why the command was refused
	order   engine.OrderID
	seq     engine.Seq // seq of a refusal
	timeNs  int64
	request *orderRequest      // the decoded request of a place
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
			a.reason = engine.UnknownOrder // its id names a pair that does not exist
		}
		return
	case first.Kind == engine.EventRejected:
		// A repeated client order id: return the first answer, as far as it is retained.
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

// orderBatch holds the decoded members, the commands and the answers of one request. It is
// pooled. Owner: one request at a time.
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

// submit reserves money for the commands and submits them to the engine.
func (b *orderBatch) submit() *refuse.Refusal {
	return b.heldBatch.submit(b.s.opt.Exchange, b.s.opt.Accounts)
}

// give drops the references of the batch and returns it to the pool.
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
