package bench

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"tickhive/bench/bare"
	"tickhive/bench/journal"
	"tickhive/bench/load"
	"tickhive/bench/report"
)

// Parameters of D1 and D2 (docs/internals/performance.md#d1).
const (
	journalGroup  = 256 // commands in a group
	journalWindow = 8   // groups that are open
	journalConns  = 16
	journalRound  = time.Second
)

// runReplication measures D1 to D11 (docs/internals/performance.md#replication). The references are loops of nats.go
// alone on the same servers.
func runReplication(r *Run) error {
	for _, f := range []func(*Run) error{
		func(r *Run) error { return replicationJournal(r, 1) }, func(r *Run) error { return replicationJournal(r, 3) },
		replicationLag, replicationLocal, replicationReads, replicationStart, replicationTakeover, replicationLeader,
	} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// replicationJournal measures D1 and D2 with so many copies of the stream, and with one copy D4 on the stream that they
// leave.
func replicationJournal(r *Run, copies int) error {
	r.say("journal: the program with quorum and nats.go alone, %d copies", copies)
	c, err := r.startCluster(copies, contents{1, 60, 10}, "journal.ack=quorum")
	if err != nil {
		return err
	}
	defer c.end()
	empty, err := c.replicaCPU()
	if err != nil {
		return err
	}
	j := newJournalMeasures(r, c)
	for i := range r.Rounds {
		if err := j.round(i); err != nil {
			return err
		}
	}
	if copies > 1 {
		return nil
	}
	return replicationCatchUp(r, c.servers, empty)
}

// replicaCPU returns the CPU of a replica's start on the present stream.
func (s *servers) replicaCPU() (time.Duration, error) {
	p, err := s.replica()
	if err != nil {
		return 0, err
	}
	defer p.end()
	return p.CPU(), nil
}

// journalMeasures measures D1 and D2 on servers that keep one number of copies.
type journalMeasures struct {
	*Run
	*cluster
	copies int

	appender, rate, order *report.Measure
	groups, single        []*load.Request
}

func newJournalMeasures(r *Run, c *cluster) *journalMeasures {
	name := fmt.Sprintf("R%d", len(c.all))
	const open = "the reference has %d messages of %d commands and as many bytes open, servers sync each message"
	with := fmt.Sprintf(open, journalWindow, journalGroup)
	j := &journalMeasures{
		Run: r, cluster: c, copies: len(c.all), groups: batchRequests(journalGroup),
		appender: r.S.Rate("appender, "+name, "commands/s", fmt.Sprintf("%d groups of %d open; ", journalWindow,
			journalGroup)+with).Against("nats.go").Aim("D1", 0.8).ByMedian(),
		rate: r.S.Rate("program, ack=quorum, "+name, "commands/s", fmt.Sprintf("HTTP, %d connections, batches of %d; ",
			journalConns, journalGroup)+with).Against("nats.go").Aim("D1", 0.8).ByMedian(),
		order: r.S.Cost("order p50, one submitter, ack=quorum, "+name, "us", "HTTP; the reference appends as many "+
			"bytes and waits").Against("nats.go").Aim("D2", 1.3).ByMedian(),
	}
	for i := range 200 {
		j.single = append(j.single, load.Post("POST /orders", internalV1+"/orders", orderBody(i)))
	}
	return j
}

// round measures the program, the appender and nats.go alone, each on its own stream of the same servers.
func (j *journalMeasures) round(i int) error {
	before, err := j.bare.Product()
	if err != nil {
		return err
	}
	res, err := load.Closed{
		Addr: j.product.internal, Requests: j.groups, Conns: journalConns, For: j.length(journalRound),
	}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return fmt.Errorf("batches with quorum: %w", err)
	}
	after, err := j.bare.Product()
	if err != nil {
		return err
	}
	commands := float64(res.Answers) * journalGroup
	size := int(float64(after.Bytes-before.Bytes)/commands + 0.5)
	l, err := j.bare.Log(fmt.Sprintf("reference-%d", i), j.copies)
	if err != nil {
		return err
	}
	n, took, err := l.Publish(bytes.Repeat([]byte("x"), size*journalGroup), journalWindow, j.length(journalRound))
	if err != nil {
		return err
	}
	alone := float64(n) * journalGroup / took.Seconds()
	appended, err := journal.Append(j.remote(), fmt.Sprintf("bench-%d", i), j.copies, journal.Load{
		Group: journalGroup, Window: journalWindow, Command: size, For: j.length(journalRound),
	})
	if err == nil {
		err = j.bare.Remove(bare.ProductPrefix + fmt.Sprintf("bench-%d", i))
	}
	if err != nil {
		return err
	}
	j.appender.Round(appended, alone)
	j.rate.Round(commands/res.Elapsed.Seconds(), alone)
	return errors.Join(j.orders(l), j.bare.Remove(l.Name))
}

// orders compares the latency of single orders with single appends.
func (j *journalMeasures) orders(l *bare.Log) error {
	before, err := j.bare.Product()
	if err != nil {
		return err
	}
	res, err := j.product.oneByOne(j.single, j.length(journalRound))
	if err != nil {
		return err
	}
	after, err := j.bare.Product()
	if err != nil {
		return err
	}
	h := load.NewHistogram()
	data := bytes.Repeat([]byte("x"), int((after.Bytes-before.Bytes)/max(after.Messages-before.Messages, 1)))
	if err := l.Append(data, j.length(journalRound), func(d time.Duration) {
		_ = h.RecordValue(d.Microseconds()) // within the bounds of the histogram
	}); err != nil {
		return err
	}
	j.order.Round(float64(res.Hist.ValueAtQuantile(50)), float64(h.ValueAtQuantile(50)))
	return nil
}

// oneByOne sends requests to the internal API, each when the last one is answered, and measures their latency.
func (p *product) oneByOne(requests []*load.Request, d time.Duration) (*load.Result, error) {
	res, err := load.Open{
		Addr: p.internal, Requests: requests, Workers: 1, Unpaced: true, Schedule: load.Even{PerSecond: 1, For: d},
	}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return nil, fmt.Errorf("single orders: %w", err)
	}
	return res, nil
}

// allGood returns an error unless every request was answered with 200.
func allGood(res *load.Result) error {
	if res.Errors > 0 || res.Answers == 0 {
		return fmt.Errorf("%d answers, %d errors: %s: %w", res.Answers, res.Errors, res.Statuses(), res.Err)
	}
	return nil
}
