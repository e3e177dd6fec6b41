package entry

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
)

// Test checks the request's only command, a new order, as far as that is possible without its money and the book:
// the pair, its state, the digits and the limits. Nothing is submitted.
func (r *Request) Test() *refuse.Refusal {
	v := r.e.opt.Board.Load().Lookup(string(r.Commands[0].Place.Pair))
	if v == nil {
		return refuse.Missing("currencyPairCode", "There is no pair %s.", r.Commands[0].Place.Pair)
	}
	if refusal := r.build(); refusal != nil {
		return refusal
	}
	cmd := &r.batch.Commands[0]
	reason := v.Instrument.CheckMembers(cmd, v.Ticker.Last, engine.DefaultIcebergSlices)
	if reason == engine.NotRejected {
		reason = v.Instrument.CheckState(cmd)
	}
	if reason == engine.NotRejected {
		return nil
	}
	return r.e.refusalOf(reason, cmd, r.caller)
}
