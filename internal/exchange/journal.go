package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// recoverLook is the number of records after which recovery reports progress and checks for cancellation.
const recoverLook = uint64(4096)

// EngineLog returns the log of the exchange in a data directory. The directory's lock protects it.
func EngineLog(path string) keeper.LogDir {
	return keeper.LogDir{FS: vfs.OS{}, Dir: path, Options: EngineLogOptions()}
}

// EngineLogOptions returns the options of EngineLog.
func EngineLogOptions() wal.Options {
	return wal.Options{
		NoLock: true, RecordVersion: engine.CommandVersion, Writer: logWriter, Boot: datadir.MachineBoot(),
	}
}

// logWriter names this program in the segments that it writes.
const logWriter = "TickHive " + cmdline.Version

// journal holds the log of the exchange and the writer through which the loop appends to it. A nil journal stores
// nothing. Any goroutine may call failed and makeDurable.
type journal struct {
	dir    keeper.LogDir
	log    *wal.Log
	writer *sequencer.WALJournal

	covered      uint64        // position of the snapshot that the next loop begins behind, 0 for none
	coveredBytes int64         // of keeper.Options
	skips        machine.Skips // records that the recovery did not apply

	kept []wal.SnapshotMeta // snapshots that the recovery has found, newest first, at most two
}

// reportFunc reports an incident that the recovery has found.
type reportFunc func(message, detail string)

// openJournal opens the journal of a directory. It cuts a torn tail off and reports it.
func openJournal(dir keeper.LogDir, policy sequencer.SyncPolicy, m Machine, say reportFunc) (*journal, error) {
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return nil, err
	}
	if info := log.Recovered(); info.TornTail > 0 && info.Lost == 0 {
		say("torn tail: the incomplete last write of the journal is removed; no client has seen it",
			fmt.Sprintf("%d bytes of %s at offset %d", info.TornTail, info.TornFile, info.TornAt))
	}
	j := &journal{dir: dir, log: log}
	if m.Driver == nil {
		j.writer = sequencer.NewWALJournal(log, policy)
		return j, nil
	}
	j.writer = sequencer.NewSteppedWALJournal(log, policy, m.Clock)
	m.Driver.Drive("journal", j.writer)
	return j, nil
}

// recovery restores the whole state from the journal: the state after the record at state.Pos, and a reader of the
// records behind it. Owner: one goroutine.
type recovery struct {
	*journal
	state    *machine.State
	found    wal.Loaded // the snapshot that the state began with
	reader   *wal.Reader
	progress func(done, total int64)
}

// load restores the state from the newest snapshot.
func (j *journal) load(o machine.Options, say reportFunc) (*recovery, error) {
	r := &recovery{journal: j, progress: func(int64, int64) {}}
	j.skips = machine.Skips{}
	o.Skips = j.skips
	var err error
	if r.state, r.found, err = keeper.Load(o, j.dir, keeper.NoLimit); err != nil {
		return nil, err
	}
	j.kept = r.found.Kept
	pos, last := r.state.Pos, j.log.LastSeq()
	if pos > last {
		return nil, &wal.CorruptError{
			File: j.dir.Dir, Seq: last + 1,
			Reason: fmt.Sprintf("a snapshot covers record %d, but the log ends before it", pos),
		}
	}
	open := func() (*wal.Reader, error) { return j.log.Reader(pos + 1) }
	err = CollectSkips(j.skips, open)
	if err == nil {
		r.reader, err = open()
	}
	if errors.Is(err, wal.ErrTruncated) {
		return nil, &wal.CorruptError{
			File: j.dir.Dir, Seq: pos + 1, Cause: err,
			Reason: fmt.Sprintf("no usable snapshot reaches the oldest retained record (%v)", err),
		}
	}
	for _, left := range slices.Sorted(maps.Keys(j.skips)) {
		if left > pos {
			say(fmt.Sprintf("record %d of the journal is skipped (`journal skip`)", left), "")
		}
	}
	return r, err
}

// CollectSkips adds the records that the Skip records in a reader's log name.
func CollectSkips(skips machine.Skips, open func() (*wal.Reader, error)) error {
	rd, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = rd.Close() }()
	return keeper.CollectSkips(skips, rd)
}

// replay applies the records. It returns ctx's error when ctx is canceled.
func (r *recovery) replay(ctx context.Context) error {
	for {
		look := r.state.Pos - r.state.Pos%recoverLook + recoverLook
		if err := keeper.Replay(r.state, r.reader, look, nil); err != nil {
			return ExplainPoison(err, filepath.Dir(r.dir.Dir))
		}
		if r.state.Pos < look {
			return nil
		}
		r.progress(r.reader.Progress())
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// finish carries out the rest of the commands that the journal ends in the middle of, before anything sees the state.
// Where the disk has no room for the records, the loop does so once there is room: until then the pair shows the parts
// that the journal has, and takes no changes.
func (r *recovery) finish() error {
	pairs := r.state.Core.AppendUnfinished(nil)
	if len(pairs) == 0 {
		return nil
	}
	err := r.state.Finish(func(cmd *engine.Command) error {
		_, err := r.writer.Append([]*engine.Command{cmd})
		return err
	})
	if errors.Is(err, wal.ErrUnavailable) {
		return nil
	}
	if err == nil {
		err = r.writer.Sync()
	}
	if err != nil {
		return fmt.Errorf("the journal ends in the middle of a command, and the rest cannot be written: %w", err)
	}
	return nil
}

// end sets damaged snapshots aside, so that they are not counted as retained ones. When records are behind the
// snapshot, all of its segment counts as behind it: no loop may run, whose first record would have that effect.
func (r *recovery) end() error {
	r.covered = r.found.Meta.Seq
	r.coveredBytes = r.log.BytesWritten() - r.log.BytesSince(r.covered)
	return r.found.SetAside(r.dir.FS, r.dir.Dir)
}

func (r *recovery) close() { _ = r.reader.Close() }

// failed returns the reason why the journal accepts no more records, nil while it does.
func (j *journal) failed() error {
	if j == nil {
		return nil
	}
	if err := j.log.Stopped(); err != nil {
		return err
	}
	return j.writer.Refused()
}

// makeDurable waits until everything that was journaled is durable. Where it is, a journal that has stopped for good
// is no error. It waits for the disk and never for the loop.
func (j *journal) makeDurable() error {
	if j == nil || j.writer.Reached(sequencer.Synced) >= j.log.LastSeq() {
		return nil
	}
	if err := j.writer.Sync(); err != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrUnavailable, err)
	}
	return nil
}

// close calls last and closes the journal. It does not call last if last is nil or the journal has failed.
func (j *journal) close(last func() error) error {
	if j == nil {
		return nil
	}
	err := j.writer.Err()
	if err == nil && last != nil {
		err = last()
	}
	return errors.Join(err, j.writer.Close())
}

// shortTail is the largest number of journal bytes after the last snapshot with which a stop takes no final
// snapshot: about ten thousand commands, replayed in 0.1 s. After such a replay clients can resume book
// streams, because the level changes are known again; after a snapshot they cannot.
const shortTail = 1 << 20

// lastSnapshot takes a snapshot directly from the state of a stopped loop, which no goroutine changes any more, unless
// at most shortTail bytes of journal follow the position covered.
func (j *journal) lastSnapshot(state *machine.State, covered uint64, head func() ([]byte, error)) error {
	if state.Pos == covered || j.log.BytesSince(covered) <= shortTail {
		return nil
	}
	if err := j.writer.Sync(); err != nil {
		return err
	}
	text, err := head()
	if err != nil {
		return err
	}
	err = j.log.WriteSnapshot(wal.SnapshotMeta{Seq: state.Pos, Head: text}, func(w io.Writer) error {
		return state.Write(w, nil)
	})
	if err == nil {
		j.covered, j.coveredBytes = state.Pos, j.log.BytesWritten()
	}
	return err
}

// The remedies of a damaged log.
const (
	acceptRemedy = "Put the original file back, or restore the directory from a copy. " +
		"`tickhive serve --accept-data-loss` goes on without the records that are missing, in a new epoch"
	foreignRemedy = "Put the directory's own file back, or restore the directory from a copy"
)

// damageIn returns the damage of a log in err, nil when there is none or its remedy is named already.
func damageIn(err error) (damaged *wal.CorruptError) {
	if !errors.As(err, &damaged) || errors.As(err, new(cmdline.DamageError)) {
		return nil
	}
	return damaged
}

// ExplainDamage adds the remedy to the error of a damaged log that a command has read. The program ends with its exit
// code.
func ExplainDamage(err error) error {
	damaged := damageIn(err)
	switch {
	case damaged == nil:
		return err
	case damaged.Foreign:
		return cmdline.DamageError{Err: fmt.Errorf("%w\n%s", err, foreignRemedy)}
	}
	return cmdline.DamageError{Err: fmt.Errorf("%w\n%s", err, acceptRemedy)}
}

// explainDamage adds the remedy to the error of a start, which has accepted the loss of records or not. One that has
// meets damage only where no log may end, because another one needs the records behind it.
func explainDamage(err error, accepted bool) error {
	damaged := damageIn(err)
	if damaged == nil {
		return err
	}
	short := errors.Is(err, wal.ErrTruncated) // at its beginning: no loss of the end makes up for it
	remedy := acceptRemedy + ". `tickhive journal verify DIR` reads every file"
	if short || damaged.Foreign || accepted {
		remedy = foreignRemedy
	}
	return cmdline.DamageError{Err: fmt.Errorf("%w\nThe directory is not as the program left it, and no power cut "+
		"explains the difference: nothing was started. %s", err, remedy)}
}

// ExplainPoison adds the remedy to the error of a record that cannot be applied.
func ExplainPoison(err error, dir string) error {
	var poison *machine.PoisonError
	if !errors.As(err, &poison) {
		return err
	}
	return fmt.Errorf("%w\nThis is a bug in the program; the directory was not changed. "+
		"Keep a copy of the directory and report the bug. "+
		"To start without this command, run `tickhive journal skip %s --at %d`",
		err, dir, poison.Seq)
}
