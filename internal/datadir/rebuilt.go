package datadir

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// Rebuilt describes a directory whose log was written from another copy of its records.
type Rebuilt struct {
	wal.Identity
	CreatedNs  int64        // process clock, the time at which the exchange began
	Seed       uint64       // of the simulated market and the ledger
	SealedWith string       // id of the key that seals the secrets; empty: they are plain
	Clock      string       // kind of the process clock; empty: real
	ClockNs    int64        // what a virtual clock had reached
	End        wal.Position // of the log
	// Epoch is the epoch that the next start continues, as the writer with the number Term; empty: it begins one.
	Epoch string
	Term  uint64
}

// WriteMeta writes meta.json, the last file of the directory, with an incident. The content is as after a clean stop.
func (r *Rebuilt) WriteMeta(fsys vfs.FS, path string, now time.Time, message string) error {
	m := Meta{
		Format: format, Writer: "TickHive " + cmdline.Version, History: r.History, Directory: r.Directory,
		origin: origin{CreatedNs: r.CreatedNs, Seed: r.Seed, Clock: cmp.Or(r.Clock, ClockReal)},
		Clean:  true, SealedWith: r.SealedWith,
		Epoch: r.Epoch, Terms: [2]uint64{r.Term, r.Term},
	}
	m.note(r.End)
	m.add(Incident{AtMs: now.UnixMilli(), Kind: "restart", Message: message})
	text, err := m.text()
	if err == nil && m.Clock == ClockVirtual {
		err = replaceFile(fsys, path, filepath.Join(path, "CLOCK"), clockLine(r.ClockNs))
	}
	if err == nil {
		err = replaceFile(fsys, path, filepath.Join(path, "meta.json"), text)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}
