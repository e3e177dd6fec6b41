package edge

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tickhive/internal/clock"
	"tickhive/server/encode"
)

// Pauses after a failed accept, and the time after the last failure for which the listener still counts as
// failing. (Ending connections let single accepts succeed meanwhile.)
const (
	acceptPauseMin   = 5 * time.Millisecond
	acceptPauseMax   = time.Second
	acceptFailingFor = 5 * time.Second
)

// shortages lists the transient errors of accept: the process or the machine lacks descriptors or memory at the
// moment, or the client has already gone. The listener continues after them. fasthttp would end Serve, and
// thereby the program.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}

func isShortage(err error) bool {
	for _, e := range shortages {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// limitedListener refuses connections beyond the table's limits, counts the others, and
// retries after shortages. One goroutine calls Accept; any goroutine may call Close.
type limitedListener struct {
	net.Listener
	table *ConnTable
	stats *acceptStats
	pause time.Duration // before the next accept; 0 after a connection
	once  sync.Once
	ended chan struct{} // closed by Close
}

func newLimitedListener(ln net.Listener, table *ConnTable, stats *acceptStats) *limitedListener {
	return &limitedListener{Listener: ln, table: table, stats: stats, ended: make(chan struct{})}
}

// Accept returns the next connection within the limits.
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
		counted, why := l.table.enter(c, ip)
		if why == nil {
			return counted, nil
		}
		if l.table.limits.TLS != nil {
			_ = c.Close() // the client would take the text for a broken handshake
			continue
		}
		// The write does not block, because the socket's send buffer is empty.
		_ = c.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = c.Write(why)
		_ = c.Close()
	}
}

// wait waits before the next accept, twice as long as before, or until Close.
func (l *limitedListener) wait() {
	l.pause = min(max(2*l.pause, acceptPauseMin), acceptPauseMax)
	timer := time.NewTimer(l.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ended:
	}
}

// Close closes the listener and ends a wait in progress.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// AcceptStat is the state of a listener's accepts.
type AcceptStat struct {
	Listener string // public, aggregator or internal
	Failures uint64 // since the start
	// Reason is the error with which accept currently fails; empty while it succeeds.
	Reason  string
	SinceNs int64 // process clock; time of the first of the current failures
}

// acceptStats counts the failed accepts of a listener. Any goroutine may use it.
type acceptStats struct {
	clock clock.Clock
	log   *slog.Logger

	mu       sync.Mutex
	failures uint64
	reason   string
	sinceNs  int64     // process clock, of the first failure in a row
	last     time.Time // of the last failure; monotonic, so a clock step does not end the failure
}

// failed records a failure. It logs only the first one after acceptFailingFor without failures.
func (a *acceptStats) failed(at net.Addr, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.failing() {
		a.sinceNs = a.clock.NowNs()
		a.log.Warn("a listener cannot accept connections; it tries again until it can", "listener",
			at.String(), "error", err,
			"remedy", "raise the limit of open files: ulimit -n, LimitNOFILE= of the unit, fs.file-max of the machine")
	}
	a.failures++
	a.reason, a.last = err.Error(), time.Now()
}

// failing reports whether the listener still counts as failing. The caller holds mu.
func (a *acceptStats) failing() bool { return a.failures > 0 && time.Since(a.last) < acceptFailingFor }

// Stat returns a copy, labelled with the listener's name.
func (a *acceptStats) Stat(name string) AcceptStat {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := AcceptStat{Listener: name, Failures: a.failures}
	if a.failing() {
		s.Reason, s.SinceNs = a.reason, a.sinceNs
	}
	return s
}

// Incident returns an entry for the status page. lasts reports that accepts still fail.
func (s AcceptStat) Incident() (in Incident, lasts bool) {
	at := encode.FloorDiv(s.SinceNs, 1_000_000)
	return Incident{
		AtMs: at, FirstMs: at, Count: 1, Kind: "listener", Detail: s.Reason,
		Message: fmt.Sprintf("the %s listener cannot accept connections; it tries again until it can", s.Listener),
	}, s.Reason != ""
}

// Incident is one entry of the status page: Count equal ones, the newest at AtMs. The message is for everybody, and
// the detail, which may name files, addresses and users, for the operator.
type Incident struct {
	AtMs, FirstMs   int64
	Count           int64
	Kind            string
	Message, Detail string
}

// Append appends the incident as JSON. withDetail is set for the operator alone.
func (in *Incident) Append(dst []byte, withDetail bool) []byte {
	dst = strconv.AppendInt(append(dst, `{"at":`...), in.AtMs, 10)
	dst = encode.AppendString(append(dst, `,"kind":`...), in.Kind)
	dst = encode.AppendString(append(dst, `,"message":`...), in.Message)
	dst = strconv.AppendInt(append(dst, `,"count":`...), in.Count, 10)
	dst = strconv.AppendInt(append(dst, `,"firstAt":`...), in.FirstMs, 10)
	if withDetail {
		dst = encode.AppendString(append(dst, `,"detail":`...), in.Detail)
	}
	return append(dst, '}')
}
