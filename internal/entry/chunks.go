package entry

import (
	"errors"
	"fmt"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
)

// chunks reserves money for commands and submits them to the engine. A reservation sees only the effect of
// commands that are already applied. If a command depends on an earlier one of the same request (on its money,
// or as the order to replace), chunks therefore submits the request in chunks:
//
//	chunk := the longest run of commands that can be reserved now
//	         ends before a command that lacks money, because an earlier one may bring it,
//	         before one that spends all that is free, and before a replace of an order that
//	         the chunk may place
//	loop     reserve the chunk, submit it, release what no event took over
//
// Owner: the request; the slices are reused.
type chunks struct {
	all      []engine.Command
	batch    sequencer.Batch // Commands is the current chunk of all
	offset   int             // of the current chunk in all
	applied  int             // commands that were applied, after an error
	reserved []reservation   // of the current chunk
	taken    []bool          // by index in all: the events took over the reservation

	// unfunded is the refusal of a single order that lacks money and was therefore not submitted.
	unfunded engine.Reason
}

// reservation is the money that is reserved for a command.
type reservation struct {
	index int // index in all of the command
	accounts.Reservation
}

// takenOver reports whether the events, of one part of the command perhaps, took over its
// reservation.
func takenOver(cmd *engine.Command, events []engine.Event) bool {
	if cmd.Kind == engine.Place {
		return len(events) > 0 && events[0].Kind == engine.EventAccepted
	}
	for i := range events {
		if events[i].Kind == engine.EventReplaced && events[i].Order == cmd.Order {
			return true
		}
	}
	return false
}

// resize makes room for n commands, all zero.
func (p *chunks) resize(n int) {
	if cap(p.all) < n {
		p.all, p.taken = make([]engine.Command, n), make([]bool, n)
	}
	p.all, p.taken = p.all[:n], p.taken[:n]
	p.batch.Stamped = false
}

// reset drops the references that the batch holds.
func (p *chunks) reset() {
	clear(p.all)
	clear(p.taken)
	p.batch.Commands, p.offset, p.applied, p.unfunded = nil, 0, 0, engine.NotRejected
}

// submit submits all commands and ends their reservations. After an error, offset is the number
// of commands in the chunks before, and the batch is the chunk that was not confirmed. With
// withhold, an order that lacks money does not reach the engine (unfunded).
func (p *chunks) submit(e *Entry, withhold bool) error {
	locks := e.lock(p.all)
	defer e.unlock(locks)
	for p.offset = 0; p.offset < len(p.all); {
		end := p.reserveChunk(e, p.offset)
		// An order with a client order id must reach the engine: it may repeat an accepted one.
		if cmd := &p.all[0]; withhold && cmd.Client == nil && cmd.Refuse == engine.InsufficientFunds {
			p.unfunded = cmd.Refuse
			return nil
		}
		p.batch.Commands = p.all[p.offset:end]
		err := e.opt.Exchange.Submit(&p.batch)
		p.releaseUnused(e, err)
		if err != nil {
			p.applied = p.offset + p.batch.AppliedCount()
			return err
		}
		p.offset = end
	}
	return nil
}

// releaseUnused releases the reservations of the current chunk that no event took over. When the outcome is
// unknown, it releases none until the process ends: the journal may contain the orders, and their money must
// not be withdrawn.
func (p *chunks) releaseUnused(e *Entry, err error) {
	for i := range p.reserved {
		h := &p.reserved[i]
		if !errors.Is(err, sequencer.ErrOutcomeUnknown) && !p.taken[h.index] {
			e.state.Release(h.Reservation)
		}
	}
	p.reserved = p.reserved[:0]
}

// reserveChunk reserves money for commands from start on, and returns the index after the last one of the chunk.
func (p *chunks) reserveChunk(e *Entry, start int) (end int) {
	for i := start; i < len(p.all); i++ {
		cmd := &p.all[i]
		if cmd.Kind != engine.Place && cmd.Kind != engine.Replace {
			continue
		}
		if i > start && spendsAll(cmd) {
			return i
		}
		before := cmd.Refuse
		if r, held := e.reserve(cmd); held {
			p.reserved = append(p.reserved, reservation{i, r})
		}
		if i > start && before == engine.NotRejected && cmd.Refuse == engine.InsufficientFunds {
			cmd.Refuse = before
			return i // an earlier command may bring the money, or replaces the same order
		}
		if cmd.Flags&engine.FlagUnheld != 0 && cmd.Kind == engine.Replace && placedIn(p.all[start:i], cmd.Pair) {
			return i // an earlier command may place the order: its event creates the hold
		}
	}
	return len(p.all)
}

// spendsAll reports whether the reservation of cmd takes the whole free balance.
func spendsAll(cmd *engine.Command) bool {
	return cmd.Kind == engine.Place && cmd.Account != 0 && cmd.Type == engine.Market &&
		cmd.Side == engine.Buy && cmd.Flags&engine.FlagQuote == 0
}

// placedIn reports whether one of the commands places an account's order of the pair.
func placedIn(cmds []engine.Command, pair engine.PairID) bool {
	for i := range cmds {
		if cmds[i].Kind == engine.Place && cmds[i].Account != 0 && cmds[i].Pair == pair {
			return true
		}
	}
	return false
}

// refused returns the refusal for a current chunk that the engine did not confirm.
func (p *chunks) refused(err error) *refuse.Refusal {
	what, then := p.unknown()
	r := Unconfirmed(err, what, then)
	switch {
	case r.Code == refuse.OutcomeUnknown && p.offset > 0:
		r.Message = fmt.Sprintf("The first %d commands were applied. %s", p.offset, r.Message)
	case r.Code != refuse.OutcomeUnknown && p.applied > 0:
		r.Message = fmt.Sprintf("The first %d commands were applied, the others were not: %s", p.applied, r.Message)
	}
	return r
}

// unknown returns the texts for a current chunk whose outcome is unknown: what may have been
// recorded, and what the client should do then.
func (p *chunks) unknown() (what, then string) {
	const same = "repeat the request with the same clientOrderId"
	switch cmd := &p.batch.Commands[0]; {
	case len(p.batch.Commands) > 1 || p.offset > 0:
		return "The commands, or some of them,", same + " in each order that has one, " +
			"which is never placed twice; look at the others before you repeat them."
	case cmd.Kind != engine.Place:
		return "The change", "look at the order before you repeat the request."
	case cmd.Client != nil:
		return "The order", same + ": an order that was recorded is answered and not placed again."
	}
	return "The order", "look for it among the orders and deals before you place it again; " +
		"an order with a clientOrderId can be repeated safely."
}
