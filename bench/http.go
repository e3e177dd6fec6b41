package bench

import (
	"errors"
	"fmt"
	"time"

	"tickhive/bench/load"
	"tickhive/bench/report"
)

// hotDocument is a document of H1 at one size of the market (docs/internals/performance.md#h1).
type hotDocument struct {
	size   string
	pairs  int // number of pairs in the market
	target string
	h1     float64 // target of H1
	h7, h8 float64 // targets of H7 (304) and H8 (gzip); 0: none
}

func hotRoutes() []hotDocument {
	return []hotDocument{
		{"0.3 KB", 130, "/api/tickers?currencyPairCode=P0000_USDT", 1.18, 0, 0},
		{"4 KB", 130, "/api/orderbook?currencyPairCode=P0001_USDT", 1.15, 0, 0},
		{
			"4 KB, depth=200 (joined for each request)", 130,
			aggregator + "/orderbook?depth=200&ticker_id=P0000_USDT", 0, 0, 0,
		},
		{"28 KB", 130, aggregator + "/tickers", 1.08, 0.95, 1},
		{"280 KB", 1300, aggregator + "/tickers", 1.03, 0.95, 2.5},
	}
}

// Lengths of one round of the http scenarios.
const (
	httpRound = 400 * time.Millisecond
	httpWarm  = 40 * time.Millisecond
	httpConns = 16
)

// runHTTP measures H1 to H4, H7, H8 and H11 (docs/internals/performance.md#http).
func runHTTP(r *Run) error {
	if len(r.Targets) > 0 {
		return httpTargets(r)
	}
	markets := map[int]*product{}
	for _, n := range []int{130, 1300} {
		r.say("a market of %d pairs", n)
		p, err := r.startProduct()
		if err != nil {
			return err
		}
		defer p.end()
		markets[n] = p
		if err := p.addPairs(0, n); err != nil {
			return err
		}
		if err := p.fill(0, n, 2, 10); err != nil {
			return err
		}
		if err := errors.Join(p.fill(0, 1, 110, 200), p.fill(1, 1, 15, 0)); err != nil {
			return err
		}
	}
	for _, h := range hotRoutes() {
		r.say("%s: product, constant bytes, net/http", h.size)
		if err := hotRoute(r, markets[h.pairs], h); err != nil {
			return err
		}
	}
	if err := fullBook(r, markets[130]); err != nil {
		return err
	}
	return handlers(r)
}

// side is one of the servers that are compared.
type side struct {
	name string
	addr string
	cpu  func() time.Duration
}

// measure runs one round of one server and adds the result to the table of routes.
func (s side) measure(r *Run, route string, req *load.Request, pipeline int) (*load.Result, error) {
	res, err := load.Closed{
		Addr: s.addr, Requests: []*load.Request{req}, Conns: httpConns, Pipeline: pipeline,
		Warm: httpWarm, For: r.length(httpRound), CPU: s.cpu,
	}.Run()
	if err != nil {
		return nil, err
	}
	if res.Errors > 0 {
		return nil, fmt.Errorf("%s, %s: %d errors: %s %w", s.name, route, res.Errors, res.Statuses(), res.Err)
	}
	r.route(route, s.name, res)
	return res, nil
}

// route keeps the best round of a server at a route for the table.
func (r *Run) route(name, server string, res *load.Result) {
	row := report.Route{
		Name: name, Server: server, Bytes: res.Bytes / max(res.Answers, 1), Rate: res.Rate(),
		CPU: res.ServerUs(), Client: res.ClientUs(), Statuses: res.Statuses(),
	}
	for i := range r.S.Routes {
		x := &r.S.Routes[i]
		if x.Name == name && x.Server == server {
			x.Rate, x.CPU, x.Client = max(x.Rate, row.Rate), min(x.CPU, row.CPU), min(x.Client, row.Client)
			return
		}
	}
	r.S.Routes = append(r.S.Routes, row)
}

// constantCPU returns the best round of the constant server at a route, in us of CPU.
func (r *Run) constantCPU(route string) float64 {
	for _, x := range r.S.Routes {
		if x.Name == route && x.Server == "constant" {
			return x.CPU
		}
	}
	return 0
}

// hotRoute compares the CPU of one document with a constant answer and with net/http, and the document's 304
// and gzip with its 200.
func hotRoute(r *Run, p *product, h hotDocument) error {
	body, err := p.body(h.target)
	if err != nil {
		return err
	}
	constant, err := r.reference("constant", body)
	if err != nil {
		return err
	}
	defer constant.Stop()
	plain, err := r.reference("plain", body)
	if err != nil {
		return err
	}
	defer plain.Stop()
	product := side{"product", p.public, p.CPU}
	ref := side{"constant", constant.Fields["public"], constant.CPU}
	net := side{"net/http", plain.Fields["public"], plain.CPU}
	with := fmt.Sprintf("%d bytes, %d connections, keep-alive", len(body), httpConns)
	m := &hotMeasures{
		cpu:    r.S.Cost(h.size+" CPU", "us", with).Against("constant"),
		rate:   r.S.Rate(h.size+" rate", "answers/s", with).Against("constant"),
		netCPU: r.S.Cost(h.size+" CPU against net/http", "us", with).Against("net/http"),
	}
	if h.h1 > 0 {
		m.cpu.Aim("H1", h.h1)
	}
	req := load.Get(h.size, h.target)
	rounds := r.cpuRounds()
	if h.h1 == 0 {
		rounds = r.Rounds // no goal depends on it
	}
	for i := range rounds {
		if err := m.round(r, h.size, req, product, ref, net, i < r.Rounds); err != nil {
			return err
		}
	}
	if h.size == "0.3 KB" {
		if err := pipelined(r, h, req, product, ref, net); err != nil {
			return err
		}
	}
	if h.h7 > 0 {
		return variants(r, h, product)
	}
	return nil
}

// hotMeasures holds the measures of one document.
type hotMeasures struct{ cpu, rate, netCPU *report.Measure }

// round measures the product and the constant answer once, and net/http too when withNet is true.
func (m *hotMeasures) round(r *Run, route string, req *load.Request, product, ref, net side, withNet bool) error {
	a, err := product.measure(r, route, req, 1)
	if err != nil {
		return err
	}
	b, err := ref.measure(r, route, req, 1)
	if err != nil {
		return err
	}
	m.cpu.Round(a.ServerUs(), b.ServerUs())
	m.rate.Round(a.Rate(), b.Rate())
	if !withNet {
		return nil
	}
	c, err := net.measure(r, route, req, 1)
	if err == nil {
		m.netCPU.Round(a.ServerUs(), c.ServerUs())
	}
	return err
}

// pipelined measures H3 (docs/internals/performance.md#h3). On a busy machine CPU says more than the rates of
// two processes, so the report also shows responses a second of server CPU.
func pipelined(r *Run, h hotDocument, req *load.Request, product, ref, net side) error {
	const depth = 16
	with := fmt.Sprintf("pipelining %d, %d connections", depth, httpConns)
	own := r.S.Rate(h.size+" pipelined, answers for a second of server CPU", "answers",
		with).Against("constant").Aim("H3", 0.6)
	std := r.S.Rate(h.size+" pipelined, the same against net/http", "answers",
		with).Against("net/http").Aim("H3", 5)
	rate := r.S.Rate(h.size+" pipelined, rate", "answers/s", with).Against("constant")
	stdRate := r.S.Rate(h.size+" pipelined, rate against net/http", "answers/s", with).Against("net/http")
	for range r.Rounds {
		var perCPU, rates [3]float64
		for i, s := range []side{product, ref, net} {
			res, err := s.measure(r, h.size+" x 16", req, depth)
			if err != nil {
				return err
			}
			perCPU[i], rates[i] = 1e6/max(res.ServerUs(), 1e-3), res.Rate()
		}
		own.Round(perCPU[0], perCPU[1])
		std.Round(perCPU[0], perCPU[2])
		rate.Round(rates[0], rates[1])
		stdRate.Round(rates[0], rates[2])
	}
	return nil
}

// variants measures H7 and H8 (docs/internals/performance.md#http): the CPU of the product's 304 and of its
// prepared gzip, divided by the CPU of its 200. What a 304 gains is compared with what constant bytes gain between the
// two sizes in this run, because that depends on the machine.
func variants(r *Run, h hotDocument, product side) error {
	same := load.Get(h.size, h.target)
	same.Conditional = true
	zipped := load.Get(h.size, h.target, "Accept-Encoding: gzip")
	full := load.Get(h.size, h.target)
	with := fmt.Sprintf("%d connections", httpConns)
	gain := r.S.Rate(h.size+" gain of a 304 over a 200, CPU", "x", with).Against("constant bytes").Aim("H7", h.h7)
	not := r.S.Rate(h.size+" 304 against 200", "answers/s", with).Against("200")
	gz := r.S.Rate(h.size+" gzip against identity", "answers/s", with).Against("identity").Aim("H8", h.h8)
	notCPU := r.S.Cost(h.size+" 304 CPU against 200", "us", with).Against("200")
	gzCPU := r.S.Cost(h.size+" gzip CPU against identity", "us", with).Against("identity")
	for range r.Rounds {
		var res [3]*load.Result
		for i, x := range []struct {
			route string
			req   *load.Request
		}{{h.size, full}, {h.size + " 304", same}, {h.size + " gzip", zipped}} {
			var err error
			if res[i], err = product.measure(r, x.route, x.req, 1); err != nil {
				return err
			}
		}
		if n := res[1].Status[0]; n < res[1].Answers*9/10 {
			return fmt.Errorf("%s: only %d of %d conditional answers are 304", h.size, n, res[1].Answers)
		}
		if empty := r.constantCPU("0.3 KB"); empty > 0 && res[1].ServerUs() > 0 {
			gain.Round(res[0].ServerUs()/res[1].ServerUs(), r.constantCPU(h.size)/empty)
		}
		not.Round(res[1].Rate(), res[0].Rate())
		gz.Round(res[2].Rate(), res[0].Rate())
		notCPU.Round(res[1].ServerUs(), res[0].ServerUs())
		gzCPU.Round(res[2].ServerUs(), res[0].ServerUs())
	}
	if full, empty := r.constantCPU(h.size), r.constantCPU("0.3 KB"); empty > 0 {
		gain.Reason = fmt.Sprintf("constant bytes cost %.1f us at %s and %.1f us at 0.3 KB here: they gain %.2fx",
			full, h.size, empty, full/empty)
	}
	return nil
}
