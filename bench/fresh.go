package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tickhive/bench/load"
	"tickhive/bench/proc"
)

// market is the real server in a child process, over a market that a Writer in that process changes.
type market struct {
	*proc.Child
	addr string
}

func (r *Run) startMarket(pairs, levels int) (*market, error) {
	c, err := proc.Start(nil, r.Program, "market", "--pairs", fmt.Sprint(pairs), "--levels", fmt.Sprint(levels))
	if err != nil {
		return nil, err
	}
	return &market{c, c.Fields["public"]}, nil
}

// figures holds the counters of the Writer.
type figures struct{ changes, writerNs, gcNs, behind int64 }

func (m *market) figures() (f figures, err error) {
	line, err := m.Ask("figures")
	if err == nil {
		_, err = fmt.Sscan(line, &f.changes, &f.writerNs, &f.gcNs, &f.behind)
	}
	return f, err
}

// rate sets the Writer's rate. With on false the Writer wakes at this rate but changes nothing.
func (m *market) rate(perSecond int, on bool) error {
	word := "off"
	if on {
		word = "on"
	}
	_, err := m.Ask(fmt.Sprintf("rate %d %s", perSecond, word))
	return err
}

// Requests to a market: the book of its first pair, and all tickers.
var (
	book       = load.Get("", "/api/orderbook?currencyPairCode="+pairName(0))
	allTickers = load.Get("", aggregator+"/tickers")
)

// pollResult holds the Writer's counters while a market was polled, and the server's CPU a response in us, not
// counting the Writer's CPU.
type pollResult struct {
	figures
	res  *load.Result
	took time.Duration
	us   float64
}

// answers polls the market for length while the Writer works at perSecond.
func (m *market) answers(req *load.Request, conns, perSecond int, on bool, length time.Duration) (s pollResult,
	err error,
) {
	if err := m.rate(perSecond, on); err != nil {
		return s, err
	}
	before, err := m.figures()
	if err != nil {
		return s, err
	}
	start := time.Now()
	s.res, err = load.Closed{
		Addr: m.addr, Requests: []*load.Request{req}, Conns: conns, For: length, CPU: m.CPU,
	}.Run()
	if err != nil {
		return s, err
	}
	s.took = time.Since(start)
	after, err := m.figures()
	if err != nil {
		return s, err
	}
	if s.res.Errors > 0 {
		return s, fmt.Errorf("market: %s: %w", s.res.Statuses(), s.res.Err)
	}
	s.figures = figures{
		after.changes - before.changes, after.writerNs - before.writerNs, after.gcNs - before.gcNs, after.behind,
	}
	s.us = (float64(s.res.Server) - float64(s.writerNs)) / 1e3 / float64(max(s.res.Answers, 1))
	return s, nil
}

// freshTarget returns the target of H5 for the CPU a response at a rate of changes, 0 when there is none
// (docs/internals/performance.md#h5).
func freshTarget(rate int) float64 {
	switch rate {
	case 10_000:
		return 1.10
	case 100_000:
		return 1.25
	}
	return 0
}

// freshRound is the length of one round of H5 (docs/internals/performance.md#h5).
const freshRound = 500 * time.Millisecond

// runFresh measures H5 and H6 (docs/internals/performance.md#http).
func runFresh(r *Run) error {
	m, err := r.startMarket(1, 60)
	if err != nil {
		return err
	}
	defer m.Stop()
	for _, rate := range []int{1000, 10_000, 100_000} {
		r.say("%d changes a second", rate)
		if err := freshCPU(r, m, rate); err != nil {
			return err
		}
	}
	r.say("bursts of 64 polls after idle times")
	if err := freshBursts(r, m); err != nil {
		return err
	}
	many, err := r.startMarket(1000, 2)
	if err != nil {
		return err
	}
	defer many.Stop()
	return freshTickers(r, many)
}

// freshCPU measures H5 at one rate (docs/internals/performance.md#h5): the CPU a response of a book that
// changes, compared with a book that does not change while the Writer wakes at the same rate. The Writer's own
// CPU is subtracted.
func freshCPU(r *Run, m *market, rate int) error {
	with := fmt.Sprintf("book 40x40, %d connections, each change published by itself, evenly spaced; CPU of the "+
		"writer's thread taken off", httpConns)
	cpu := r.S.Cost(fmt.Sprintf("CPU an answer, %d changes/s against none", rate), "us", with).Against("no changes")
	rounds := r.Rounds
	if t := freshTarget(rate); t > 0 {
		cpu.Aim("H5", t)
		rounds = r.cpuRounds()
	}
	gc := r.S.Cost(fmt.Sprintf("collector, %d changes/s", rate), "% of a core", with)
	if rate >= 10_000 {
		gc.Aim("H5", 2)
	}
	kept := r.S.Rate(fmt.Sprintf("changes made of %d/s", rate), "changes/s", with)
	stale := &staleness{}
	var rates []float64
	for range rounds {
		changing, err := m.answers(book, httpConns, rate, true, r.length(freshRound))
		if err != nil {
			return err
		}
		still, err := m.answers(book, httpConns, rate, false, r.length(freshRound))
		if err != nil {
			return err
		}
		cpu.Round(changing.us, still.us)
		gc.Round(100 * float64(changing.gcNs) / float64(changing.took))
		kept.Round(float64(changing.changes) / changing.took.Seconds())
		rates = append(rates, changing.res.Rate())
		r.route(fmt.Sprintf("book, %d changes/s", rate), "product", changing.res)
	}
	cpu.Reason = fmt.Sprintf("%.1f us an answer, %.1f without changes, %.0f answers a second: beside %d changes a "+
		"second most answers are the first of their document: each fetches a view, a directory and a page from the "+
		"writer's core and patches a page's text",
		slices.Min(cpu.Product), slices.Min(cpu.Reference), rates[len(rates)/2], rate)
	if err := sampleStaleness(r, m, rate, stale); err != nil {
		return err
	}
	return m.rate(0, false)
}

// staleness collects responses with the times at which their requests were sent.
type staleness struct {
	mu   sync.Mutex
	line strings.Builder
	n    int
}

func (s *staleness) add(sent time.Time, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.line, " %d %d", sent.UnixNano(), seq)
	s.n++
}

// verdict returns the number of responses that lacked a change published before their request, and the longest
// time by which the change had been published before it.
func (s *staleness) verdict(m *market) (stale int, worstUs int64, err error) {
	line, err := m.Ask("stale" + s.line.String())
	if err == nil {
		_, err = fmt.Sscan(line, &stale, &worstUs)
	}
	s.line.Reset()
	return stale, worstUs, err
}

// sampleStaleness sends requests at an even rate while the Writer changes the market.
func sampleStaleness(r *Run, m *market, rate int, s *staleness) error {
	if err := m.rate(rate, true); err != nil {
		return err
	}
	res, err := load.Open{
		Addr: m.addr, Schedule: load.Even{PerSecond: 2000, For: r.length(time.Second)}, Workers: 8, Grace: time.Second,
		Requests: []*load.Request{book},
		Each:     func(_ int, sent time.Time, a *load.Answer) { s.add(sent, a.Seq) },
	}.Run()
	if err != nil {
		return err
	}
	n := s.n
	stale, worst, err := s.verdict(m)
	if err != nil {
		return err
	}
	r.S.Latencies = append(r.S.Latencies, latencyOf(res, fmt.Sprintf("book, %d changes/s", rate)))
	r.S.Cost(fmt.Sprintf("stale answers, book, %d changes/s", rate), "answers",
		fmt.Sprintf("%d answers; worst %d us; floor 0", n, worst)).Round(float64(stale)).Aim("H6", 0)
	return nil
}

// burstPolls is the number of concurrent requests after a time without requests.
const burstPolls = 64

// freshBursts measures the first half of H6 (docs/internals/performance.md#h6): the market changes while no
// client polls, then burstPolls clients poll at once. None of them may receive a state older than the last
// change.
func freshBursts(r *Run, m *market) error {
	polls := 10_000
	if r.Quick {
		polls = 2000
	}
	conns := make([]*load.Conn, burstPolls)
	for i := range conns {
		c, err := load.Dial(m.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		conns[i] = c
	}
	s, stale, worst := &staleness{}, 0, int64(0)
	for s.n < polls {
		if err := m.rate(1000, true); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
		if err := m.rate(0, false); err != nil {
			return err
		}
		if err := burst(conns, s); err != nil {
			return err
		}
		n, us, err := s.verdict(m)
		if err != nil {
			return err
		}
		stale, worst = stale+n, max(worst, us)
	}
	r.S.Cost("stale answers, 64 polls at once after idle", "answers",
		fmt.Sprintf("%d answers, %d bursts; worst %d us", s.n, s.n/burstPolls, worst),
	).Round(float64(stale)).Aim("H6", 0)
	return nil
}

// burst sends a request on every connection at once.
func burst(conns []*load.Conn, s *staleness) error {
	req := book.Bytes(nil, nil)
	errs := make(chan error, len(conns))
	for _, c := range conns {
		go func() {
			sent := time.Now()
			if err := c.Send(req); err != nil {
				errs <- err
				return
			}
			var a load.Answer
			err := c.Read(&a)
			if err == nil && a.Status != 200 {
				err = fmt.Errorf("fresh: status %d", a.Status)
			}
			if err == nil {
				s.add(sent, a.Seq)
			}
			errs <- err
		}()
	}
	var first error
	for range conns {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// freshTickers measures the document over all pairs: 1,000 tickers while one pair changes.
func freshTickers(r *Run, m *market) error {
	const rate = 10_000
	r.say("1,000 tickers, %d changes a second", rate)
	cpu := r.S.Cost("CPU an answer, 1,000 tickers, 10000 changes/s against none", "us",
		"floor 5 ms; CPU of the writer's thread taken off").Against("no changes").Aim("H5", 1.10)
	for range r.cpuRounds() {
		changing, err := m.answers(allTickers, httpConns, rate, true, r.length(freshRound))
		if err != nil {
			return err
		}
		still, err := m.answers(allTickers, httpConns, rate, false, r.length(freshRound))
		if err != nil {
			return err
		}
		cpu.Round(changing.us, still.us)
	}
	return m.rate(0, false)
}
