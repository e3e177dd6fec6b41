package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// journalSkipCmd appends a Skip record to a journal, so that no start applies the skipped record again. It is
// the remedy when a start fails at a record that the program cannot apply.
type journalSkipCmd struct {
	Dir string `arg:"" help:"Data directory."`
	At  uint64 `required:"" help:"Number of the record, as the failed start printed it."`
}

// Run holds the lock of the directory, so that no other process can use it.
func (c *journalSkipCmd) Run(p *program) error {
	d, err := datadir.OpenIdle(vfs.OS{}, c.Dir)
	if err != nil {
		return fmt.Errorf("journal skip: %w", err)
	}
	behind, err := c.skip(d)
	if err = errors.Join(err, d.Unlock()); err != nil {
		return fmt.Errorf("journal skip: %w", err)
	}
	fmt.Fprintf(p.out, "record %d is skipped from the next start on; "+
		"the %d records after it are applied as if it had never been sent\n", c.At, behind)
	return nil
}

// skip checks the position and appends the Skip record. behind is the number of records after c.At.
func (c *journalSkipCmd) skip(d *datadir.Dir) (behind uint64, err error) {
	if d.Filling() {
		return 0, errors.New("the directory's backfill did not complete, so the next start discards it: there is " +
			"nothing to skip")
	}
	dir := exchange.EngineLog(d.Sub(datadir.LogName))
	if err := c.covered(dir); err != nil {
		return 0, exchange.ExplainDamage(err)
	}
	if dir.Options, err = d.LogOptions(dir.Options); err != nil {
		return 0, err
	}
	dir.Options.Lost = func(wal.Loss) error {
		return errors.New("the end of the journal was lost in a power cut: start the program once first")
	}
	record, last, err := c.record(dir) // before Open, which writes to the log
	if err != nil {
		return 0, exchange.ExplainDamage(err)
	}
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return 0, exchange.ExplainDamage(err)
	}
	defer func() { err = errors.Join(err, log.Close(), d.KeepEnd()) }()
	// Streams may have shown events of the record. Without it the seqs belong to another
	// history, so the next start makes a new epoch.
	if err := d.ForgetEpoch(); err != nil {
		return 0, err
	}
	if _, err := log.Append([][]byte{record}); err != nil {
		return 0, err
	}
	return last - c.At, log.Sync()
}

// covered returns an error for a record that a snapshot includes, because no start would replay it.
func (c *journalSkipCmd) covered(dir keeper.LogDir) error {
	whole := func(_ wal.SnapshotMeta, body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	}
	market, err := wal.LoadNewest(dir.FS, dir.Dir, dir.Options, whole)
	if err != nil {
		return err
	}
	if market.OK && c.At <= market.Meta.Seq {
		return fmt.Errorf("--at: record %d is covered by the snapshot at record %d: no start applies it, "+
			"so skipping it would change nothing", c.At, market.Meta.Seq)
	}
	return nil
}

// record returns the skip to append and the last record of the journal. It refuses a position outside
// the journal, a skip, and a record that is already skipped.
func (c *journalSkipCmd) record(dir keeper.LogDir) (payload []byte, last uint64, err error) {
	rd, err := wal.OpenReader(dir.FS, dir.Dir, dir.Options, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rd.Close() }()
	skip := engine.Command{Kind: engine.Skip, Pair: engine.ControlPair, Order: engine.OrderID(c.At)}
	first := rd.NextSeq()
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			last = rd.NextSeq() - 1
			if c.At < first || c.At > last {
				return nil, 0, fmt.Errorf("--at: the journal has records %d to %d, not %d", first, last, c.At)
			}
			return engine.AppendCommand(nil, &skip), last, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if rec.Seq < c.At {
			continue
		}
		var cmd engine.Command
		if err := engine.DecodeCommand(rec.Payload, &cmd); err != nil && rec.Seq != c.At {
			return nil, 0, fmt.Errorf("%s: record %d at offset %d: %w", rec.File, rec.Seq, rec.Offset, err)
		}
		skip.TimeNs = max(skip.TimeNs, cmd.TimeNs)
		switch {
		case cmd.Kind != engine.Skip:
		case rec.Seq == c.At:
			return nil, 0, fmt.Errorf("--at: record %d is itself the skip of record %d", c.At, cmd.Order)
		case uint64(cmd.Order) == c.At:
			return nil, 0, fmt.Errorf("--at: record %d is already skipped by record %d", c.At, rec.Seq)
		}
	}
}
