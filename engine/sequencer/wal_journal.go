package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/wal"
)

// SyncPolicy selects when the journal becomes durable
// (docs/contract/storage.md#sync-policies). In every policy a record is written before its answer,
// so that the end of the process loses nothing that was acknowledged.
type SyncPolicy string

// The policies of journal.sync.
const (
	SyncInterval SyncPolicy = "interval" // synced within SyncEvery; so is the zero value
	SyncAlways   SyncPolicy = "always"   // durable before the answer, a view or a stream shows it
	SyncOff      SyncPolicy = "off"      // the system decides
)

// Shows returns the mark of what readers see under the policy, without a stream.
func (p SyncPolicy) Shows() Mark {
	if p == SyncAlways {
		return Synced
	}
	return Written
}

// SyncEvery is the longest time between a write and its sync under SyncInterval.
const SyncEvery = 5 * time.Millisecond

// WALJournal is the Journal over a write-ahead log: one record per command, so that a
// position is a sequence of the log. Append belongs to the loop's goroutine. Unless the loop
// syncs (SyncAlways), one more goroutine does, or a scheduler calls Step.
type WALJournal struct {
	log    *wal.Log
	policy SyncPolicy
	cmd    *engine.Command // input of encode; a member, so that Append allocates nothing
	encode func(dst []byte) []byte

	bulk    bool   // see BeginBulk
	pending uint64 // records encoded but not written, in bulk only

	clk    clock.Clock
	dirty  chan struct{} // receives a value when something was written since the last sync began
	hurry  chan struct{} // receives a value when a batch waits for the sync
	dueNs  int64         // time of the next sync, 0: none is due; used by the goroutine that syncs
	wake   chan struct{}
	failed atomic.Pointer[error]
	// refused holds the error of the last write; nil after a write that succeeded.
	refused atomic.Pointer[error]
	stop    chan struct{}
	done    sync.WaitGroup
}

// NewWALJournal returns a journal on a log whose records have been replayed. Unless the loop syncs (SyncAlways), it
// starts the syncing goroutine.
func NewWALJournal(log *wal.Log, policy SyncPolicy) *WALJournal {
	j := NewSteppedWALJournal(log, policy, clock.Real{})
	if policy != SyncAlways {
		j.done.Add(1)
		go j.syncer()
	}
	return j
}

// NewSteppedWALJournal returns a journal without a goroutine: the caller calls Step, and clk measures the interval.
func NewSteppedWALJournal(log *wal.Log, policy SyncPolicy, clk clock.Clock) *WALJournal {
	j := &WALJournal{
		log: log, policy: cmp.Or(policy, SyncInterval), clk: clk,
		dirty: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	j.encode = func(dst []byte) []byte { return engine.AppendCommand(dst, j.cmd) }
	return j
}

// Append writes the commands in one write. On an error the log holds none of them, unless the
// error is ErrOutcomeUnknown.
func (j *WALJournal) Append(cmds []*engine.Command) (uint64, error) {
	if j.bulk {
		return j.appendBulk(cmds)
	}
	j.log.Begin()
	for _, c := range cmds {
		j.cmd = c
		j.log.Add(j.encode)
	}
	j.cmd = nil
	pos, err := j.log.Write()
	if err != nil {
		if errors.Is(err, wal.ErrOutcomeUnknown) {
			return 0, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		j.refused.Store(&err)
		return 0, err
	}
	if j.refused.Load() != nil {
		j.refused.Store(nil)
	}
	if j.policy == SyncInterval {
		signal(j.dirty)
	}
	return pos, nil
}

// Want syncs, unless the records are durable: under SyncAlways on the loop's goroutine, otherwise on the syncing
// goroutine, where what arrives meanwhile shares the next sync. Rejected under SyncAlways: a goroutine that syncs
// while the loop applies the next group. Handing a sync of 150 us over and back costs two
// thread wake-ups, and the submitters split into groups that each wait for two syncs: 2,200 ns
// CPU a command and p50 3.5 syncs with 256 waiting. On the loop's goroutine: 1,350 to 2,100 ns
// and 3.1 to 3.6 syncs.
func (j *WALJournal) Want(m Mark, pos uint64) {
	switch {
	case j.Reached(m) >= pos:
	case j.policy == SyncAlways:
		_ = j.Sync() // Err returns the error
	default:
		signal(j.hurry)
	}
}

// Refused returns the error with which the last command was refused (a full disk). It returns nil when the
// journal accepted the command or would accept the next one. Any goroutine may call it.
func (j *WALJournal) Refused() error {
	p := j.refused.Load()
	if p == nil {
		return nil
	}
	if j.log.Room() {
		j.refused.CompareAndSwap(p, nil)
		return nil
	}
	return *p
}

// bulkRecords is the number of records in one write of a bulk.
const bulkRecords = 4096

// BeginBulk collects records into large writes until EndBulk. A backfill uses it, which acknowledges nothing
// before its end. The loop applies commands before their records are written, so after a failed write Err,
// Append and EndBulk always return its error.
func (j *WALJournal) BeginBulk() { j.bulk = true }

func (j *WALJournal) appendBulk(cmds []*engine.Command) (uint64, error) {
	if err := j.Err(); err != nil {
		return 0, err
	}
	for _, c := range cmds {
		if j.pending == 0 {
			j.log.Begin()
		}
		j.cmd = c
		j.log.Add(j.encode)
		j.pending++
		if j.pending == bulkRecords {
			if err := j.writeBulk(); err != nil {
				return 0, err
			}
		}
	}
	return j.log.LastSeq() + j.pending, nil
}

func (j *WALJournal) writeBulk() error {
	if j.pending == 0 {
		return nil
	}
	_, err := j.log.Write()
	j.pending = 0
	if err != nil {
		j.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// EndBulk writes and syncs the gathered records. The loop must have stopped.
func (j *WALJournal) EndBulk() error {
	j.bulk = false
	if err := j.Err(); err != nil {
		return err
	}
	if err := j.writeBulk(); err != nil {
		return err
	}
	return j.Sync()
}

// Reached returns the last position that has reached a mark. Without a stream no record is safer than a synced one, so
// Acked is Synced here.
func (j *WALJournal) Reached(m Mark) uint64 {
	if m == Written {
		return j.log.LastSeq() + j.pending
	}
	return j.log.DurableSeq()
}

// SealedNs returns math.MaxInt64: only this process writes the log.
func (j *WALJournal) SealedNs() int64 { return math.MaxInt64 }

// Wake returns a channel that receives when a mark has moved or the log has failed.
func (j *WALJournal) Wake() <-chan struct{} { return j.wake }

// Ring wakes the loop: a mark that the journal does not know has moved.
func (j *WALJournal) Ring() { signal(j.wake) }

// Err returns an error once the log accepts no more records.
func (j *WALJournal) Err() error {
	if p := j.failed.Load(); p != nil {
		return *p
	}
	return j.log.Stopped()
}

// Sync makes everything written durable at once, under every policy.
func (j *WALJournal) Sync() error {
	err := j.log.Sync()
	if err != nil {
		j.failed.CompareAndSwap(nil, &err)
	}
	signal(j.wake)
	return err
}

// Close ends the syncing goroutine and closes the log. The loop must have stopped.
func (j *WALJournal) Close() error {
	close(j.stop)
	j.done.Wait()
	return j.log.Close()
}

// Step syncs what was written since the last sync, when a batch waits for it or it is due (SyncInterval). It is
// Stopped once a sync has failed.
func (j *WALJournal) Step() step.Progress {
	if j.policy == SyncAlways {
		return step.Idle()
	}
	if j.Err() != nil {
		return step.Progress{Stopped: true}
	}
	select {
	case <-j.hurry:
		j.syncNow()
		return step.Worked()
	default:
	}
	if j.dueNs == 0 {
		select {
		case <-j.dirty:
			j.startInterval()
		default:
			return step.Idle()
		}
	}
	// A clock that was set back makes the sync due at once.
	if now := j.clk.NowNs(); now < j.dueNs && j.dueNs-now <= int64(SyncEvery) {
		return step.Progress{NextNs: j.dueNs}
	}
	j.syncNow()
	return step.Worked()
}

// syncNow syncs and ends the interval.
func (j *WALJournal) syncNow() {
	j.dueNs = 0
	select {
	case <-j.dirty:
	default:
	}
	_ = j.Sync() // Err returns the error
}

// startInterval makes a sync due. The sync itself takes its part of SyncEvery.
func (j *WALJournal) startInterval() { j.dueNs = j.clk.NowNs() + int64(SyncEvery)/2 }

// syncer repeats Step until Close.
func (j *WALJournal) syncer() {
	defer j.done.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		p := j.Step()
		if p.Stopped {
			return
		}
		timer.Reset(p.Wait(j.clk.NowNs()))
		dirty := j.dirty
		if j.dueNs != 0 {
			dirty = nil // belongs to the next interval
		}
		select {
		case <-dirty:
			j.startInterval()
		case <-j.hurry:
			j.syncNow()
		case <-timer.C:
		case <-j.stop:
			return
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
