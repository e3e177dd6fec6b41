package server

import (
	"errors"
	"fmt"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
)

// heldBatch reserves money for commands and submits them to the engine. A reservation sees only
// commands that are already applied. Where a command depends on an earlier one of the same
// request (its money, or the order that it replaces), heldBatch submits the batch in parts.
//
// Owner: one request at a time; the slices are reused.
type heldBatch struct {
	batch  sequencer.Batch
	held   []Reservation
	taken  []bool
	offset int // of the current part

	// keepBack refuses a single order that lacks money here (keptBack), so that the engine does
	// not sequence the refusal.
	keepBack bool
	keptBack engine.Reason

	inner func(i int, cmd *engine.Command, events []engine.Event)
}

// collector sets the batch's collector, which passes f the command's index in the whole request.
func (h *heldBatch) collector(f func(i int, cmd *engine.Command, events []engine.Event)) {
	h.inner = f
	h.batch.Collect = func(i int, cmd *engine.Command, events []engine.Event) {
		h.taken[h.offset+i] = takenOver(cmd, events)
		h.inner(h.offset+i, cmd, events)
	}
}

// takenOver reports whether the events took over the command's reservation.
func takenOver(cmd *engine.Command, events []engine.Event) bool {
	if cmd.Kind == engine.Place {
		return events[0].Kind == engine.EventAccepted
	}
	for i := range events {
		if events[i].Kind == engine.EventReplaced && events[i].Order == cmd.Order {
			return true
		}
	}
	return false
}

// resize makes room for n commands, all zero.
func (h *heldBatch) resize(n int) {
	if cap(h.batch.Commands) < n {
		h.batch.Commands = make([]engine.Command, n)
		h.held, h.taken = make([]Reservation, n), make([]bool, n)
	}
	h.batch.Commands, h.held, h.taken = h.batch.Commands[:n], h.held[:n], h.taken[:n]
	h.batch.Stamped = false
}

// forget drops the references of the batch.
func (h *heldBatch) forget() {
	clear(h.batch.Commands)
	clear(h.held)
	clear(h.taken)
}

// submit submits all commands and ends their reservations.
func (h *heldBatch) submit(x Exchange, a Accounts) *refuse.Refusal {
	all := h.batch.Commands
	for i := range all {
		if err := a.Check(&all[i]); err != nil {
			if len(all) > 1 {
				err.Field = fmt.Sprintf("commands[%d].place.%s", i, err.Field)
			}
			return err
		}
	}
	unlock := a.Lock(all)
	defer unlock()
	defer func() { h.batch.Commands, h.offset = all, 0 }()
	for start := 0; start < len(all); {
		end := h.prepare(a, all, start)
		if h.keptBack = h.holdBack(all); h.keptBack != engine.NotRejected {
			return nil
		}
		h.batch.Commands, h.offset = all[start:end], start
		err := x.Submit(&h.batch)
		unknown := errors.Is(err, sequencer.ErrOutcomeUnknown)
		for i := start; i < end; i++ {
			if h.held[i] != nil {
				a.Done(h.held[i], unknown || err == nil && h.taken[i])
				h.held[i] = nil
			}
		}
		if err != nil {
			return h.refused(err, start)
		}
		start = end
	}
	return nil
}

// holdBack returns the refusal of an order that lacks money and need not reach the engine. An
// order with a client order id must reach it: the order may repeat an accepted one.
func (h *heldBatch) holdBack(all []engine.Command) engine.Reason {
	if cmd := &all[0]; h.keepBack && cmd.Client == nil && cmd.Refuse == engine.InsufficientFunds {
		return cmd.Refuse
	}
	return engine.NotRejected
}

// refused returns the refusal for a current part that the engine did not confirm. The first
// applied commands of the request were applied.
func (h *heldBatch) refused(err error, applied int) *refuse.Refusal {
	what, then := h.unknown()
	e := submitError(err, what, then)
	switch {
	case applied == 0:
	case e.Code == refuse.OutcomeUnknown:
		e.Message = fmt.Sprintf("The first %d commands were applied. %s", applied, e.Message)
	default:
		e.Message = fmt.Sprintf("The first %d commands were applied, the others were not: %s", applied, e.Message)
	}
	return e
}

// unknown returns the texts for a current part whose outcome is unknown: what may have been
// recorded, and what the client should do then.
func (h *heldBatch) unknown() (what, then string) {
	const same = "repeat the request with the same clientOrderId"
	switch cmd := &h.batch.Commands[0]; {
	case len(h.batch.Commands) > 1 || h.offset > 0:
		return "The commands, or some of them,", same + " in each order that has one, which is never placed twice; look at the others before you repeat them."
	case cmd.Kind != engine.Place:
		return "The change", "look at the order before you repeat the request."
	case cmd.Client != nil:
		return "The order", same + ": an order that was recorded is answered and not placed again."
	}
	return "The order", "look for it among the orders and deals before you place it again; an order with a clientOrderId can be repeated safely."
}

// prepare reserves money for the commands from start on and returns the end of the part.
func (h *heldBatch) prepare(a Accounts, all []engine.Command, start int) (end int) {
	for i := start; i < len(all); i++ {
		cmd := &all[i]
		if cmd.Kind != engine.Place && cmd.Kind != engine.Replace {
			continue
		}
		if i > start && spendsAll(cmd) {
			return i
		}
		before := cmd.Refuse
		h.held[i] = a.Prepare(cmd)
		if i > start && before == engine.NotRejected && cmd.Refuse == engine.InsufficientFunds {
			cmd.Refuse = before
			return i // an earlier command may bring the money, or replaces the same order
		}
		if cmd.Flags&engine.FlagUnheld != 0 && cmd.Kind == engine.Replace && placedIn(all[start:i], cmd.Pair) {
			return i // an earlier command may place the order: its event creates the hold
		}
	}
	return len(all)
}

// spendsAll reports whether cmd reserves the whole free balance at preparation.
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
