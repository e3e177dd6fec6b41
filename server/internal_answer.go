package server

import (
	"tickhive/engine"
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
		a.uuid = s.opt.Core.AccountUUID(a.rec.Account)
		return
	case cmd.Kind == engine.Place:
		a.order = first.Order
	}
	if a.rec, a.found = h.Order(a.order); !a.found {
		panic("BUG: server: the history lacks an order that was just answered")
	}
	a.uuid = s.opt.Core.AccountUUID(a.rec.Account)
}

// orderBatch is one request's way through the engine: what was decoded, the commands,
// the answers. It is pooled, and belongs to one request at a time.
type orderBatch struct {
	s        *Internal
	reader   bodyReader
	decoded  []batchCommand
	batch    engine.Batch
	answers  []orderAnswer
	held     []Reservation
	rendered []byte
}

func newOrderBatch(s *Internal) *orderBatch {
	b := &orderBatch{s: s}
	b.batch.Collect = b.collect
	return b
}

func (b *orderBatch) collect(i int, cmd *engine.Command, events []engine.Event) {
	b.answers[i].collect(b.s, cmd, events)
}

// resize makes room for n commands and their answers, all zero.
func (b *orderBatch) resize(n int) {
	if cap(b.batch.Commands) < n {
		b.batch.Commands = make([]engine.Command, n)
		b.answers = make([]orderAnswer, n)
		b.held = make([]Reservation, n)
	}
	b.batch.Commands, b.answers, b.held = b.batch.Commands[:n], b.answers[:n], b.held[:n]
	b.batch.Stamped = false
}

// submit prepares the commands with accounts, hands them to the engine and settles.
func (b *orderBatch) submit() *Error {
	accounts := b.s.opt.Accounts
	for i := range b.batch.Commands {
		cmd := &b.batch.Commands[i]
		if cmd.Kind != engine.Place && cmd.Kind != engine.Replace {
			continue
		}
		held, err := accounts.Prepare(cmd)
		if err != nil {
			b.release(i)
			return err
		}
		b.held[i] = held
	}
	if err := b.s.opt.Exchange.Submit(&b.batch); err != nil {
		b.release(len(b.held))
		return exchangeError(err)
	}
	for i, held := range b.held {
		if held != nil {
			accounts.Done(held, b.answers[i].reason != engine.NotRejected)
		}
	}
	return nil
}

// release gives back what the first n commands hold.
func (b *orderBatch) release(n int) {
	for _, held := range b.held[:n] {
		if held != nil {
			b.s.opt.Accounts.Done(held, true)
		}
	}
}

// give drops what the batch references and puts it back into the pool.
func (s *Internal) give(b *orderBatch) {
	clear(b.batch.Commands)
	clear(b.answers)
	clear(b.held)
	clear(b.decoded)
	b.reader.reset(nil)
	if cap(b.rendered) > 2<<20 {
		b.rendered = nil
	}
	s.batches.Put(b)
}

func (s *Internal) take() *orderBatch { return s.batches.Get().(*orderBatch) }
