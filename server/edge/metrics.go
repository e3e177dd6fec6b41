package edge

import "sync/atomic"

// Bucket i counts latencies below 2^i us; the last bucket counts everything above 8 s.
const (
	LatencyBuckets = 24
	// latencySample is the sampling rate: one request in 64 is timed. A power of two.
	latencySample = 64
)

// routeStats holds the counters of one route. Any goroutine may read them.
type routeStats struct {
	status  [6]atomic.Uint64 // by status class: index 2 counts 2xx
	latency [LatencyBuckets]atomic.Uint64
	sumNs   atomic.Uint64 // sum over the sampled requests
}

func (r *routeStats) count(status int) { r.status[min(status/100, 5)].Add(1) }

func (r *routeStats) observe(ns int64) {
	us, b := uint64(max(ns, 0))/1000, 0
	for us > 0 && b < LatencyBuckets-1 {
		us >>= 1
		b++
	}
	r.latency[b].Add(1)
	r.sumNs.Add(uint64(max(ns, 0)))
}

// RouteStat is a copy of one route's counters, for metrics. Latency[i] counts the sampled
// requests (1 in LatencySample) below 2^i us that are not in an earlier bucket.
type RouteStat struct {
	Method, Path  string // an empty Path counts the requests that reached no route
	Status        [6]uint64
	Latency       [LatencyBuckets]uint64
	LatencySumNs  uint64
	LatencySample int
}

func (r *routeStats) copy(method, path string) RouteStat {
	s := RouteStat{Method: method, Path: path, LatencySumNs: r.sumNs.Load(), LatencySample: latencySample}
	for i := range s.Status {
		s.Status[i] = r.status[i].Load()
	}
	for i := range s.Latency {
		s.Latency[i] = r.latency[i].Load()
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
