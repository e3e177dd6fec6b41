package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// cutWithin limits the time until the stream confirms the records that a snapshot of the writer reflects.
const cutWithin = 10 * time.Second

// snapshot writes a snapshot of a writer (docs/internals/replication.md#snapshots-of-nodes). The loop stands while the
// accounts are encoded. Later records are not sent before the stream has confirmed the records that the snapshot
// reflects.
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
	var c cut
	h.At, err = w.Cut(ctx, func() (stream.Positions, error) { return c.take(w.x, &h) })
	if err != nil {
		return 0, err
	}
	if data, err := w.log.Read(ctx, h.At.Seq); err != nil || !h.At.EndsWith(data) {
		return 0, err // behind its last message is one that does not count: the next beat will do
	}
	return h.At.Seq, node.WriteSnapshot(to, &h, func(log stream.Log, w io.Writer) error {
		if log == stream.Engine {
			return c.market.Write(w)
		}
		return c.stores[log-1].write(w)
	})
}

// offer describes the snapshots of a writer.
func (w *writing) offer() node.Offer { return node.Offer{Role: node.RoleWriter, Seq: w.At().Seq} }

// cut is the state of a running writer at one position of each log.
type cut struct {
	market *keeper.Moment
	stores [stream.Logs]encoded
}

// take takes the cut, and sets its positions and chains.
func (c *cut) take(x *Running, h *node.Head) (to stream.Positions, err error) {
	var market wal.Position
	var folded error
	c.market, err = x.snapshots.keeper.Moment(func(pos uint64) {
		a := &c.stores[stream.Accounts-1]
		if *a, folded = x.encode(); folded == nil && a.reflects != pos {
			folded = fmt.Errorf("the accounts are at record %d of the market, which is at %d", a.reflects, pos)
		}
		if market = x.journal.log.Position(); folded == nil && market.Seq != pos {
			folded = fmt.Errorf("the journal is at record %d, the market at %d", market.Seq, pos)
		}
	})
	c.stores[stream.Engine-1].at = market
	for i, s := range c.stores {
		to[i], h.Chains[i], h.Reflects[i] = s.at.Seq, s.at.Chain, s.reflects
	}
	return to, errors.Join(err, folded)
}
