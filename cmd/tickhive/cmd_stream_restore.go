package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tickhive/internal/backup"
	"tickhive/internal/cmdline"
	"tickhive/internal/datadir"
	"tickhive/internal/exchange"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// streamRestoreCmd makes a data directory from a stream, or from the directory of a node.
type streamRestoreCmd struct {
	streamFlags
	SnapshotFrom string `placeholder:"http://HOST:PORT" help:"Begin with the snapshot of this node's internal listener, not with the first message; the token is the one of internal.token_file."`

	FromDir string `placeholder:"DIR" help:"Instead of a stream: the directory of a stopped writer, standby or replica."`

	Dir string `arg:"" help:"Data directory to make; it must be empty or absent."`
}

// Run writes the records of the stream into a log, and meta.json last: without it a start refuses the directory.
func (c *streamRestoreCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := backup.CheckEmpty(c.Dir); err != nil {
		return err
	}
	if c.FromDir != "" {
		if c.SnapshotFrom != "" {
			return usage("--snapshot-from, --from-dir: the directory of a node has its own snapshots: leave " +
				"--snapshot-from out")
		}
		if c.From != "" {
			return usage("--from, --from-dir: a directory is made from a stream or from a node's directory: leave " +
				"one out")
		}
		return c.fromNode(p)
	}
	cfg, to, done, err := c.follower(ctx, p, serveFlags{Sim: "off"})
	if err != nil {
		return err
	}
	defer done()
	if c.SnapshotFrom != "" {
		if err := checkAddresses("--snapshot-from", []string{c.SnapshotFrom}); err != nil {
			return usageError{Err: err}
		}
		api, err := (&internalFlags{InternalTokenFile: cfg.Internal.TokenFile}).api(p)
		if err != nil {
			return err
		}
		c.choose = func(ctx context.Context, log jet.Log) (*node.Snapshot, error) {
			peer := node.Peer{URL: c.SnapshotFrom, Token: cmp.Or(api.token, cfg.Internal.Token)}
			return node.FetchWhole(ctx, log, peer, to.Genesis)
		}
	}
	w := node.NewCopy(c.Dir, exchange.EngineLogOptions())
	s, err := c.survey(ctx, p, to, func() (surveyor, error) {
		err := errors.Join(w.Close(), backup.EmptyDir(c.Dir)) // of an attempt before
		w = node.NewCopy(c.Dir, exchange.EngineLogOptions())
		return surveyor{w.Restore, w.Take}, err
	})
	if err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", errors.Join(err, w.Close()), c.Dir)
	}
	copied := ""
	err = w.Finish(func(end wal.Position) error {
		meta := datadir.Rebuilt{
			Identity: w.Identity, CreatedNs: to.Genesis.LedgerNs, Seed: to.Genesis.Seed,
			SealedWith: to.Genesis.SealedWith, End: end,
		}
		copied = fmt.Sprintf("record %d", end.Seq)
		return meta.WriteMeta(c.Dir, time.Now(),
			"restored from the stream of the epoch "+s.Epoch+": "+copied+"; new epoch")
	})
	if err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", err, c.Dir)
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\nstart it with --data-dir %s\n", c.Dir, copied, c.Dir)
	return err
}

// fromNode makes the directory from the log of a node. What a power cut or a kill has left behind the last whole
// record is not taken.
func (c *streamRestoreCmd) fromNode(p *program) error {
	restore, unlock := c.fromWriter, func() error { return nil }
	if node.IsCopy(c.FromDir) {
		restore = c.fromCopy
	}
	text, err := restore(&unlock)
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\nstart it with --data-dir %s: it begins a new epoch and a new "+
		"stream. While the servers have the old stream too, other nodes choose the new one with "+
		"--set replica.epoch=EPOCH\n", c.Dir, text, c.Dir)
	return err
}

// fromWriter makes the directory from a data directory.
func (c *streamRestoreCmd) fromWriter(unlock *func() error) (text string, err error) {
	idle, err := datadir.OpenIdle(c.FromDir)
	if err != nil {
		return "", fmt.Errorf("--from-dir: %w", err)
	}
	*unlock = idle.Unlock
	meta, err := datadir.ReadMeta(c.FromDir)
	switch {
	case err != nil:
		return "", err
	case meta.Clock != clockReal:
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
	raw, _, err := datadir.Backup(idle, end, 0)
	if err == nil {
		meta, err = datadir.CheckBackup(raw, nil)
	}
	if err == nil {
		raw, err = meta.Restored(time.Now(), "restored from the directory of a writer: "+text+"; new epoch")
	}
	if err == nil {
		err = backup.WriteFile(filepath.Join(c.Dir, backup.MetaName), bytes.NewReader(raw))
	}
	if err == nil {
		err = vfs.OS{}.SyncDir(c.Dir)
	}
	return text, err
}

// fromCopy makes the directory from the copy of a standby or a replica.
func (c *streamRestoreCmd) fromCopy(unlock *func() error) (text string, err error) {
	state, end, err := node.ReadCopy(c.FromDir)
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
	return text, meta.WriteMeta(c.Dir, time.Now(), "restored from the copy of a node, of the epoch "+
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

func copyDurably(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // was only read
	return backup.WriteFile(to, r)
}
