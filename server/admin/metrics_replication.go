package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"tickhive/internal/clock"
)

// ReplicationStat holds the figures of a node of a cluster.
type ReplicationStat struct {
	Role           string // writer or replica
	Term, Position uint64
	LagMs          int64
	// Acks holds the times until the stream has confirmed the records of a writer; nil: a replica.
	Acks *clock.Counts
	// Void counts the messages of former writers that a replica has passed over.
	Void uint64
	// Forwarded counts the requests of a replica by their outcome; nil: a writer.
	Forwarded map[string]uint64
}

var (
	descTerm     = metric("stream_term", "Number of writers that the stream has had.", "role")
	descPosition = metric("stream_position", "Last command that the stream has confirmed, or the replica executed.",
		"role")
	descLag       = metric("stream_lag_seconds", "Age of what the stream has, or the replica shows.", "role")
	descAcks      = metric("stream_ack_seconds", "Time until the stream has confirmed a writer's records.", "role")
	descVoid      = metric("stream_void_total", "Messages of former writers that a replica has passed over.", "role")
	descForwarded = metric("forwarded_total", "Requests that a replica was to send to the writer, by the outcome.",
		"outcome")
)

var replicationDescs = []*prometheus.Desc{descTerm, descPosition, descLag, descAcks, descVoid, descForwarded}

func (m *metrics) collectReplication(ch chan<- prometheus.Metric) {
	r := m.src.Replication()
	if r == nil {
		return
	}
	gauge(ch, descTerm, float64(r.Term), r.Role)
	gauge(ch, descPosition, float64(r.Position), r.Role)
	gauge(ch, descLag, float64(r.LagMs)/1e3, r.Role)
	if r.Acks != nil {
		histogram(ch, descAcks, r.Acks, r.Role)
	}
	if r.Forwarded == nil {
		return
	}
	counter(ch, descVoid, r.Void, r.Role)
	for outcome, n := range r.Forwarded {
		counter(ch, descForwarded, n, outcome)
	}
}
