package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/wal"
)

// backupCmd writes a backup of a running exchange (docs/contract/storage.md#backups).
type backupCmd struct {
	internalFlags
	File  string `arg:"" help:"File to write, mode 0600; it must not exist."`
	Quiet bool   `help:"Print errors alone, for cron."`
}

// Run downloads a fresh snapshot under a temporary name, verifies it and gives it its name.
func (c *backupCmd) Run(p *program) error {
	if _, err := os.Lstat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return usageError{Err: errors.Join(fmt.Errorf("%s exists: name a new file", c.File), err)}
	}
	api, err := c.api(p)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	temp, err := os.CreateTemp(filepath.Dir(c.File), filepath.Base(c.File)+".*.tmp")
	if err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	bar := newProgress(p.err, "backup", "bytes", c.Quiet)
	fetch := node.Fetch{
		Machine: node.OwnMachine(), Fresh: true, To: temp.Name(), Options: exchange.EngineLogOptions(),
		From: node.Peer{
			URL: strings.TrimSuffix(api.base, "/internal/v1"), Token: api.token, Client: &api.http,
		},
		Progress: bar.Set,
	}
	s, err := fetch.Run(ctx)
	if err != nil {
		bar.Leave()
		if errors.As(err, new(*url.Error)) {
			err = fmt.Errorf("%w; --internal names another address", remedied(err))
		}
		return errors.Join(fmt.Errorf("backup: %w", err), gone(temp.Name()))
	}
	bar.Done()
	pos := s.Meta.Seq
	if err = s.Close(); err == nil {
		err = os.Link(temp.Name(), c.File) // fails if the file exists by now
	}
	if err = errors.Join(err, gone(temp.Name())); err != nil {
		return err
	}
	if err := (vfs.OS{}).SyncDir(filepath.Dir(c.File)); err != nil {
		return err
	}
	if c.Quiet {
		return nil
	}
	_, err = fmt.Fprintf(p.out, "backup %s verified: record %d\n", c.File, pos)
	return err
}

// gone removes a file, if it is there.
func gone(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copyFirst says what neither a backup nor a stream has of the directory that a restored one replaces: the start would
// make new ones, and clients with the former ones get 401.
const copyFirst = "if it replaces a directory, first copy cluster.key, stream.nk and the token's file from there"

// restoreCmd makes a data directory from a backup.
type restoreCmd struct {
	File string `arg:"" help:"Backup, or another snapshot file."`
	Dir  string `arg:"" help:"Data directory to make; it must be empty or absent."`
}

// Run verifies the backup, puts it into the directory and lets the next start begin a new epoch.
func (c *restoreCmd) Run(p *program) error {
	if err := checkEmpty(c.Dir); err != nil {
		return err
	}
	from, err := node.OpenSnapshot(vfs.OS{}, c.File, exchange.EngineLogOptions())
	if err != nil {
		return explainSnapshot(err)
	}
	defer func() { _ = from.Close() }() // was only read
	h, err := node.ParseHead(from.Meta)
	if err != nil {
		return err
	}
	w := node.NewCopy(c.Dir, node.OwnMachine(), exchange.EngineLogOptions())
	if err := w.Adopt(from); err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", errors.Join(err, w.Close()), c.Dir)
	}
	at := fmt.Sprintf("record %d", from.Meta.Seq)
	err = w.Finish(func(end wal.Position) error {
		meta := datadir.Rebuilt{
			Identity: w.Identity, CreatedNs: h.CreatedNs, Seed: h.Genesis.Seed, SealedWith: h.Genesis.SealedWith,
			Clock: h.Clock, ClockNs: h.ClockNs, End: end,
		}
		return meta.WriteMeta(vfs.OS{}, c.Dir, time.Now(), "restored from a backup: "+at+"; new epoch")
	})
	if err != nil {
		return fmt.Errorf("%w; remove %s before another attempt", err, c.Dir)
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\n%s\nstart it with --data-dir %s\n", c.Dir, at, copyFirst, c.Dir)
	return err
}

// explainSnapshot makes damage of a snapshot file the program's exit code.
func explainSnapshot(err error) error {
	if errors.As(err, new(*wal.CorruptError)) {
		return cmdline.DamageError{Err: fmt.Errorf("%w\nUse another backup", err)}
	}
	if errors.Is(err, stream.ErrRules) {
		return fmt.Errorf("%w: use the program that has written it, or a later one", err)
	}
	return err
}

// checkEmpty refuses a directory that has something in it.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return usageError{Err: fmt.Errorf("%s is not empty: name another directory", dir)}
	}
	return err
}

// beginning finds the snapshot with which a node begins. One goroutine uses it.
type beginning struct {
	node.Start
	found *wal.SnapshotFile // one that was found before a node asked for it
}

// find implements exchange.FollowOptions.Snapshot.
func (b *beginning) find(ctx context.Context) (*wal.SnapshotFile, error) {
	if s := b.found; s != nil {
		b.found = nil
		return s, nil
	}
	return b.Find(ctx)
}

// genesis returns what a snapshot says of a stream that does not have its first message any more.
func (b *beginning) genesis(ctx context.Context) (g node.Genesis, err error) {
	if b.found, err = b.Find(ctx); err != nil {
		return g, err
	}
	if b.found == nil {
		return g, errors.New("the first messages of the stream were removed (cluster.trim), and no node gives a " +
			"snapshot: name one with --snapshot-from https://HOST:PORT, or a file with --snapshot FILE")
	}
	h, err := node.ParseHead(b.found.Meta)
	b.Genesis = h.Genesis
	return h.Genesis, err
}

// close ends the use of a snapshot that was not asked for, and removes the download.
func (b *beginning) close() error {
	var err error
	if b.found != nil {
		err = b.found.Close()
	}
	return errors.Join(err, gone(b.To))
}
