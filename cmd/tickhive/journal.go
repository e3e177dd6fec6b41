package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// Intervals of the journal's background checks.
const (
	snapshotLook = 200 * time.Millisecond // between two checks whether a snapshot is due
	recoverLook  = 4096                   // records between two checks of progress and cancellation
)

// engineLog returns the log of a data directory's market. The directory's lock protects it.
func engineLog(path string) replica.LogDir {
	return replica.LogDir{FS: vfs.OS{}, Dir: path, Options: wal.Options{
		NoLock: true, RecordVersion: engine.CommandVersion, Writer: "TickHive " + cmdline.Version,
	}}
}

// marketLog is the durable side of a market. It is first recovered (openMarketLog, load,
// replayTo), then written (begin, keep).
type marketLog struct {
	dir     replica.LogDir
	log     *wal.Log
	journal *sequencer.WALJournal
	writer  atomic.Pointer[sequencer.WALJournal] // journal, for goroutines that read it during recovery
	keeper  *replica.Keeper                      // set when the loop runs

	market   *replica.Replica // during recovery only
	found    wal.Loaded
	any      bool // found is the newest intact snapshot
	skips    replica.Skips
	progress func(done, total int64)

	stop chan struct{}
	done chan struct{}
}

// openMarketLog opens the journal of a directory. It cuts a torn tail off and reports it.
func openMarketLog(dir replica.LogDir, say func(string), progress func(done, total int64)) (*marketLog, error) {
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return nil, explainDamage(err)
	}
	if info := log.Recovered(); info.TornTail > 0 {
		say(fmt.Sprintf("the last write was torn: %d bytes cut off %s at offset %d; nothing acknowledged was in them",
			info.TornTail, info.TornFile, info.TornAt))
	}
	return &marketLog{dir: dir, log: log, progress: progress}, nil
}

// load restores the market from the newest snapshot, or with limited from the newest one that
// is not ahead of limit: a store that folds the market's events needs the events after its own
// snapshot.
func (m *marketLog) load(o replica.Options, limit uint64, limited bool, say func(string)) error {
	var err error
	m.skips = replica.Skips{}
	o.Skips = m.skips
	if limited && limit == 0 {
		m.market = replica.New(o)
	} else if m.market, m.found, err = replica.Load(o, m.dir, limit); err != nil {
		return explainDamage(err)
	}
	if m.any = !limited; m.any {
		for _, bad := range m.found.Damaged {
			say("a damaged snapshot was passed over for the one before: " + bad)
		}
	}
	if m.market.Pos > m.log.LastSeq() {
		return explainDamage(&wal.CorruptError{
			File: m.dir.Dir, Seq: m.log.LastSeq() + 1, Reason: fmt.Sprintf("a snapshot holds record %d, the log ends before it", m.market.Pos),
		})
	}
	if err := collectSkips(m.skips, func() (*wal.Reader, error) { return m.log.Reader(m.market.Pos + 1) }); err != nil {
		return explainDamage(err)
	}
	for _, pos := range slices.Sorted(maps.Keys(m.skips)) {
		if pos > m.market.Pos {
			say(fmt.Sprintf("record %d of the journal is left out, as `journal skip` was told", pos))
		}
	}
	return nil
}

// collectSkips adds the skips of the log from the replay's first record on. A log that does
// not reach back so far is no error here; the replay reports it.
func collectSkips(skips replica.Skips, open func() (*wal.Reader, error)) error {
	rd, err := open()
	if errors.Is(err, wal.ErrTruncated) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = rd.Close() }()
	return skips.Collect(rd)
}

// replayTo applies the records up to pos. A journal that ends before pos is no error: see
// accounts.State.Beyond. It returns ctx's error when ctx is canceled.
func (m *marketLog) replayTo(ctx context.Context, pos uint64) error {
	if pos <= m.market.Pos {
		return nil
	}
	rd, err := m.log.Reader(m.market.Pos + 1)
	if errors.Is(err, wal.ErrTruncated) {
		return fmt.Errorf("no usable snapshot reaches the oldest record that is kept: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = rd.Close() }()
	n := 0
	err = m.market.Replay(rd, pos, func() error {
		if n++; n%recoverLook != 0 {
			return nil
		}
		m.progress(rd.Progress())
		return ctx.Err()
	})
	return explainPoison(explainDamage(err), filepath.Dir(m.dir.Dir))
}

// explainPoison adds the remedy to the error of a record that cannot be applied.
func explainPoison(err error, dir string) error {
	var poison *replica.PoisonError
	if !errors.As(err, &poison) {
		return err
	}
	return fmt.Errorf("%w\nThis is a defect of the program; the directory was not changed. Keep a copy of it and report the defect. "+
		"To start without this one command, run `tickhive journal skip %s --at %d`", err, dir, poison.Seq)
}

// begin ends the recovery and opens the journal for writing.
func (m *marketLog) begin(policy sequencer.SyncPolicy) error {
	if m.any {
		if err := m.found.SetAside(m.dir.FS, m.dir.Dir); err != nil {
			return err
		}
	}
	m.market = nil
	m.journal = sequencer.NewWALJournal(m.log, policy)
	m.writer.Store(m.journal)
	return nil
}

// failed returns the reason why the journal accepts no more records, nil while it does. It may
// be called during recovery.
func (m *marketLog) failed() error {
	if m == nil {
		return nil
	}
	if err := m.log.Stopped(); err != nil {
		return err
	}
	if j := m.writer.Load(); j != nil {
		return j.Refused()
	}
	return nil
}

// durable waits until the journal is durable up to pos. If the sync policy leaves syncs to the
// system, durable requests one. Any goroutine may call it. It waits for the disk and never for
// the loop, so the loop may wait for its callers. Records that the recovery has read are
// durable. During a bulk pos may not be written yet: EndBulk syncs it, and a directory whose
// bulk does not end is begun over.
func (m *marketLog) durable(pos uint64) error {
	j := m.writer.Load()
	if j == nil || j.Durable() >= pos {
		return nil
	}
	return j.Sync()
}

// explainDamage adds the remedy to the error of a damaged log.
func explainDamage(err error) error {
	var damaged *wal.CorruptError
	if errors.As(err, &damaged) {
		return fmt.Errorf("%w\nthe log is damaged where no power cut can have damaged it, so the start stops here. "+
			"Look at it with `tickhive journal verify DIR` and `tickhive journal dump DIR`; restore the directory from a copy, or start with another --data-dir", err)
	}
	return err
}

// keep starts taking snapshots of the running loop, by log size and by time. It calls look every
// snapshotLook.
func (m *marketLog) keep(o replica.KeeperOptions, look func()) {
	o.Log, o.Dir, o.Covered = m.log, m.dir, m.found.Meta.Seq
	m.keeper = replica.NewKeeper(o)
	m.stop, m.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(m.done)
		ticker := time.NewTicker(snapshotLook)
		defer ticker.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-ticker.C:
			}
			look()
			for m.keeper.Step().Worked {
			}
		}
	}()
}

// endKeeping waits for a snapshot under way and stops taking more.
func (m *marketLog) endKeeping() {
	if m == nil || m.stop == nil {
		return
	}
	close(m.stop)
	<-m.done
	m.stop = nil
}

// shortTail is the largest journal tail in bytes that a start replays without a final
// snapshot: about ten thousand commands, 0.1 s. After a replay the streams know the book
// changes again; after a snapshot they do not.
const shortTail = 1 << 20

// lastSnapshot takes a snapshot directly from the stopped market, which no goroutine changes
// any more. It leaves a tail of at most shortTail bytes to the replay.
func (m *marketLog) lastSnapshot(x *exchange, pos uint64) error {
	if covered := m.keeper.Covered(); pos == covered || m.log.BytesSince(covered) <= shortTail {
		return nil
	}
	if err := m.journal.Sync(); err != nil {
		return err
	}
	r := replica.New(replica.Options{Core: x.core, Feed: x.feed, Extras: x.extras()})
	r.Pos, r.LastNs = pos, x.feed.Board().Load().NowNs
	return m.log.WriteSnapshot(wal.SnapshotMeta{Seq: pos}, func(w io.Writer) error { return r.Write(w, nil) })
}
