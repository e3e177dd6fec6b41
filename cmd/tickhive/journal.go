package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/engine"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// Bounds of the market's journal.
const (
	snapshotLook = 200 * time.Millisecond // how often the size of the log is looked at
	recoverLook  = 4096        // records between two looks at the progress
)

// engineLog is where the market of a data directory is kept. The lock is the directory's.
func engineLog(path string) replica.LogDir {
	return replica.LogDir{FS: vfs.OS{}, Dir: path, Options: wal.Options{
		NoLock: true, RecordVersion: engine.CommandVersion, Writer: "TickHive " + version,
	}}
}

// marketLog is the durable side of a running market.
type marketLog struct {
	dir     replica.LogDir
	log     *wal.Log
	journal *engine.WALJournal
	keeper  *replica.Keeper // set when the loop runs
	covered uint64          // position of the newest snapshot at the start

	// What recovery found.
	pos    uint64
	lastNs int64

	stop chan struct{}
	done chan struct{}
}

// recoverMarket opens the journal and brings core and feed to its end. progress is told
// the bytes read and the bytes there are.
func recoverMarket(dir replica.LogDir, policy engine.SyncPolicy, o replica.Options, say func(string), progress func(done, total int64)) (*marketLog, error) {
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return nil, explainDamage(err)
	}
	m := &marketLog{dir: dir, log: log}
	if info := log.Recovered(); info.TornTail > 0 {
		say(fmt.Sprintf("the last write was torn: %d bytes cut off %s at offset %d; nothing acknowledged was in them",
			info.TornTail, info.TornFile, info.TornAt))
	}
	r, found, err := replica.Load(o, dir, 0)
	if err != nil {
		return nil, errors.Join(explainDamage(err), log.Close())
	}
	for _, bad := range found.Damaged {
		say("a damaged snapshot was passed over for the one before: " + bad)
	}
	if err := m.replay(r, progress); err != nil {
		return nil, errors.Join(explainDamage(err), log.Close())
	}
	if err := found.SetAside(dir.FS, dir.Dir); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	m.covered, m.pos, m.lastNs = found.Meta.Seq, r.Pos, r.LastNs
	m.journal = engine.NewWALJournal(log, policy)
	return m, nil
}

func (m *marketLog) replay(r *replica.Replica, progress func(done, total int64)) error {
	rd, err := m.log.Reader(r.Pos + 1)
	if errors.Is(err, wal.ErrTruncated) {
		return fmt.Errorf("no usable snapshot reaches the oldest record that is kept: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = rd.Close() }()
	n := 0
	return r.Replay(rd, 0, func() error {
		if n++; n%recoverLook == 0 {
			progress(rd.Progress())
		}
		return nil
	})
}

// explainDamage adds what to do to an error of a damaged log.
func explainDamage(err error) error {
	var damaged *wal.CorruptError
	if errors.As(err, &damaged) {
		return fmt.Errorf("%w\nthe log is damaged where no power cut can have damaged it, so the start stops here. "+
			"Look at it with `tickhive journal verify DIR` and `tickhive journal dump DIR`; restore the directory from a copy, or start with another --data-dir", err)
	}
	return err
}

// keep starts taking snapshots of the running loop by the size of the log.
func (m *marketLog) keep(o replica.KeeperOptions, failed func(error)) {
	o.Log, o.Dir, o.Covered = m.log, m.dir, m.covered
	m.keeper = replica.NewKeeper(o)
	m.stop, m.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(m.done)
		look := time.NewTicker(snapshotLook)
		defer look.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-look.C:
			}
			if m.keeper.Due() {
				if err := m.keeper.Snapshot(); err != nil {
					failed(err)
				}
			}
		}
	}()
}

// endKeeping waits for a snapshot under way and takes no more.
func (m *marketLog) endKeeping() {
	if m.stop != nil {
		close(m.stop)
		<-m.done
		m.stop = nil
	}
}

// lastSnapshot is taken of the stopped market itself, which nobody changes any more.
func (m *marketLog) lastSnapshot(x *exchange, pos uint64) error {
	if pos == m.keeper.Covered() {
		return nil
	}
	if err := m.journal.Sync(); err != nil {
		return err
	}
	r := replica.New(replica.Options{Core: x.core, Feed: x.feed, Extras: x.extras()})
	r.Pos, r.LastNs = pos, x.feed.Board().Load().NowNs
	return wal.WriteSnapshot(m.dir.FS, m.dir.Dir, m.dir.Options, wal.SnapshotMeta{Seq: pos}, func(w io.Writer) error {
		return r.Write(w, nil)
	})
}
