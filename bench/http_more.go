package bench

import (
	"fmt"

	"tickhive/bench/load"
	"tickhive/bench/report"
)

// fullLevels is the number of levels of the book of H11, both sides together
// (docs/internals/performance.md#h11).
const fullLevels = 100_000

// fullBook measures H11 (docs/internals/performance.md#h11): the whole book, with one level changed between two
// requests. Separate rounds measure the CPU of the change, which is subtracted.
func fullBook(r *Run, p *product) error {
	r.say("H11: a book of %d levels", fullLevels)
	const pair = 5000
	if err := p.addPairs(pair, 1); err != nil {
		return err
	}
	if err := p.fill(pair, 1, fullLevels/2, 0); err != nil {
		return err
	}
	target := aggregator + "/orderbook?depth=0&ticker_id=" + pairName(pair)
	body, err := p.body(target)
	if err != nil {
		return err
	}
	constant, err := r.reference("constant", body)
	if err != nil {
		return err
	}
	defer constant.Stop()
	step := int64(0)
	change := func(int) error {
		step++
		order := placeJSON(nil, pairName(pair), "buy", mid-step*7%(fullLevels/2), 1000+step)
		return p.ask(load.Post("", internalV1+"/orders/batch", fmt.Appendf(nil, `{"commands":[%s]}`, order)))
	}
	m := r.S.Cost("full book of 100 k levels, one level changing between polls, CPU", "us",
		fmt.Sprintf("%d bytes, 1 connection; the change's own CPU taken off", len(body)),
	).Against("constant").Aim("H11", 2.5)
	for range r.Rounds {
		polled, err := load.Closed{
			Addr: p.public, Requests: []*load.Request{load.Get("", target)}, Warm: httpWarm,
			For: r.length(2 * httpRound), CPU: p.CPU, Between: change,
		}.Run()
		if err != nil {
			return err
		}
		alone, err := cpuOf(p, 200, change)
		if err != nil {
			return err
		}
		ref, err := load.Closed{
			Addr: constant.Fields["public"], Requests: []*load.Request{load.Get("", target)}, Warm: httpWarm,
			For: r.length(httpRound), CPU: constant.CPU,
		}.Run()
		if err != nil {
			return err
		}
		if polled.Errors+ref.Errors > 0 {
			return fmt.Errorf("H11: %s; constant: %s", polled.Statuses(), ref.Statuses())
		}
		r.route("full book", "product, changing", polled)
		r.route("full book", "constant", ref)
		m.Round(polled.ServerUs()-alone, ref.ServerUs())
	}
	return nil
}

// cpuOf returns the product's CPU in us for one of n calls.
func cpuOf(p *product, n int, call func(int) error) (float64, error) {
	before := p.CPU()
	for i := range n {
		if err := call(i); err != nil {
			return 0, err
		}
	}
	return float64((p.CPU() - before).Nanoseconds()) / 1e3 / float64(n), nil
}

// httpTargets measures the running servers of Options.Targets in alternating rounds; the first one is the
// reference.
func httpTargets(r *Run) error {
	routes := []string{
		"/api/currencies/pairs", aggregator + "/pairs", aggregator + "/tickers", aggregator + "/asset",
	}
	pair, err := firstPair(r.Targets[0])
	if err != nil {
		return err
	}
	routes = append(routes, "/api/tickers?currencyPairCode="+pair, "/api/orderbook?currencyPairCode="+pair,
		aggregator+"/orderbook?depth=100&ticker_id="+pair, aggregator+"/historical_trades?limit=100&ticker_id="+pair)
	for _, route := range routes {
		rates := make([][]float64, len(r.Targets))
		for range r.Rounds {
			for i, base := range r.Targets {
				addr, prefix, err := load.Target(base)
				if err != nil {
					return err
				}
				res, err := side{name: base, addr: addr}.measure(r, route, load.Get(route, prefix+route), 1)
				if err != nil {
					return err
				}
				rates[i] = append(rates[i], res.Rate())
			}
		}
		for i := range r.Targets {
			m := &report.Measure{Name: route + " " + r.Targets[i], Unit: "answers/s", Higher: true, Product: rates[i]}
			if i > 0 {
				m.Reference, m.RefName = rates[0], r.Targets[0]
			}
			r.S.Add(m)
		}
	}
	r.S.Note("the servers are not this process's children: their CPU is not known, rates alone are compared")
	return nil
}
