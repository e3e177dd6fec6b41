package bench

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/report"
)

// The profile of H9 (docs/internals/performance.md#h9): each of 100 pollers requests, once a minute, the
// tickers, pairs and assets, and the book and the trades of each of 1,000 pairs.
const (
	pollers     = 100
	pollPairs   = 1000
	pollShort   = 12 * time.Second // length of a simulated minute
	pollMinutes = 3                // number of minutes; the first one is a warm-up
	pollGrace   = 5 * time.Second
	mixedOrders = 50_000 // commands a second
	mixedBatch  = 250
)

// pollRequests returns the requests that a poller makes in a minute for some pairs. They accept gzip where the
// server offers it and are conditional, as polite pollers send them.
func pollRequests(prefix string, codes []string) []*load.Request {
	get := func(name, target string) *load.Request {
		q := load.Get(name, prefix+target, "Accept-Encoding: gzip", "User-Agent: poller")
		q.Conditional = true
		return q
	}
	out := []*load.Request{
		get("tickers", aggregator+"/tickers"), get("pairs", aggregator+"/pairs"),
		get("asset", aggregator+"/asset"),
	}
	for _, code := range codes {
		out = append(out, get("orderbook", aggregator+"/orderbook?depth=100&ticker_id="+code),
			get("historical_trades", aggregator+"/historical_trades?limit=100&ticker_id="+code))
	}
	return out
}

// pollMarket starts a product with a thousand pairs of 60 levels a side and 100 trades.
func (r *Run) pollMarket() (*product, []string, error) {
	r.say("a market of %d pairs", pollPairs)
	p, err := r.startFilled(contents{pollPairs, 60, 100})
	codes := make([]string, pollPairs)
	for i := range codes {
		codes[i] = pairName(i)
	}
	return p, codes, err
}

// runPoll measures the profile of H9 while no orders are sent (docs/internals/performance.md#h9).
func runPoll(r *Run) error {
	if len(r.Targets) > 0 {
		return pollTargets(r)
	}
	p, codes, err := r.pollMarket()
	if err != nil {
		return err
	}
	defer p.end()
	_, _, err = r.poll("poll, engine idle", p.public, "", codes, p.CPU)
	return err
}

// poll runs the profile in minutes of 12 s at the rates of a whole minute. Each poller sends a fifth of its
// requests in each minute, the same ones every time, so that they are conditional from the second minute on.
// The first minute fills caches and is not counted.
func (r *Run) poll(name, addr, prefix string, codes []string, cpu func() time.Duration) (*load.Result,
	*report.Latency, error,
) {
	r.say("%s", name)
	requests := pollRequests(prefix, codes)
	minute := r.length(pollShort)
	span := max(int(float64(len(requests))*minute.Seconds()/60), 1)
	rate := float64(pollers*span) / minute.Seconds()
	res, err := load.Loop{
		Addr: addr, Schedule: load.TopOfMinute{PerSecond: rate, Minute: minute, Minutes: pollMinutes},
		Requests: requests,
		Workers:  pollers, Span: span, Warm: minute, Grace: pollGrace, CPU: cpu,
	}.Run()
	if err != nil {
		return nil, nil, err
	}
	l := r.latency(res, name)
	server := "product"
	if cpu == nil {
		server = addr
	}
	r.route(name, server, res)
	r.S.Note("%s: %d pollers x %d pairs, %.0f requests/s in the mean, %.0f/s in the first %s of each %s (a third "+
		"of all); %s; client %.0f us, server %.0f us of CPU an answer",
		name, pollers, len(codes), rate, rate*4, minute/12, minute, res.Statuses(), res.ClientUs(), res.ServerUs())
	return res, l, nil
}

// runMixed measures H9 (docs/internals/performance.md#h9): the profile while the engine receives 50,000
// commands a second in batches, and single orders, whose latency bounds the time from an event to its publication: an
// answer comes behind the publication.
func runMixed(r *Run) error {
	p, codes, err := r.pollMarket()
	if err != nil {
		return err
	}
	defer p.end()
	idle, err := r.child("wakeups")
	if err != nil {
		return err
	}
	defer idle.Stop()
	flows := []*orderFlow{
		{
			name: "order batches of 250", size: mixedBatch, rate: mixedOrders / mixedBatch,
			requests: batches(40, mixedBatch, codes...),
		},
		{name: "single orders", size: 1, rate: probeRate, requests: singleOrders(codes...)},
	}
	var wg sync.WaitGroup
	for _, f := range flows {
		wg.Go(func() { f.run(p, pollMinutes*r.length(pollShort), r.length(pollShort)) })
	}
	res, l, err := r.poll("poll with 50,000 orders/s", p.public, "", codes, p.CPU)
	wg.Wait()
	taken := 0.
	for _, f := range flows {
		if f.err != nil && err == nil {
			err = fmt.Errorf("%s beside the poll: %w", f.name, f.err)
		}
		if f.err == nil {
			taken += float64(f.size) * f.res.Rate()
			r.latency(f.res, f.name)
		}
	}
	if err != nil {
		return err
	}
	late := 0. // ms
	line, err := idle.Ask("p99")
	if err == nil {
		_, err = fmt.Sscan(line, &late)
	}
	if err != nil {
		return err
	}
	return r.round(figures{
		"p99 from the intended send time": l.Ms(99), "errors and requests never sent": float64(res.Errors + res.Missed),
		"orders taken beside the poll": taken, "p99 of a process that only wakes up": late,
	})
}

// probeRate is the number of single orders a second.
const probeRate = 200

// orderFlow sends orders while the pollers run.
type orderFlow struct {
	name     string
	size     int // orders in a request
	rate     float64
	requests []*load.Request
	res      *load.Result
	err      error
}

func (f *orderFlow) run(p *product, length, skip time.Duration) {
	f.res, f.err = load.Loop{
		Addr: p.internal, Schedule: load.Even{PerSecond: f.rate, For: length}, Requests: f.requests,
		Workers: 4, Warm: skip, Grace: pollGrace,
	}.Run()
	if f.err == nil && f.res.Errors > 0 {
		f.err = fmt.Errorf("%s: %w", f.res.Statuses(), f.res.Err)
	}
}

// pollTargets runs the profile against each running server of Options.Targets, with the pairs that the first
// server lists.
func pollTargets(r *Run) error {
	for _, base := range r.Targets {
		addr, prefix, err := load.Target(base)
		if err != nil {
			return err
		}
		codes, err := pairsOf(base)
		if err != nil {
			return err
		}
		_, l, err := r.poll(base, addr, prefix, codes, nil)
		if err != nil {
			return err
		}
		r.also(row{name: "p99 " + base, unit: "ms"})
		if err := r.round(figures{"p99 " + base: l.Ms(99)}); err != nil {
			return err
		}
	}
	return nil
}

// pairsOf returns the pair codes of a server.
func pairsOf(base string) ([]string, error) {
	addr, prefix, err := load.Target(base)
	if err != nil {
		return nil, err
	}
	a, err := load.Once(addr, load.Get("", prefix+"/api/currencies/pairs"))
	if err != nil {
		return nil, err
	}
	var pairs []struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal(a.Body, &pairs); err != nil || len(pairs) == 0 {
		return nil, fmt.Errorf("%s lists no pairs: %d %.100s", base, a.Status, a.Body)
	}
	codes := make([]string, len(pairs))
	for i := range pairs {
		codes[i] = pairs[i].Code
	}
	return codes, nil
}
