package load

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stallServer is a net/http server that serves one request after the other, so
// that a test can stall it.
type stallServer struct {
	mu     sync.Mutex
	stall  sync.Once
	from   time.Time
	after  time.Duration
	length time.Duration
}

func (g *stallServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	if time.Since(g.from) > g.after && g.length > 0 {
		g.stall.Do(func() { <-time.After(g.length) })
	}
	g.mu.Unlock()
	w.Header().Set("X-Seq", "7")
	w.Header().Set("ETag", `"a"`)
	_, _ = w.Write([]byte("[]"))
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return ln.Addr().String()
}

// A server that stalls for a second shows at least a second in p99.9, at every rate,
// however few requests were on their way when it stopped: latency counts from the intended
// time. Of a stall of S in a run of T, p99.9 is S - T/1000, so the stall is a little longer.
func TestOneSecondStallShowsInP999(t *testing.T) {
	const stall, length = 1020 * time.Millisecond, 2 * time.Second
	for _, schedule := range []Schedule{
		Even{PerSecond: 100, For: length},
		Even{PerSecond: 500, For: length},
		Even{PerSecond: 2000, For: length},
		TopOfMinute{PerSecond: 3333, Minute: length, Minutes: 1},
	} {
		t.Run(fmt.Sprintf("%+v", schedule), func(t *testing.T) {
			t.Parallel()
			addr := serve(t, &stallServer{from: time.Now(), after: 500 * time.Millisecond, length: stall})
			res, err := Loop{
				Addr: addr, Schedule: schedule, Requests: []*Request{Get("", "/")}, Workers: 20,
				Grace: time.Minute,
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			if n := res.Hist.TotalCount(); n != int64(schedule.Count()) || res.Errors != 0 {
				t.Fatalf("%d of %d requests counted, %d errors %v", n, schedule.Count(), res.Errors, res.Err)
			}
			if p := res.Hist.ValueAtQuantile(99.9); p < 1_000_000 {
				t.Errorf("p99.9 is %d us", p)
			}
			if res.Late == 0 {
				t.Error("nothing was late")
			}
		})
	}
}

// A server that never answers in time leaves requests that were never sent: they are counted, and they are in the
// histogram with the time until they were given up, however long the answers under way took after that.
func TestMissedSendsAreCounted(t *testing.T) {
	const grace = 200 * time.Millisecond
	addr := serve(t, &stallServer{from: time.Now(), length: time.Second})
	schedule := Even{PerSecond: 1000, For: 200 * time.Millisecond}
	res, err := Loop{
		Addr: addr, Schedule: schedule, Requests: []*Request{Get("", "/")}, Workers: 2, Grace: grace,
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if res.Missed < 190 || res.Missed+res.Answers != 200 || res.Hist.TotalCount() != 200 {
		t.Errorf("missed %d, answered %d, counted %d", res.Missed, res.Answers, res.Hist.TotalCount())
	}
	if p := res.Hist.ValueAtQuantile(50); p < 295_000 || p > 305_000 {
		t.Errorf("p50 is %d us, want half of the run and the grace", p)
	}
}

// plan is a schedule that lists its times.
type plan []time.Duration

func (p plan) Count() int              { return len(p) }
func (p plan) Due(i int) time.Duration { return p[i] }
func (p plan) Length() time.Duration   { return p[len(p)-1] }

// A Stop sends nothing more, although a connection waits for each request, and only what was due counts.
func TestAStopSendsNothingMore(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	stop := make(chan struct{})
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) == 3 {
			close(stop)
		}
	}))
	times := plan{0, 0, 0}
	for range 50 {
		times = append(times, time.Hour)
	}
	res, err := Loop{Addr: addr, Schedule: times, Requests: []*Request{Get("", "/")}, Workers: 50, Stop: stop}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if seen.Load() != 3 || res.Answers != 3 || res.Missed != 0 || res.Hist.TotalCount() != 3 ||
		res.Elapsed >= time.Hour {
		t.Errorf("%d requests, %d answers, %d missed, %d counted in %s", seen.Load(), res.Answers, res.Missed,
			res.Hist.TotalCount(), res.Elapsed)
	}
}

// A Stop within the warm-up ends the run with nothing counted.
func TestAStopEndsTheWarmUp(t *testing.T) {
	t.Parallel()
	var once sync.Once
	stop := make(chan struct{})
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { once.Do(func() { close(stop) }) }))
	res, err := Loop{
		Addr: addr, Schedule: plan{0, time.Hour}, Requests: []*Request{Get("", "/")}, Warm: time.Hour, Stop: stop,
	}.Run()
	if err != nil || res.Answers != 0 || res.Hist.TotalCount() != 0 || res.Elapsed != 0 {
		t.Errorf("%v, %+v", err, res)
	}
}

// A connection whose answer does not come keeps no other request back: the free one sends them all.
func TestAFreeConnectionSendsWhatIsDue(t *testing.T) {
	t.Parallel()
	const n = 50
	var seen atomic.Int64
	all := make(chan struct{})
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		switch seen.Add(1) {
		case 1:
			<-all
		case n:
			close(all)
		}
	}))
	res, err := Loop{
		Addr: addr, Schedule: make(plan, n), Requests: []*Request{Get("", "/")}, Workers: 2, Grace: time.Minute,
	}.Run()
	if err != nil || res.Answers != n || res.Errors+res.Missed != 0 {
		t.Errorf("%v, %+v", err, res)
	}
}

// The order of the requests depends on their numbers alone, and each row has what was due for it: answered, lost or
// never sent.
func TestRowsHaveWhatWasDue(t *testing.T) {
	t.Parallel()
	var first sync.Once
	addr := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		first.Do(func() { <-time.After(300 * time.Millisecond) })
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
	}))
	schedule := Even{PerSecond: 1000, For: 100 * time.Millisecond}
	res, err := Loop{
		Addr: addr, Schedule: schedule, Requests: []*Request{Get("a", "/"), Get("b", "/lost")}, ByRoute: true,
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	all, unsent := Route{}, int64(0)
	for name, of := range res.Routes {
		if n := of.Hist.TotalCount(); n != 50 {
			t.Errorf("%d requests of %s", n, name)
		}
		all.Answers, all.Errors, all.Missed = all.Answers+of.Answers, all.Errors+of.Errors, all.Missed+of.Missed
	}
	for _, n := range res.Unsent {
		unsent += n
	}
	if len(res.Routes) != 2 || all.Answers != res.Answers || all.Errors != res.Errors || all.Missed != res.Missed ||
		unsent != res.Missed || res.Missed < 90 || res.Hist.TotalCount() != 100 {
		t.Errorf("rows %+v, unsent %d, run %+v", all, unsent, res)
	}
}

// A request whose writing begins late counts as sent late, also when the tool itself was the reason.
func TestEveryLateWriteCounts(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	dials := 0
	res, err := Loop{
		Addr: addr, Schedule: plan{0, 100 * time.Millisecond}, Requests: []*Request{Get("", "/")}, Grace: time.Minute,
		Dial: func(addr string) (*Conn, error) {
			if dials++; dials == 2 {
				<-time.After(200 * time.Millisecond)
			}
			return Dial(addr)
		},
	}.Run()
	if err != nil || res.Late == 0 || res.Answers != 1 || res.Errors != 1 ||
		res.Reasons["connection closed without a whole answer"] != 1 {
		t.Errorf("%v, %+v", err, res)
	}
}

// An alarm does not ring before its time, and allocates nothing.
func TestAnAlarmIsNotEarly(t *testing.T) {
	a := newAlarm()
	defer a.close()
	for _, d := range []time.Duration{1, time.Microsecond, 3 * time.Millisecond} {
		began := time.Now()
		if a.wait(d); time.Since(began) < d {
			t.Errorf("early by %s of %s", d-time.Since(began), d)
		}
	}
	if n := testing.AllocsPerRun(100, func() { a.wait(time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Errors of connections have a kind.
func TestErrorsOfConnectionsHaveAKind(t *testing.T) {
	for want, err := range map[string]error{
		"not connected":                            dialError{os.ErrDeadlineExceeded},
		"no answer within 30s":                     fmt.Errorf("read: %w", os.ErrDeadlineExceeded),
		"connection closed without a whole answer": fmt.Errorf("read: %w", syscall.ECONNRESET),
		"no answer that can be read":               errHead,
	} {
		var r Result
		if r.Fail(err); r.Errors != 1 || r.Reasons[want] != 1 || r.Err.Error() != want+": "+err.Error() {
			t.Errorf("%v: %v, %v", err, r.Reasons, r.Err)
		}
	}
}

// Stages send as many requests as their area, in order, each at its rate: one request lies between neighbors.
func TestStagesFollowTheirRates(t *testing.T) {
	s := Stages{{10 * time.Second, 100}, {20 * time.Second, 100}, {0, 10}, {10 * time.Second, 0}, {5 * time.Second, 0}}
	if s.Count() != 500+2000+50 || s.Length() != 45*time.Second {
		t.Fatalf("%d requests in %s", s.Count(), s.Length())
	}
	rate := func(at float64) float64 {
		switch {
		case at < 10:
			return 10 * at
		case at < 30:
			return 100
		default:
			return max(40-at, 0)
		}
	}
	last := s.Due(0)
	if last != 0 {
		t.Errorf("the first request is due after %s", last)
	}
	for i := 1; i < s.Count(); i++ {
		due := s.Due(i)
		mean := (rate(last.Seconds()) + rate(due.Seconds())) / 2
		sent := mean * (due - last).Seconds()
		crosses := last < 30*time.Second && due >= 30*time.Second
		if due <= last || due > 40*time.Second || !crosses && (sent < 0.999 || sent > 1.001) {
			t.Fatalf("request %d is due at %s, behind %s: %g requests between them", i, due, last, sent)
		}
		last = due
	}
}

// The schedule is a function of the number alone: in order, within the run, a third of TopOfMinute in its first
// twelfth.
func TestScheduleIsPure(t *testing.T) {
	s := TopOfMinute{PerSecond: 3400, Minute: 24 * time.Second, Minutes: 2}
	early := 0
	last := time.Duration(-1)
	for i := range s.Count() {
		d := s.Due(i)
		if d != s.Due(i) || d < last || d > s.Length() {
			t.Fatalf("request %d is due at %s after %s", i, d, last)
		}
		last = d
		if d < 2*time.Second || d >= 24*time.Second && d < 26*time.Second {
			early++
		}
	}
	if third := s.Count() / 3; early < third-2 || early > third+2 {
		t.Errorf("%d of %d in the first twelfth", early, s.Count())
	}
	e := Even{PerSecond: 1000, For: time.Second}
	if e.Count() != 1000 || e.Due(500) != 500*time.Millisecond {
		t.Errorf("%d, %s", e.Count(), e.Due(500))
	}
}

// A run lasts for its length although its last request is due earlier, so that its rate is not too high.
func TestARateIsByTheLengthOfTheRun(t *testing.T) {
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	even := Even{PerSecond: 4, For: time.Second / 2}
	res, err := Loop{Addr: addr, Schedule: even, Requests: []*Request{Get("", "/")}}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if res.Answers+res.Missed != 2 || res.Rate() > 4 {
		t.Errorf("%d answers in %s are %g/s", res.Answers, res.Elapsed, res.Rate())
	}
}

// A result counts what its judge says, of all workers and behind the warm-up, in a limited number of reasons.
func TestReasonsAreCounted(t *testing.T) {
	var pair sync.WaitGroup // holds the first request of each worker until both are there
	pair.Add(2)
	var seen atomic.Int64
	addr := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if n := seen.Add(1); n > 20 && n <= 22 {
			pair.Done()
			pair.Wait()
		}
	}))
	res, err := Loop{
		Addr: addr, Schedule: Even{PerSecond: 100, For: 400 * time.Millisecond}, Requests: []*Request{Get("", "/")},
		Workers: 2, Warm: 200 * time.Millisecond, Grace: time.Minute,
		Judge: func(worker int, a *Answer) (string, string) { return fmt.Sprint(worker, a.Status), "no" },
	}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Reasons) != 2 || res.Reasons["0 200"] == 0 || res.Reasons["0 200"]+res.Reasons["1 200"] != 20 ||
		!strings.HasSuffix(fmt.Sprint(res.Err), " 200: no") {
		t.Errorf("%v, %v", res.Reasons, res.Err)
	}
	for i := range 2 * maxReasons {
		res.Blame(fmt.Sprint("x", i), "")
	}
	if len(res.Reasons) != maxReasons+1 || res.Reasons["other"] != maxReasons+2 {
		t.Errorf("%v", res.Reasons)
	}
}

// What is due before Warm is sent, but not counted; each worker goes round in its span.
func TestWarmingUpIsNotCounted(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	addr := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
	}))
	var requests []*Request
	for i := range 10 {
		requests = append(requests, Get("", fmt.Sprintf("/%d", i)))
	}
	s := Even{PerSecond: 200, For: 400 * time.Millisecond}
	res, err := Loop{
		Addr: addr, Schedule: s, Requests: requests, Workers: 2, Span: 3, Warm: 200 * time.Millisecond,
		Grace: time.Minute,
	}.Run()
	if err != nil || res.Err != nil {
		t.Fatal(err, res.Err)
	}
	if res.Answers != 40 || res.Hist.TotalCount() != 40 {
		t.Errorf("%d answers of the second half's 40", res.Answers)
	}
	mu.Lock()
	defer mu.Unlock()
	total := 0
	for path, n := range asked {
		total += n
		if !strings.Contains("/0 /1 /2 /5 /6 /7", path) {
			t.Errorf("%s is in no span", path)
		}
	}
	if total != 80 {
		t.Errorf("%d requests were sent", total)
	}
}

// Answers are read whatever their form: with a length, without a body, in chunks, several
// in one read.
func TestAnswersOfEveryForm(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	text := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\netag: \"1\"\r\nX-Seq: 42\r\n\r\nhello" +
		"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 99\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n" +
		fmt.Sprintf("HTTP/1.1 200 OK\r\nETag: \"2\"\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s",
			len(long), long) +
		"HTTP/1.1 503 Busy\r\nx-fault: status; rule=3\r\nContent-Length: 2\r\n\r\n{}" +
		"HTTP/1.1 200 OK\r\n\r\n"
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write([]byte(text))
		_ = there.Close()
	}()
	c := &Conn{c: here, buf: make([]byte, 64)}
	for i, want := range []Answer{
		{Status: 200, Body: []byte("hello"), ETag: []byte(`"1"`), Seq: 42},
		{Status: 304, ETag: []byte(`"1"`)},
		{Status: 200, Body: []byte("abc0123456789")},
		{Status: 200, Body: []byte(long), ETag: []byte(`"2"`), Gzip: true},
		{Status: 503, Body: []byte("{}"), Fault: []byte("status; rule=3")},
	} {
		var a Answer
		if err := c.Read(&a); err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		if a.Status != want.Status || !bytes.Equal(a.Body, want.Body) || !bytes.Equal(a.ETag, want.ETag) ||
			!bytes.Equal(a.Fault, want.Fault) || a.Seq != want.Seq || a.Gzip != want.Gzip {
			t.Errorf("answer %d: %d %.20q %q %d %v", i, a.Status, a.Body, a.ETag, a.Seq, a.Gzip)
		}
	}
	var a Answer
	if err := c.Read(&a); !errors.Is(err, errLength) {
		t.Errorf("an answer without a length: %v", err)
	}
}

// A conditional request carries the tag of the last answer to the same request.
func TestConditionalRequests(t *testing.T) {
	asked := make(chan string, 100)
	addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header.Get("If-None-Match"):
		default:
		}
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
		}
	}))
	req := Get("", "/")
	req.Conditional = true
	res := &Result{}
	for res.Answers < 2 { // a busy machine may stop this process for the whole time
		for len(asked) > 0 {
			<-asked
		}
		var err error
		res, err = Loop{Addr: addr, Requests: []*Request{req}, For: 50 * time.Millisecond}.Run()
		if err != nil || res.Errors > 0 {
			t.Fatal(err, res.Err)
		}
	}
	if first, second := <-asked, <-asked; first != "" || second != `"v1"` {
		t.Errorf("tags sent: %q, %q", first, second)
	}
	if res.Status[2] != 1 || res.Status[0] != res.Answers-1 {
		t.Errorf("%s", res.Statuses())
	}
}

// Nothing beyond this machine is asked.
func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"10.0.0.1:80", "example.com:80", "[2001:db8::1]:80", "nothing"} {
		if _, err := Dial(addr); err == nil {
			t.Errorf("%s was dialed", addr)
		}
	}
	for _, addr := range []string{"127.0.0.1:80", "127.9.9.9:1", "[::1]:80", "localhost:80"} {
		if err := Local(addr); err != nil {
			t.Error(err)
		}
	}
}

// One answer costs no allocation.
func TestNothingIsAllocatedPerAnswer(t *testing.T) {
	one := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"1\"\r\n\r\nhello")
	c := &Conn{c: &endless{bytes.Repeat(one, 1000)}, buf: make([]byte, connBuffer)}
	req := Get("", "/")
	req.Conditional = true
	var a Answer
	out, tag := make([]byte, 0, 1024), []byte(nil)
	if n := testing.AllocsPerRun(2000, func() {
		out = req.Bytes(out[:0], tag)
		if err := c.Read(&a); err != nil || string(a.Body) != "hello" {
			t.Fatal(err, a.Body)
		}
		tag = append(tag[:0], a.ETag...)
	}); n != 0 {
		t.Errorf("%v allocations an answer", n)
	}
}

// endless is a connection that returns the same bytes forever.
type endless struct{ text []byte }

func (e *endless) Read(p []byte) (int, error) {
	if len(p) < len(e.text) {
		return 0, errors.New("the buffer is too small")
	}
	return copy(p, e.text), nil
}
func (e *endless) Write(p []byte) (int, error)      { return len(p), nil }
func (e *endless) Close() error                     { return nil }
func (e *endless) LocalAddr() net.Addr              { return nil }
func (e *endless) RemoteAddr() net.Addr             { return nil }
func (e *endless) SetDeadline(time.Time) error      { return nil }
func (e *endless) SetReadDeadline(time.Time) error  { return nil }
func (e *endless) SetWriteDeadline(time.Time) error { return nil }

// A server may close a connection behind an answer, as it says, or when nothing has come for a while. The next request
// goes on another one, and no answer is missing.
func TestAServerMayCloseItsConnections(t *testing.T) {
	body := strings.Repeat("x", 100_000)
	closing := func(head string) string {
		return scripted(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, head+body)
		})
	}
	idle := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}), IdleTimeout: 300 * time.Millisecond}
	listen := func(run func(net.Listener) error) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = run(ln) }()
		return ln.Addr().String()
	}
	t.Cleanup(func() { _ = idle.Close() })
	secure := httptest.NewUnstartedServer(idle.Handler)
	secure.Config.IdleTimeout = idle.IdleTimeout
	secure.StartTLS()
	t.Cleanup(secure.Close)
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, addr := range map[string]string{
		"close":             closing("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n"),
		"1.0":               closing("HTTP/1.0 200 OK\r\nContent-Length: 100000\r\n\r\n"),
		"1.0, to the end":   closing("HTTP/1.0 200 OK\r\nETag: \"x\"\r\n\r\n"),
		"close, to the end": closing("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
		"idle":              listen(idle.Serve),
		"idle, TLS":         secure.Listener.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := Loop{
				Addr: addr, Schedule: Even{PerSecond: 2, For: 2 * time.Second}, Requests: []*Request{Get("", "/")},
				Workers: 2, Grace: time.Minute,
			}
			if name == "idle, TLS" {
				l.Dial = func(addr string) (*Conn, error) {
					return DialAny(addr, &tls.Config{RootCAs: roots, ServerName: "example.com"})
				}
			}
			res, err := l.Run()
			if err != nil || res.Answers != 4 || res.Errors != 0 || res.Bytes != 400_000 {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// scripted serves each connection with a function, and closes it then.
func scripted(t *testing.T, each func(net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				each(c)
				_ = c.Close()
			}()
		}
	}()
	return ln.Addr().String()
}
