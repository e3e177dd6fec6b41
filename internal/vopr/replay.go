package vopr

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/audit"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// markEvery is the number of turns between two looks at the state of a running process.
const markEvery = 2000

// mark notes the hash of the whole state at its position. It reports whether it could: not while the log has records
// that readers do not see yet, nor before a start is compared with the states that are noted.
func (w *world) mark() bool {
	if w.x == nil || w.p.dead || !w.compared || !w.shown() {
		return false
	}
	if pos := w.x.Loop().Position(); w.marks[pos] == "" {
		w.marks[pos] = stateText(w.x.State())
		w.auditNow()
	}
	return true
}

// shown reports whether the loop is between two steps, and readers see all that it has done.
func (w *world) shown() bool {
	return w.p.within == nil && w.x.Loop().Shown() == w.x.Loop().Position()
}

// auditNow checks the money of the running process, whose readers must see every record.
func (w *world) auditNow() {
	if err := audit.Check(w.x.State().Core, w.x.State().Money.Shown()); err != nil {
		w.fail("at record %d: %v", w.x.Loop().Position(), err)
	}
}

// stateText returns the hash of each part of a state.
func stateText(s *machine.State) string {
	h := s.Hash()
	return fmt.Sprint(h.Parts())
}

// checkReplay verifies that a replay of the log gives the state that the process has recovered, and the states that the
// processes before had at their positions. What they showed is still there; after a loss, up to some position.
func (w checker) checkReplay() {
	for n := 0; n < 10_000 && !w.shown(); n++ {
		w.p.pause()
	}
	end, now := w.x.Loop().Position(), stateText(w.x.State())
	w.logf("recovered to %d: %s", end, now)
	if w.gone() {
		w.audited = 0
	}
	audits := &audit.Auditor{From: w.audited}
	state, rd, err := w.replay(audits)
	if err != nil {
		w.fail("a replay of the log: %v", err)
		return
	}
	defer func() { _ = rd.Close() }()
	cut := uint64(0)
	for _, pos := range slices.Sorted(maps.Keys(w.marks)) {
		if pos < state.Pos || pos > end && w.gone() {
			continue
		}
		err := keeper.Replay(state, rd, pos, audits.After)
		if err == nil && state.Pos < pos && has(w.starting, vfstest.SyncErrorOld) {
			break // the files have forgotten what the process has read
		}
		if err != nil || pos > end || pos != state.Pos {
			w.fail("the log ends at record %d of %d, and a process showed record %d: %v", state.Pos, end, pos, err)
			return
		}
		switch is := stateText(state); {
		case is == w.marks[pos] && cut != 0:
			w.fail("the records up to %d are there, and the state at %d is another one", pos, cut)
		case is == w.marks[pos]:
			w.mix.Marks++
		case w.gone():
			cut = pos
		default:
			w.fail("a replay to record %d gives the state\n%s, a process had\n%s", pos, is, w.marks[pos])
		}
	}
	if err := keeper.Replay(state, rd, end, audits.After); err != nil ||
		state.Pos != end && !has(w.starting, vfstest.SyncErrorOld) {
		w.fail("a replay ends at record %d, the process at %d: %v", state.Pos, end, err)
	} else if is := stateText(state); is != now && state.Pos == end && w.x.Loop().Shown() == end {
		w.fail("a replay to the end at %d gives the state\n%s, the process has recovered\n%s", end, is, now)
	}
	w.mix.Replays++
	w.mix.Audits += audits.Records
	w.audited = state.Pos
	clear(w.marks)
	w.compared = true
}

// replay returns a state at the first record of the log, and a reader of the records behind it; if not all of them are
// kept whole, at the oldest snapshot that all are kept behind. A start reads what the newest ones need.
func (w checker) replay(audits *audit.Auditor) (*machine.State, *wal.Reader, error) {
	disk := w.disk.Kill()
	var snapshots [][]byte
	names := []string{""} // of the snapshots, oldest first; "": none
	for _, name := range disk.Paths() {
		if path.Dir(name) == "d/engine" && path.Ext(name) == ".snap" {
			names, snapshots = append(names, name), append(snapshots, disk.Content(name))
			disk.Lose(name)
		}
	}
	var errs []error
	for i, name := range names {
		if name != "" {
			disk.Put(name, snapshots[i-1])
		}
		state, err := readable(disk, audits)
		if err == nil {
			audits.State = state
			rd, err := openReader(disk, state.Pos+1)
			return state, rd, err
		}
		if errs = append(errs, err); name != "" {
			disk.Lose(name)
		}
	}
	return nil, nil, errors.Join(errs...)
}

// logOptions read the log of any directory.
var logOptions = wal.Options{NoLock: true, RecordVersion: engine.CommandVersion}

func openReader(disk *vfstest.Mem, from uint64) (*wal.Reader, error) {
	return wal.OpenReader(disk, "d/engine", logOptions, from)
}

// readable returns the state of the snapshot that a disk has, an empty one if it has none, after it has read all
// records behind it.
func readable(disk *vfstest.Mem, audits *audit.Auditor) (*machine.State, error) {
	log := keeper.LogDir{FS: disk, Dir: "d/engine", Options: logOptions}
	state, _, err := keeper.Load(machine.Options{
		Secrets: &seal.Key{}, Sinks: []func([]engine.Event, uint64){audits.Sink},
	}, log, keeper.NoLimit)
	if err != nil {
		return nil, err
	}
	rd, err := openReader(disk, state.Pos+1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rd.Close() }()
	for {
		if _, err := rd.Next(); errors.Is(err, io.EOF) {
			return state, nil
		} else if err != nil {
			return nil, err
		}
	}
}
