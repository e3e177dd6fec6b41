package sequencer

import "tickhive/engine"

// Other is a command of another part of the exchange than the market. The loop's goroutine calls the methods in this
// order: it plans the command on the state after the last record, writes the record alone (engine.Other), applies it,
// and shows it with its group. A batch of one Other gives its submitter the outcome.
type Other interface {
	// Due returns the command that must come first, because it is due by nowNs; nil: none.
	Due(nowNs int64) Other
	// Plan returns the record that would carry the command out at nowNs, and changes nothing. An error refuses the
	// command: there is no record.
	Plan(nowNs int64) (*engine.OtherRecord, error)
	// Apply applies the record.
	Apply(rec *engine.OtherRecord)
	// Show makes what Apply has done visible.
	Show()
}

// Doer is a Source whose actions are commands of another part. Act is not called.
type Doer interface {
	// Do carries out the action for nowNs = NextNs() by calls of do, and moves NextNs beyond it. A refusal of a command
	// is no error of do.
	Do(nowNs int64, do func(Other))
}

// OtherBatch returns the batch of a command of another part, which is answered when the record has reached a mark.
func OtherBatch(o Other, wait Mark) *Batch {
	return &Batch{Other: o, Wait: wait, Commands: []engine.Command{{Kind: engine.Other, Pair: engine.ControlPair}}}
}

// sequenceOthers runs the batches of other parts among batches one by one, and those between them together.
func (l *Loop) sequenceOthers(batches []*Batch) {
	from := 0
	for i, b := range batches {
		if b.Other != nil {
			l.sequence(batches[from:i])
			l.other(b)
			from = i + 1
		}
	}
	if from == 0 || from < len(batches) {
		l.sequence(batches[from:])
	}
}

// other plans a stamped command of another part, and what is due before it, and sequences them.
func (l *Loop) other(b *Batch) {
	cmd := &b.Commands[0]
	for first := b.Other.Due(cmd.TimeNs); first != nil; first = b.Other.Due(cmd.TimeNs) {
		due := OtherBatch(first, Written)
		due.Commands[0].TimeNs, due.to = cmd.TimeNs, 1
		if l.plan(due); due.err != nil {
			b.answer(due.err)
			return
		}
	}
	l.plan(b)
}

// plan plans a command of another part and sequences it behind the next part of an unfinished command, if there is one:
// a part leaves room for one record in its slice. A refusal is answered when what it depends on has reached the
// mark of the batch.
func (l *Loop) plan(b *Batch) {
	if err := l.records.stopped(); err != nil { // a refusal would rest on what may be lost
		b.answer(err)
		return
	}
	rec, err := b.Other.Plan(b.Commands[0].TimeNs)
	if err != nil {
		b.err = err
		l.backlog.begin(0)
		l.backlog.open.ended = append(l.backlog.open.ended, b)
		l.backlog.end()
		return
	}
	b.Commands[0].Other = rec
	l.sequence([]*Batch{b})
}

// do returns the function by which a source carries out commands of another part at a time.
func (s *sources) do(atNs int64) func(Other) {
	return func(o Other) {
		b := OtherBatch(o, Written)
		b.Commands[0].TimeNs, b.to = max(s.loop.times.lastNs, atNs), 1
		s.loop.other(b)
	}
}
