package load

import (
	"sync"
	"time"

	"tickhive/bench/proc"
)

// late bounds the delay after which a request that is sent behind its time counts as late.
const late = time.Millisecond

// Open sends by a schedule, whatever comes back. Request i belongs to worker i mod
// workers, which sends its requests in order on one connection: a worker that is behind
// sends at once, and latency counts from the time at which it should have.
type Open struct {
	Addr     string
	Schedule Schedule
	// Requests are walked by each worker from its own place, as a poller does.
	Requests []*Request
	// Span limits the requests, from its place on, that a worker repeats; 0: all.
	Span    int
	Workers int
	// Skip is the start of the run that is not counted: what is due in it warms up.
	Skip time.Duration
	// Grace limits the time after the schedule's end in which due requests are still sent.
	Grace time.Duration
	CPU   func() time.Duration
	// Each is called by a worker behind every answer; nil: not.
	Each func(worker int, sent time.Time, a *Answer)
}

// Run sends everything that the schedule asks for.
func (o Open) Run() (*Result, error) {
	workers := make([]*openWorker, max(o.Workers, 1))
	if o.Span == 0 {
		o.Span = len(o.Requests)
	}
	for i := range workers {
		conn, err := Dial(o.Addr)
		if err != nil {
			return nil, err
		}
		workers[i] = &openWorker{
			Open: &o, conn: conn, index: i, stride: len(workers),
			first: i * len(o.Requests) / len(workers), tags: make([][]byte, len(o.Requests)),
			res: Result{Hist: newHistogram()},
		}
		defer workers[i].close()
	}
	all := &Result{Hist: newHistogram()}
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
		all.merge(&w.res)
	}
	return all, nil
}

// usage is a moment and the CPU used up to it.
type usage struct {
	at             time.Time
	client, server time.Duration
}

func (o *Open) usage() usage {
	u := usage{at: time.Now(), client: proc.SelfCPU()}
	if o.CPU != nil {
		u.server = o.CPU()
	}
	return u
}

// openWorker is one poller.
type openWorker struct {
	*Open
	conn   *Conn // nil: lost, to be made again
	index  int
	stride int
	first  int // its place in Requests
	step   int // how many it has sent
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
	for i := w.index; i < n; i += w.stride {
		due := start.Add(w.Schedule.Due(i))
		if warming && w.Schedule.Due(i) >= w.Skip {
			w.res, warming = Result{Hist: newHistogram()}, false
		}
		now := time.Now()
		if now.After(end) {
			w.res.Missed++
			w.record(now.Sub(due))
			continue
		}
		if wait := due.Sub(now); wait > 0 {
			time.Sleep(wait)
		} else if wait < -late {
			w.res.Late++
		}
		if err := w.ask(start); err != nil {
			w.res.fail(err)
			w.close()
			w.conn = nil
		}
		w.record(time.Since(due))
	}
}

func (w *openWorker) record(d time.Duration) {
	if w.res.Hist.RecordValue(max(d.Microseconds(), 1)) != nil {
		_ = w.res.Hist.RecordValue(maxLatency.Microseconds())
	}
}

// ask sends the worker's next request and reads its answer.
func (w *openWorker) ask(start time.Time) error {
	if w.conn == nil {
		conn, err := Dial(w.Addr)
		if err != nil {
			return err
		}
		w.conn = conn
	}
	if err := w.conn.deadline(); err != nil {
		return err
	}
	i := (w.first + w.step%w.Span) % len(w.Requests)
	w.step++
	w.out = w.Requests[i].Bytes(w.out[:0], w.tags[i])
	sent := time.Now()
	if err := w.conn.Send(w.out); err != nil {
		return err
	}
	var a Answer
	if err := w.conn.Read(&a); err != nil {
		return err
	}
	if w.Requests[i].Conditional && len(a.ETag) > 0 {
		w.tags[i] = append(w.tags[i][:0], a.ETag...)
	}
	w.res.count(&a, time.Since(start))
	if w.Each != nil {
		w.Each(w.index, sent, &a)
	}
	return nil
}
