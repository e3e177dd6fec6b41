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
//	LOCK        who holds it
//	meta.json   what this file describes
//	CLOCK       where a virtual clock was last set (clock_file.go)
//	NONCES      used nonces whose timestamps alone refuse nothing (nonce_file.go)
//	engine/     journal and snapshots of the market
//	accounts/ launchpad/ hive/   log and snapshots of each store
const dataFormat = 1

// dataMeta is meta.json: what must be known before any log is read.
type dataMeta struct {
	Format int    `json:"format"`
	Writer string `json:"writer"` // program and version that made the directory
	origin
	Epoch string `json:"epoch"` // 16 hex digits; names the seqs that streams have shown
	// Clean is false while a process runs: after a power cut the end of the journal may be
	// missing, and with it seqs that were shown.
	Clean bool `json:"clean"`
	// Boot is the machine's boot that last wrote; another one means that the power was off.
	Boot string `json:"boot"`
	// Synced: everything shown was durable (journal.sync = always).
	Synced bool `json:"synced"`
	// Filling: the backfill and what comes with it is under way; one that was cut short is
	// started over.
	Filling   bool              `json:"filling"`
	Incidents []server.Incident `json:"incidents"` // newest first
	// Engine and Market are the limits that the last process ran with: what is kept is a
	// function of them, so an offline proof needs them.
	Engine engine.Options     `json:"engine"`
	Market marketdata.Options `json:"market"`
}

// dataDir is an open, locked data directory.
type dataDir struct {
	path   string
	meta   dataMeta
	fresh  bool // made by this process
	empty  bool // holds no market: fresh, never used, or begun over
	clean  bool // the last process ended in order, or there was none
	lock   io.Closer
	clock  *clockFile // with a virtual clock only
	nonces *nonceFile // once the accounts are recovered
	notes  []string   // what of the configuration the directory leaves without effect
}

// openDataDir makes or opens the directory and takes its lock. cfg and startNs, where a
// virtual clock starts, go into a new one and must agree with another; then cfg is what the
// directory decides. synced says that this process shows only what is durable.
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

// begin gives an empty directory its origin, and has the configuration agree with that of
// another.
func (d *dataDir) begin(cfg *Config, startNs int64) error {
	if d.meta.Filling {
		// The last start ended within its backfill: nothing of it was ever shown.
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

// sub is the path of one store's directory.
func (d *dataDir) sub(name string) string { return filepath.Join(d.path, name) }

// close notes a clean end and gives the lock back.
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

// readMeta reads meta.json of a directory that another process may hold.
func readMeta(dir string) (dataMeta, error) {
	d := dataDir{path: dir}
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); err != nil {
		return d.meta, fmt.Errorf("data directory: %w", err)
	}
	err := d.load()
	return d.meta, err
}

// bootID names this start of the machine; empty where the system does not tell.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// newEpoch is 16 hexadecimal digits that name this history of events.
func newEpoch() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("random epoch: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
