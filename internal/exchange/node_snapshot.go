package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"tickhive/accounts"
	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/machine"
	"tickhive/internal/node"
	"tickhive/internal/refuse"
	"tickhive/internal/seal"
	"tickhive/internal/stream"
	"tickhive/internal/wal"
	"tickhive/server/admin"
)

// chooseSnapshot opens the snapshot with which a replica begins, if there is one. One that exports events
// begins before the message of the last event.
func (r *restored) chooseSnapshot(ctx context.Context) (err error) {
	f := r.o.Follow
	if f == nil {
		return nil
	}
	until := uint64(math.MaxUint64)
	if f.Events != nil {
		end, last, err := f.Events.Last(ctx)
		if err != nil {
			return fmt.Errorf("stream of events: %w", err)
		}
		if end > 0 {
			until = last.Source - 1
		}
	}
	c := node.Choice{
		Log: f.Log, Genesis: f.Genesis, Until: until, Peers: f.Peers, Token: r.o.Internal.Token,
		Whole: f.Copy != nil && r.o.Sim.Enabled, Report: r.log,
	}
	if r.clusterKey != nil {
		c.Key = r.clusterKey
	}
	if r.from, err = c.Choose(ctx); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if f.Copy == nil {
		return nil
	}
	if err := f.Copy.Join(ctx, f.Log, r.from); err != nil {
		r.from.Close()
		return fmt.Errorf("the copy of this node: %w", err)
	}
	return nil
}

// begins returns the state of the stream behind the snapshot, or before the first message.
func (r *restored) begins() (at stream.State) {
	if r.from != nil {
		at = r.from.At
	}
	return at
}

// initial returns the snapshot with which a store begins, nil: it is empty.
func (r *restored) initial(log stream.Log) []byte {
	if r.from == nil {
		return nil
	}
	return r.from.Store(log)
}

// beginWith makes the accounts begin with the snapshot.
func (r *restored) beginWith(o *accounts.StoreOptions) {
	if r.from != nil {
		o.Initial, o.EngineLast = r.initial(stream.Accounts), r.from.At.Pos.Of(stream.Engine)
	}
}

// begin reads the market's part of a snapshot and publishes it.
func (y *Following) begin(s *node.Snapshot) error {
	if s == nil {
		return nil
	}
	if err := s.Market(y.market.Read); err != nil {
		return fmt.Errorf("the archived snapshot of message %d: %w", s.At.Seq, err)
	}
	if want := s.At.Pos.Of(stream.Engine); y.market.Pos != want {
		return fmt.Errorf("%w: it has the market at record %d, not %d", node.ErrSnapshot, y.market.Pos, want)
	}
	y.chains.BeginAt(&s.Head)
	if c := y.o.Follow.Copy; c != nil && !c.Begun() {
		if err := y.beginCopy(&s.Head); err != nil {
			return fmt.Errorf("the copy of this node: %w", err)
		}
	}
	if y.export != nil {
		y.export.Begin(y.core)
	}
	y.info, y.infoText, y.valid = infoOf(s.Writer), s.Writer, s.At.Seq
	y.front.forward.Lead(y.info.writer(s.At.Term))
	y.heardNs.Store(clock.MachineNs())
	y.read.Store(s.At.Seq)
	y.term.Store(s.At.Term)
	y.position.Store(y.market.Pos)
	y.sentNs.Store(s.At.SentNs)
	y.publish(s.At.SentNs, true)
	return nil
}

// beginCopy begins the copy behind the snapshot with which this node begins. The copy has the snapshot, too: a data
// directory that is made from it needs nothing else.
func (y *Following) beginCopy(h *node.Head) error {
	c := y.o.Follow.Copy
	if err := c.BeginAt(h); err != nil {
		return err
	}
	if err := y.snapshotCopy(); err != nil {
		return err
	}
	return c.Note(h.At)
}

// snapshotCopy writes snapshots of the last records into the copy.
func (y *Following) snapshotCopy() error {
	for log := stream.Engine; log <= stream.Accounts; log++ {
		reflects, write, err := y.snapshotOf(log, y.market)
		if err == nil {
			err = y.o.Follow.Copy.Snapshot(log, reflects, write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// archive starts to archive snapshots, if the node is to.
func (y *Following) archive(ctx context.Context) {
	f := y.o.Follow
	if f.Copy == nil || f.ArchiveEvery == 0 {
		return
	}
	failing := false
	a := node.Archivist{
		Log: f.Log, Every: f.ArchiveEvery, Trim: f.Trim, Take: y.snapshot,
		Report: func(seq uint64, bytes int64, err error) {
			switch {
			case err == nil:
				y.log.Info("a snapshot is archived", "message", seq, "bytes", bytes)
			case !failing:
				y.incident("stream", "no snapshot can be archived", err.Error())
			}
			failing = err != nil
		},
	}
	y.archives.Go(func() { a.Run(ctx) })
}

// snapshot writes a snapshot of this node. No message is executed meanwhile.
func (y *Following) snapshot(w io.Writer) (seq uint64, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	at := y.reader.State()
	if at.Seq != y.valid || at.Rules < node.Rules {
		return 0, nil // the next beat will do; or nodes of the writer's earlier version could not begin with it
	}
	head := node.Head{
		Version: cmdline.Version, TakenMs: clock.MachineNs() / 1e6, At: at, Chains: y.chains.Chains(),
		Genesis: y.o.Follow.Genesis, Writer: json.RawMessage(y.infoText),
		Bare: y.sim == nil && y.info.Sim != SimOff,
	}
	writes, err := y.writeSnapshots(&head, y.market)
	if err != nil {
		return 0, err
	}
	return at.Seq, node.WriteSnapshot(w, &head, writes)
}

// offer describes the snapshots of a replica.
func (y *Following) offer() node.Offer {
	y.mu.Lock()
	defer y.mu.Unlock()
	o := node.Offer{Role: node.RoleReplica, Seq: y.valid, Bare: y.sim == nil && y.info.Sim != SimOff}
	if y.o.Follow.Stands {
		o.Role = node.RoleStandby
	}
	return o
}

// keptSnapshot returns a kept snapshot of this node by its entity tag, nil if there is none, or takes one for an empty
// tag.
func (f *front) keptSnapshot(tag string) (*admin.Snapshot, *refuse.Refusal) {
	var k *node.Kept
	var err error
	y, x := f.phase.Load().follows, f.phase.Load().running
	switch {
	case tag == admin.AnySnapshot:
		k, err = f.kept.Find("")
	case tag != "":
		k, err = f.kept.Find(tag)
	case y != nil:
		k, err = f.kept.Take(y.snapshot)
	case x != nil && x.mirror.Load() != nil:
		k, err = f.kept.Take(x.mirror.Load().snapshot)
	default:
		return nil, refuse.New(refuse.Conflict, "", "This node has no stream.")
	}
	switch {
	case errors.Is(err, node.ErrTaking):
		return nil, refuse.New(refuse.Conflict, "", "A snapshot is being taken: wait for its end.").After(1)
	case errors.Is(err, node.ErrReading):
		return nil, refuse.New(refuse.Conflict, "", "Other snapshots are being read: wait for their end.").After(1)
	case err != nil:
		if !errors.Is(err, node.ErrNone) {
			f.log.Error("snapshot failed", "error", err)
		}
		return nil, refuse.Later(1, "The snapshot cannot be taken now.")
	case k == nil:
		return nil, nil
	}
	return &admin.Snapshot{Tag: k.Tag, Size: k.Size, Body: k}, nil
}

// snapshotOf returns what writes the snapshot of a log's state, and what that reflects (wal.SnapshotMeta). The
// accounts' is sealed, if there is a key.
func (r *restored) snapshotOf(log stream.Log, market *machine.State) (
	reflects uint64, write func(w io.Writer) error, err error,
) {
	if log == stream.Engine {
		return 0, func(w io.Writer) error { return market.Write(w, nil) }, nil
	}
	s, err := r.encode()
	return s.reflects, s.write, err
}

// encoded is the state of the accounts.
type encoded struct {
	at       wal.Position // of the last record that it reflects; zero in a replica, whose store has no log
	reflects uint64       // record of another log (wal.SnapshotMeta)
	write    func(w io.Writer) error
}

// encode encodes the state of the accounts.
func (r *restored) encode() (s encoded, err error) {
	var body []byte
	a := r.accounts
	err = a.store.WithState(func() {
		body, s.reflects = a.state.AppendSnapshot(nil), a.state.ReflectsSeq()
		if log := a.store.Log(); log != nil {
			s.at = log.Position()
		}
	})
	s.write = func(w io.Writer) error {
		if r.secrets != nil && !r.secrets.Empty() {
			body = r.secrets.Seal(nil, body, seal.Snapshot)
		}
		_, err := w.Write(body)
		return err
	}
	return s, err
}
