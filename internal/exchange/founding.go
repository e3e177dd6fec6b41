package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/machine"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// takeFounding keeps a snapshot for the readers of a new stream, if the logs do not have the first records any more.
// No loop runs yet, so all logs end at one state.
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
	for i, l := range r.logs() {
		at := l.Log.Position()
		h.At.Pos[i], h.Chains[i] = at.Seq, at.Chain
	}
	writes, err := r.writeSnapshots(&h, r.atEnd())
	if err != nil {
		return nil, err
	}
	return node.NewFounding(&h, writes)
}

// whole reports whether the logs have their first records.
func (r *restored) whole() (bool, error) {
	for _, l := range r.logs() {
		first, err := l.Log.Reader(1)
		if errors.Is(err, wal.ErrTruncated) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := first.Close(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// writeSnapshots sets what the snapshots of the logs reflect, and returns what writes them.
func (r *restored) writeSnapshots(h *node.Head, market *machine.State) (
	write func(log stream.Log, w io.Writer) error, err error,
) {
	var writes [stream.Logs]func(w io.Writer) error
	for i := range writes {
		if h.Reflects[i], writes[i], err = r.snapshotOf(stream.Log(i+1), market); err != nil {
			return nil, err
		}
	}
	return func(log stream.Log, w io.Writer) error { return writes[log-1](w) }, nil
}
