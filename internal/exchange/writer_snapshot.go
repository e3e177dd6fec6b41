package exchange

import (
	"context"
	"fmt"
	"io"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/node"
	"tickhive/internal/wal"
)

// cutWithin limits the time until the stream confirms the records that a snapshot of the writer reflects.
const cutWithin = 10 * time.Second

// snapshot writes a snapshot of a writer (docs/internals/replication.md#snapshots-of-nodes). Later records are not sent
// before the stream has confirmed the records that the snapshot reflects.
func (w *writing) snapshot(to io.Writer) (seq uint64, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), cutWithin,
		fmt.Errorf("the stream has not confirmed the records within %s", cutWithin))
	defer cancel()
	h := node.Head{Version: cmdline.Version, TakenMs: clock.MachineNs() / 1e6}
	if h.Genesis, err = node.ReadGenesis(ctx, w.log); err != nil {
		return 0, err
	}
	if h.Writer, err = w.x.termRecord(); err != nil {
		return 0, err
	}
	var state *keeper.Moment
	h.At, err = w.Cut(ctx, func() (uint64, error) {
		var end wal.Position
		state, err = w.x.snapshots.keeper.Moment(func(uint64) { end = w.x.journal.log.Position() })
		h.Chain = end.Chain
		return end.Seq, err
	})
	if err != nil {
		return 0, err
	}
	if data, err := w.log.Read(ctx, h.At.Seq); err != nil || !h.At.EndsWith(data) {
		return 0, err // behind its last message is one that does not count: the next beat will do
	}
	return h.At.Seq, node.WriteSnapshot(to, &h, state.Write)
}

// offer describes the snapshots of a writer.
func (w *writing) offer() node.Offer { return node.Offer{Role: node.RoleWriter, Seq: w.At().Seq} }
