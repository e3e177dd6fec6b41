package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"tickhive/internal/backup"
	"tickhive/internal/datadir"
	"tickhive/internal/vfs"
)

// backupCmd writes a backup of a running exchange (docs/contract/storage.md#backups).
type backupCmd struct {
	internalFlags
	File  string `arg:"" help:"File to write, mode 0600; it must not exist."`
	Quiet bool   `help:"Suppress progress output."`
}

// Run downloads a backup under a temporary name, verifies it and gives it its name.
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
	err = c.fetch(ctx, p, api, temp)
	var meta datadir.Meta
	if err == nil {
		meta, err = verifyBackup(temp.Name())
	}
	if err == nil {
		err = os.Link(temp.Name(), c.File) // fails if the file exists by now
	}
	if err = errors.Join(err, os.Remove(temp.Name())); err != nil {
		return err
	}
	if err := (vfs.OS{}).SyncDir(filepath.Dir(c.File)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "backup %s verified: %s\n", c.File, fmt.Sprintf("record %d", meta.End.Seq))
	return err
}

// fetch durably writes the exchange's answer to a file and closes it.
func (c *backupCmd) fetch(ctx context.Context, p *program, api *internalAPI, to *os.File) error {
	resp, err := api.send(ctx, http.MethodGet, "/backup", "")
	if err != nil {
		return errors.Join(err, to.Close())
	}
	defer func() { _ = resp.Body.Close() }()
	bar := newProgress(p.err, "backup", "bytes", c.Quiet)
	_, err = io.Copy(to, &progressReader{resp.Body, func(n int64) { bar.Set(n, resp.ContentLength) }, 0})
	bar.Done()
	if err != nil {
		err = fmt.Errorf("the backup was cut short, take it again: %w", err)
	} else {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// progressReader reports the number of bytes that were read.
type progressReader struct {
	io.Reader
	report func(n int64)
	n      int64
}

// Read implements io.Reader.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	r.report(r.n)
	return n, err
}

// verifyBackup reads every byte, record and snapshot of a backup.
func verifyBackup(name string) (datadir.Meta, error) {
	a, err := backup.Open(name)
	if err != nil {
		return datadir.Meta{}, err
	}
	meta, err := verifyArchive(a)
	return meta, errors.Join(err, a.Close())
}

func verifyArchive(a *backup.Archive) (meta datadir.Meta, err error) {
	raw, err := a.ReadFile(backup.MetaName)
	if err != nil {
		return meta, err
	}
	clock, err := a.ReadFile("CLOCK")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return meta, err
	}
	if meta, err = datadir.CheckBackup(raw, clock); err != nil {
		return meta, err
	}
	files, err := checkLog(a, datadir.LogName, &meta)
	if err != nil {
		return meta, err
	}
	for j := range files {
		if err := files[j].Err; err != nil {
			return meta, a.Damaged("%s: %v", files[j].File, err)
		}
	}
	return meta, nil
}

// restoreCmd makes a data directory from a backup.
type restoreCmd struct {
	File string `arg:"" help:"Backup."`
	Dir  string `arg:"" help:"Data directory to make; it must be empty or absent."`
}

// Run verifies the backup, writes its files and lets the next start begin a new epoch.
func (c *restoreCmd) Run(p *program) error {
	if err := backup.CheckEmpty(c.Dir); err != nil {
		return err
	}
	a, err := backup.Open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	meta, err := verifyArchive(a)
	if err != nil {
		return err
	}
	end := fmt.Sprintf("record %d", meta.End.Seq)
	text, err := meta.Restored(time.Now(), "restored from a backup: "+end+"; new epoch")
	if err != nil {
		return err
	}
	if err := a.Extract(c.Dir, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s restored: %s\nstart it with --data-dir %s\n", c.Dir, end, c.Dir)
	return err
}
