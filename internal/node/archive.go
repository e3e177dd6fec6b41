package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream/jet"
)

// kept is the number of archived snapshots: the newest one, and the one before in case it is damaged.
const kept = 2

// Newest returns the newest snapshot in the archive of a stream that the stream continues and that is at or before a
// message; nil if there is none and the stream can be read from its first message on. The caller closes it.
//
// Errors: jet.ErrTrimmed when the stream cannot be read without one.
func Newest(ctx context.Context, log jet.Log, until uint64) (*Snapshot, error) {
	return choose(ctx, log, until, false)
}

// Oldest returns the oldest snapshot in the archive from which the stream can be read; nil if it can be read from its
// first message on. The caller closes it. Errors: as of Newest.
func Oldest(ctx context.Context, log jet.Log) (*Snapshot, error) {
	if why, err := needsSnapshot(ctx, log); why == nil || err != nil {
		return nil, err
	}
	return choose(ctx, log, 1<<63, true)
}

func choose(ctx context.Context, log jet.Log, until uint64, oldest bool) (*Snapshot, error) {
	archive := log.Archive()
	all, err := archive.List(ctx)
	if err != nil {
		return nil, err
	}
	var reasons error
	for i := range all {
		if oldest {
			i = len(all) - 1 - i
		}
		if all[i].Seq > until {
			continue
		}
		s, err := open(ctx, log, archive, all[i].Seq)
		if err == nil || ctx.Err() != nil || Newer(err) {
			return s, err
		}
		reasons = errors.Join(reasons, err)
	}
	switch why, err := needsSnapshot(ctx, log); {
	case errors.Is(err, jet.ErrMissing):
		return nil, nil // it has no message, which the reader will notice
	case err != nil:
		return nil, err
	case why != nil:
		return nil, errors.Join(why, errors.New("no archived snapshot can be used"), reasons)
	}
	return nil, nil
}

// open opens a snapshot and checks that the stream has its last message. The stream of servers that have lost their
// newest messages goes on differently.
func open(ctx context.Context, log jet.Log, archive jet.Archive, seq uint64) (*Snapshot, error) {
	s, err := fetch(ctx, archive, seq)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", seq, err)
	}
	if err = proven(ctx, log, s); err == nil && s.At.Seq != seq {
		err = fmt.Errorf("%w: it is of message %d, not %d", ErrSnapshot, s.At.Seq, seq)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// proven returns an error unless the stream has the last message of a snapshot.
func proven(ctx context.Context, log jet.Log, s *Snapshot) error {
	data, err := log.Read(ctx, s.At.Seq)
	if err == nil && !s.At.EndsWith(data) {
		err = fmt.Errorf("%w: the stream does not have its last message, number %d", ErrSnapshot, s.At.Seq)
	}
	return err
}

// fetch copies an archived snapshot, so that a damaged one is not begun with.
func fetch(ctx context.Context, archive jet.Archive, seq uint64) (*Snapshot, error) {
	body, err := archive.Open(ctx, seq)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return keep(body)
}

// keep copies a snapshot into a temporary file and reads it to its end.
func keep(body io.Reader) (*Snapshot, error) {
	f, err := temporary()
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, body); err == nil {
		err = sound(f)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return ReadSnapshot(f)
}

// sound reads a snapshot to its end.
func sound(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s, err := ReadSnapshot(io.NopCloser(f))
	if err != nil {
		return err
	}
	return s.copyBody(io.Discard)
}

// temporary returns a file without a name, whose blocks go with its last use.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "tickhive-snapshot-*")
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshot: %w", err), f.Close())
	}
	return f, nil
}

// take writes a snapshot into a temporary file, and returns it for reading with its size and the message that it
// reflects; 0: there can be none now, and the file is nil.
func take(write func(w io.Writer) (seq uint64, err error)) (f *os.File, size int64, seq uint64, err error) {
	if f, err = temporary(); err != nil {
		return nil, 0, 0, err
	}
	if seq, err = write(f); err == nil && seq > 0 {
		if size, err = f.Seek(0, io.SeekCurrent); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	if err != nil || seq == 0 {
		return nil, 0, 0, errors.Join(err, f.Close())
	}
	return f, size, seq, nil
}

// Archivist puts snapshots of a node into the archive from time to time. One goroutine uses it.
type Archivist struct {
	Log   jet.Log
	Every time.Duration
	Trim  bool // remove the messages that all archived snapshots reflect
	// Take writes a snapshot and returns the message that it reflects; 0: there can be none now.
	Take func(w io.Writer) (seq uint64, err error)
	// Report receives the result of each attempt.
	Report func(seq uint64, bytes int64, err error)
}

// Run archives until ctx ends, whenever the newest archived snapshot, of any node, is older than Every.
func (a *Archivist) Run(ctx context.Context) {
	look := time.NewTicker(max(a.Every/10, 100*time.Millisecond))
	defer look.Stop()
	for {
		seq, bytes, err := a.step(ctx, clock.MachineNs()/int64(time.Millisecond))
		if ctx.Err() != nil {
			return
		}
		if seq > 0 || err != nil {
			a.Report(seq, bytes, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// step archives a snapshot if one is due, and trims the stream. seq is 0 if none was due.
func (a *Archivist) step(ctx context.Context, nowMs int64) (seq uint64, bytes int64, err error) {
	archive := a.Log.Archive()
	all, err := archive.List(ctx)
	if err != nil || len(all) > 0 && nowMs-all[0].AtMs < a.Every.Milliseconds() {
		return 0, 0, err
	}
	f, bytes, seq, err := take(a.Take)
	if err != nil || seq == 0 {
		return 0, 0, err
	}
	defer f.Close()
	if len(all) > 0 && seq <= all[0].Seq {
		return 0, 0, nil
	}
	if err := archive.Put(ctx, seq, f, kept); err != nil {
		return 0, 0, err
	}
	return seq, bytes, a.trim(ctx)
}

// trim removes the messages before the last one of the oldest archived snapshot: the message itself proves that the
// stream continues the snapshot.
func (a *Archivist) trim(ctx context.Context) error {
	all, err := a.Log.Archive().List(ctx)
	if err != nil || !a.Trim || len(all) < kept || all[kept-1].Seq < 2 {
		return err
	}
	return a.Log.Trim(ctx, all[kept-1].Seq-1)
}
