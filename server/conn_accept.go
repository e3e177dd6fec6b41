package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"tickhive/internal/clock"
)

// Waits of a listener that could not take a connection, and how long after the last
// failure it counts as failing: connections that end let some in between.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
	acceptCalm     = 5 * time.Second
)

// shortages are errors of accept that pass: the process or the machine has no descriptor or
// no memory left at the moment, or the client is gone already. They leave the listener as
// it was; fasthttp would end Serve for each of them, and the program with it.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}

func isShortage(err error) bool {
	for _, e := range shortages {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// limitedListener refuses connections beyond the table's limits, hands out the rest
// counted, and outlasts shortages. Accept belongs to one goroutine, Close to any.
type limitedListener struct {
	net.Listener
	table *connTable
	stats *acceptStats
	pause time.Duration // before the next try; 0 after a connection
	once  sync.Once
	ended chan struct{} // closed by Close
}

func newLimitedListener(ln net.Listener, table *connTable, stats *acceptStats) *limitedListener {
	return &limitedListener{Listener: ln, table: table, stats: stats, ended: make(chan struct{})}
}

// Accept is the next connection within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !isShortage(err) {
				return nil, err
			}
			l.stats.failed(l.Addr(), err)
			l.wait()
			continue
		}
		l.pause = 0
		ip := addrOf(c.RemoteAddr())
		why := l.table.enter(ip)
		if why == nil {
			return l.table.serve(c, ip), nil
		}
		// The write goes into the empty buffer of a new socket: it never blocks for long.
		_ = c.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = c.Write(why)
		_ = c.Close()
	}
}

// wait waits before the next try, twice as long as the last time, or until Close.
func (l *limitedListener) wait() {
	l.pause = min(max(2*l.pause, acceptPauseMin), acceptPauseMax)
	timer := time.NewTimer(l.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ended:
	}
}

// Close ends the listener and a wait under way.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// AcceptStat is how a listener fares at taking connections.
type AcceptStat struct {
	Listener string // public, aggregator or internal
	Failures uint64 // since the start
	// Reason is why it takes none at the moment, empty while it takes them.
	Reason  string
	SinceNs int64 // process clock; since when Reason holds
}

// acceptStats count what a listener could not take. Any goroutine may use them.
type acceptStats struct {
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	failures uint64
	reason   string
	sinceNs  int64     // process clock, of the first failure in a row
	last     time.Time // of the last failure; monotonic, so a step of the clock is no calm
}

// failed notes a failure. The first one after a calm time is logged.
func (a *acceptStats) failed(at net.Addr, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.lasts() {
		a.sinceNs = a.clock.NowNs()
		a.log.Warn("a listener cannot accept connections; it tries again until it can", "listener", at.String(), "error", err,
			"remedy", "raise the limit of open files: ulimit -n, LimitNOFILE= of the unit, fs.file-max of the machine")
	}
	a.failures++
	a.reason, a.last = err.Error(), time.Now()
}

// lasts reports whether the last failure is not over; for holders of mu.
func (a *acceptStats) lasts() bool { return a.failures > 0 && time.Since(a.last) < acceptCalm }

// stat is a copy under the listener's name.
func (a *acceptStats) stat(name string) AcceptStat {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := AcceptStat{Listener: name, Failures: a.failures}
	if a.lasts() {
		s.Reason, s.SinceNs = a.reason, a.sinceNs
	}
	return s
}

// Incident is the entry of the status page while the listener takes no connections.
func (s AcceptStat) Incident() (in Incident, lasts bool) {
	return Incident{
		AtMs: floorDiv(s.SinceNs, 1_000_000), Kind: "listener",
		Message: fmt.Sprintf("the %s listener cannot accept connections: %s; it tries again until it can", s.Listener, s.Reason),
	}, s.Reason != ""
}
