package load

import (
	"sync"
	"time"
)

// Closed sends each request as soon as the previous one is answered. It measures CPU an answer and the highest
// rate, never latency.
type Closed struct {
	Addr     string
	Requests []*Request // each connection sends them in turn, beginning at a different one
	Conns    int        // default 1
	Pipeline int        // number of requests written at once; default 1
	Warm     time.Duration
	For      time.Duration
	// CPU returns the server's CPU time so far; nil: not measured.
	CPU func() time.Duration
	// Between runs in each worker between two rounds of its requests; nil: nothing runs.
	Between func(worker int) error
}

// Run warms up, then measures. It returns an error only when it could not start.
func (c Closed) Run() (*Result, error) {
	c.Conns, c.Pipeline = max(c.Conns, 1), max(c.Pipeline, 1)
	workers := make([]*closedWorker, c.Conns)
	for i := range workers {
		conn, err := Dial(c.Addr)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		workers[i] = &closedWorker{
			Closed: &c, conn: conn, index: i, tags: make([][]byte, len(c.Requests)),
			next: i * len(c.Requests) / c.Conns,
		}
	}
	if c.Warm > 0 {
		c.phase(workers, c.Warm)
	}
	res := c.phase(workers, c.For)
	return res, nil
}

// phase runs all workers for the time d and adds up their results.
func (c *Closed) phase(workers []*closedWorker, d time.Duration) *Result {
	var wg sync.WaitGroup
	all := &Result{Hist: NewHistogram()}
	var before time.Duration
	if c.CPU != nil {
		before = c.CPU()
	}
	self := selfCPU()
	start := time.Now()
	for _, w := range workers {
		w.res = Result{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			w.run(start, d)
		}()
	}
	wg.Wait()
	all.Elapsed = time.Since(start)
	all.Client = selfCPU() - self
	if c.CPU != nil {
		all.Server = c.CPU() - before
	}
	for _, w := range workers {
		all.Merge(&w.res)
	}
	return all
}

// closedWorker sends the requests of one connection.
type closedWorker struct {
	*Closed
	conn  *Conn
	index int
	next  int
	tags  [][]byte // ETag of the last answer to each request
	out   []byte
	res   Result
}

func (w *closedWorker) run(start time.Time, d time.Duration) {
	var a Answer
	for time.Since(start) < d {
		if err := w.conn.deadline(); err != nil {
			w.res.Fail(err)
			return
		}
		if w.Between != nil {
			if err := w.Between(w.index); err != nil {
				w.res.Fail(err)
				return
			}
		}
		w.out = w.out[:0]
		for k := range w.Pipeline {
			i := (w.next + k) % len(w.Requests)
			w.out = w.Requests[i].Bytes(w.out, w.tags[i])
		}
		if err := w.conn.Send(w.out); err != nil {
			w.res.Fail(err)
			return
		}
		for range w.Pipeline {
			if err := w.conn.Read(&a); err != nil {
				w.res.Fail(err)
				return
			}
			if w.Requests[w.next].Conditional && len(a.ETag) > 0 {
				w.tags[w.next] = append(w.tags[w.next][:0], a.ETag...)
			}
			w.next = (w.next + 1) % len(w.Requests)
			w.res.count(&a, time.Since(start))
		}
	}
}

// Once sends one request on a new connection and returns a copy of the answer.
func Once(addr string, r *Request) (Answer, error) {
	conn, err := Dial(addr)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	var a Answer
	if err := conn.deadline(); err != nil {
		return a, err
	}
	if err := conn.Send(r.Bytes(nil, nil)); err != nil {
		return a, err
	}
	if err := conn.Read(&a); err != nil {
		return a, err
	}
	a.Body = append([]byte(nil), a.Body...)
	a.ETag = append([]byte(nil), a.ETag...)
	return a, nil
}
