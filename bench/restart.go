package bench

import (
	"fmt"
	"os"
	"time"

	"tickhive/bench/load"
)

// The full load of docs/internals/performance.md#r2.
const (
	restartOrders = 1_000_000 // that rest
	restartRate   = 300_000   // commands/s at most
	restartLoad   = 7 * time.Second
	restartPace   = 20 * time.Millisecond // between two looks at the rate
)

// runRestart measures R2: the real program under full load is killed, and started again on its
// directory. The kills of the rounds fall at different distances from the last snapshot.
func runRestart(r *Run) error {
	dir, err := r.temp("restart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := r.serve(dir)
	if err != nil {
		return err
	}
	defer func() { p.Stop() }()
	r.say("restart: %d resting orders", restartOrders)
	if err := p.addPairs(0, 1); err != nil {
		return err
	}
	if err := p.rest(restartOrders); err != nil {
		return err
	}
	with := fmt.Sprintf("SIGKILL under batches of %d, at most %d commands/s, %d resting orders",
		batchSize, restartRate, restartOrders)
	offered := r.S.Rate("load before a kill", "commands/s", with)
	wall := r.S.Cost("start after a kill, until ready", "s", with).Aim("R2", 5)
	wall.Worst = true
	cpu := r.S.Cost("start after a kill, CPU of the program", "s", with)
	cpu.Worst = true
	requests := batchRequests(batchSize)
	for round := range r.Rounds {
		lasts := r.length(restartLoad) + time.Duration(round)*1700*time.Millisecond
		commands, took, err := p.fullLoad(requests, lasts)
		if err != nil {
			return err
		}
		p.hangUp()
		p.Kill()
		start := time.Now()
		next, err := r.serve(dir)
		if err != nil {
			return err
		}
		p = next
		offered.Round(float64(commands) / took.Seconds())
		wall.Round(time.Since(start).Seconds())
		cpu.Round(p.CPU().Seconds())
		r.say("restart: %.0f commands/s for %s, then ready in %.2f s (%.2f s CPU)", float64(commands)/took.Seconds(),
			took.Round(time.Second/10), time.Since(start).Seconds(), p.CPU().Seconds())
	}
	return nil
}

// rest places n orders that do not meet, over 20,000 levels.
func (p *product) rest(n int) error {
	b := &orderBatch{p: p}
	for i := range int64(n) {
		side, price := "buy", mid-100-i*7919%10_000
		if i%2 == 1 {
			side, price = "sell", mid+100+i*7919%10_000
		}
		if err := b.place(pairName(0), side, price, 1_000+i%100); err != nil {
			return err
		}
	}
	return b.flush()
}

// fullLoad sends batches over several connections, at most restartRate commands a second in all. It
// returns the commands that were answered.
func (p *product) fullLoad(requests []*load.Request, lasts time.Duration) (n int, took time.Duration, err error) {
	start := time.Now()
	sent := make([]int, batchConns) // by connection
	res, err := load.Closed{
		Addr: p.internal, Requests: requests, Conns: batchConns, For: lasts,
		Between: func(worker int) error {
			for float64(sent[worker])*batchSize*batchConns > restartRate*time.Since(start).Seconds() {
				time.Sleep(restartPace)
			}
			sent[worker]++
			return nil
		},
	}.Run()
	if err != nil {
		return 0, 0, err
	}
	return int(res.Answers) * batchSize, res.Elapsed, nil
}
