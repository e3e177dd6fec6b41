package exchange

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"

	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/node"
	"tickhive/internal/refuse"
	"tickhive/internal/stream/jet"
	"tickhive/server/admin"
	"tickhive/server/forward"
)

// ClusterOptions configures how the nodes of a cluster reach each other.
type ClusterOptions struct {
	// Advertise is HOST:PORT, under which other nodes reach the public listener; empty: the listener's address,
	// unless that is 0.0.0.0 or [::].
	Advertise string
	// KeyFile has the key that all nodes share, relative to the data directory; a writer makes it if absent. Empty:
	// a replica forwards nothing.
	KeyFile string
	Roots   *x509.CertPool // by which the certificate of the writer is verified; nil: those of the machine
}

// termInfo holds what a term record tells about its writer.
type termInfo struct {
	Version string `json:"version"`
	Address string `json:"address,omitempty"`
	TLS     bool   `json:"tls,omitempty"`
	KeyID   string `json:"keyId,omitempty"` // of the cluster's key
	// Quorum reports that nothing is acknowledged before the stream has it.
	Quorum bool   `json:"quorum,omitempty"`
	Sim    string `json:"sim,omitempty"` // settings of the simulated market
}

// openCluster reads the key of the cluster. A replica makes none, because no other node would have it.
func (b *base) openCluster() error {
	path := b.o.Cluster.KeyFile
	if path == "" {
		return nil
	}
	text, err := b.data.Token(path, b.o.Follow == nil)
	if err == nil {
		b.clusterKey, err = forward.NewKey(text)
	}
	if err != nil {
		return fmt.Errorf("cluster.key_file: %w", err)
	}
	return nil
}

// termRecord returns the information in a term record of this exchange.
func (b *base) termRecord() ([]byte, error) {
	return json.Marshal(termInfo{
		Version: cmdline.Version, Address: advertised(b.o.Cluster.Advertise, b.PublicAddr()),
		TLS: b.o.Public.Certificate != nil, KeyID: b.clusterKey.ID(),
		Quorum: b.o.Stream.Quorum, Sim: b.o.Stream.Sim,
	})
}

// advertised returns the address under which other nodes reach a listener, empty if it is not known.
func advertised(configured, listens string) string {
	if configured != "" {
		return configured
	}
	host, _, err := net.SplitHostPort(listens)
	if ip, ipErr := netip.ParseAddr(host); err != nil || ipErr != nil || ip.IsUnspecified() {
		return ""
	}
	return listens
}

// announce answers the nodes that look for a snapshot, until stop is called, if other nodes reach this one.
func (b *base) announce(log jet.Log, epoch string, offer func() node.Offer) (stop func()) {
	at := offered(b.o.Cluster.Advertise, b.InternalAddr())
	if at == "" || b.clusterKey == nil {
		return func() {}
	}
	stop, err := node.Announce(log, epoch, b.clusterKey, func() node.Offer {
		o := offer()
		o.Address = at
		return o
	})
	if err != nil {
		b.log.Warn("other nodes do not find the snapshots of this one", "error", err)
		return func() {}
	}
	return stop
}

// offered returns the address under which other nodes reach the internal listener, if the public one is advertised;
// empty: they do not reach it.
func offered(advertised, listens string) string {
	outside, _, err := net.SplitHostPort(advertised)
	host, port, listenErr := net.SplitHostPort(listens)
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case err != nil || listenErr != nil || ipErr != nil:
		return ""
	case ip.IsUnspecified():
		return net.JoinHostPort(outside, port)
	case ip.IsLoopback() && outside != "localhost":
		if to, err := netip.ParseAddr(outside); err != nil || !to.IsLoopback() {
			return ""
		}
	}
	return listens
}

// infoOf returns what a term record tells, nothing for a text that is none.
func infoOf(text []byte) (info termInfo) {
	if err := json.Unmarshal(text, &info); err != nil {
		return termInfo{}
	}
	return info
}

func (t *termInfo) writer(term uint64) forward.Writer {
	return forward.Writer{Term: term, Address: t.Address, TLS: t.TLS, KeyID: t.KeyID}
}

// forwarder returns what sends the requests of a replica to the writer, nil for a writer.
func (b *base) forwarder() *forward.Forwarder {
	if b.o.Follow == nil {
		return nil
	}
	return forward.New(forward.Options{Key: b.clusterKey, Roots: b.o.Cluster.Roots, NowNs: clock.MachineNs})
}

// notWriter returns the function that refuses what only the writer executes, nil for a writer.
func (f *front) notWriter() func() *refuse.Refusal {
	if f.forward == nil {
		return nil
	}
	return f.forward.NotWriter
}

// published returns the function whose channel is closed when the views of a replica change, nil for a writer.
func (f *front) published(b *base) func() <-chan struct{} {
	if b.o.Follow == nil {
		return nil
	}
	return func() <-chan struct{} {
		if y := f.phase.Load().follows; y != nil {
			return y.changes.Wait()
		}
		return nil
	}
}

// newReplica describes a replica for the listeners, nil for a writer.
func (f *front) newReplica(b *base) *forward.Replica {
	if f.forward == nil {
		return nil
	}
	return &forward.Replica{
		LagNs: func() int64 {
			if y := f.phase.Load().follows; y != nil {
				return y.lagNs()
			}
			return 0
		},
		Published: f.published(b),
		MaxLagNs:  int64(b.o.Follow.MaxLag), Forward: f.forward,
	}
}

// replicationStat returns the figures of this node for a scrape, nil if it is no node.
func (f *front) replicationStat() *admin.ReplicationStat {
	s := f.phase.Load()
	if y := s.follows; y != nil {
		r := y.status()
		answered, unreached, unknown := f.forward.Counts()
		return &admin.ReplicationStat{
			Role: r.Role, Term: r.Term, Position: r.Position, LagMs: r.LagMs, Void: y.void.Load(),
			Forwarded: map[string]uint64{"answered": answered, "unreached": unreached, "unanswered": unknown},
		}
	}
	if s.running == nil {
		return nil
	}
	if m := s.running.mirror.Load(); m != nil {
		r, acks := m.status(), m.Acks()
		return &admin.ReplicationStat{Role: r.Role, Term: r.Term, Position: r.Position, LagMs: r.LagMs, Acks: &acks}
	}
	return nil
}
