package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/node"
	"tickhive/internal/wal"
)

// takeFounding keeps a snapshot for the readers of a new stream, if the log does not have the first records any more.
// No loop runs yet.
func (r *restored) takeFounding(ctx context.Context) (*node.Founding, error) {
	if r.o.Stream.Open == nil || r.o.Stream.Handover != nil {
		return nil, nil
	}
	if whole, err := r.whole(); whole || err != nil {
		return nil, err
	}
	log, done, err := r.o.Stream.Open(ctx, r.data.Epoch())
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	last, err := log.Last(ctx)
	done()
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	if last > 0 {
		return nil, nil
	}
	h := node.Head{Version: cmdline.Version, TakenMs: clock.MachineNs() / 1e6, Genesis: r.genesis()}
	at := r.journal.log.Position()
	h.At.Pos, h.Chain = at.Seq, at.Chain
	return node.NewFounding(&h, func(w io.Writer) error { return r.atEnd().Write(w, nil) })
}

// whole reports whether the log has its first record.
func (r *restored) whole() (bool, error) {
	first, err := r.journal.log.Reader(1)
	if errors.Is(err, wal.ErrTruncated) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, first.Close()
}
