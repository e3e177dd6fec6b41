package exchange

import (
	"fmt"
	"path/filepath"
	"time"

	"tickhive/accounts"
	"tickhive/hive"
	"tickhive/internal/datadir"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
	"tickhive/internal/wal/wal1"
	"tickhive/launchpad"
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
		r.reportRecovery("the newest snapshot of the log %s, of record %d, is missing; the start replays more of it",
			name, seq)
	}
	return o, err
}

// acceptLoss begins a new epoch, because the seqs and ids of the lost records are given out again.
// It runs before the log is cut.
func (r *restored) acceptLoss(name string, l wal.Loss) error {
	text := fmt.Sprintf("power cut or failed sync: the log %s ends at record %d, and %d more were written that had "+
		"not been synced: they are gone; new epoch", name, l.Seq, l.To-l.Seq)
	if l.Damage != nil {
		text = fmt.Sprintf("--accept-data-loss: the log %s goes on from record %d, it had reached at least %d (%v); "+
			"new epoch", name, l.Seq, l.To, l.Damage)
	}
	r.log.Warn(text, "incident", "data_loss")
	in := datadir.Incident{AtMs: r.clock.NowNs() / int64(time.Millisecond), Kind: "data_loss", Message: text}
	return r.data.AcceptLoss(name, l.Position, in)
}

// recordVersions holds the version of the records of each store's log.
var recordVersions = map[string]uint32{
	"accounts": accounts.RecordVersion, "launchpad": launchpad.RecordVersion, "hive": hive.RecordVersion,
}

// convert converts a directory of the old format.
func (r *restored) convert() error {
	done, err := r.data.Convert(func(name, old, dir string) error {
		o := EngineLogOptions()
		if name != "engine" {
			o.RecordVersion = recordVersions[name]
		}
		o, err := r.data.LogOptions(name, o)
		if err != nil {
			return err
		}
		o.Known = nil // of a conversion that was cut short
		o.SegmentBytes = r.o.Journal.SegmentBytes
		res, err := wal1.Convert(r.o.Journal.FS, old, dir, o)
		if err != nil {
			return err
		}
		if res.Torn > 0 {
			r.reportRecovery("torn tail: left out the %d bytes of an incomplete last write in %s", res.Torn, old)
		}
		for _, bad := range res.Damaged {
			r.reportRecovery("damaged snapshot left out: %s", bad)
		}
		return nil
	})
	if done && err == nil {
		r.log.Info("data directory converted to a new format", "old files", filepath.Join(r.o.Dir, "before-1"))
	}
	return err
}
