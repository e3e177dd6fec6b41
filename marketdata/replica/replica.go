package replica

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"tickhive/engine"
	"tickhive/internal/wal"
	"tickhive/marketdata"
)

// Extra is a further fold whose state goes into the snapshots of the market: the
// simulated traders.
type Extra interface {
	// Name tells its part of a snapshot from others.
	Name() string
	// Fold takes the events of the replayed records.
	Fold(events []engine.Event, pos uint64)
	// AppendState appends its state, DecodeState takes one over.
	AppendState(dst []byte) []byte
	DecodeState(state []byte) error
}

// Options are those of the market that wrote the log.
type Options struct {
	Engine engine.Options
	Market marketdata.Options
	// Extras are folded and restored with the market. A snapshot's part that nobody here
	// asks for is passed over.
	Extras []Extra
	// Sinks are folded only: a store with its own snapshots that needs the events.
	Sinks []func(events []engine.Event, pos uint64)
	// Beside is a market that is made beside a running loop: the loop goes first.
	Beside bool
	// Skips are the records that are not carried out; nil: none.
	Skips Skips
	// Core and Feed, when not nil, are empty ones to be filled instead of new ones: those
	// that a starting server already reads from.
	Core *engine.Core
	Feed *marketdata.Feed
}

// Replica is a core and a feed after the record at Pos.
type Replica struct {
	Core *engine.Core
	Feed *marketdata.Feed

	Pos    uint64 // the last record applied
	LastNs int64  // the time of the last command

	opts   Options
	events []engine.Event
	cmd    engine.Command
	part   int // bytes of the largest part that was read
}

// New is an empty market.
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

// Apply carries out the next record of the log. A panic is a *PoisonError: the record was
// journaled before anybody knew, and a start must say which one it is.
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
		r.pass(rec)
		return nil
	}
	if err := engine.DecodeCommand(rec.Payload, &r.cmd); err != nil {
		return fmt.Errorf("%s: record %d at offset %d: %w", rec.File, rec.Seq, rec.Offset, err)
	}
	r.events = r.Core.Apply(&r.cmd, r.events[:0])
	r.Pos, r.LastNs = rec.Seq, r.cmd.TimeNs
	r.Feed.Fold(r.events)
	for _, x := range r.opts.Extras {
		x.Fold(r.events, r.Pos)
	}
	for _, fold := range r.opts.Sinks {
		fold(r.events, r.Pos)
	}
	return nil
}

// ErrStop ends a Replay early without an error.
var ErrStop = errors.New("replica: stop")

// Replay applies records until the reader ends, limit is reached (0: none), or after says
// ErrStop. after is called behind each record; nil: not at all.
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
		if r.opts.Beside && r.Pos%yieldRecords == 0 {
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

// Load is the newest market that a snapshot in the directory gives, at or before limit
// (0: any); an empty one when there is none. found says which was used. A damaged
// snapshot is passed over for the one before; a whole one that cannot be read is an
// error, because its bytes are those that were written.
func Load(o Options, log LogDir, limit uint64) (r *Replica, found wal.Loaded, err error) {
	found, err = wal.LoadNewest(log.FS, log.Dir, log.Options, func(meta wal.SnapshotMeta, body io.Reader) error {
		if limit != 0 && meta.Seq > limit {
			return errOther
		}
		_, err := io.Copy(io.Discard, yieldingReader{body}) // verifies every byte before anything is filled
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
			return errOther
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

var errOther = errors.New("replica: not the snapshot that is wanted")
