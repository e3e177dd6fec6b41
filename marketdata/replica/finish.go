package replica

import "tickhive/engine"

// Finish carries out what is left of the commands that the log ends in the middle of: write appends
// each Continue to the log before it is applied. The time is the time of the last command, so every
// start that finds this log makes the same records.
func (r *Replica) Finish(write func(cmd *engine.Command) error) error {
	for _, p := range r.Core.AppendUnfinished(nil) {
		for r.Core.Unfinished(p) {
			cmd := engine.Command{Kind: engine.Continue, Pair: p, TimeNs: r.LastNs, First: true}
			if err := write(&cmd); err != nil {
				return err
			}
			r.events = r.Core.Apply(&cmd, r.events[:0])
			r.Pos++
			r.fold()
		}
	}
	return nil
}

// fold hands the events of the record at Pos to every fold.
func (r *Replica) fold() {
	r.Feed.Fold(r.events)
	for _, x := range r.opts.Extras {
		x.Fold(r.events, r.Pos)
	}
	for _, fold := range r.opts.Sinks {
		fold(r.events, r.Pos)
	}
}
