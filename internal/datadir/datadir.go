package datadir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// Options holds the settings of a start that a directory stores, or with which they must agree.
type Options struct {
	Path string // empty: nothing is stored
	FS   vfs.FS // nil: the machine's
	// Boot identifies the time since the machine was switched on; empty: the machine's boot ID.
	Boot string
	// Random is the source of epochs; nil: crypto/rand.
	Random io.Reader

	Virtual bool // the process clock is virtual
	// StartNs is the start of a virtual clock, Unix nanoseconds, or the current time; StartGiven
	// reports that the start was configured.
	StartNs    int64
	StartGiven bool
	// Recorded reports that recorded files drive the clock (replay).
	Recorded bool

	Seed      uint64 // seed of the simulated market and of the ledger
	SeedGiven bool
	Backfill  time.Duration // length of the simulated history; 0: none
	// ConfiguredPairs reports that the start adds the configured pairs and assets.
	ConfiguredPairs bool
	// Epoch is the epoch of a directory without a path; empty: a new one.
	Epoch string
	// Acked reports that clients of this process see only what the stream of the epoch has, and that the start reads
	// it.
	Acked bool
}

// Dir is an open, locked data directory. Without a path it holds the same values in memory. Any goroutine may
// call its methods.
type Dir struct {
	path    string
	fsys    vfs.FS
	lock    io.Closer
	logBoot string // the boot that the slots of the log name

	random io.Reader

	mu   sync.Mutex // guards meta
	meta Meta
	// unsaved is why meta.json lacks what the start has noted (atStart); nil: it lacks nothing.
	unsaved atomic.Pointer[error]

	acked bool // neither the process before nor this one shows what the stream of the epoch does not have
	owed  bool // the log may lack what the stream has

	fresh    bool // created by this process
	empty    bool // the directory holds no market: it is new, was never used, or was begun again
	clean    bool // the last process stopped in order, or there was none
	backfill time.Duration
	clock    *clockFile // nil with a real clock
	notes    []string   // one line for each setting that the directory makes ineffective
}

// Open creates or opens the directory and locks it. A new directory stores the origin that o describes. A used
// directory must have an origin that agrees with o; its own Seed applies, and it gets no Backfill.
func Open(o Options) (*Dir, error) {
	d := &Dir{path: o.Path, fsys: o.FS, backfill: o.Backfill, random: o.Random}
	if d.fsys == nil {
		d.fsys = vfs.OS{}
	}
	if d.random == nil {
		d.random = rand.Reader
	}
	if !d.Stored() {
		d.fresh, d.empty, d.clean, d.meta.origin = true, true, true, newOrigin(o)
		if d.meta.Epoch = o.Epoch; o.Epoch != "" {
			return d, nil
		}
		var err error
		d.meta.Epoch, err = newEpoch(d.random)
		return d, err
	}
	if err := d.fsys.MkdirAll(d.path); err != nil {
		return nil, fmt.Errorf("data directory: %w", remedied(err))
	}
	if err := d.takeLock(); err != nil {
		return nil, fmt.Errorf("data directory: %w", remedied(err))
	}
	err := d.load()
	if err == nil {
		err = d.begin(o)
	}
	if err == nil {
		err = d.mark(o)
	}
	if err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// OpenIdle opens and locks an existing directory that no process serves, for a repair. It changes nothing.
func OpenIdle(fsys vfs.FS, path string) (*Dir, error) {
	d := &Dir{path: path, fsys: fsys}
	if _, found, err := readFile(d.fsys, d.Sub("meta.json")); err != nil || !found {
		return nil, errors.Join(fmt.Errorf("%s is not a data directory: it has no meta.json", path), err)
	}
	if err := d.takeLock(); err != nil {
		return nil, fmt.Errorf("the directory is in use, stop its program first: %w", err)
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

func (d *Dir) takeLock() (err error) {
	d.lock, err = d.fsys.Lock(d.Sub("LOCK"), vfs.Self())
	return err
}

// Unlock releases the lock of OpenIdle.
func (d *Dir) Unlock() error { return d.lock.Close() }

// begin stores the origin in an empty directory. In a used one it checks that o agrees with the stored origin.
func (d *Dir) begin(o Options) error {
	if d.meta.Filling {
		// The last start ended during its backfill, so no client has seen any of it.
		if err := d.beginOver(); err != nil {
			return err
		}
	}
	used, err := d.used()
	if err != nil {
		return err
	}
	if d.fresh && used {
		return &DamagedError{d.Sub("meta.json"), "it is missing, and the directory has a log"}
	}
	if d.empty = !used; d.empty {
		d.meta.origin, d.meta.Filling = newOrigin(o), o.Backfill > 0
		d.meta.Format, d.meta.End = format, LogEnd{}
	}
	if d.meta.Clock == ClockVirtual {
		d.clock, err = openClockFile(d.fsys, d.Sub("CLOCK"), d.meta.CreatedNs, used)
	}
	if err != nil || d.empty {
		return err
	}
	if err = d.checkOrigin(o, d.clock.at()); err != nil && d.clock != nil {
		err = errors.Join(err, d.clock.close())
	}
	return err
}

// mark marks the directory as in use by this process. The log takes no record before the mark is stored (Settle): until
// then a start after this one sees the directory as the process before has left it, and that is how it is.
func (d *Dir) mark(o Options) (err error) {
	boot := cmp.Or(o.Boot, bootID())
	d.acked = o.Acked && d.meta.Acked
	cut := !d.fresh && !d.meta.Clean && d.meta.Boot != boot
	if d.owed = cut && d.acked && d.meta.Epoch != ""; d.meta.Epoch == "" || cut && !d.owed {
		if d.meta.Epoch, err = newEpoch(d.random); err != nil {
			return err
		}
	}
	if err := d.meta.identify(d.random); err != nil {
		return err
	}
	if d.logBoot = boot; boot != "" && d.meta.LostSyncs > 0 {
		d.logBoot += "#" + strconv.Itoa(d.meta.LostSyncs)
	}
	d.clean = d.fresh || d.meta.Clean
	return d.atStart(func(m *Meta) { m.Clean, m.Boot, m.Acked = false, boot, o.Acked })
}

// beginOver removes everything that an interrupted start has written, so that the start begins again.
func (d *Dir) beginOver() error {
	d.meta.End = LogEnd{}
	if err := d.removeFiles(d.Sub(LogName), nil); err != nil {
		return err
	}
	return d.removeFiles(d.path, []string{"CLOCK"})
}

// removeFiles durably removes the named files of a directory, or all of them if only is nil.
func (d *Dir) removeFiles(dir string, only []string) error {
	names, err := d.fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if err == nil && (only == nil || slices.Contains(only, name)) {
			err = d.fsys.Remove(filepath.Join(dir, name))
		}
	}
	if err == nil {
		err = d.fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// Stored reports whether the directory has a path, so that its data outlive the process.
func (d *Dir) Stored() bool { return d.path != "" }

// Sub returns the path of a file or folder in the directory.
func (d *Dir) Sub(name string) string { return filepath.Join(d.path, name) }

// Room returns the free bytes and the size of the directory's file system. ok is false where nobody knows them, and
// without a path.
func (d *Dir) Room() (free, total int64, ok bool) {
	fsys, knows := d.fsys.(vfs.Roomer)
	if !knows || !d.Stored() {
		return 0, 0, false
	}
	free, total, err := fsys.Room(d.path)
	return free, total, err == nil
}

// Notes returns a line for each setting that the directory makes ineffective.
func (d *Dir) Notes() []string { return d.notes }

// Empty reports whether the directory held no market when it was opened.
func (d *Dir) Empty() bool { return d.empty }

// WasClean reports whether the last process ended in order, or there was none.
func (d *Dir) WasClean() bool { return d.clean }

// Epoch returns the identity of the history of seqs: 16 hex digits.
func (d *Dir) Epoch() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.meta.Epoch
}

// History returns the id of the exchange's history, which its copies and replicas share.
func History(d *Dir) wal.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.meta.History
}

// Seed returns the seed that applies.
func (d *Dir) Seed() uint64 { return d.meta.Seed }

// CreatedNs returns the process clock at which the exchange began.
func (d *Dir) CreatedNs() int64 { return d.meta.CreatedNs }

// Backfill returns the length of the backfill to simulate, 0 for a used directory.
func (d *Dir) Backfill() time.Duration { return d.backfill }

// ClockNs returns the time that a virtual clock had reached, 0 with a real clock.
func (d *Dir) ClockNs() int64 { return d.clock.at() }

// KeepClock stores the time of a virtual clock. It does nothing with a real clock.
func (d *Dir) KeepClock(ns int64) error {
	if d.clock == nil {
		return nil
	}
	return d.clock.keep(ns)
}

// Filling reports whether the initial data are incomplete.
func (d *Dir) Filling() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.meta.Filling
}

// SetFilling records whether the initial data are incomplete. When a start finds them incomplete, it begins the
// directory again; no client has seen it.
func (d *Dir) SetFilling(filling bool) error {
	if d.Filling() == filling {
		return nil
	}
	return d.change(func(m *Meta) { m.Filling = filling })
}

// Owed reports whether the log may lack records that clients have seen: then the stream of the epoch has them.
func (d *Dir) Owed() bool { return d.owed }

// BeginEpoch begins a new epoch: the stream of the epoch before has not what the log may lack.
func (d *Dir) BeginEpoch() error {
	epoch, err := newEpoch(d.random)
	if err != nil {
		return err
	}
	d.owed = false
	return d.change(func(m *Meta) { m.Epoch = epoch })
}

// ForgetEpoch makes the next start begin a new epoch.
func (d *Dir) ForgetEpoch() error { return d.change(func(m *Meta) { m.Epoch = "" }) }

// NoteLostSync stores that a sync of the log failed. The next start judges the end of the log as after a power cut.
// shown says that a client may have seen unsynced records: then the next start also begins a new epoch, unless it
// follows a clean stop.
func (d *Dir) NoteLostSync(shown bool) error {
	return d.change(func(m *Meta) {
		if m.LostSyncs++; shown {
			m.Boot = ""
		}
	})
}

// AddIncident stores an incident, of which it takes time, kind, message and detail; without a directory, in memory
// only.
func (d *Dir) AddIncident(in Incident) error { return d.change(func(m *Meta) { m.add(in) }) }

// add puts in before the other incidents, as one with an equal one that is there.
func (m *Meta) add(in Incident) {
	in.FirstMs, in.Count = in.AtMs, 1
	list := []Incident{in}
	for _, old := range m.Incidents {
		if old.Kind == in.Kind && old.Message == in.Message {
			list[0].FirstMs, list[0].Count = old.FirstMs, old.Count+1
			continue
		}
		list = append(list, old)
	}
	m.Incidents = list[:min(len(list), maxIncidents)]
}

// Incidents returns the incidents, newest first.
func (d *Dir) Incidents() []Incident {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.meta.Incidents)
}

// Close records whether the process stopped in order, and releases the lock.
func (d *Dir) Close(clean bool) error {
	if !d.Stored() {
		return nil
	}
	var err error
	if d.clock != nil {
		err = d.clock.close()
	}
	return errors.Join(err, d.change(func(m *Meta) { m.Clean = clean }), d.lock.Close())
}
