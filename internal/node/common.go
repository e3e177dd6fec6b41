package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// Common is what a log and a stream have in common.
type Common struct {
	Cut  wal.Position // behind the last record that both have
	At   stream.State // a state of the stream at or before Cut
	Tail bool         // the log has records behind Cut
}

// FindCommon compares a log that no process writes with a stream. It reads the stream from the state known on, if the
// stream has its message. open opens the log at a record; 0: at the oldest one.
//
// history is the log's. Errors: ErrOtherChain when they have nothing in common; those of jet.Log, stream.Reader and
// wal.Reader.
func (m *Machine) FindCommon(
	ctx context.Context, log jet.Log, keys *stream.Keys, history [16]byte, known stream.State,
	open func(from uint64) (*wal.Reader, error),
) (c Common, err error) {
	last, err := log.Last(ctx)
	if err != nil {
		return c, err
	}
	if c.At, err = begins(ctx, log, known); err != nil {
		return c, err
	}
	own, err := open(c.At.End.Seq)
	if errors.Is(err, wal.ErrTruncated) {
		own, err = open(0)
	}
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	w := walk{own: own, Common: c, at: own.Position()}
	r := stream.NewReader(c.At, m.Knows(), keys)
	err = nil
	if c.At.Seq > 0 {
		err = w.meet(c.At.End)
	}
	if err == nil {
		err = follow(ctx, log, r, last, func(before stream.State, m *stream.Message) error {
			end := before.End
			if m.Kind == stream.Base {
				if end = r.State().End; r.State().History != history {
					return errParted
				}
			}
			err := w.meet(end)
			for _, record := range m.All() {
				if end = end.Next(record); err == nil {
					err = w.meet(end)
				}
			}
			if err == nil {
				w.At = r.State()
			}
			return err
		})
	}
	if err == nil && w.met { // the stream has ended
		if _, err = own.Next(); err == nil {
			w.Tail = true
		}
	}
	switch {
	case err != nil && !errors.Is(err, errParted) && !errors.Is(err, io.EOF):
		return c, err
	case !w.met:
		return c, fmt.Errorf("%w: they have no record in common", ErrOtherChain)
	}
	w.Tail = w.Tail || w.at != w.Cut
	return w.Common, nil
}

// errParted ends a walk where the log and the stream part.
var errParted = errors.New("node: they part here")

// walk goes along a log beside a stream.
type walk struct {
	own *wal.Reader
	at  wal.Position // of own
	met bool         // Cut is valid
	Common
}

// meet goes on to a place of the stream and compares the chains there.
//
// Errors: errParted; io.EOF when the log ends before it.
func (w *walk) meet(to wal.Position) error {
	for w.at.Seq < to.Seq {
		if _, err := w.own.Next(); err != nil {
			return err
		}
		w.at = w.own.Position()
	}
	switch {
	case w.at.Seq > to.Seq: // the log begins later
	case w.at != to:
		return errParted
	default:
		w.Cut, w.met = to, true
	}
	return nil
}
