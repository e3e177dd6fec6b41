package entry

import (
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/refuse"
)

// MassCancel selects the orders that CancelAll cancels.
type MassCancel struct {
	Caller   engine.AccountID // account of a signed request, whose orders are canceled; 0: an operator's request
	Account  engine.AccountID // operator: the account whose orders are canceled
	Everyone bool             // operator: cancel the orders of every account
	Pair     engine.PairID    // the pair; ControlPair: every pair
}

// CancelAll cancels the selected orders that are open when it is sequenced, and returns their
// number. It reads the newest order ids at one instant, and does not cancel newer orders. The
// sequencer serves other pairs while it cancels the orders of one.
func (e *Entry) CancelAll(m MassCancel) (canceled int, refusal *refuse.Refusal) {
	var bounds []engine.OrderID
	err := e.opt.Exchange.Query(func() {
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
	if err != nil {
		return 0, NotApplied(err)
	}
	for _, bound := range bounds {
		n, refusal := e.cancelPair(&m, bound)
		if canceled += n; refusal != nil {
			return canceled, refusal
		}
	}
	return canceled, nil
}

// cancelPair cancels the orders of one pair up to the bound. A halted pair is a refusal if the
// request named it; otherwise cancelPair skips it.
func (e *Entry) cancelPair(m *MassCancel, bound engine.OrderID) (canceled int, refusal *refuse.Refusal) {
	cmd := engine.Command{Kind: engine.CancelAll, Pair: bound.Pair(), Account: m.Account, Order: bound}
	if m.Caller != 0 {
		cmd.Account = m.Caller
	} else if m.Everyone {
		cmd.Flags = engine.FlagAllAccount
	}
	reason := engine.NotRejected
	b := sequencer.Batch{
		Commands: []engine.Command{cmd},
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
		return canceled, Unconfirmed(err, "The cancels", "look at "+whose+" open orders, or repeat the request.")
	}
	if reason != engine.NotRejected && m.Pair != engine.ControlPair {
		return canceled, refusalOf(reason, &cmd, m.Caller)
	}
	return canceled, nil
}
