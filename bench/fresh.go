package bench

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
)

// changing is the real server in a child process, over a market that changes (marketChild).
type changing struct {
	*proc.Child
	addr string
}

func (r *Run) startMarket(pairs, levels int) (*changing, error) {
	c, err := r.child("market", fmt.Sprint(pairs), fmt.Sprint(levels))
	if err != nil {
		return nil, err
	}
	return &changing{c, c.Fields["public"]}, nil
}

// counters returns how many changes the market has made, and the CPU time of its thread.
func (m *changing) counters() (changes int64, thread time.Duration, err error) {
	line, err := m.Ask("figures")
	if err == nil {
		_, err = fmt.Sscan(line, &changes, (*int64)(&thread))
	}
	return changes, thread, err
}

// rate sets the rate of the changes. With on false the thread wakes at this rate but changes nothing.
func (m *changing) rate(perSecond int, on bool) error {
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

// answers polls the market for a round. Meanwhile the market changes perSecond times a second, or its thread only wakes
// up. answers returns the server's CPU time for an answer in us, without the CPU time of the thread that changes the
// market, and the changes a second.
func (m *changing) answers(req *load.Request, conns, perSecond int, on bool, d time.Duration) (us, rate float64,
	err error,
) {
	if err := m.rate(perSecond, on); err != nil {
		return 0, 0, err
	}
	made, thread, err := m.counters()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	res, err := load.Loop{Addr: m.addr, Requests: []*load.Request{req}, Workers: conns, For: d, CPU: m.CPU}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("market: %w", err)
	}
	took := time.Since(start).Seconds()
	madeNow, threadNow, err := m.counters()
	return float64(res.Server-(threadNow-thread)) / 1e3 / float64(res.Answers), float64(madeNow-made) / took, err
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
		if rate > 1000 {
			err := freshCPU(r, m, book, fmt.Sprintf("CPU an answer, %d changes/s against none", rate), rate)
			if err != nil {
				return err
			}
		}
		if err := sampleStaleness(r, m, rate); err != nil {
			return err
		}
	}
	if err := freshBursts(r, m); err != nil {
		return err
	}
	many, err := r.startMarket(1000, 2)
	if err != nil {
		return err
	}
	defer many.Stop()
	return freshCPU(r, many, allTickers, "CPU an answer, 1,000 tickers, 10000 changes/s against none", 10_000)
}

// freshCPU measures H5: the CPU of an answer whose document changes, compared with a document that does not change
// while the thread of the changes wakes at the same rate.
func freshCPU(r *Run, m *changing, req *load.Request, name string, perSecond int) error {
	err := r.rounds(name, r.cpuRounds(), func(f figures) (err error) {
		var made float64
		if f[name], made, err = m.answers(req, httpConns, perSecond, true, r.length(freshRound)); req == book {
			f[fmt.Sprintf("changes made of %d/s", perSecond)] = made
		}
		return err
	}, func(f figures) (err error) {
		f["no changes"], _, err = m.answers(req, httpConns, perSecond, false, r.length(freshRound))
		return err
	})
	if err != nil {
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
func (s *staleness) verdict(m *changing) (stale int, worstUs int64, err error) {
	line, err := m.Ask("stale" + s.line.String())
	if err == nil {
		_, err = fmt.Sscan(line, &stale, &worstUs)
	}
	s.line.Reset()
	return stale, worstUs, err
}

// sampleStaleness sends requests at an even rate while the market changes.
func sampleStaleness(r *Run, m *changing, perSecond int) error {
	if err := m.rate(perSecond, true); err != nil {
		return err
	}
	s := &staleness{}
	res, err := load.Loop{
		Addr: m.addr, Schedule: load.Even{PerSecond: 2000, For: r.length(time.Second)}, Workers: 8, Grace: time.Second,
		Requests: []*load.Request{book},
		Each:     func(_ int, sent time.Time, a *load.Answer) { s.add(sent, a.Seq) },
	}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return err
	}
	r.latency(res, fmt.Sprintf("book, %d changes/s", perSecond))
	n := s.n
	stale, worst, err := s.verdict(m)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("stale answers, book, %d changes/s", perSecond)
	r.row(name).With = fmt.Sprintf("%d answers; worst %d us", n, worst)
	if err := r.round(figures{name: float64(stale)}); err != nil {
		return err
	}
	return m.rate(0, false)
}

// burstPolls is the number of concurrent requests after a time without requests.
const burstPolls = 64

// freshBursts measures the first half of H6 (docs/internals/performance.md#h6): the market changes while no
// client polls, then burstPolls clients poll at once. None of them may receive a state older than the last
// change.
func freshBursts(r *Run, m *changing) error {
	r.say("bursts of %d polls after idle times", burstPolls)
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
	const name = "stale answers, 64 polls at once after idle"
	r.row(name).With = fmt.Sprintf("%d answers, %d bursts; worst %d us", s.n, s.n/burstPolls, worst)
	return r.round(figures{name: float64(stale)})
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
