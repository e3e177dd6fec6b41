package datadir

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/wal"
)

// IdleLog adds to the options of the log of a directory that no process serves what the directory knows about it, and
// returns its identity. The log may be longer than that.
func IdleLog(d *Dir, o wal.Options) (wal.Options, wal.Identity, error) {
	o, err := d.meta.LogOptions(o)
	if o.Known != nil {
		o.Known.Last = false
	}
	return o, o.Identity, err
}

// CutAt notes that the log is about to be cut back to a position, so that a start in between misses no records.
func CutAt(d *Dir, at wal.Position) error {
	return d.change(func(m *Meta) {
		m.note(at)
		m.Clean = false
	})
}

// Demote makes an idle directory, which has become the copy of a node, one without meta.json.
func Demote(d *Dir) error {
	err := d.fsys.Remove(d.Sub("meta.json"))
	if err == nil {
		err = d.fsys.SyncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}
