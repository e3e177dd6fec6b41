package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// late is the delay beyond which a request counts as sent late.
const late = time.Millisecond

// stopCheck is the longest wait that a Stop does not cut short.
const stopCheck = 50 * time.Millisecond

// Open sends requests by a schedule, whatever the answers. Request i belongs to worker i mod the number of
// workers. A worker sends its requests in order on one connection. When it is behind the schedule it sends at
// once; latency still counts from the scheduled time.
type Open struct {
	Addr     string
	Schedule Schedule
	// Requests holds the requests; each worker sends them in turn, beginning at a different one.
	Requests []*Request
	// Next, unless nil, makes every request in place of Requests, when it is sent: it appends the next one of a worker.
	Next func(worker int, dst []byte) ([]byte, error)
	// Span is the number of consecutive requests that a worker repeats; 0: all.
	Span    int
	Workers int
	// Skip is the length of the warm-up at the start. Requests that are due in it are not counted.
	Skip time.Duration
	// Grace is the time after the schedule's end in which requests that are due are still sent.
	Grace time.Duration
	CPU   func() time.Duration
	// Unpaced ignores the rate of the schedule: a worker sends as soon as it has the last answer, and latency counts
	// from the sending.
	Unpaced bool
	// Dial opens a connection; nil: the function Dial, for loopback addresses only.
	Dial func(addr string) (*Conn, error)
	// Live counts while the run goes on; nil: nothing does.
	Live *Live
	// Stop ends the run early when it is closed; nil: never.
	Stop <-chan struct{}
	// Each runs in the worker after every answer; nil: nothing runs.
	Each func(worker int, sent time.Time, a *Answer)
}

// Live counts the requests of a run that goes on. Any goroutine may read it.
type Live struct {
	Answers, Errors, Late atomic.Int64
	SlowestUs             atomic.Int64 // since it was last set to 0
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
	for us := d.Microseconds(); ; {
		was := l.SlowestUs.Load()
		if us <= was || l.SlowestUs.CompareAndSwap(was, us) {
			return
		}
	}
}

// Run sends the requests of the schedule and returns the results.
func (o Open) Run() (*Result, error) {
	workers := make([]*openWorker, max(o.Workers, 1))
	if o.Span == 0 {
		o.Span = len(o.Requests)
	}
	if o.Dial == nil {
		o.Dial = Dial
	}
	for i := range workers {
		conn, err := o.Dial(o.Addr)
		if err != nil {
			return nil, err
		}
		workers[i] = &openWorker{
			Open: &o, conn: conn, index: i, stride: len(workers),
			first: i * len(o.Requests) / len(workers), tags: make([][]byte, len(o.Requests)),
			res: Result{Hist: NewHistogram()},
		}
		defer workers[i].close()
	}
	all := &Result{Hist: NewHistogram()}
	from := make(chan usage, 1)
	start := time.Now()
	if o.Skip > 0 {
		defer time.AfterFunc(o.Skip, func() { from <- o.usage() }).Stop()
	} else {
		from <- o.usage()
	}
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w.run(start)
		}()
	}
	wg.Wait()
	u, now := <-from, o.usage()
	all.Elapsed, all.Client, all.Server = now.at.Sub(u.at), now.client-u.client, now.server-u.server
	for _, w := range workers {
		all.Merge(&w.res)
	}
	return all, nil
}

// usage holds a time and the CPU times up to it.
type usage struct {
	at             time.Time
	client, server time.Duration
}

func (o *Open) usage() usage {
	u := usage{at: time.Now(), client: selfCPU()}
	if o.CPU != nil {
		u.server = o.CPU()
	}
	return u
}

// openWorker sends the requests of one connection.
type openWorker struct {
	*Open
	conn   *Conn // nil: the connection was lost and must be opened again
	index  int
	stride int
	first  int // index in Requests at which it begins
	step   int // number of requests sent
	tags   [][]byte
	out    []byte
	res    Result
}

func (w *openWorker) close() {
	if w.conn != nil {
		w.conn.Close()
	}
}

func (w *openWorker) run(start time.Time) {
	end := start.Add(w.Schedule.Length() + w.Grace)
	n := w.Schedule.Count()
	warming := w.Skip > 0
	for i := w.index; i < n || w.Unpaced; i += w.stride {
		now := time.Now()
		due := now
		if !w.Unpaced {
			due = start.Add(w.Schedule.Due(i))
		}
		if warming && due.Sub(start) >= w.Skip {
			w.res, warming = Result{Hist: NewHistogram()}, false
		}
		if now.After(end) && w.Unpaced || w.stopped() {
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
		w.Live.Count(took, w.res.Errors > failed)
	}
}

// stopped reports whether the run was ended early.
func (w *openWorker) stopped() bool {
	select {
	case <-w.Stop: // never, if it is nil
		return true
	default:
		return false
	}
}

// sleep waits until a request is due, or the run is ended early.
func (w *openWorker) sleep(wait time.Duration) {
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
func (w *openWorker) ask(start time.Time) error {
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
	return nil
}

// prepare puts the worker's next request into out and returns its index in Requests, -1 for one of Next.
func (w *openWorker) prepare() (i int, err error) {
	if w.Next != nil {
		w.out, err = w.Next(w.index, w.out[:0])
		return -1, err
	}
	i = (w.first + w.step%w.Span) % len(w.Requests)
	w.step++
	w.out = w.Requests[i].Bytes(w.out[:0], w.tags[i])
	return i, nil
}
