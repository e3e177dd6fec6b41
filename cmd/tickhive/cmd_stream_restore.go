package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// streamRestoreCmd makes a data directory from a stream, or from the directory of a node.
type streamRestoreCmd struct {
	streamFlags
	snapshotFlags

	FromDir string `placeholder:"DIR" help:"Instead of a stream: the directory of a stopped writer, standby or replica."`

	Dir string `arg:"" help:"Data directory to make; it must be empty or absent."`
}

// Run writes the records of the stream into a log, and meta.json last: without it a start refuses the directory.
func (c *streamRestoreCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := checkEmpty(c.Dir); err != nil {
		return err
	}
	if c.FromDir != "" {
		if c.snapshotFlags != (snapshotFlags{}) {
			return usage("--snapshot, --snapshot-from, --from-dir: the directory of a node has its own snapshots: " +
				"leave the others out")
		}
		if c.From != "" {
			return usage("--from, --from-dir: a directory is made from a stream or from a node's directory: leave " +
				"one out")
		}
		return c.fromNode(p)
	}
	r, err := c.open(ctx, p, &c.streamFlags)
	if err != nil {
		return err
	}
	defer r.done()
	w := node.NewCopy(c.Dir, node.OwnMachine(), exchange.EngineLogOptions())
	var s *node.Survey
	if r.from != nil {
		err = w.Adopt(r.from)
	}
	if err == nil {
		s, err = r.survey(ctx, p, w.Take)
	}
	if err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", errors.Join(err, w.Close()), c.Dir)
	}
	copied := ""
	err = w.Finish(func(end wal.Position) error {
		g := &r.to.Genesis
		meta := datadir.Rebuilt{
			Identity: w.Identity, CreatedNs: g.LedgerNs, Seed: g.Seed, SealedWith: g.SealedWith, End: end,
		}
		copied = fmt.Sprintf("record %d", end.Seq)
		return meta.WriteMeta(vfs.OS{}, c.Dir, time.Now(),
			"restored from the stream of the epoch "+s.Epoch+": "+copied+"; new epoch")
	})
	if err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", err, c.Dir)
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\n%s\nstart it with --data-dir %s\n", c.Dir, copied, copyFirst, c.Dir)
	return err
}

// fromNode makes the directory from the log of a node. What a power cut or a kill has left behind the last whole
// record is not taken.
func (c *streamRestoreCmd) fromNode(p *program) error {
	restore, unlock := c.fromWriter, func() error { return nil }
	if node.IsCopy(vfs.OS{}, c.FromDir) {
		restore = c.fromCopy
	}
	text, err := restore(&unlock)
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\n%s\nstart it with --data-dir %s: it begins a new epoch and a new "+
		"stream. While the servers have the old stream too, other nodes choose the new one with "+
		"--set replica.epoch=EPOCH\n", c.Dir, text, copyFirst, c.Dir)
	return err
}

// fromWriter makes the directory from a data directory.
func (c *streamRestoreCmd) fromWriter(unlock *func() error) (text string, err error) {
	idle, err := datadir.OpenIdle(vfs.OS{}, c.FromDir)
	if err != nil {
		return "", fmt.Errorf("--from-dir: %w", err)
	}
	*unlock = idle.Unlock
	meta, err := datadir.ReadMeta(c.FromDir)
	switch {
	case err != nil:
		return "", err
	case meta.Clock != datadir.ClockReal:
		return "", usage("--from-dir: %s has a virtual clock, so it never had a stream", c.FromDir)
	case meta.Filling:
		return "", fmt.Errorf("--from-dir: the backfill of %s is not complete, and no client has seen any of it: "+
			"begin another directory", c.FromDir)
	}
	o, err := meta.LogOptions(exchange.EngineLogOptions())
	if err != nil {
		return "", err
	}
	end, text, err := c.copyLog(o)
	if err != nil {
		return "", err
	}
	to := datadir.Rebuilt{
		Identity: wal.Identity{History: meta.History, Directory: meta.Directory}, CreatedNs: meta.CreatedNs,
		Seed: meta.Seed, SealedWith: meta.SealedWith, End: end,
	}
	return text, to.WriteMeta(vfs.OS{}, c.Dir, time.Now(),
		"restored from the directory of a writer: "+text+"; new epoch")
}

// fromCopy makes the directory from the copy of a standby or a replica.
func (c *streamRestoreCmd) fromCopy(unlock *func() error) (text string, err error) {
	state, end, err := node.ReadCopy(vfs.OS{}, c.FromDir)
	if err != nil {
		return "", fmt.Errorf("--from-dir: %w", err)
	}
	*unlock = end
	at, text, err := c.copyLog(state.LogOptions(exchange.EngineLogOptions()))
	if err != nil {
		return "", err
	}
	meta := datadir.Rebuilt{
		Identity: state.Identity, CreatedNs: state.Genesis.LedgerNs, Seed: state.Genesis.Seed,
		SealedWith: state.Genesis.SealedWith, End: at,
	}
	return text, meta.WriteMeta(vfs.OS{}, c.Dir, time.Now(), "restored from the copy of a node, of the epoch "+
		state.Genesis.Epoch+": "+text+"; new epoch")
}

// copyLog copies the log, reads it to its end, and verifies every record and snapshot.
func (c *streamRestoreCmd) copyLog(o wal.Options) (end wal.Position, text string, err error) {
	o.NoLock = true
	to := filepath.Join(c.Dir, datadir.LogName)
	if err := copyFiles(filepath.Join(c.FromDir, datadir.LogName), to); err != nil {
		return end, "", fmt.Errorf("%w; remove %s before another attempt", err, c.Dir)
	}
	log, err := wal.Open(vfs.OS{}, to, o)
	if err != nil {
		return end, "", cmdline.DamageError{Err: fmt.Errorf("%w\nThe log of %s is damaged: restore from the "+
			"directory of another node. Remove %s before another attempt", err, c.FromDir, c.Dir)}
	}
	end = log.Position()
	if err := log.Close(); err != nil {
		return end, "", err
	}
	text = fmt.Sprintf("record %d", end.Seq)
	if torn := log.Recovered().TornTail; torn > 0 {
		text += fmt.Sprintf(" (%d bytes behind it are no whole record)", torn)
	}
	return end, text, vfs.OS{}.SyncDir(c.Dir)
}

// copyFiles copies the segments and snapshots of a log.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == wal.SegmentExt || ext == wal.SnapshotExt {
			if err := copyDurably(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return vfs.OS{}.SyncDir(to)
}

// copyDurably copies a file. The name is durable when the caller has synced the directory.
func copyDurably(from, to string) (err error) {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // was only read
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if _, err = io.Copy(w, r); err != nil {
		return err
	}
	return w.Sync()
}
