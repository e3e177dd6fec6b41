package load

import (
	"sync"
	"time"

	"tickhive/bench/proc"
)

// late is how far behind its time a request may be sent without being counted as late.
const late = time.Millisecond

// Open sends by a schedule, whatever comes back. Request i belongs to worker i mod
// workers, which sends its requests in order on one connection: a worker that is behind
// sends at once, and latency counts from the time at which it should have.
type Open struct {
	Addr     string
	Schedule Schedule
	// Requests are walked by each worker from its own place, as a poller does.
	Requests []*Request
	Workers  int
	// Grace is how long after the schedule's end what is due may still be sent.
	Grace time.Duration
	CPU   func() time.Duration
	// Each is called by a worker behind every answer; nil: not.
	Each func(worker int, sent time.Time, a *Answer)
}

// Run sends everything that the schedule asks for.
func (o Open) Run() (*Result, error) {
	workers := make([]*openWorker, max(o.Workers, 1))
	for i := range workers {
		conn, err := Dial(o.Addr)
		if err != nil {
			return nil, err
		}
		workers[i] = &openWorker{
			Open: &o, conn: conn, index: i, stride: len(workers),
			place: i * len(o.Requests) / len(workers), tags: make([][]byte, len(o.Requests)),
			res: Result{Hist: newHistogram()},
		}
		defer workers[i].close()
	}
	all := &Result{Hist: newHistogram()}
	var before time.Duration
	if o.CPU != nil {
		before = o.CPU()
	}
	self := proc.SelfCPU()
	start := time.Now()
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w.run(start)
		}()
	}
	wg.Wait()
	all.Elapsed = time.Since(start)
	all.Client = proc.SelfCPU() - self
	if o.CPU != nil {
		all.Server = o.CPU() - before
	}
	for _, w := range workers {
		all.merge(&w.res)
	}
	return all, nil
}

// openWorker is one poller.
type openWorker struct {
	*Open
	conn   *Conn // nil: lost, to be made again
	index  int
	stride int
	place  int // in Requests
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
	for i := w.index; i < n; i += w.stride {
		due := start.Add(w.Schedule.Due(i))
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
	i := w.place
	w.place = (w.place + 1) % len(w.Requests)
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
