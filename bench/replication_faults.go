package bench

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"tickhive/bench/bare"
	"tickhive/bench/load"
	"tickhive/bench/report"
)

// Parameters of D5 and D6 (docs/internals/performance.md#d5).
const (
	takeoverAfter = 1.5 // seconds, the default of cluster.takeover_after
	takeoverExtra = 0.3
	faultPairs    = 130
	retryEvery    = time.Millisecond
	faultWithin   = time.Minute
)

// replicationTakeover measures D5: a writer is killed, and the standby is asked until it answers an order. Then it is
// the writer, and another standby starts in the directory of the killed one.
func replicationTakeover(r *Run) error {
	c, err := r.startCluster(1, contents{faultPairs, 20, 10}, "journal.ack=quorum")
	if err != nil {
		return err
	}
	defer c.end()
	dir, err := r.temp("standby")
	if err != nil {
		return err
	}
	m := r.S.Cost("writer killed, until an order is answered", "s", fmt.Sprintf("SIGKILL, a standby with "+
		"cluster.takeover_after = %.1f s, %d pairs", takeoverAfter, faultPairs)).
		Aim("D5", takeoverAfter+takeoverExtra)
	m.Median = true
	for range r.faultRounds() {
		next, err := c.standby(dir)
		if err != nil {
			return err
		}
		took, err := r.takenOver(c.product, next)
		if err != nil {
			next.end()
			return err
		}
		r.say("takeover: %.2f s", took.Seconds())
		m.Round(took.Seconds())
		c.product.hangUp()
		c.product, dir = next, c.product.dir
	}
	return os.RemoveAll(dir)
}

// takenOver kills the writer and returns the time until the standby has answered an order.
func (r *Run) takenOver(p, next *product) (time.Duration, error) {
	req := load.Post("", internalV1+"/orders", orderBody(0))
	p.Kill()
	start := time.Now()
	for time.Since(start) < faultWithin {
		a, err := load.Once(next.internal, req)
		if err == nil && a.Status == 200 {
			return time.Since(start), nil
		}
		time.Sleep(retryEvery)
	}
	return 0, fmt.Errorf("the standby has not taken over within %s; its log ends with: %s", faultWithin, next.Log())
}

// replicationLeader measures D6: of three servers, the one that leads the stream is killed.
func replicationLeader(r *Run) error {
	c, err := r.startCluster(3, contents{1, 20, 10}, "journal.ack=quorum")
	if err != nil {
		return err
	}
	defer c.end()
	l, err := c.bare.Log("reference", 3)
	if err != nil {
		return err
	}
	m := r.S.Cost("leader of the stream killed, until an order is answered", "s", "SIGKILL of one of three servers, "+
		"ack=quorum").Aim("D6", 10)
	m.Worst = true
	ref := r.S.Cost("the same for nats.go alone", "s", "a stream with three copies that the same server led")
	ref.Worst = true
	for range r.faultRounds() {
		if err := r.leaderKilled(c, l, m, ref); err != nil {
			return err
		}
	}
	return nil
}

// faultRounds returns the number of rounds with a fault, which take some seconds each.
func (r *Run) faultRounds() int {
	if r.Quick {
		return 1
	}
	return r.Rounds
}

func (r *Run) leaderKilled(c *cluster, l *bare.Log, m, ref *report.Measure) error {
	info, err := c.bare.Settled(faultWithin)
	if err != nil {
		return err
	}
	if err := l.Lead(info.Leader); err != nil {
		return err
	}
	leader := c.named(info.Leader)
	if leader < 0 {
		return fmt.Errorf("the stream is led by %q", info.Leader)
	}
	stop := make(chan struct{})
	alone := make(chan time.Duration, 1)
	go func() { alone <- l.Outage(bytes.Repeat([]byte("x"), 200), stop) }()
	own := make(chan time.Duration, 1)
	go func() { own <- c.product.outage(stop) }()
	time.Sleep(100 * time.Millisecond) // both loops run
	c.all[leader].Kill()
	killed := time.Now()
	req := load.Post("", internalV1+"/orders", orderBody(0))
	for time.Since(killed) < faultWithin { // until both go on
		if a, err := load.Once(c.product.internal, req); err == nil && a.Status == 200 {
			break
		}
		time.Sleep(retryEvery)
	}
	for time.Since(killed) < faultWithin && !l.Alive() {
		time.Sleep(retryEvery)
	}
	close(stop)
	gap, bareGap := <-own, <-alone
	r.say("leader killed: %.2f s, nats.go alone %.2f s", gap.Seconds(), bareGap.Seconds())
	m.Round(gap.Seconds())
	ref.Round(bareGap.Seconds())
	return c.start(leader)
}

// outage places one order after the other until stop is closed, and returns the longest time between two answers.
func (p *product) outage(stop <-chan struct{}) (longest time.Duration) {
	acked := time.Now()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return max(longest, time.Since(acked))
		default:
		}
		a, err := load.Once(p.internal, load.Post("", internalV1+"/orders", orderBody(i)))
		if err != nil || a.Status != 200 {
			time.Sleep(retryEvery)
			continue
		}
		longest, acked = max(longest, time.Since(acked)), time.Now()
	}
}
