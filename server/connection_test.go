package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// countingListener counts the writes of its connections.
type countingListener struct {
	net.Listener
	writes atomic.Int64
}

type countingConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c.(*net.TCPConn), &l.writes}, nil
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(b)
}

func serveCounted(t *testing.T) *countingListener {
	t.Helper()
	m := servertest.NewTradedMarket(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counted := &countingListener{Listener: ln}
	go func() { _ = m.Server.Serve(counted) }()
	return counted
}

func (l *countingListener) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func status(t *testing.T, r *bufio.Reader) (code int, body string) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const askTime = "GET /api/time HTTP/1.1\r\nHost: x\r\n\r\n"

// Requests that arrive together are answered in order and with one write; single requests with one each. It does not
// matter in which pieces a request arrives, and the last answer of a connection is sent before its end.
func TestPipelinedAnswersShareAWrite(t *testing.T) {
	l := serveCounted(t)
	c, r := l.dial(t)
	send := func(text string) {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		before := l.writes.Load()
		send(askTime)
		if code, _ := status(t, r); code != 200 || l.writes.Load() != before+1 {
			t.Fatalf("one request: %d, %d writes", code, l.writes.Load()-before)
		}
	}
	for n, most := range map[int]int64{16: 1, 200: 16} { // 16 KiB each but the last
		before := l.writes.Load()
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.Replace(askTime, "\r\n\r\n", "\r\nX-Request-Id: r"+string(rune('a'+i%26))+
				"\r\n\r\n", 1))
		}
		send(all.String())
		for i := range n {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if got := res.Header.Get("X-Request-Id"); res.StatusCode != 200 || got != "r"+string(rune('a'+i%26)) {
				t.Fatalf("answer %d of %d: %d %s", i, n, res.StatusCode, got)
			}
		}
		if writes := l.writes.Load() - before; writes > most {
			t.Errorf("%d requests together took %d writes, want at most %d", n, writes, most)
		}
	}
	for i := range askTime {
		send(askTime[i : i+1])
	}
	if code, _ := status(t, r); code != 200 {
		t.Errorf("byte by byte: %d", code)
	}
	send("POST /api/time HTTP/1.1\r\nHost: x\r\nContent-Length: 40000\r\n\r\n" + strings.Repeat("a", 40_000) + askTime)
	for _, want := range []int{405, 200} { // the body does not become a request
		if code, body := status(t, r); code != want {
			t.Errorf("after a body: %d %s, want %d", code, body, want)
		}
	}
	send(strings.Replace(askTime, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	if code, _ := status(t, r); code != 200 {
		t.Errorf("the last request: %d", code)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after the last answer: %v", err)
	}
}

// A connection that waits for a request holds no buffers: they have 80 KiB.
func TestAWaitingConnectionHoldsNoBuffer(t *testing.T) {
	l := serveCounted(t)
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 { // pools give up what they hold in two collections
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask := func(n int) (open []net.Conn) {
		for range n {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if _, err := io.WriteString(c, askTime); err != nil {
				t.Fatal(err)
			}
			if code, _ := status(t, bufio.NewReaderSize(c, 512)); code != 200 {
				t.Fatal(code)
			}
			open = append(open, c)
		}
		return open
	}
	ask(10)
	before := heap()
	const conns, most = 400, 4 << 10
	open := ask(conns)
	if each := (heap() - before) / conns; each > most {
		t.Errorf("a waiting connection holds %d bytes, want at most %d", each, most)
	}
	for _, c := range open { // and each still works
		if _, err := io.WriteString(c, askTime); err != nil {
			t.Fatal(err)
		}
		if code, _ := status(t, bufio.NewReader(c)); code != 200 {
			t.Fatal(code)
		}
	}
}
