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
// With a schedule the loop is open: request i is sent at its time whatever the answers are, by any worker that has no
// request under way. When all have one, request i waits for the first that is free and is sent late; latency still
// counts from the scheduled time. Without a schedule the loop is closed: a worker sends as soon as it has the last
// answer, and latency counts from the sending. A closed loop measures CPU an answer and the highest rate; its latencies
// say nothing about a server that stalls.
type Loop struct {
	Addr     string
	Schedule Schedule
	For      time.Duration // length of a closed loop, behind its warm-up
	// Requests holds the requests. Request i of a run belongs to client i mod Workers, whichever worker sends it. A
	// client's requests are these in turn, each client beginning at a different one.
	Requests []*Request
	// Next, unless nil, makes every request in place of Requests, when it is sent: it appends the next one of a worker.
	Next func(worker int, dst []byte) ([]byte, error)
	// Name returns the kind of the request that Next made last for a worker.
	Name func(worker int) string
	// Plan returns the kind of request i of a run with Next, for one that was never made.
	Plan func(i int) string
	// ByRoute makes the result have a row for each kind of request.
	ByRoute bool
	// Span is the number of consecutive requests that a client repeats; 0: all.
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
	// Began runs when all connections are open and sending begins, the warm-up included; nil: nothing runs.
	Began func()
	// Stop ends the run early when it is closed: nothing more is sent, and the result covers what was due by then. nil:
	// never.
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

// Count counts a request that has ended, whose latency was d.
func (l *Live) Count(d time.Duration, end Outcome) {
	if l == nil {
		return
	}
	if end.Answered {
		l.Answers.Add(1)
	}
	if end.Failed {
		l.Errors.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hist == nil {
		l.hist = NewHistogram()
	}
	record(l.hist, d)
}

// Run sends the requests and returns the results. It returns an error only when it could not start.
func (l Loop) Run() (*Result, error) {
	f := &flow{Loop: &l, clients: make([]poller, max(l.Workers, 1)), alarm: newAlarm()}
	defer f.alarm.close()
	if l.Span == 0 {
		l.Span = len(l.Requests)
	}
	if l.Dial == nil {
		l.Dial = Dial
	}
	for i := range f.clients {
		conn, err := l.Dial(l.Addr)
		if err != nil {
			return nil, err
		}
		w := &worker{flow: f, conn: conn, index: i}
		f.workers = append(f.workers, w)
		defer w.close()
		f.clients[i] = poller{first: i * len(l.Requests) / len(f.clients), tags: make([][]byte, len(l.Requests))}
	}
	if l.Began != nil {
		l.Began()
	}
	if l.Schedule != nil {
		return f.run(l.Schedule.Length(), l.Grace, l.Warm), nil
	}
	if l.Warm > 0 {
		f.run(l.Warm, 0, 0)
	}
	return f.run(l.For, 0, 0), nil
}

// flow is a loop that runs.
type flow struct {
	*Loop
	workers []*worker
	clients []poller
	alarm   *alarm // Owner: the worker that has the turn.
	start   time.Time
	warm    time.Duration
	routes  Routes
	// cut is the time behind start, in ns, from which nothing is sent: the end, or the time of a Stop.
	cut  atomic.Int64
	quit chan struct{} // closed by a Stop
	// turn holds the number of the next request of the schedule. The worker that took it waits until the request is due
	// and passes the next number on: one worker waits for the time, the others in turn for the number, and a worker
	// with a request under way keeps no other request back.
	turn chan int
}

// poller is a client whose requests follow each other, whichever connections carry them.
type poller struct {
	first int // index in Requests at which it begins

	mu   sync.Mutex // several of its requests may be under way
	tags [][]byte   // ETag of the last answer to each request
}

// run lets all workers send for the time d and adds up what they did behind the warm-up. It lasts for d, although the
// last request is due before its end: a rate is requests by the length of the run.
func (f *flow) run(d, grace, warm time.Duration) *Result {
	all := &Result{Hist: NewHistogram()}
	f.turn, f.quit = make(chan int, 1), make(chan struct{})
	f.turn <- 0
	f.warm, f.routes = warm, Routes{}
	f.start = time.Now()
	f.cut.Store(int64(d + grace))
	from := make(chan usage, 1)
	if warm > 0 {
		defer time.AfterFunc(warm, func() { from <- f.usage() }).Stop()
	} else {
		from <- f.usage()
	}
	done := make(chan struct{})
	var stopping, sending sync.WaitGroup
	stopping.Go(func() {
		select {
		case <-f.Stop: // never, if it is nil
			f.cut.Store(min(f.cut.Load(), int64(time.Since(f.start))))
			close(f.quit)
		case <-done:
		}
	})
	for _, w := range f.workers {
		sending.Go(w.run)
	}
	sending.Wait()
	select {
	case <-time.After(time.Until(f.start.Add(d))):
	case <-f.quit:
	}
	close(done)
	stopping.Wait()
	f.addUp(all, from)
	if f.Schedule != nil {
		for _, w := range f.workers {
			d = max(d, w.last)
		}
		all.Elapsed = max(min(d, time.Duration(f.cut.Load()))-warm, 0)
		f.miss(all)
	}
	all.Routes = f.routes.Rows()
	return all
}

// addUp adds the results of the workers, and the CPU time since the warm-up.
func (f *flow) addUp(all *Result, from <-chan usage) {
	now := f.usage()
	u := now
	if int64(f.warm) < f.cut.Load() { // no Stop ended the warm-up
		u = <-from
	}
	all.Elapsed, all.Client, all.Server = now.at.Sub(u.at), now.client-u.client, now.server-u.server
	for _, w := range f.workers {
		all.Merge(&w.res)
	}
}

// miss counts the requests that were due and never sent. Each has waited until it was given up.
func (f *flow) miss(all *Result) {
	cut := time.Duration(f.cut.Load())
	for i := <-f.turn; i < f.Schedule.Count(); i++ {
		due := f.Schedule.Due(i)
		if due >= cut {
			return
		}
		if due < f.warm {
			continue
		}
		all.Missed++
		all.Record(cut - due)
		countSecond(&all.Unsent, due)
		if f.ByRoute {
			f.routes.Count(f.kind(i), cut-due, Outcome{Missed: true})
		}
	}
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

// request returns the client of request i and the index of the request in Requests.
func (f *flow) request(i int) (of *poller, index int) {
	of = &f.clients[i%len(f.clients)]
	return of, (of.first + i/len(f.clients)%f.Span) % len(f.Requests)
}

// kind returns the kind of request i before it is made.
func (f *flow) kind(i int) string {
	switch {
	case f.Next == nil:
		_, index := f.request(i)
		return f.Requests[index].Name
	case f.Plan != nil:
		return f.Plan(i)
	}
	return ""
}

// take waits until the next request of the schedule is due. ok is false when nothing is sent any more.
func (f *flow) take() (i int, due time.Duration, ok bool) {
	i = <-f.turn
	if i >= f.Schedule.Count() {
		f.turn <- i
		return i, 0, false
	}
	due = f.Schedule.Due(i)
	f.wait(f.start.Add(due))
	now, cut := time.Since(f.start), time.Duration(f.cut.Load())
	if due >= cut || now >= cut {
		f.turn <- i
		return i, 0, false
	}
	f.turn <- i + 1
	return i, due, true
}

// wait waits until a time or a Stop.
func (f *flow) wait(until time.Time) {
	for {
		switch left := time.Until(until); {
		case left <= 0:
			return
		case left <= stopCheck:
			f.alarm.wait(left)
		default:
			select {
			case <-time.After(left - stopCheck/2):
			case <-f.quit:
				return
			}
		}
	}
}

// worker sends requests on one connection.
type worker struct {
	*flow
	conn  *Conn // nil: the connection was lost and must be opened again
	index int
	step  int // number of requests that it sent in a closed loop
	out   []byte
	kind  string        // of the last request
	last  time.Duration // behind start: when it sent its last request
	res   Result
}

func (w *worker) close() {
	if w.conn != nil {
		w.conn.Close()
	}
}

// take returns the number of the worker's next request and the time from which its latency counts.
func (w *worker) take() (i int, due time.Duration, ok bool) {
	if w.Schedule != nil {
		return w.flow.take()
	}
	i, due = w.index+w.step*len(w.workers), time.Since(w.start)
	w.step++
	return i, due, int64(due) < w.cut.Load()
}

func (w *worker) run() {
	w.res = Result{Hist: NewHistogram()}
	warming := w.warm > 0
	for {
		i, due, ok := w.take()
		if !ok {
			break
		}
		if warming && due >= w.warm {
			w.res, warming = Result{Hist: NewHistogram()}, false
		}
		failed := w.res.Errors
		err := w.ask(i, due)
		if err != nil {
			w.res.Fail(err)
			w.close()
			w.conn = nil
		}
		took := time.Since(w.start) - due
		end := Outcome{Answered: err == nil, Failed: w.res.Errors > failed}
		w.res.Record(took)
		if w.ByRoute && !warming {
			w.routes.Count(w.kind, took, end)
		}
		w.Live.Count(took, end)
	}
	if warming {
		w.res = Result{}
	}
}

// ask sends request i, which is due, and reads its answer.
func (w *worker) ask(i int, due time.Duration) error {
	w.kind = w.flow.kind(i)
	if w.conn != nil && (w.conn.ends || due-w.last > idle && w.conn.closed()) { // no error of the server
		w.close()
		w.conn = nil
	}
	if w.conn == nil {
		conn, err := w.Dial(w.Addr)
		if err != nil {
			return dialError{err}
		}
		w.conn = conn
	}
	if err := w.conn.deadline(); err != nil {
		return err
	}
	if err := w.prepare(i); err != nil {
		return err
	}
	sent := time.Now()
	if w.last = sent.Sub(w.start); w.Schedule != nil && w.last-due > late {
		w.res.Late++
		if w.Live != nil {
			w.Live.Late.Add(1)
		}
	}
	if err := w.conn.Send(w.out); err != nil {
		return err
	}
	var a Answer
	if err := w.conn.Read(&a); err != nil {
		return err
	}
	if w.Next == nil {
		w.keepTag(i, &a)
	}
	w.res.count(&a, time.Since(w.start))
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

// prepare puts request i, or the worker's next one of Next, into out.
func (w *worker) prepare(i int) (err error) {
	if w.Next != nil {
		w.out, err = w.Next(w.index, w.out[:0])
		if w.Name != nil {
			w.kind = w.Name(w.index)
		}
		return err
	}
	of, index := w.request(i)
	of.mu.Lock()
	defer of.mu.Unlock()
	w.out = w.Requests[index].Bytes(w.out[:0], of.tags[index])
	return nil
}

// keepTag keeps the ETag of the answer to request i for the next one of its client.
func (w *worker) keepTag(i int, a *Answer) {
	of, index := w.request(i)
	if !w.Requests[index].Conditional || len(a.ETag) == 0 {
		return
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	of.tags[index] = append(of.tags[index][:0], a.ETag...)
}
