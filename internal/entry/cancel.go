package entry

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/refuse"
)

// MassCancel selects the orders that CancelAll cancels.
type MassCancel struct {
	Caller   engine.AccountID // account of a signed request, whose orders are canceled; 0: an operator's request
	Account  engine.AccountID // operator: the account whose orders are canceled
	Everyone bool             // operator: cancel the orders of every account
	Pair     engine.PairID    // the pair; ControlPair: every pair

	forced bool // the exchange cancels the caller's orders, not the caller
}

// CancelAll cancels the selected orders that are open when it is sequenced, and returns their
// number. It reads the newest order ids at one instant, and does not cancel newer orders. The
// sequencer serves other pairs while it cancels the orders of one.
func (e *Entry) CancelAll(m MassCancel) (canceled int, refusal *refuse.Refusal) {
	bounds, err := e.bounds(&m)
	if err != nil {
		return 0, NotApplied(err)
	}
	for _, bound := range bounds {
		n, reason, refusal := e.cancelPair(&m, bound)
		if canceled += n; refusal != nil {
			return canceled, refusal
		}
		// A halted pair is a refusal if the request named it; otherwise it is skipped.
		if reason != engine.NotRejected && m.Pair != engine.ControlPair {
			cmd := m.command(bound)
			return canceled, e.refusalOf(reason, &cmd, m.Caller)
		}
	}
	return canceled, nil
}

// bounds returns the newest order id of each pair in which orders may have to be canceled.
func (e *Entry) bounds(m *MassCancel) (bounds []engine.OrderID, err error) {
	err = e.opt.Exchange.Query(func() {
		core, pairs := e.opt.Core, []engine.PairID{m.Pair}
		if m.Pair == engine.ControlPair {
			pairs = core.PairsByCode()
		}
		for _, p := range pairs {
			last := core.LastOrderID(p)
			switch {
			case last.N() == 0:
			case m.Caller != 0 && m.Pair == engine.ControlPair:
				if core.OwnOpenOrders(p, m.Caller) > 0 {
					bounds = append(bounds, last)
				}
			case m.Caller != 0 || core.OpenOrders(p) > 0: // the engine always answers a signed request for one pair
				bounds = append(bounds, last)
			}
		}
	})
	return bounds, err
}

// command returns the engine's command for the pair of a bound.
func (m *MassCancel) command(bound engine.OrderID) engine.Command {
	cmd := engine.Command{Kind: engine.CancelAll, Pair: bound.Pair(), Account: m.Account, Order: bound}
	if m.Caller != 0 {
		cmd.Account = m.Caller
	} else if m.Everyone {
		cmd.Flags = engine.FlagAllAccount
	}
	if m.Caller == 0 || m.forced {
		cmd.Flags |= engine.FlagOperator
	}
	return cmd
}

// cancelPair cancels the orders of one pair up to the bound. reason says why the engine refused, which it does
// only for a halted pair.
func (e *Entry) cancelPair(m *MassCancel, bound engine.OrderID) (
	canceled int, reason engine.Reason, refusal *refuse.Refusal,
) {
	b := sequencer.Batch{
		Commands: []engine.Command{m.command(bound)},
		Collect: func(_ int, _ *engine.Command, events []engine.Event) {
			for i := range events {
				if events[i].Kind == engine.EventCanceled {
					canceled++
				} else if events[i].Kind == engine.EventRejected {
					reason = events[i].Reason
				}
			}
		},
	}
	if err := e.opt.Exchange.Submit(&b); err != nil {
		whose := "the"
		if m.Caller != 0 {
			whose = "your"
		}
		return canceled, reason,
			Unconfirmed(err, "The cancels", "look at "+whose+" open orders, or repeat the request.")
	}
	return canceled, reason, nil
}

// cancelUpTo cancels the orders of an account, which did not ask for it, up to the bounds. It returns the bounds of the
// pairs that take no cancels at the moment.
func (e *Entry) cancelUpTo(account engine.AccountID, bounds []engine.OrderID) (canceled int, rest []engine.OrderID) {
	m := MassCancel{Caller: account, Pair: engine.ControlPair, forced: true}
	root := e.opt.Board.Load()
	for i, bound := range bounds {
		if v := root.View(bound.Pair()); v != nil && v.Instrument.State == engine.Halted {
			rest = append(rest, bound)
			continue
		}
		n, reason, refusal := e.cancelPair(&m, bound)
		canceled += n
		if refusal != nil {
			return canceled, append(rest, bounds[i:]...)
		}
		if reason != engine.NotRejected {
			rest = append(rest, bound)
		}
	}
	return canceled, rest
}
