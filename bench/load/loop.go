package load

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Schedule returns the time at which each request of a run should be sent. The time depends only on the
// request's number, so that no event of the run can change it.
type Schedule interface {
	// Count returns the number of requests of the run.
	Count() int
	// Due returns the time after the start at which request i should be sent.
	Due(i int) time.Duration
	// Length returns the duration of the run.
	Length() time.Duration
}

// Even sends at a constant rate.
type Even struct {
	PerSecond float64
	For       time.Duration
}

// Count returns the rate multiplied by the length.
func (e Even) Count() int { return int(e.PerSecond * e.For.Seconds()) }

// Due returns times at equal distances.
func (e Even) Due(i int) time.Duration {
	return time.Duration(float64(i) / e.PerSecond * float64(time.Second))
}

// Length returns the duration of the run.
func (e Even) Length() time.Duration { return e.For }

// Stage is a part of a run, in which the rate changes evenly to PerSecond. A stage without a length changes it at once.
type Stage struct {
	For       time.Duration
	PerSecond float64
}

// Stages sends at rates that change. The first stage begins at the rate 0.
type Stages []Stage

// Count returns the area below the rates.
func (s Stages) Count() int {
	n, rate := 0., 0.
	for _, part := range s {
		n += (rate + part.PerSecond) / 2 * part.For.Seconds()
		rate = part.PerSecond
	}
	return int(n)
}

// Due returns the time at which the area below the rates is i.
func (s Stages) Due(i int) time.Duration {
	left, rate, began := float64(i), 0., time.Duration(0)
	for _, part := range s {
		length := part.For.Seconds()
		area := (rate + part.PerSecond) / 2 * length
		if left < area {
			// rate*t + slope/2*t*t = left, in the form that also holds for a slope of 0
			slope := (part.PerSecond - rate) / length
			speeds := rate + math.Sqrt(max(rate*rate+2*slope*left, 0))
			if speeds == 0 { // the first request of a ramp from 0
				return began
			}
			return began + time.Duration(min(2*left/speeds, length)*float64(time.Second))
		}
		left -= area
		began, rate = began+part.For, part.PerSecond
	}
	return began
}

// Length returns the sum of the stages' lengths.
func (s Stages) Length() (all time.Duration) {
	for _, part := range s {
		all += part.For
	}
	return all
}

// TopOfMinute sends like pollers: a third of a minute's requests come in the first twelfth of the minute (5 s),
// the others evenly in the rest. Minutes may be shorter than 60 s; PerSecond is the mean rate.
type TopOfMinute struct {
	PerSecond float64
	Minute    time.Duration
	Minutes   int
}

func (s TopOfMinute) perMinute() int { return int(s.PerSecond * s.Minute.Seconds()) }

// Count returns the rate multiplied by the length.
func (s TopOfMinute) Count() int { return s.Minutes * s.perMinute() }

// Due returns times at equal distances within each of the two parts of a minute.
func (s TopOfMinute) Due(i int) time.Duration {
	n := s.perMinute()
	share := float64(i%n) / float64(n)
	const burst, part = 1. / 3, 1. / 12
	at := share / burst * part
	if share > burst {
		at = part + (share-burst)/(1-burst)*(1-part)
	}
	return time.Duration(i/n)*s.Minute + time.Duration(at*float64(s.Minute))
}

// Length returns the duration of the run.
func (s TopOfMinute) Length() time.Duration { return time.Duration(s.Minutes) * s.Minute }

// late is the delay beyond which a request counts as sent late.
const late = time.Millisecond

// stopCheck is the longest wait that a Stop does not cut short.
const stopCheck = 50 * time.Millisecond

// Loop sends requests over several connections, one worker on each.
//
// With a schedule the loop is open: request i belongs to worker i mod the number of workers, and is sent at its time
// whatever the answers are. A worker that is behind the schedule sends at once; latency still counts from the
// scheduled time. Without a schedule the loop is closed: a worker sends as soon as it has the last answer, and latency
// counts from the sending. A closed loop measures CPU an answer and the highest rate; its latencies say nothing about
// a server that stalls.
type Loop struct {
	Addr     string
	Schedule Schedule
	For      time.Duration // length of a closed loop, behind its warm-up
	// Requests holds the requests; each worker sends them in turn, beginning at a different one.
	Requests []*Request
	// Next, unless nil, makes every request in place of Requests, when it is sent: it appends the next one of a worker.
	Next func(worker int, dst []byte) ([]byte, error)
	// Name returns the kind of the request that Next made last for a worker.
	Name func(worker int) string
	// ByRoute makes the result have a row for each kind of request.
	ByRoute bool
	// Span is the number of consecutive requests that a worker repeats; 0: all.
	Span    int
	Workers int
	// Warm is the length of the warm-up, which is not counted: the first part of a schedule; a closed loop ends its
	// warm-up before it begins to measure.
	Warm time.Duration
	// Grace is the time after the schedule's end in which requests that are due are still sent.
	Grace time.Duration
	// CPU returns the server's CPU time so far; nil: not measured.
	CPU func() time.Duration
	// Dial opens a connection; nil: the function Dial, for loopback addresses only.
	Dial func(addr string) (*Conn, error)
	// Live counts while the run goes on; nil: nothing does.
	Live *Live
	// Stop ends the run early when it is closed; nil: never.
	Stop <-chan struct{}
	// Each runs in the worker after every answer; nil: nothing runs.
	Each func(worker int, sent time.Time, a *Answer)
	// Judge runs in the worker after every answer and returns what is wrong with it, empty for nothing, and the message
	// of it; nil: nothing runs.
	Judge func(worker int, a *Answer) (reason, message string)
}

// Live counts the requests of a run that goes on. Any goroutine may read it.
type Live struct {
	Answers, Errors, Late atomic.Int64

	mu   sync.Mutex
	hist *hdrhistogram.Histogram // of the latencies since the last Take; nil: none
}

// Take returns the latencies since it was last called, nil when there were none.
func (l *Live) Take() *hdrhistogram.Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hist
	l.hist = nil
	return h
}

// Count counts an answer or an error, whose latency was d.
func (l *Live) Count(d time.Duration, failed bool) {
	if l == nil {
		return
	}
	l.Answers.Add(1)
	if failed {
		l.Errors.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hist == nil {
		l.hist = newCoarse()
	}
	record(l.hist, d)
}

// Run sends the requests and returns the results. It returns an error only when it could not start.
func (l Loop) Run() (*Result, error) {
	workers := make([]*worker, max(l.Workers, 1))
	if l.Span == 0 {
		l.Span = len(l.Requests)
	}
	if l.Dial == nil {
		l.Dial = Dial
	}
	for i := range workers {
		conn, err := l.Dial(l.Addr)
		if err != nil {
			return nil, err
		}
		workers[i] = &worker{
			Loop: &l, conn: conn, index: i, stride: len(workers),
			first: i * len(l.Requests) / len(workers), tags: make([][]byte, len(l.Requests)),
		}
		defer workers[i].close()
	}
	if l.Schedule != nil {
		return l.run(workers, l.Schedule.Length(), l.Grace, l.Warm), nil
	}
	if l.Warm > 0 {
		l.run(workers, l.Warm, 0, 0)
	}
	return l.run(workers, l.For, 0, 0), nil
}

// run lets all workers send for the time d and adds up what they did behind the warm-up. It lasts for d, although the
// last request is due before its end: a rate is requests by the length of the run.
func (l *Loop) run(workers []*worker, d, grace, warm time.Duration) *Result {
	all := &Result{Hist: NewHistogram()}
	from := make(chan usage, 1)
	start := time.Now()
	if warm > 0 {
		defer time.AfterFunc(warm, func() { from <- l.usage() }).Stop()
	} else {
		from <- l.usage()
	}
	var wg sync.WaitGroup
	for _, w := range workers {
		w.res = Result{Hist: NewHistogram()}
		wg.Go(func() { w.run(start, start.Add(d+grace), warm) })
	}
	wg.Wait()
	select {
	case <-time.After(time.Until(start.Add(d))):
	case <-l.Stop: // never, if it is nil
	}
	u, now := <-from, l.usage()
	all.Elapsed, all.Client, all.Server = now.at.Sub(u.at), now.client-u.client, now.server-u.server
	for _, w := range workers {
		all.Merge(&w.res)
	}
	return all
}

// usage holds a time and the CPU times up to it.
type usage struct {
	at             time.Time
	client, server time.Duration
}

func (l *Loop) usage() usage {
	u := usage{at: time.Now(), client: selfCPU()}
	if l.CPU != nil {
		u.server = l.CPU()
	}
	return u
}

// worker sends the requests of one connection.
type worker struct {
	*Loop
	conn   *Conn // nil: the connection was lost and must be opened again
	index  int
	stride int
	first  int // index in Requests at which it begins
	step   int // number of requests sent
	tags   [][]byte
	out    []byte
	kind   string // of the last request
	res    Result
}

func (w *worker) close() {
	if w.conn != nil {
		w.conn.Close()
	}
}

func (w *worker) run(start, end time.Time, warm time.Duration) {
	warming := warm > 0
	for i := w.index; w.Schedule == nil || i < w.Schedule.Count(); i += w.stride {
		now := time.Now()
		due := now
		if w.Schedule != nil {
			due = start.Add(w.Schedule.Due(i))
		}
		if warming && due.Sub(start) >= warm {
			w.res, warming = Result{Hist: NewHistogram()}, false
		}
		if now.After(end) && w.Schedule == nil || w.stopped() {
			return
		}
		if now.After(end) {
			w.res.Missed++
			w.res.Record(now.Sub(due))
			continue
		}
		if wait := due.Sub(now); wait > 0 {
			w.sleep(wait)
		} else if wait < -late {
			w.res.Late++
			if w.Live != nil {
				w.Live.Late.Add(1)
			}
		}
		failed := w.res.Errors
		if err := w.ask(start); err != nil {
			w.res.Fail(err)
			w.close()
			w.conn = nil
		}
		took := time.Since(due)
		w.res.Record(took)
		if w.ByRoute {
			w.res.Route(w.kind).count(took, w.res.Errors > failed)
		}
		w.Live.Count(took, w.res.Errors > failed)
	}
}

// stopped reports whether the run was ended early.
func (w *worker) stopped() bool {
	select {
	case <-w.Stop: // never, if it is nil
		return true
	default:
		return false
	}
}

// sleep waits until a request is due, or the run is ended early.
func (w *worker) sleep(wait time.Duration) {
	if w.Stop == nil || wait < stopCheck {
		time.Sleep(wait)
		return
	}
	select {
	case <-time.After(wait):
	case <-w.Stop:
	}
}

// ask sends the worker's next request and reads its answer.
func (w *worker) ask(start time.Time) error {
	if w.conn == nil {
		conn, err := w.Dial(w.Addr)
		if err != nil {
			return err
		}
		w.conn = conn
	}
	if err := w.conn.deadline(); err != nil {
		return err
	}
	i, err := w.prepare()
	if err != nil {
		return err
	}
	sent := time.Now()
	if err := w.conn.Send(w.out); err != nil {
		return err
	}
	var a Answer
	if err := w.conn.Read(&a); err != nil {
		return err
	}
	if i >= 0 && w.Requests[i].Conditional && len(a.ETag) > 0 {
		w.tags[i] = append(w.tags[i][:0], a.ETag...)
	}
	w.res.count(&a, time.Since(start))
	if w.Each != nil {
		w.Each(w.index, sent, &a)
	}
	if w.Judge != nil {
		if reason, message := w.Judge(w.index, &a); reason != "" {
			w.res.Blame(reason, message)
		}
	}
	return nil
}

// prepare puts the worker's next request into out and returns its index in Requests, -1 for one of Next.
func (w *worker) prepare() (i int, err error) {
	if w.Next != nil {
		w.out, err = w.Next(w.index, w.out[:0])
		if w.Name != nil {
			w.kind = w.Name(w.index)
		}
		return -1, err
	}
	i = (w.first + w.step%w.Span) % len(w.Requests)
	w.step++
	w.kind = w.Requests[i].Name
	w.out = w.Requests[i].Bytes(w.out[:0], w.tags[i])
	return i, nil
}
