package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
)

// Stopping returns a channel that is closed when a stop waits for the snapshot under way.
func (x *Running) Stopping() <-chan struct{} { return x.snapshots.Ending() }

// Covered returns the position of the market's newest snapshot.
func (x *Running) Covered() uint64 { return x.snapshots.keeper.Covered() }

// Snapshot takes a snapshot of the present state.
func (x *Running) Snapshot() error { return x.snapshots.keeper.Snapshot() }

// OwnHash returns the hash of the state that decides. No follower computes it.
func (x *Running) OwnHash() (h machine.StateHash, err error) {
	err = x.loop.Query(func() { h = x.state.Hash() })
	return h, err
}

// Position returns the position of the last record that the loop has applied.
func (x *Running) Position() (pos uint64, err error) {
	err = x.loop.Query(func() { pos = x.loop.Position() })
	return pos, err
}

// Position returns the position of the last record that the replica has executed.
func (y *Following) Position() uint64 { return y.position.Load() }

// ReadUpTo returns the number of the last message of the stream that was read.
func (y *Following) ReadUpTo() uint64 { return y.read.Load() }

// Options returns the options of the replica.
func (y *Following) Options() *Options { return &y.o }

// DoAccounts carries out a command of the accounts, as the handlers do.
func (x *Running) DoAccounts(cmd accounts.Command) (accounts.Result, error) {
	return x.accounts.do(cmd)
}

// SubmitAccounts carries out a command of the accounts, and waits for a mark alone.
func (x *Running) SubmitAccounts(cmd accounts.Command, wait sequencer.Mark) error {
	return x.loop.Submit(sequencer.OtherBatch(machine.OfAccounts(&cmd, x.secrets), wait))
}

// Incidents returns the number of incidents on the status page.
func (b *base) Incidents() int { return len(b.data.Incidents()) }

// Users returns the number of users.
func (r *Recovered) Users() int { return r.accounts.view.UserCount() }

// Ready reports whether clients are admitted.
func (b *base) Ready() bool { return b.front.ready.Load() }

// Canceled returns a channel that is closed when a stop has canceled the start.
func (l *Launch) Canceled() <-chan struct{} { return l.ctx.Done() }

// Filling reports whether the initial data are incomplete.
func (b *base) Filling() bool { return b.data.Filling() }

// Abandon closes what a start that has panicked leaves open.
func (o *Opened) Abandon() error {
	return errors.Join(o.front.sockets.public.Close(), o.front.sockets.internal.Close(),
		o.front.phase.Load().journal.close(nil), o.data.Unlock())
}

// DemoUsers is the number of users of the demo market.
const DemoUsers = demoUsers

// DueBehindBackfill carries out the part of Start that fills the market, writes a record as its loop does, and reports
// whether the running market would take a snapshot at once.
func (r *Recovered) DueBehindBackfill(ctx context.Context) (due bool, err error) {
	if err := r.backfill(ctx); err != nil {
		return false, err
	}
	if _, err := r.journal.writer.Append([]*engine.Command{{Kind: engine.CancelAll, TimeNs: r.lastNs}}); err != nil {
		return false, err
	}
	x := &Running{restored: r.restored, loop: r.newLoop(r.clock, r.o.shows(), nil)}
	return x.newSnapshots().keeper.Due(), nil
}

// Backfill carries out the part of Start that fills the market.
func (r *Recovered) Backfill(ctx context.Context) error { return r.backfill(ctx) }

// Epoch returns the epoch of the directory.
func (b *base) Epoch() string { return b.data.Epoch() }

// Settled waits until the stream has every record.
func (x *Running) Settled() error {
	return x.stream.Load().Settle(context.Background(), x.journal.log.LastSeq(), time.Minute)
}
