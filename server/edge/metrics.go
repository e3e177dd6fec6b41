package edge

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/server/json"
)

// routeStats holds the counters of one route. Any goroutine may read them.
type routeStats struct {
	// status counts by status class: index 2 counts 2xx, index StatusStale the reads of a seq that is not there
	status  [6]atomic.Uint64
	latency clock.Histogram
}

// StatusStale is the index of RouteStat.Status that counts answers with 503 STALE to a read that asks for a seq
// (X-Min-Seq). The client chooses the seq, so they say nothing about the server's health.
const StatusStale = 0

func (r *routeStats) count(status int) { r.status[min(status/100, 5)].Add(1) }

// RouteStat is a copy of one route's counters, for metrics.
type RouteStat struct {
	Method, Path string // an empty Path counts the requests that reached no route
	Status       [6]uint64
	Latency      clock.Counts // from the complete request to the complete answer, without the time on the wire
}

func (r *routeStats) copy(method, path string) RouteStat {
	s := RouteStat{Method: method, Path: path, Latency: r.latency.Counts()}
	for i := range s.Status {
		s.Status[i] = r.status[i].Load()
	}
	return s
}

// Stats returns the counters of all routes of this listener.
func (e *Listener) Stats() []RouteStat {
	all := []RouteStat{e.other.copy("", "")}
	for _, r := range e.Table {
		all = append(all, r.stats.copy(r.Method, r.Path))
	}
	return all
}

// limitReasons names the limits by which requests are refused with 429.
var limitReasons = [limitedByEdge]string{"address", "user", "key", "streamed"}

const (
	limitAddress = iota
	limitUser
	limitKey
	limitStreamed
	limitedByEdge // the number of the reasons above: conn.Table counts the others
)

// limitCounts counts refusals by limitReasons.
type limitCounts [limitedByEdge]atomic.Uint64

// Limited returns the number of refusals by limits since the start, of requests and of connections, by the reason.
func (s *Server) Limited() map[string]uint64 {
	_, all := s.listeners()
	refused := s.conns.Refused()
	out := map[string]uint64{
		"connections": refused.Total, "connections_address": refused.Address, "connections_network": refused.Network,
	}
	for i, reason := range limitReasons {
		for _, l := range all {
			out[reason] += l.limited[i].Load()
		}
	}
	return out
}

// Incident is one entry of the status page: Count equal ones, the newest at AtMs. The message is for everybody, and
// the detail, which may name files, addresses and users, for the operator.
type Incident struct {
	AtMs, FirstMs   int64
	Count           int64
	Kind            string
	Message, Detail string
}

// Write writes the incident. withDetail is set for the operator alone.
func (in *Incident) Write(w *json.Writer, withDetail bool) {
	w.Object()
	w.Name("at").Int(in.AtMs)
	w.Name("kind").Text(in.Kind)
	w.Name("message").Text(in.Message)
	w.Name("count").Int(in.Count)
	w.Name("firstAt").Int(in.FirstMs)
	if withDetail {
		w.Name("detail").Text(in.Detail)
	}
	w.EndObject()
}
