package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tickhive/engine"
	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
	"tickhive/marketdata"
	"tickhive/server"
)

// dataFormat is the version of the data directory's layout:
//
//	LOCK        lock; names the process that holds it
//	meta.json   dataMeta as JSON
//	CLOCK       last time set on a virtual clock (clock_file.go)
//	NONCES      used nonces that timestamps alone would not refuse (nonce_file.go)
//	engine/     journal and snapshots of the market
//	accounts/ launchpad/ hive/   log and snapshots of each store
const dataFormat = 1

// dataMeta is meta.json: the facts that a start needs before it reads any log.
type dataMeta struct {
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
	Filling   bool              `json:"filling"`
	Incidents []server.Incident `json:"incidents"` // newest first
	// Engine and Market are the limits of the last process. The stored state depends on
	// them, so an offline verification needs them.
	Engine engine.Options     `json:"engine"`
	Market marketdata.Options `json:"market"`
}

// dataDir is an open, locked data directory.
type dataDir struct {
	path   string
	meta   dataMeta
	fresh  bool // created by this process
	empty  bool // holds no market: fresh, never used, or begun over
	clean  bool // the last process ended in order, or there was none
	lock   io.Closer
	clock  *clockFile // nil with a real clock
	nonces *nonceFile // set once the accounts are recovered
	notes  []string   // settings that the directory makes ineffective
}

// openDataDir creates or opens the directory and takes its lock. A new directory stores cfg's
// origin and startNs, the start of a virtual clock. A used directory must agree with them, and
// overrides cfg where the directory decides. synced reports that this process shows clients
// only durable events.
func openDataDir(path string, cfg *Config, startNs int64, synced bool) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := vfs.OS{}.Lock(filepath.Join(path, "LOCK"), vfs.Self())
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	d := &dataDir{path: path, lock: lock}
	if err = d.load(); err == nil {
		err = d.begin(cfg, startNs)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	boot := bootID()
	if d.meta.Epoch == "" || !d.fresh && !d.meta.Clean && d.meta.Boot != boot && !d.meta.Synced {
		if d.meta.Epoch, err = newEpoch(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	d.clean = d.fresh || d.meta.Clean
	d.meta.Clean, d.meta.Boot, d.meta.Synced = false, boot, synced
	if err := d.save(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// begin gives an empty directory its origin, and makes the configuration agree with the origin
// of a used one.
func (d *dataDir) begin(cfg *Config, startNs int64) error {
	if d.meta.Filling {
		// The last start ended during its backfill, so no client has seen any of it.
		if err := d.beginOver(); err != nil {
			return err
		}
	}
	if d.empty = d.fresh || !d.used(); d.empty {
		d.meta.origin, d.meta.Filling = newOrigin(cfg, startNs), cfg.Sim.Backfill > 0
	}
	var err error
	if d.meta.Clock == clockVirtual {
		d.clock, err = openClockFile(d.sub("CLOCK"), d.meta.CreatedNs)
	}
	if err != nil || d.empty {
		return err
	}
	if d.notes, err = d.meta.agree(cfg, d.path, startNs, d.clock.at()); err != nil && d.clock != nil {
		err = errors.Join(err, d.clock.close())
	}
	return err
}

func (d *dataDir) load() error {
	raw, err := os.ReadFile(filepath.Join(d.path, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		d.fresh = true
		d.meta = dataMeta{Format: dataFormat, Writer: "TickHive " + cmdline.Version}
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := json.Unmarshal(raw, &d.meta); err != nil {
		return fmt.Errorf("data directory: %s: meta.json is damaged: %w", d.path, err)
	}
	if d.meta.Format != dataFormat {
		return fmt.Errorf("data directory: %s has format %d, written by %s; this program reads format %d: use that program, or another --data-dir",
			d.path, d.meta.Format, d.meta.Writer, dataFormat)
	}
	if d.meta.Clock == "" {
		d.meta.Clock = clockKind(d.path)
	}
	return nil
}

// save replaces meta.json durably.
func (d *dataDir) save() error {
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

// sub returns the path of one store's directory.
func (d *dataDir) sub(name string) string { return filepath.Join(d.path, name) }

// close records whether the end is clean and releases the lock.
func (d *dataDir) close(clean bool) error {
	d.meta.Clean = clean
	var err error
	if d.clock != nil {
		err = d.clock.close()
	}
	if d.nonces != nil {
		err = errors.Join(err, d.nonces.close())
	}
	return errors.Join(err, d.save(), d.lock.Close())
}

// readMeta reads meta.json of a directory that another process may have locked.
func readMeta(dir string) (dataMeta, error) {
	d := dataDir{path: dir}
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); err != nil {
		return d.meta, fmt.Errorf("data directory: %w", err)
	}
	err := d.load()
	return d.meta, err
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
