package exchange

import (
	"fmt"
	"time"

	"tickhive/internal/datadir"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// logOptions adds to the options of a store's log what the directory knows about it, and what the
// exchange does when records are missing.
func (r *restored) logOptions(name string, o wal.Options) (wal.Options, error) {
	o, err := r.data.LogOptions(name, o)
	o.AcceptLoss = r.o.AcceptDataLoss
	if r.o.Stream.Open != nil {
		o.MaxRecord = stream.MaxRecord
	}
	o.Failed = func() { r.noteLostSync(name) }
	o.Lost = func(l wal.Loss) error { return r.acceptLoss(name, l) }
	o.MissingSnapshot = func(seq uint64) {
		r.reportRecovery(
			fmt.Sprintf("the newest snapshot of the log %s is missing; the start replays more of it", name),
			fmt.Sprintf("of record %d", seq))
	}
	return o, err
}

// acceptLoss begins a new epoch, because the seqs and ids of the lost records are given out again.
// It runs before the log is cut.
func (r *restored) acceptLoss(name string, l wal.Loss) error {
	text := fmt.Sprintf("power cut or failed sync: the log %s ends at record %d, and %d more were written that had "+
		"not been synced: they are gone; new epoch", name, l.Seq, l.To-l.Seq)
	detail := ""
	if l.Damage != nil {
		text = fmt.Sprintf("--accept-data-loss: the log %s goes on from record %d, it had reached at least %d; "+
			"new epoch", name, l.Seq, l.To)
		detail = l.Damage.Error()
	}
	r.log.Warn(text, "incident", "data_loss", "detail", detail)
	in := datadir.Incident{
		AtMs: r.clock.NowNs() / int64(time.Millisecond), Kind: "data_loss", Message: text, Detail: detail,
	}
	return r.data.AcceptLoss(name, l.Position, in)
}
