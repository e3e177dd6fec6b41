package conn

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/refuse"
)

// scriptedListener is a listener whose Accept follows a script: it returns the next error, or
// a connection for nil. After the script it blocks until Close.
type scriptedListener struct {
	script chan error
	times  []time.Time // of each call
	closed chan struct{}
}

func newScripted(script ...error) *scriptedListener {
	l := &scriptedListener{script: make(chan error, 1000), closed: make(chan struct{})}
	for _, err := range script {
		l.script <- err
	}
	return l
}

func (l *scriptedListener) Accept() (net.Conn, error) {
	l.times = append(l.times, time.Now())
	select {
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: net.ErrClosed}
	default:
	}
	select {
	case err := <-l.script:
		if err != nil {
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("accept4", err)}
		}
		c, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: net.ErrClosed}
	}
}

func (l *scriptedListener) Close() error { close(l.closed); return nil }
func (l *scriptedListener) Addr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
}

// limitedFor returns the listener of an edge around ln, and the text of its log.
func limitedFor(ln net.Listener) (*listener, *Accepts, *strings.Builder) {
	var text strings.Builder
	stats := NewAccepts(clock.Real{}, slog.New(slog.NewTextHandler(&text, nil)))
	return NewTable(Limits{Total: 100}).listener(ln, stats), stats, &text
}

// A listener keeps working when descriptors or memory run out for a moment: it waits 5 ms,
// doubles the wait at each failure in a row up to 1 s, and restarts at 5 ms after a connection.
func TestAcceptWaitsWhileTheMachineHasNoMore(t *testing.T) {
	for _, short := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS,
		syscall.ENOMEM, syscall.ECONNABORTED,
	} {
		synctest.Test(t, func(t *testing.T) {
			script := make([]error, 10)
			for i := range script {
				script[i] = short
			}
			ln := newScripted(append(script, nil, short, nil)...)
			l, stats, text := limitedFor(ln)
			for range 2 {
				c, err := l.Accept()
				if err != nil {
					t.Fatalf("%v ended the listener: %v", short, err)
				}
				_ = c.Close()
			}
			want := []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000, 0, 5}
			for i, d := range want {
				if got := ln.times[i+1].Sub(ln.times[i]); got != d*time.Millisecond {
					t.Errorf("%v: call %d came %v after the last, want %v", short, i+1, got, d*time.Millisecond)
				}
			}
			if s := stats.Stat("public"); s.Failures != 11 || s.Listener != "public" ||
				!strings.Contains(s.Reason, short.Error()) {
				t.Errorf("%+v", s)
			}
			if n := strings.Count(text.String(), "level=WARN"); n != 1 ||
				!strings.Contains(text.String(), "LimitNOFILE") {
				t.Errorf("%d warnings: %s", n, text)
			}
			_ = l.Close()
			synctest.Wait()
		})
	}
}

// A failure counts as lasting until five seconds have passed without another.
func TestAcceptTroubleLastsUntilItIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stats, text := limitedFor(newScripted(syscall.EMFILE, nil, syscall.ENFILE, nil))
		take := func() {
			t.Helper()
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		if s := stats.Stat(""); s.Reason != "" || s.Failures != 0 {
			t.Errorf("before: %+v", s)
		}
		began := time.Now()
		take()
		if s := stats.Stat(""); s.Reason == "" || s.SinceNs != began.UnixNano() {
			t.Errorf("after a failure: %+v", s)
		}
		<-time.After(acceptFailingFor - 6*time.Millisecond)
		if s := stats.Stat(""); s.Reason == "" {
			t.Errorf("within the calm time: %+v", s)
		}
		<-time.After(2 * time.Millisecond)
		if s := stats.Stat(""); s.Reason != "" || s.Failures != 1 {
			t.Errorf("after the calm time: %+v", s)
		}
		again := time.Now()
		take()
		if s := stats.Stat(""); !strings.Contains(s.Reason, syscall.ENFILE.Error()) ||
			s.SinceNs != again.UnixNano() || s.Failures != 2 {
			t.Errorf("a second time: %+v", s)
		}
		if n := strings.Count(text.String(), "level=WARN"); n != 2 {
			t.Errorf("%d warnings: %s", n, text)
		}
		_ = l.Close()
		synctest.Wait()
	})
}

// Any other error ends the listener at once, and closing the listener ends the wait.
func TestAcceptEndsWithTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stats, _ := limitedFor(newScripted(syscall.EINVAL))
		if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%v", err)
		}
		if s := stats.Stat(""); s.Failures != 0 {
			t.Errorf("%+v", s)
		}
		script := make([]error, 20)
		for i := range script {
			script[i] = syscall.EMFILE
		}
		l, _, _ = limitedFor(newScripted(script...))
		var ended atomic.Bool
		go func() {
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v", err)
			}
			ended.Store(true)
		}()
		<-time.After(2500 * time.Millisecond) // within a wait of 1 s
		if ended.Load() {
			t.Error("the listener ended by itself")
		}
		_ = l.Close()
		synctest.Wait()
		if !ended.Load() {
			t.Error("the wait goes on after Close")
		}
	})
}

// A connection that lingers after a refusal still has its descriptor, so it counts until it
// is closed.
func TestALingeringConnectionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable(Limits{Total: 10})
		near, far := net.Pipe()
		c, why := table.enter(halfConn{near}, AddrOf(nil))
		if why != nil {
			t.Fatalf("%s", why)
		}
		Linger(c)
		closed := make(chan struct{})
		go func() { _ = c.Close(); close(closed) }()
		synctest.Wait() // it reads on
		if n := table.Open(); n != 1 {
			t.Errorf("%d open while one lingers", n)
		}
		_ = far.Close()
		<-closed
		if n := table.Open(); n != 0 {
			t.Errorf("%d open after the end", n)
		}
	})
}

// halfConn is a connection whose writing half can be closed.
type halfConn struct{ net.Conn }

func (halfConn) CloseWrite() error { return nil }

// A refused connection learns the limit and the settings that move it.
func TestRefusedConnectionsNameTheLimit(t *testing.T) {
	table := NewTable(Limits{Total: 70, PerAddress: 7, PerNetwork: 17, Answer: func(r *refuse.Refusal) []byte {
		return []byte(r.Error())
	}})
	for answer, words := range map[string][]string{
		string(table.answerPerIP):  {"RATE_LIMIT: ", "limit of 7 open", "server.connections_per_ip", "rate.allow"},
		string(table.answerPerNet): {"RATE_LIMIT: ", "share of 17 open", "server.connections ", "rate.allow"},
		string(table.answerFull):   {"UNAVAILABLE: ", "limit of 70 open", "server.connections"},
	} {
		for _, word := range words {
			if !strings.Contains(answer, word) {
				t.Errorf("the answer lacks %q: %s", word, answer)
			}
		}
	}
}
