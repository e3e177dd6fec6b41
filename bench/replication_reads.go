package bench

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"tickhive/bench/load"
)

// Parameters of D7, D8 and D10 (docs/internals/performance.md#d7).
const (
	readsCommands = 1000 // commands/s beside the reads of D10
	readsBatches  = 100  // requests a second that carry them
	readsReplicas = 4
	localCommands = 50_000 // commands/s of D8
	localRound    = time.Second
)

// replicationReads measures D7 and D10: reads of a replica beside reads of its writer, and of four replicas at once.
func replicationReads(r *Run) error {
	r.say("reads of replicas")
	c, err := r.startCluster(1, contents{130, 20, 10})
	if err != nil {
		return err
	}
	defer c.end()
	p := c.product
	var all [readsReplicas]side
	for i := range all {
		x, err := c.replica()
		if err != nil {
			return err
		}
		defer x.end()
		all[i] = side{fmt.Sprintf("replica %d", i+1), x.public, x.CPU}
	}
	for _, target := range []string{
		"/api/tickers?currencyPairCode=P0000_USDT", "/api/orderbook?currencyPairCode=P0001_USDT",
		aggregator + "/tickers",
	} {
		m := r.S.Cost("GET on a replica, CPU, "+target, "us", fmt.Sprintf("%d connections, the market is still",
			httpConns)).Against("writer").Aim("D7", 1.05)
		req := load.Get("", target)
		for range r.cpuRounds() {
			own, err := all[0].measure(r, target, req, 1)
			if err != nil {
				return err
			}
			ref, err := side{"writer", p.public, p.CPU}.measure(r, target, req, 1)
			if err != nil {
				return err
			}
			m.Round(own.ServerUs(), ref.ServerUs())
		}
	}
	return r.readsTogether(p, all[:])
}

// readsTogether compares the reads of one replica with those of four at once, while the market changes.
func (r *Run) readsTogether(p *product, all []side) error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var loaded *load.Result
	var failed error
	wg.Go(func() {
		loaded, failed = load.Open{
			Addr: p.internal, Requests: batchRequests(readsCommands / readsBatches), Workers: 1, Stop: stop,
			Schedule: load.Even{PerSecond: readsBatches, For: time.Hour},
		}.Run()
	})
	with := fmt.Sprintf("%d connections a replica, %d commands/s, /api/tickers of the pair that changes", httpConns,
		readsCommands)
	one := r.S.Rate("GETs for a second of a replica's CPU", "answers", with).Against("writer")
	name := fmt.Sprintf("the slowest of %d replicas at once", len(all))
	four := r.S.Rate(name, "answers", with).Against("one replica").Aim("D10", 0.85)
	reads := r.S.Rate(name+", without the CPU of following", "answers", with).Against("one replica")
	err := r.readsRounds(p, all, func(single, writer, slowest answers) {
		one.Round(single.perCPU, writer.perCPU)
		four.Round(slowest.perCPU, single.perCPU)
		reads.Round(slowest.perReadCPU, single.perReadCPU)
	})
	close(stop)
	wg.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return allGood(loaded)
}

func (r *Run) readsRounds(p *product, all []side, round func(single, writer, slowest answers)) error {
	req := load.Get("", "/api/tickers?currencyPairCode="+pairName(0))
	perCPU := func(s side, still float64) (a answers, err error) {
		res, err := s.measure(r, "GET beside commands", req, 1)
		if err == nil {
			a = answersFor(res, still)
		}
		return a, err
	}
	w := side{"writer", p.public, p.CPU}
	for range r.cpuRounds() {
		still := withoutReads(append(all[:len(all):len(all)], w), r.length(httpRound))
		single, err := perCPU(all[0], still[0])
		if err != nil {
			return err
		}
		writer, err := perCPU(w, still[len(all)])
		if err != nil {
			return err
		}
		rates, errs := make([]answers, len(all)), make([]error, len(all))
		var wg sync.WaitGroup
		var mu sync.Mutex // the table of routes
		for i, s := range all {
			wg.Go(func() {
				res, err := load.Closed{
					Addr: s.addr, Requests: []*load.Request{req}, Conns: httpConns, Warm: httpWarm,
					For: r.length(httpRound), CPU: s.cpu,
				}.Run()
				if err == nil {
					err = allGood(res)
				}
				if errs[i] = err; err == nil {
					mu.Lock()
					defer mu.Unlock()
					rates[i] = answersFor(res, still[i])
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		slowest := rates[0]
		for _, v := range rates {
			slowest.perCPU = min(slowest.perCPU, v.perCPU)
			slowest.perReadCPU = min(slowest.perReadCPU, v.perReadCPU)
		}
		round(single, writer, slowest)
	}
	return nil
}

// withoutReads returns the CPU that each server takes in a second without reads.
func withoutReads(all []side, d time.Duration) []float64 {
	still, begun := make([]float64, len(all)), time.Now()
	for i, s := range all {
		still[i] = -s.cpu().Seconds()
	}
	time.Sleep(d)
	for i, s := range all {
		still[i] = (still[i] + s.cpu().Seconds()) / time.Since(begun).Seconds()
	}
	return still
}

// answers are those for a second of a server's CPU, and of what it takes beside following the stream. Following takes a
// part of the time, not of the answers: of the cores of one machine, four servers have a fourth of the answers each.
type answers struct{ perCPU, perReadCPU float64 }

func answersFor(res *load.Result, still float64) answers {
	n, cpu := float64(res.Answers), res.Server.Seconds()
	return answers{n / cpu, n / (cpu - still*res.Elapsed.Seconds())}
}

// replicationLocal measures D8: what a stream costs an exchange that does not wait for it.
func replicationLocal(r *Run) error {
	r.say("ack=local against no stream")
	filled := contents{1, 60, 10}
	c, err := r.startCluster(1, filled)
	if err != nil {
		return err
	}
	defer c.end()
	with := c.product
	without, err := r.startFilled(filled)
	if err != nil {
		return err
	}
	defer without.end()
	order := r.S.Cost("order p50, ack=local", "us", "HTTP, one submitter").Against("no stream").Aim("D8", 1.05)
	cpu := r.S.Cost("CPU a command, ack=local", "us", fmt.Sprintf("%d commands/s in batches of %d", localCommands,
		journalGroup)).Against("no stream").Aim("D8", 1.1)
	var single []*load.Request
	for i := range 200 {
		single = append(single, load.Post("POST /orders", internalV1+"/orders", orderBody(i)))
	}
	batches := batchRequests(journalGroup)
	for range r.cpuRounds() {
		var p50, us [2]float64
		for i, p := range []*product{with, without} {
			res, err := p.oneByOne(single, r.length(localRound))
			if err != nil {
				return err
			}
			p50[i] = float64(res.Hist.ValueAtQuantile(50))
			if us[i], err = p.paced(batches, r.length(localRound)); err != nil {
				return err
			}
		}
		order.Round(p50[0], p50[1])
		cpu.Round(us[0], us[1])
	}
	return nil
}

// paced returns the CPU a command, in us, at localCommands a second. What the stream still has to send counts.
func (p *product) paced(batches []*load.Request, d time.Duration) (us float64, err error) {
	before := p.CPU()
	res, err := load.Open{
		Addr: p.internal, Requests: batches, Workers: 2,
		Schedule: load.Even{PerSecond: localCommands / journalGroup, For: d},
	}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return 0, fmt.Errorf("paced batches: %w", err)
	}
	return float64((p.CPU() - before).Nanoseconds()) / 1e3 / float64(res.Answers*journalGroup), nil
}
