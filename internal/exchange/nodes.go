package exchange

import (
	"errors"
	"fmt"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/public"
)

// announcing tells the other nodes of the stream about this one, and hears them. A nil one does nothing.
type announcing struct {
	step.Background
	b         *base
	talk      jet.Talk
	nodes     *node.Nodes
	self      func() node.Announcement
	deaf      func()
	forbidden bool // the servers have refused it, and the log says so
}

// announce begins to announce this node, as self describes it, on a stream whose nodes can speak to each other; nil:
// they cannot.
func (b *base) announce(log jet.Log, self func() node.Announcement) (*announcing, error) {
	talk, ok := log.(jet.Talk)
	if !ok {
		return nil, nil
	}
	id, err := node.NewNumber(b.o.Machine.Random)
	if err != nil {
		return nil, err
	}
	a := &announcing{
		Background: b.o.Machine.background(), b: b, talk: talk, self: self,
		nodes: node.NewNodes(id, b.data.Epoch(), b.clusterKey),
	}
	if a.deaf, err = talk.Hear(func(text []byte) { a.nodes.Take(text, clock.MachineNs()) }); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	a.Run("announce", a)
	return a, nil
}

// Step announces the node. It returns Stopped after End was called.
func (a *announcing) Step() step.Progress {
	if a.Ended() {
		return step.Progress{Stopped: true}
	}
	self := a.self()
	if self.Term == 0 { // it has read nothing yet, and has no lag
		return a.Idle(node.AnnounceEvery)
	}
	err := a.talk.Say(a.nodes.Announce(self, clock.MachineNs()))
	if errors.Is(err, jet.ErrForbidden) && !a.forbidden {
		a.forbidden = true
		a.b.log.Warn("the nodes of the cluster do not see each other: let the account of stream.credentials publish "+
			"and subscribe", "error", err) // which names the subject
	}
	return a.Idle(node.AnnounceEvery)
}

// end ends the announcements.
func (a *announcing) end() {
	if a != nil {
		a.End()
		a.deaf()
	}
}

// list returns the nodes of the stream: the one that self describes, and those that are heard.
func (a *announcing) list(self node.Announcement) []admin.NodeStat {
	all := []node.Heard{{Announcement: self}}
	now := clock.MachineNs()
	all[0].AtNs = now
	if a != nil {
		all = append(all, a.nodes.List(now)...)
	}
	stats := make([]admin.NodeStat, len(all))
	for i := range all {
		n := &all[i]
		stats[i] = admin.NodeStat{
			Address: n.Address, Role: n.Role, Version: n.Version, Term: n.Term, Position: n.Position, LagMs: n.LagMs,
			Stale: n.Stale, Failed: n.Failed, HeardMs: (now - n.AtNs) / int64(time.Millisecond),
		}
	}
	return stats
}

// self describes this node for the others.
func (b *base) self(role string, r *public.Replication) node.Announcement {
	return node.Announcement{
		Address: advertised(b.o.Cluster.Advertise, b.PublicAddr()), Role: role, Version: cmdline.Version,
		Term: r.Term, Position: r.Position, LagMs: r.LagMs, Stale: r.StaleSinceMs != 0, Failed: r.Failed,
	}
}

func (w *writing) self() node.Announcement { return w.x.self(node.RoleWriter, w.status()) }

func (y *Following) self() node.Announcement {
	role := node.RoleReplica
	if y.o.Follow.Stands {
		role = node.RoleStandby
	}
	return y.base.self(role, y.status())
}
