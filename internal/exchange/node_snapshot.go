package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/node"
	"tickhive/internal/refuse"
	"tickhive/internal/stream"
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

// begin reads a snapshot, if there is one, and publishes the state.
func (y *Following) begin(s *node.Snapshot) error {
	if s == nil {
		return y.show()
	}
	if err := s.Body(y.state.Read); err != nil {
		return fmt.Errorf("the archived snapshot of message %d: %w", s.At.Seq, err)
	}
	if want := s.At.Pos; y.state.Pos != want {
		return fmt.Errorf("%w: it has the state at record %d, not %d", node.ErrSnapshot, y.state.Pos, want)
	}
	if err := y.show(); err != nil {
		return err
	}
	y.end = s.End()
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
	y.position.Store(y.state.Pos)
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

// snapshotCopy writes a snapshot of the last record into the copy.
func (y *Following) snapshotCopy() error { return y.o.Follow.Copy.Snapshot(y.writeState) }

// writeState writes the state.
func (y *Following) writeState(w io.Writer) error { return y.state.Write(w, nil) }

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
		Version: cmdline.Version, TakenMs: clock.MachineNs() / 1e6, At: at, Chain: y.end.Chain,
		Genesis: y.o.Follow.Genesis, Writer: json.RawMessage(y.infoText),
		Bare: y.sim == nil && y.info.Sim != SimOff,
	}
	return at.Seq, node.WriteSnapshot(w, &head, y.writeState)
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
