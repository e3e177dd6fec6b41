package replica

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"

	"tickhive/engine"
	"tickhive/internal/wal"
	"tickhive/marketdata"
)

// Extra is a further fold whose state belongs to the market's snapshots: the simulated traders.
type Extra interface {
	// Name identifies its part of a snapshot.
	Name() string
	// Fold folds the events of the replayed records.
	Fold(events []engine.Event, pos uint64)
	// AppendState appends its state; DecodeState restores it.
	AppendState(dst []byte) []byte
	DecodeState(state []byte) error
}

// Options holds the options of the market that wrote the log, and the further folds of its events.
type Options struct {
	Engine engine.Options
	Market marketdata.Options
	// Extras are folded and restored with the market. A snapshot's part without an extra of its name is skipped.
	Extras []Extra
	// Sinks receive the events but have no part in the snapshot: a store with its own snapshots uses one.
	Sinks []func(events []engine.Event, pos uint64)
	// Yields marks a replica beside a running loop: it gives up its processor regularly (yield.go).
	Yields bool
	// Skips holds the records that must not be applied; nil: none.
	Skips Skips
	// Core and Feed, when not nil, must be empty. The replica fills them instead of making new ones, because the
	// starting server already reads from them.
	Core *engine.Core
	Feed *marketdata.Feed
}

// Replica is a core and a feed after the record at Pos.
type Replica struct {
	Core *engine.Core
	Feed *marketdata.Feed

	Pos    uint64 // position of the last record applied
	LastNs int64  // the time of the last command

	opts   Options
	events []engine.Event
	cmd    engine.Command
	part   int // size in bytes of the largest part read; a hint for the buffer of Write
}

// New returns an empty market.
func New(o Options) *Replica {
	r := &Replica{Core: o.Core, Feed: o.Feed, opts: o}
	if r.Core == nil {
		r.Core = engine.NewCore(o.Engine)
	}
	if r.Feed == nil {
		r.Feed = marketdata.NewFeed(o.Market)
	}
	return r
}

// Apply applies the next record of the log. It converts a panic to a *PoisonError: the record was journaled
// before its fault was known, and the start must report which record it is.
func (r *Replica) Apply(rec wal.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PoisonError{File: rec.File, Offset: rec.Offset, Seq: rec.Seq, Cause: p, Stack: debug.Stack()}
		}
	}()
	if rec.Seq != r.Pos+1 {
		return fmt.Errorf("replica: record %d comes after %d", rec.Seq, r.Pos)
	}
	if engine.IsSkip(rec.Payload) || r.opts.Skips[rec.Seq] {
		r.skip(rec)
		return nil
	}
	if err := engine.DecodeCommand(rec.Payload, &r.cmd); err != nil {
		return fmt.Errorf("%s: record %d at offset %d: %w", rec.File, rec.Seq, rec.Offset, err)
	}
	if r.Core.Void(&r.cmd) { // its command has a later record
		r.pass(rec.Seq)
		return nil
	}
	r.events = r.Core.Apply(&r.cmd, r.events[:0])
	r.Pos, r.LastNs = rec.Seq, r.cmd.TimeNs
	r.fold()
	return nil
}

// ErrStop ends a Replay early without an error.
var ErrStop = errors.New("replica: stop")

// Replay applies records until the reader ends, r.Pos reaches limit (0: no limit), or after returns ErrStop.
// Unless after is nil, Replay calls it after each record.
func (r *Replica) Replay(rd *wal.Reader, limit uint64, after func() error) error {
	for limit == 0 || r.Pos < limit {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Seq <= r.Pos {
			continue
		}
		if err := r.Apply(rec); err != nil {
			return err
		}
		if r.opts.Yields && r.Pos%yieldRecords == 0 {
			runtime.Gosched()
		}
		if after == nil {
			continue
		}
		if err := after(); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// NoLimit makes Load take the newest intact snapshot.
const NoLimit = math.MaxUint64

// Load returns the market of the newest intact snapshot at or before limit, or an empty market when
// there is none. found names the snapshot and the newer damaged ones that were skipped. An intact snapshot that
// cannot be decoded is an error: its bytes are unchanged since they were written.
func Load(o Options, log LogDir, limit uint64) (r *Replica, found wal.Loaded, err error) {
	found, err = wal.LoadNewest(log.FS, log.Dir, log.Options, func(meta wal.SnapshotMeta, body io.Reader) error {
		_, err := io.Copy(io.Discard, yieldingReader{body}) // verifies every byte before decoding
		if err == nil && meta.Seq > limit {
			return wal.ErrUnwanted
		}
		return err
	})
	if err != nil {
		return nil, found, err
	}
	r = New(o)
	if !found.OK {
		return r, found, nil
	}
	var failed error
	_, err = wal.LoadNewest(log.FS, log.Dir, log.Options, func(meta wal.SnapshotMeta, body io.Reader) error {
		if meta.Seq != found.Meta.Seq {
			return wal.ErrUnwanted
		}
		if failed = r.Read(yieldingReader{body}); failed == nil && r.Pos != meta.Seq {
			failed = fmt.Errorf("replica: a snapshot of record %d holds the state after %d", meta.Seq, r.Pos)
		}
		return failed
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, found, err
	}
	return r, found, nil
}
