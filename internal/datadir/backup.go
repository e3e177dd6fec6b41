package datadir

import (
	"time"

	"tickhive/internal/wal"
)

// Backup returns the content of meta.json and, with a virtual clock that had reached clockNs, of CLOCK for a copy of
// the directory whose log ends at end: the content after a clean stop there, but without an epoch, so that
// the copy begins another one.
func Backup(d *Dir, end wal.Position, clockNs int64) (meta, clock []byte, err error) {
	d.mu.Lock()
	m := d.meta
	d.mu.Unlock()
	m.Clean, m.Epoch, m.Boot = true, "", ""
	m.note(end)
	if d.clock != nil {
		clock = clockLine(clockNs)
	}
	meta, err = m.text()
	return meta, clock, err
}

// CheckBackup verifies the meta.json and the CLOCK of a backup; no clock is nil.
func CheckBackup(meta, clock []byte) (Meta, error) {
	m, err := parseMeta("meta.json", meta)
	if err != nil {
		return m, err
	}
	if m.Format != format || !m.Clean || m.Filling || m.Epoch != "" {
		return m, &DamagedError{"meta.json", "it is not one of a backup"}
	}
	if virtual := m.Clock == clockVirtual; virtual != (clock != nil) {
		return m, &DamagedError{"CLOCK", "it is there although the clock is real, or missing although it is virtual"}
	}
	if clock != nil {
		if _, err := parseClock("CLOCK", clock); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Restored returns the content of meta.json for a directory that is restored from a backup at a time of the
// machine, with an incident.
func (m Meta) Restored(now time.Time, message string) ([]byte, error) {
	m.add(Incident{AtMs: now.UnixMilli(), Kind: "restart", Message: message})
	return m.text()
}
