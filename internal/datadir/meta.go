package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tickhive/engine"
	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
	"tickhive/marketdata"
)

// format is the version of the directory's layout (doc.go).
const format = 1

// Meta is meta.json: the facts that a start needs before it reads any log.
type Meta struct {
	Format int    `json:"format"`
	Writer string `json:"writer"` // program and version that created the directory
	origin
	Epoch string `json:"epoch"` // 16 hex digits; identifies the history of seqs that streams have shown
	// Clean is false while a process runs. After a power cut the end of the journal may be
	// missing, and with it seqs that clients have seen.
	Clean bool `json:"clean"`
	// Boot is the boot ID at the last write. A different one means that the power was off.
	Boot string `json:"boot"`
	// Synced means that clients were shown only durable events (journal.sync = always).
	Synced bool `json:"synced"`
	// Filling means that the backfill and the demo data are not complete. A start that
	// finds it set begins the directory over.
	Filling   bool       `json:"filling"`
	Incidents []Incident `json:"incidents"` // newest first
	// Engine and Market are the limits of the last process. The stored state depends on
	// them, so an offline verification needs them.
	Engine engine.Options     `json:"engine"`
	Market marketdata.Options `json:"market"`
}

// Incident is one row of the status page's incidents.
type Incident struct {
	AtMs    int64 // process clock
	Kind    string
	Message string
}

// maxIncidents is the number of incidents on the status page
// (docs/contract/market-data.md#time-summary-status).
const maxIncidents = 50

// ReadMeta reads meta.json of a directory that another process may have locked.
func ReadMeta(path string) (Meta, error) {
	d := Dir{path: path}
	if _, err := os.Stat(d.Sub("meta.json")); err != nil {
		return d.meta, fmt.Errorf("data directory: %w", err)
	}
	err := d.load()
	return d.meta, err
}

func (d *Dir) load() error {
	raw, err := os.ReadFile(d.Sub("meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		d.fresh = true
		d.meta = Meta{Format: format, Writer: "TickHive " + cmdline.Version}
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := json.Unmarshal(raw, &d.meta); err != nil {
		return fmt.Errorf("data directory: %s: meta.json is damaged: %w", d.path, err)
	}
	if d.meta.Format != format {
		return fmt.Errorf("data directory: %s has format %d, written by %s; this program reads format %d: "+
			"use that program, or another --data-dir", d.path, d.meta.Format, d.meta.Writer, format)
	}
	if d.meta.Clock == "" {
		d.meta.Clock = clockKind(d.path)
	}
	return nil
}

// save replaces meta.json durably. Caller: holds mu, or has exclusive access.
func (d *Dir) save() error {
	if !d.Stored() {
		return nil
	}
	raw, err := json.MarshalIndent(d.meta, "", "  ")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	name := filepath.Join(d.path, "meta.json")
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err == nil {
		err = vfs.OS{}.SyncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// change changes meta.json durably.
func (d *Dir) change(f func(m *Meta)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.meta)
	return d.save()
}

// bootID returns the machine's boot ID, or "" if the system provides none.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// newEpoch returns 16 random hexadecimal digits that identify this history of events.
func newEpoch() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random epoch: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
