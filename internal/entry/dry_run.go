package entry

import (
	"tickhive/engine"
	"tickhive/internal/refuse"
)

// Test checks the request's only command, a new order, as far as that is possible without its money and the book:
// the pair, its state, the digits and the limits. Nothing is submitted.
func (r *Request) Test() *refuse.Refusal {
	v := r.e.opt.Board.Load().Lookup(string(r.Commands[0].Place.Pair))
	if v == nil {
		return refuse.Missing("currencyPairCode", "There is no pair %s.", r.Commands[0].Place.Pair)
	}
	r.resize(1)
	if refusal := r.build(); refusal != nil {
		return refusal
	}
	cmd := &r.chunks.all[0]
	if refusal := r.e.check(cmd); refusal != nil {
		return refusal
	}
	checkLimits(cmd, v, engine.MaxTotal)
	if cmd.Refuse == engine.NotRejected {
		cmd.Refuse = stateReason(v.Instrument.State, cmd)
	}
	if cmd.Refuse == engine.NotRejected {
		return nil
	}
	return r.e.refusalOf(cmd.Refuse, cmd, r.caller)
}

// stateReason returns the reason for which a pair in this state refuses a new order.
func stateReason(s engine.PairState, cmd *engine.Command) engine.Reason {
	switch s {
	case engine.PostOnlyState:
		if cmd.Flags&engine.FlagPostOnly == 0 {
			return engine.PairPostOnly
		}
	case engine.CancelOnly:
		return engine.PairCancelOnly
	case engine.Halted:
		return engine.PairHalted
	case engine.Online:
	}
	return engine.NotRejected
}
