package exchange

import (
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// logOptions adds to the options of the journal what the directory knows about it, and what the
// exchange does when records are missing.
func (r *restored) logOptions(o wal.Options) (wal.Options, error) {
	o, err := r.data.LogOptions(o)
	o.AcceptLoss = r.o.AcceptDataLoss
	if r.o.Stream.Open != nil {
		o.MaxRecord = stream.MaxRecord
	}
	o.Failed = r.noteLostSync
	o.Lost = r.acceptLoss
	o.MissingSnapshot = func(seq uint64) {
		r.reportRecovery(
			"the newest snapshot of the journal is missing; the start replays more of it",
			fmt.Sprintf("of record %d", seq))
	}
	return o, err
}

// acceptLoss begins a new epoch, because the seqs and ids of the lost records are given out again. Where the stream has
// everything that clients have seen, it does not.
// It runs before the log is cut.
func (r *restored) acceptLoss(l wal.Loss) error {
	covered := l.Damage == nil && r.data.Covered()
	text := fmt.Sprintf("power cut or failed sync: the journal ends at record %d, and %d more were written that had "+
		"not been synced: they are gone; new epoch", l.Seq, l.To-l.Seq)
	detail := ""
	switch {
	case covered:
		text = fmt.Sprintf("power cut or failed sync: the journal ends at record %d, and %d more were written that "+
			"had not been synced: the start reads those that clients have seen in the stream", l.Seq, l.To-l.Seq)
	case l.Damage != nil:
		text = fmt.Sprintf("--accept-data-loss: the journal goes on from record %d, it had reached at least %d; "+
			"new epoch", l.Seq, l.To)
		detail = l.Damage.Error()
	}
	r.log.Warn(text, "incident", "data_loss", "detail", detail)
	in := datadir.Incident{
		AtMs: r.clock.NowNs() / int64(time.Millisecond), Kind: "data_loss", Message: text, Detail: detail,
	}
	return r.data.AcceptLoss(l.Position, in, covered)
}
