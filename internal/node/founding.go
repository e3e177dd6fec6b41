package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
)

// Founding is the snapshot with which the readers of a new stream begin, when the writer does not have the first
// records any more. One goroutine uses it.
type Founding struct {
	Start uint64 // position of the last record that the snapshot reflects

	file *os.File
}

// NewFounding keeps a snapshot of a state that no message reflects yet. body is as in WriteSnapshot. The caller closes
// it.
func NewFounding(h *Head, body func(w io.Writer) error) (*Founding, error) {
	file, err := temporary()
	if err != nil {
		return nil, err
	}
	if err := WriteSnapshot(file, h, body); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Founding{Start: h.At.Pos, file: file}, nil
}

// Close ends the use of the snapshot. A nil Founding may be closed.
func (f *Founding) Close() {
	if f != nil {
		_ = f.file.Close() // it has no name
	}
}

// archive puts the snapshot into the archive of a stream, as the one behind the base message, with which it has the
// state at.
func (f *Founding) archive(ctx context.Context, log jet.Log, at stream.State) error {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s, err := ReadSnapshot(io.NopCloser(f.file))
	if err != nil {
		return err
	}
	to, err := temporary()
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // it has no name
	h := s.Head
	h.At = at
	err = WriteSnapshot(to, &h, s.copyBody)
	if err == nil {
		_, err = to.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return log.Archive().Put(ctx, at.Seq, to, kept)
}

// settle archives the snapshot again if messages that do not count came before the base message.
func (f *Founding) settle(ctx context.Context, log jet.Log, at stream.State) error {
	for first := at.Seq; ; at.Seq++ {
		data, err := log.Read(ctx, at.Seq)
		switch {
		case err != nil:
			return err
		case !at.EndsWith(data):
			continue
		case at.Seq == first:
			return nil
		}
		return f.archive(ctx, log, at)
	}
}

// needsSnapshot returns the reason why a stream cannot be read from its first message on, an ErrTrimmed; nil: it can.
func needsSnapshot(ctx context.Context, log jet.Log) (why, err error) {
	data, err := log.Read(ctx, 1)
	switch {
	case errors.Is(err, jet.ErrTrimmed):
		return err, nil
	case err != nil:
		return nil, err
	}
	m, err := stream.Decode(data)
	if err == nil && m.Kind == stream.Base && m.Start != 0 {
		return fmt.Errorf("%w: it begins behind record %d of its writer", jet.ErrTrimmed, m.Start), nil
	}
	return nil, nil // the reader will notice the damage
}
