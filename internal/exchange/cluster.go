package exchange

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/netip"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/forward"
)

// termInfo holds what a term record tells about its writer.
type termInfo struct {
	Version string `json:"version"`
	Address string `json:"address,omitempty"`
	TLS     bool   `json:"tls,omitempty"`
	KeyID   string `json:"keyId,omitempty"` // of the cluster's key
	// Quorum reports that nothing is acknowledged before the stream has it.
	Quorum bool   `json:"quorum,omitempty"`
	Sim    string `json:"sim,omitempty"` // settings of the simulated market
	// SealedWith is the id of the key with which the writer seals secrets; empty: with none.
	SealedWith string `json:"sealedWith,omitempty"`
	// Internal is the URL of the internal listener, empty if other nodes do not reach it.
	Internal string `json:"internal,omitempty"`
}

// openCluster reads the keys of the cluster.
func (b *base) openCluster() (err error) {
	b.clusterKey = b.o.Cluster.Key
	if path := b.o.Cluster.KeyFile; path != "" && b.clusterKey == nil {
		b.clusterKey, err = b.data.ClusterKey(path)
	}
	return err
}

// internalTLS returns how the internal listener at an address encrypts its connections: with the certificate of
// internal.cert, for other nodes with the one of the cluster's key, else not at all, which only a loopback address and
// a socket may have.
func (b *base) internalTLS(at net.Addr) (*tls.Config, error) {
	own := b.o.Certificates.Internal
	switch {
	case own == nil && admin.Loopback(at), at.Network() == "unix":
		return nil, nil
	case own == nil && b.clusterKey == nil:
		return nil, cmdline.UsageError{Err: fmt.Errorf("internal.listen: %s is not a loopback address, so it needs "+
			"TLS: set cluster.key_file, or internal.cert and internal.key", at)}
	case b.clusterKey == nil:
		return own.Config(nil), nil
	}
	ofKey, err := b.clusterKey.ServerTLS()
	if err != nil {
		return nil, err
	}
	if own == nil {
		ofKey.NextProtos = []string{"http/1.1"}
		return ofKey, nil
	}
	return own.Config(func(hello *tls.ClientHelloInfo) *tls.Certificate {
		if hello.ServerName == clusterkey.ServerName {
			return &ofKey.Certificates[0]
		}
		return nil
	}), nil
}

// termRecord returns the information in a term record of this exchange.
func (b *base) termRecord() ([]byte, error) {
	return json.Marshal(termInfo{
		Version: cmdline.Version, Address: advertised(b.o.Cluster.Advertise, b.PublicAddr()),
		TLS: b.o.Certificates.Public != nil, KeyID: b.clusterKey.ID(),
		Quorum: b.o.Stream.Quorum, Sim: b.o.Stream.Sim, SealedWith: b.secrets.ID(), Internal: b.internalURL(),
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

// internalURL returns the URL under which other nodes reach the internal listener, empty if they do not.
func (b *base) internalURL() string {
	at := inside(b.o.Cluster.Advertise, b.InternalAddr())
	switch {
	case at == "":
		return ""
	case b.internal == nil:
		return "http://" + at
	}
	return "https://" + at
}

// inside returns the address under which other nodes reach the internal listener, whose host is that of the advertised
// address if it listens at all addresses; empty: they do not reach it.
func inside(advertised, listens string) string {
	host, port, err := net.SplitHostPort(listens)
	ip, ipErr := netip.ParseAddr(host)
	if err != nil || ipErr != nil {
		return ""
	}
	outside, _, err := net.SplitHostPort(advertised)
	switch {
	case err != nil && ip.IsUnspecified():
		return ""
	case ip.IsUnspecified():
		return net.JoinHostPort(outside, port)
	case err == nil && ip.IsLoopback() && outside != "localhost":
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

// viewChanges is the sink that wakes the requests that wait for newer views.
type viewChanges struct{ node.Changes }

// Fold implements sequencer.Sink.
func (*viewChanges) Fold([]engine.Event, uint64) {}

// Publish implements sequencer.Sink.
func (c *viewChanges) Publish(int64) { c.Tell() }

// NextNs implements sequencer.Sink.
func (*viewChanges) NextNs() int64 { return math.MaxInt64 }

// showsLate reports whether a client may have seen more at another node. A replica is behind its writer. A writer under
// quorum shows a record when it hears that the stream has it; a replica may have read the record before.
func (o *Options) showsLate() bool { return o.Follow != nil || o.quorum() }

// published returns the function whose channel is closed when the views change, nil where no other node shows them
// earlier.
func (f *front) published(b *base) func() <-chan struct{} {
	if !b.o.showsLate() {
		return nil
	}
	return f.changes.Wait
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
		Published: f.published(b), Driver: b.o.Machine.Driver,
		MaxLagNs: int64(b.o.Follow.MaxLag), Forward: f.forward,
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
			Nodes:     y.tells.list(y.self()),
			Forwarded: map[string]uint64{"answered": answered, "unreached": unreached, "unanswered": unknown},
		}
	}
	if s.running == nil {
		return nil
	}
	if m := s.running.stream.Load(); m != nil {
		r, acks := m.status(), m.Acks()
		return &admin.ReplicationStat{
			Role: r.Role, Term: r.Term, Position: r.Position, LagMs: r.LagMs, Acks: &acks,
			Nodes: m.tells.list(m.self()),
		}
	}
	return nil
}
