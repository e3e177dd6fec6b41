package exchange

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// recoverFollower restores the state with which a replica begins: that of its copy, of a snapshot of another node, or
// none. It finds the message of the stream behind which the replica reads.
func (r *restored) recoverFollower(ctx context.Context) error {
	f := r.o.Follow
	y := &Following{restored: r, ended: make(chan error, 1), over: make(chan struct{})}
	r.follows = y
	y.sinks = r.sinks()
	last, err := f.Log.Last(ctx)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := y.exportTo(ctx, last); err != nil {
		return err
	}
	bound, err := y.bound(ctx)
	if err != nil {
		return err
	}
	known, err := y.restore(ctx, bound)
	if err != nil {
		return err
	}
	if err := y.show(); err != nil {
		return err
	}
	at, err := y.join(ctx, known, bound)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	m := y.o.node()
	y.reader = stream.NewReader(at, m.Knows(), y.o.Follow.Keys)
	y.live = true
	if err := y.learnBehind(ctx, at); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if y.state.Pos == 0 {
		return nil
	}
	if y.export != nil {
		y.export.Begin(y.core)
	}
	y.heardNs.Store(y.steadyNs())
	y.read.Store(at.Seq)
	y.term.Store(at.Term)
	y.position.Store(y.state.Pos)
	y.sentNs.Store(at.SentNs)
	y.publish(max(at.SentNs, y.state.LastNs), true)
	return nil
}

// bound limits the beginning of a replica.
type bound struct {
	pos     uint64 // of the state
	message uint64 // behind which it reads
}

// bound returns how late a replica may begin. One that exports events executes the message of the last event again.
func (y *Following) bound(ctx context.Context) (b bound, err error) {
	f := y.o.Follow
	b = bound{pos: keeper.NoLimit, message: math.MaxUint64}
	if f.Events == nil {
		return b, nil
	}
	end, last, err := f.Events.Last(ctx)
	if err != nil {
		return b, fmt.Errorf("stream of events: %w", err)
	}
	if end == 0 {
		return b, nil
	}
	data, err := f.Log.Read(ctx, last.Source)
	if err != nil {
		return b, fmt.Errorf("the message of the last event: %w", err)
	}
	m, err := stream.Decode(data, y.o.Follow.Keys)
	return bound{pos: m.At.Seq, message: last.Source - 1}, err
}

// restore restores the state, and returns states of the stream whose records it has all, the newest one first.
func (y *Following) restore(ctx context.Context, b bound) (known []stream.State, err error) {
	f := y.o.Follow
	o := y.machineOptions()
	o.Sinks = []func([]engine.Event, uint64){y.fold}
	if f.Copy == nil {
		o.Extras = nil // only a writer's simulated market has to know its orders
	} else if f.Copy.Begun() {
		return y.restoreCopy(ctx, o, b)
	}
	var from *wal.SnapshotFile
	if f.Snapshot != nil {
		if from, err = f.Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	if from != nil {
		defer func() { err = errors.Join(err, from.Close()) }()
	}
	switch {
	case from == nil || from.Meta.Seq > b.pos:
		if from != nil {
			y.log.Warn("the snapshot is behind the last event that was exported: it is not used")
		}
		y.state = machine.New(o)
		return nil, nil
	case f.Copy != nil:
		if err := f.Copy.Adopt(from); err != nil {
			return nil, fmt.Errorf("the copy of this node: %w", err)
		}
		y.fetched = true
		return y.restoreCopy(ctx, o, b)
	}
	y.fetched = true
	h, err := node.ParseHead(from.Meta)
	if err != nil {
		return nil, err
	}
	y.state = machine.New(o)
	if err = y.state.Read(from.Body()); err == nil && y.state.Pos != from.Meta.Seq {
		err = fmt.Errorf("it has the state at record %d", y.state.Pos)
	}
	if err != nil {
		return nil, fmt.Errorf("the snapshot of record %d: %w", from.Meta.Seq, err)
	}
	y.end, y.begun = wal.Position{Seq: from.Meta.Seq, Chain: from.Meta.Chain}, h
	return []stream.State{h.Stream}, nil
}

// restoreCopy restores the state from the snapshots and the log of the copy, as a writer does from its own.
func (y *Following) restoreCopy(ctx context.Context, o machine.Options, b bound) ([]stream.State, error) {
	known, err := y.readCopy(ctx, o, b)
	if damaged := damageIn(err); damaged != nil {
		return nil, fmt.Errorf("%w: %w", node.ErrOffChain, err) // it is put aside
	}
	return known, err
}

func (y *Following) readCopy(ctx context.Context, o machine.Options, b bound) ([]stream.State, error) {
	c := y.o.Follow.Copy
	if b.pos == 0 {
		y.state = machine.New(o)
		return nil, nil
	}
	var found wal.Loaded
	var err error
	if y.state, found, err = keeper.Load(o, y.copyDir(), b.pos); err != nil {
		return nil, err
	}
	known := []stream.State{c.At()}
	if found.OK {
		y.covered = found.Meta.Seq
		h, err := node.ParseHead(found.Meta)
		if err != nil {
			return nil, err
		}
		known, y.begun = append(known, h.Stream), h
	}
	rd, err := c.Log().Reader(y.state.Pos + 1)
	if errors.Is(err, wal.ErrTruncated) {
		return nil, &wal.CorruptError{
			File: c.Dir(), Seq: y.state.Pos + 1, Cause: err, Reason: "no usable snapshot reaches the oldest record",
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = rd.Close() }() // was only read
	for {
		limit := min(b.pos, y.state.Pos+recoverLook)
		if err := keeper.Replay(y.state, rd, limit, nil); err != nil {
			return nil, ExplainPoison(err, c.Dir())
		}
		if y.state.Pos < limit || limit == b.pos {
			break
		}
		done, total := rd.Progress()
		y.front.progress.Store(done * 1_000_000 / max(total, 1))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if y.end, err = c.PositionAt(y.state.Pos); err != nil {
		return nil, err
	}
	return known, found.SetAside(y.o.Machine.FS, y.copyDir().Dir)
}

// copyDir names the log of the copy.
func (y *Following) copyDir() keeper.LogDir {
	c := y.o.Follow.Copy
	return keeper.LogDir{FS: y.o.Machine.FS, Dir: c.LogDir(), Options: c.LogOptions()}
}

// join returns the state of the stream behind which the replica reads: a known one that the stream has, or the one
// before its first message. Then the stream was lost and sent again, or is another one: up to the replica's own
// position nothing is executed, and the chains are compared there.
func (y *Following) join(ctx context.Context, known []stream.State, b bound) (stream.State, error) {
	usable := known[:0]
	for _, k := range known {
		if k.Seq <= b.message && k.End.Seq <= y.state.Pos {
			usable = append(usable, k)
		}
	}
	m := y.o.node()
	at, why, err := node.Begins(ctx, &m, y.o.Follow.Log, usable...)
	if err == nil && why != nil {
		y.log.Warn("the stream was lost, or is another one: it is read from its first message", "reason", why)
	}
	if err == nil && at.Seq == 0 && y.state.Pos > 0 && y.end.Seq != y.state.Pos {
		err = fmt.Errorf("BUG: the state is at record %d, and its chain of record %d", y.state.Pos, y.end.Seq)
	}
	return at, err
}

// learnBehind finds out who the writer is, if the replica reads behind its term record: from the stream, or from the
// snapshot, if the stream does not have the record any more. A standby without the writer's key of secrets is refused.
func (y *Following) learnBehind(ctx context.Context, at stream.State) error {
	m, err := node.NewestTerm(ctx, y.o.Follow.Log, y.o.Follow.Keys)
	if err != nil {
		return err
	}
	if y.o.Follow.Stands {
		if _, err := y.followerKey(infoOf(m.Info).SealedWith); err != nil {
			return err
		}
	}
	switch h := y.begun; {
	case at.Seq == 0:
	case m.Info != nil && m.Term <= at.Term:
		y.learn(m.Term, m.Info)
	case h.Writer != nil && h.Stream.Term == at.Term:
		y.learn(at.Term, h.Writer)
	}
	return nil
}

// copySnapshots is the loop of the keeper of a copy.
type copySnapshots struct{ y *Following }

// Query implements keeper.Loop.
func (c copySnapshots) Query(fn func()) error { return c.y.Query(fn) }

// Position implements keeper.Loop.
func (c copySnapshots) Position() uint64 { return c.y.state.Pos }

// keepSnapshots starts the snapshots of the copy, by the rules of a writer.
func (y *Following) keepSnapshots() {
	c := y.o.Follow.Copy
	if c == nil || !c.Begun() {
		return
	}
	log := c.Log()
	y.keeps = y.snapshotsOf("copy", keeper.Options{
		Loop: copySnapshots{y}, Digest: y.state.Digest, Head: y.head, Log: log, Dir: y.copyDir(),
		Covered: y.covered, CoveredBytes: log.BytesWritten() - log.BytesSince(y.covered),
	})
	y.keeps.Run("snapshots", y.keeps)
}

// head returns the head of a snapshot of the copy.
func (y *Following) head(pos uint64) ([]byte, error) {
	g := y.o.Follow.Genesis
	h := y.headOf(g, g.LedgerNs, y.states.Before(pos))
	y.mu.Lock()
	if h.Stream.Term == y.infoTerm {
		h.Writer = y.infoText
	}
	y.mu.Unlock()
	return h.Text()
}
