package keeper

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/wal"
)

// ErrStop ends a Replay early without an error.
var ErrStop = errors.New("keeper: stop")

// Record returns a record as the machine takes it.
func Record(rec *wal.Record) machine.Record {
	return machine.Record{Pos: rec.Seq, Payload: rec.Payload, File: rec.File, Offset: rec.Offset}
}

// Replay applies records of the journal until the reader ends, m.Pos reaches limit (0: no limit), or after returns
// ErrStop. Unless after is nil, Replay calls it after each record.
func Replay(m *machine.State, rd *wal.Reader, limit uint64, after func() error) error {
	for limit == 0 || m.Pos < limit {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Seq <= m.Pos {
			continue
		}
		next := Record(&rec)
		if err := m.Apply(&next); err != nil {
			return err
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

// Load returns the state of the newest intact snapshot at or before the position limit, or an empty state when
// there is none. found names the snapshot and the newer damaged ones that were skipped. An intact snapshot that
// cannot be decoded is an error: its bytes are unchanged since they were written.
func Load(o machine.Options, log LogDir, limit uint64) (m *machine.State, found wal.Loaded, err error) {
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
	m = machine.New(o)
	if !found.OK {
		return m, found, nil
	}
	var failed error
	_, err = wal.LoadNewest(log.FS, log.Dir, log.Options, func(meta wal.SnapshotMeta, body io.Reader) error {
		if meta.Seq != found.Meta.Seq {
			return wal.ErrUnwanted
		}
		if failed = m.Read(yieldingReader{body}); failed == nil && m.Pos != meta.Seq {
			failed = fmt.Errorf("keeper: a snapshot of record %d holds the state after %d", meta.Seq, m.Pos)
		}
		return failed
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, found, err
	}
	return m, found, nil
}

// CollectSkips adds to skips the records that the Skip records of rd name.
func CollectSkips(skips machine.Skips, rd *wal.Reader) error {
	var cmd engine.Command
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !engine.IsSkip(rec.Payload) {
			continue
		}
		if err := engine.DecodeCommand(rec.Payload, &cmd); err != nil {
			return fmt.Errorf("%s: record %d at offset %d: %w", rec.File, rec.Seq, rec.Offset, err)
		}
		skips[uint64(cmd.Order)] = true
	}
}
