package bench

import (
	"encoding/json"
	"fmt"
	"time"

	"tickhive/bench/load"
	"tickhive/bench/report"
)

// The profile of H9: each of 100 pollers asks once a minute for tickers, pairs and assets
// and, of each of 1,000 pairs, for the book and the trades.
const (
	pollers     = 100
	pollPairs   = 1000
	pollMinute  = float64(pollers) * (2*pollPairs + 3) / 60 // requests a second, mean
	pollLength  = 24 * time.Second
	pollGrace   = 5 * time.Second
	mixedOrders = 50_000 // commands a second
	mixedBatch  = 250
)

// pollRequests are one poller's minute over some pairs: gzip where it is offered, and
// conditional, as polite pollers ask.
func pollRequests(prefix string, codes []string) []*load.Request {
	get := func(name, target string) *load.Request {
		q := load.Get(name, prefix+target, "Accept-Encoding: gzip", "User-Agent: poller")
		q.Conditional = true
		return q
	}
	out := []*load.Request{get("tickers", aggregator+"/tickers"), get("pairs", aggregator+"/pairs"), get("asset", aggregator+"/asset")}
	for _, code := range codes {
		out = append(out, get("orderbook", aggregator+"/orderbook?depth=100&ticker_id="+code),
			get("historical_trades", aggregator+"/historical_trades?limit=100&ticker_id="+code))
	}
	return out
}

// pollMarket is a product with a thousand pairs of 60 levels a side and 100 trades.
func (r *Run) pollMarket() (*product, []string, error) {
	r.say("a market of %d pairs", pollPairs)
	p, err := r.startProduct()
	if err != nil {
		return nil, nil, err
	}
	codes := make([]string, pollPairs)
	for i := range codes {
		codes[i] = pairName(i)
	}
	if err = p.addPairs(0, pollPairs); err == nil {
		err = p.fill(0, pollPairs, 60, 100)
	}
	if err != nil {
		p.end()
		return nil, nil, err
	}
	return p, codes, nil
}

// runPoll is H9's profile without the engine under load.
func runPoll(r *Run) error {
	if len(r.Targets) > 0 {
		return r.pollTargets()
	}
	p, codes, err := r.pollMarket()
	if err != nil {
		return err
	}
	defer p.end()
	_, err = r.poll("poll, engine idle", p.public, "", codes, p.CPU)
	return err
}

// poll runs the profile, scaled to the run's length: the same rates, a shorter minute.
func (r *Run) poll(name, addr, prefix string, codes []string, cpu func() time.Duration) (*load.Result, error) {
	r.say("%s", name)
	requests := pollRequests(prefix, codes)
	if _, err := (load.Open{Addr: addr, Schedule: load.Even{PerSecond: 500, For: warmFor}, Requests: requests, Workers: 10, Grace: pollGrace}).Run(); err != nil {
		return nil, err
	}
	length := r.length(pollLength)
	res, err := load.Open{
		Addr: addr, Schedule: load.TopOfMinute{PerSecond: pollMinute, For: length}, Requests: requests,
		Workers: pollers, Grace: pollGrace, CPU: cpu,
	}.Run()
	if err != nil {
		return nil, err
	}
	r.S.Latencies = append(r.S.Latencies, res.Latency(name))
	r.route(name, addr, res)
	r.S.Note("%s: %d pollers x %d pairs, %.0f requests/s in the mean, a third of them in the first twelfth (%s) of %s: %.0f/s; %s",
		name, pollers, len(codes), pollMinute, length/12, length, pollMinute*4, res.Statuses())
	return res, nil
}

// runMixed is H9: the profile while the engine takes 50,000 commands a second through the
// internal API.
func runMixed(r *Run) error {
	p, codes, err := r.pollMarket()
	if err != nil {
		return err
	}
	defer p.end()
	stop, done := make(chan struct{}), make(chan orderLoad, 1)
	go func() { done <- p.loadOrders(codes, stop) }()
	res, err := r.poll("poll with 50,000 orders/s", p.public, "", codes, p.CPU)
	close(stop)
	orders := <-done
	if err != nil {
		return err
	}
	if orders.err != nil {
		return fmt.Errorf("orders beside the poll: %w", orders.err)
	}
	r.S.Latencies = append(r.S.Latencies, orders.latency)
	l := res.Latency("")
	with := fmt.Sprintf("%d pollers, gzip, conditional, %.0f orders/s taken", pollers, orders.rate)
	r.S.Add(&report.Measure{Name: "p99 from the intended send time", Unit: "ms", Product: []float64{l.Ms(99)}, With: with}).Aim("H9", 5)
	r.S.Add(&report.Measure{Name: "errors and requests never sent", Unit: "requests", Product: []float64{float64(res.Errors + res.Missed)}, With: with}).Aim("H9", 0)
	r.S.Add(&report.Measure{Name: "orders taken beside the poll", Unit: "orders/s", Higher: true, Product: []float64{orders.rate}, With: with})
	ol := orders.latency
	r.S.Add(&report.Measure{
		Name: "order batch to its answer, p99", Unit: "ms", Product: []float64{ol.Ms(99)},
		With: "an answer comes behind the publication: a bound of event to publication, HTTP and decoding counted in",
	}).Aim("H6", 5)
	return nil
}

// orderLoad is what the order stream of a mixed run gave.
type orderLoad struct {
	rate    float64
	latency report.Latency
	err     error
}

// loadOrders sends batches by a schedule until stop: limit orders around the touch of every
// pair, half of them trading at once, so that books keep their size.
func (p *product) loadOrders(codes []string, stop <-chan struct{}) orderLoad {
	var requests []*load.Request
	for b := range 40 {
		body := []byte(`{"commands":[`)
		for k := range mixedBatch {
			if k > 0 {
				body = append(body, ',')
			}
			i := b*mixedBatch + k
			side, price := "buy", int64(mid)
			if i%2 == 1 {
				side = "sell"
			}
			body = placeJSON(body, codes[(i/2*7)%len(codes)], side, price, 10_000+int64(i/2))
		}
		requests = append(requests, load.Post("", internalV1+"/orders/batch", append(body, "]}"...)))
	}
	var out orderLoad
	var total, answers int64
	start := time.Now()
	sum := &report.Latency{}
	for {
		select {
		case <-stop:
			out.rate = float64(total) / time.Since(start).Seconds()
			out.latency = *sum
			return out
		default:
		}
		// Pieces of two seconds, so that the end is near whenever stop comes.
		res, err := load.Open{
			Addr: p.internal, Schedule: load.Even{PerSecond: mixedOrders / mixedBatch, For: 2 * time.Second},
			Requests: requests, Workers: 4, Grace: pollGrace,
		}.Run()
		if err == nil && res.Errors > 0 {
			err = fmt.Errorf("%s: %w", res.Statuses(), res.Err)
		}
		if err != nil {
			out.err = err
			return out
		}
		answers += res.Answers
		total = answers * mixedBatch
		l := res.Latency("order batches of 250")
		if sum.Name == "" || l.At(99) > sum.At(99) { // the worst piece stands for the run
			l.PerSecond = sum.PerSecond
			*sum = l
		}
		sum.PerSecond = append(sum.PerSecond, res.Seconds[:min(len(res.Seconds), 2)]...)
	}
}

// pollTargets loads running servers one after the other with the same profile, over the
// pairs that the first one lists.
func (r *Run) pollTargets() error {
	for _, base := range r.Targets {
		addr, prefix, err := load.Target(base)
		if err != nil {
			return err
		}
		codes, err := pairsOf(base)
		if err != nil {
			return err
		}
		res, err := r.poll(base, addr, prefix, codes, nil)
		if err != nil {
			return err
		}
		l := res.Latency("")
		r.S.Add(&report.Measure{Name: "p99 " + base, Unit: "ms", Product: []float64{l.Ms(99)}})
	}
	return nil
}

// pairsOf asks a server for its pair codes.
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

func firstPair(base string) (string, error) {
	codes, err := pairsOf(base)
	if err != nil {
		return "", err
	}
	return codes[0], nil
}
