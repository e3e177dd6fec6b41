package harness

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Cutter is a TCP proxy in front of the program that cuts WebSockets: the first after one message of the server, the
// next after two and so on up to most, then again after one. It cuts in the middle of the next message. It also cuts in
// the middle of an answer to a request, each fiftieth time, so that some dozens of answers in a row are whole. A
// WebSocket may begin on a connection that has had answers.
type Cutter struct {
	Ln   net.Listener
	Cuts atomic.Int64 // of WebSockets
	// Heard gets a value for every fourth message that is passed behind the opening of a line, unless the one before
	// waits.
	Heard chan struct{}

	most, cuts int64
	answers    atomic.Int64 // to requests
	target     atomic.Pointer[string]
	all        sync.WaitGroup
	mu         sync.Mutex
	conns      map[net.Conn]struct{} // nil: the proxy has ended
}

// opening is the number of messages with which the line of a private stream begins, without the last.
const opening = 4

// NewCutter opens a proxy that makes a number of cuts. It closes with the test.
func NewCutter(t *testing.T, target string, most, cuts int64) *Cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Cutter{Ln: ln, Heard: make(chan struct{}, 1), most: most, cuts: cuts, conns: map[net.Conn]struct{}{}}
	l.Aim(t, target)
	l.all.Go(l.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		l.mu.Lock()
		for c := range l.conns {
			_ = c.Close()
		}
		l.conns = nil
		l.mu.Unlock()
		l.all.Wait()
	})
	return l
}

// Aim sets the address of the program, for example after its restart.
func (l *Cutter) Aim(t *testing.T, target string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l.target.Store(&u.Host)
}

func (l *Cutter) URL() string { return "http://" + l.Ln.Addr().String() }

func (l *Cutter) accept() {
	for {
		in, err := l.Ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", *l.target.Load())
		if err != nil || !l.add(in, out) {
			_ = in.Close()
			continue
		}
		l.all.Go(func() {
			_, _ = io.Copy(out, in)
			l.end(in, out)
		})
		l.all.Go(func() {
			l.pass(in, bufio.NewReader(out))
			l.end(in, out)
		})
	}
}

func (l *Cutter) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		return false
	}
	for _, c := range conns {
		l.conns[c] = struct{}{}
	}
	return true
}

func (l *Cutter) end(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// pass passes what the program sends.
func (l *Cutter) pass(dst io.Writer, src *bufio.Reader) {
	for {
		answer, err := http.ReadResponse(src, nil)
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := answer.Write(&text); err != nil {
			return
		}
		upgrade := answer.StatusCode == http.StatusSwitchingProtocols
		if !upgrade && l.answers.Add(1)%50 == 0 && l.Cuts.Load() < l.cuts {
			_, _ = dst.Write(text.Bytes()[:text.Len()/2])
			return
		}
		if _, err := dst.Write(text.Bytes()); err != nil {
			return
		}
		if upgrade {
			break
		}
	}
	most := l.Cuts.Load()%l.most + 1
	for n := int64(0); n < most || l.Cuts.Load() >= l.cuts; n++ {
		size, err := frame(src)
		if err != nil {
			return
		}
		if _, err := io.CopyN(dst, src, size); err != nil {
			return
		}
		if n >= opening && (n-opening)%4 == 0 { // a round of trades makes more messages than that
			select {
			case l.Heard <- struct{}{}:
			default:
			}
		}
	}
	if size, err := frame(src); err == nil {
		_, _ = io.CopyN(dst, src, size/2)
		l.Cuts.Add(1)
	}
}

// frame returns the size of the next frame, which is not masked.
func frame(src *bufio.Reader) (int64, error) {
	head, err := src.Peek(2)
	if err != nil {
		return 0, err
	}
	switch n := head[1]; n {
	case 126:
		if head, err = src.Peek(4); err != nil {
			return 0, err
		}
		return 4 + int64(binary.BigEndian.Uint16(head[2:])), nil
	case 127:
		if head, err = src.Peek(10); err != nil {
			return 0, err
		}
		return 10 + int64(binary.BigEndian.Uint64(head[2:])), nil //nolint:gosec // below the limit of a message
	default:
		return 2 + int64(n), nil
	}
}
