package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// Parameters of D1 and D2 (docs/internals/performance.md#d1).
const (
	journalGroup  = 256 // commands in a group
	journalWindow = 8   // groups that are open
	journalConns  = 16
	journalRound  = time.Second
)

// runReplication measures D1 to D8 (docs/internals/performance.md#replication). The references are loops of nats.go
// alone on the same servers.
func runReplication(r *Run) error {
	for _, f := range []func(*Run) error{
		func(r *Run) error { return replicationJournal(r, 1) }, func(r *Run) error { return replicationJournal(r, 3) },
		replicationLag, replicationLocal, replicationReads, replicationTakeover, replicationLeader,
	} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// replicationJournal measures D1 and D2 with the given number of copies of the stream. With one copy it also measures
// D4, on the stream that D1 and D2 leave.
func replicationJournal(r *Run, copies int) error {
	c, err := r.startCluster(copies, contents{1, 60, 10}, "journal.ack=quorum")
	if err != nil {
		return err
	}
	defer c.end()
	empty, err := c.replicaCPU()
	if err != nil {
		return err
	}
	name, groups, single := fmt.Sprintf("R%d", copies), batchRequests(journalGroup), singleOrders(pairName(0))
	var size, order int // bytes in the stream of a command of a group, of a message of one order
	var l *natsLog      // of the round
	i := 0
	err = r.rounds("journal, "+name, r.Rounds, func(f figures) error {
		before, err := c.bare.product()
		if err != nil {
			return err
		}
		res, err := load.Loop{
			Addr: c.product.internal, Requests: groups, Workers: journalConns, For: r.length(journalRound),
		}.Run()
		if err == nil {
			err = allGood(res)
		}
		if err != nil {
			return fmt.Errorf("batches with quorum: %w", err)
		}
		after, err := c.bare.product()
		commands := float64(res.Answers) * journalGroup
		size = int(float64(after.bytes-before.bytes)/commands + 0.5)
		f["program, ack=quorum, "+name] = commands / res.Elapsed.Seconds()
		return err
	}, func(f figures) (err error) {
		if l, err = c.bare.log(fmt.Sprintf("reference-%d", i), copies); err != nil {
			return err
		}
		i++
		n, took, err := l.publish(bytes.Repeat([]byte("x"), size*journalGroup), journalWindow, r.length(journalRound))
		f["nats.go"] = float64(n) * journalGroup / took.Seconds()
		return err
	}, func(f figures) error {
		before, err := c.bare.product()
		if err != nil {
			return err
		}
		res, err := c.product.oneByOne(single, r.length(journalRound))
		if err != nil {
			return err
		}
		after, err := c.bare.product()
		order = int((after.bytes - before.bytes) / max(after.messages-before.messages, 1))
		f["order p50, one submitter, ack=quorum, "+name] = float64(res.Hist.ValueAtQuantile(50))
		return err
	}, func(f figures) error {
		h := load.NewHistogram()
		err := l.append(bytes.Repeat([]byte("x"), order), r.length(journalRound), func(d time.Duration) {
			_ = h.RecordValue(d.Microseconds()) // within the bounds of the histogram
		})
		f["append"] = float64(h.ValueAtQuantile(50))
		return errors.Join(err, c.bare.remove(l.name))
	})
	if err != nil || copies > 1 {
		return err
	}
	return replicationCatchUp(r, c.servers, empty)
}

// oneByOne sends requests to the internal API, each when the last one is answered, and measures their latency.
func (p *product) oneByOne(requests []*load.Request, d time.Duration) (*load.Result, error) {
	res, err := load.Loop{
		Addr: p.internal, Requests: requests, Workers: 1, For: d,
	}.Run()
	if err == nil {
		err = allGood(res)
	}
	if err != nil {
		return nil, fmt.Errorf("single orders: %w", err)
	}
	return res, nil
}

// catchUpWithin bounds one reading of the stream.
const catchUpWithin = 2 * time.Minute

// replicationCatchUp measures D4: the CPU of following the whole stream, and of executing the same records from memory
// in the same process with the same publications. empty is the CPU of a replica's start on an empty stream.
func replicationCatchUp(r *Run, s *servers, empty time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Rounds+1)*catchUpWithin)
	defer cancel()
	log, messages, end, err := s.log(ctx)
	if err != nil {
		return err
	}
	defer end()
	keys, err := s.keys()
	if err != nil {
		return err
	}
	records, err := readRecords(ctx, log, keys, messages)
	if err != nil {
		return err
	}
	return r.rounds("catch-up", r.Rounds, func(f figures) (err error) {
		f["records from memory"], err = records.fromMemory()
		return err
	}, func(f figures) (err error) {
		f["catch-up CPU"], err = records.fromStream(ctx)
		return err
	}, func(f figures) error {
		process, err := s.replicaCPU()
		f["catch-up CPU of a replica's process"] = float64((process - empty).Nanoseconds()) / float64(records.commands)
		return err
	})
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

// records holds the records of the market in a stream, by message.
type records struct {
	messages [][]wal.Record
	commands int

	log  jet.Log
	keys *stream.Keys
	last uint64
}

// readRecords reads the records of a stream up to the message last into memory.
func readRecords(ctx context.Context, log jet.Log, keys *stream.Keys, last uint64) (*records, error) {
	r := &records{log: log, keys: keys, last: last}
	err := r.each(ctx, func(m *stream.Message) error {
		records := recordsOf(nil, m)
		r.messages, r.commands = append(r.messages, records), r.commands+len(records)
		return nil
	})
	if err == nil && r.commands == 0 {
		err = fmt.Errorf("bench: no record counts in the stream of %d messages", last)
	}
	return r, err
}

func recordsOf(dst []wal.Record, m *stream.Message) []wal.Record {
	for pos, record := range m.All() {
		dst = append(dst, wal.Record{Seq: pos, Payload: record})
	}
	return dst
}

// fromMemory executes the records over an empty market, with a publication a message, and returns the CPU ns a command.
func (r *records) fromMemory() (ns float64, err error) {
	return executed(r.commands, func(m *machine.State) error {
		for _, records := range r.messages {
			if err := show(m, records); err != nil {
				return err
			}
		}
		return nil
	})
}

// fromStream does the same with the records that it follows in the stream.
func (r *records) fromStream(ctx context.Context) (ns float64, err error) {
	return executed(r.commands, func(m *machine.State) error {
		var records []wal.Record
		return r.each(ctx, func(msg *stream.Message) error {
			records = recordsOf(records[:0], msg)
			return show(m, records)
		})
	})
}

// each follows the stream up to its last message.
func (r *records) each(ctx context.Context, each func(m *stream.Message) error) error {
	reader := stream.NewReader(stream.State{}, ^uint16(0), r.keys)
	enough := errors.New("bench: the last message")
	err := r.log.Follow(ctx, 1, func(seq uint64, data []byte) error {
		m, valid, err := reader.Next(seq, data)
		if err == nil && valid {
			err = each(&m)
		}
		if err == nil && seq >= r.last {
			err = enough
		}
		return err
	})
	if errors.Is(err, enough) {
		return nil
	}
	return fmt.Errorf("bench: the stream: %w", err)
}

// show executes the records of a message and publishes.
func show(m *machine.State, records []wal.Record) error {
	for _, rec := range records {
		next := keeper.Record(&rec)
		if err := m.Apply(&next); err != nil {
			return err
		}
	}
	m.Feed.Publish(m.LastNs)
	return nil
}

// executed returns the CPU a command of a run over an empty market, and checks that it executed all commands.
func executed(commands int, run func(m *machine.State) error) (ns float64, err error) {
	m := machine.New(machine.Options{Engine: engine.Options{}, Market: marketdata.Options{}})
	runtime.GC() // the collector's work for what was before is not part of the run
	before := proc.OwnCPU()
	if err := run(m); err != nil {
		return 0, err
	}
	if m.Pos != uint64(commands) {
		return 0, fmt.Errorf("bench: %d commands were executed, want %d", m.Pos, commands)
	}
	return float64((proc.OwnCPU() - before).Nanoseconds()) / float64(commands), nil
}

// Parameters of D3 (docs/internals/performance.md#d3).
const (
	lagRound   = 4 * time.Second
	lagBatches = 500 // requests a second that carry the load
	lagProbes  = 150 // marked orders a second
	lagMark    = "probe-"
)

// lagRates are the commands a second beside which D3 is measured.
var lagRates = []int{10_000, 100_000}

// replicationLag measures D3: after an order is answered, the time until a replica shows it, beside the time until a
// consumer of nats.go alone has received it from the same stream.
func replicationLag(r *Run) error {
	c, err := r.startCluster(1, contents{2, 20, 1})
	if err != nil {
		return err
	}
	defer c.end()
	x, err := c.replica()
	if err != nil {
		return err
	}
	defer x.end()
	info, err := c.bare.product()
	if err != nil {
		return err
	}
	marks, err := c.bare.watch(info.name, lagMark)
	if err != nil {
		return err
	}
	defer marks.stop()
	l := lagRun{Run: r, writer: c.product, replica: x, marks: marks}
	for _, rate := range lagRates {
		round := func(f figures) error { return l.round(rate, f) }
		err := r.rounds(fmt.Sprintf("lag at %d commands/s", rate), r.Rounds, round)
		if err != nil {
			return err
		}
	}
	return nil
}

type lagRun struct {
	*Run
	writer, replica *product
	marks           *natsMarks
	sent            int // marked orders so far
}

// round measures the lag under so many commands a second.
func (l *lagRun) round(rate int, f figures) error {
	stop := make(chan struct{})
	var loaded *load.Result
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		loaded, err = load.Loop{
			Addr: l.writer.internal, Requests: batchRequests(rate / lagBatches), Workers: 2, Stop: stop,
			Schedule: load.Even{PerSecond: lagBatches, For: time.Minute},
		}.Run()
	})
	replica, bare, probed := l.probe()
	close(stop)
	wg.Wait()
	if err := errors.Join(err, probed); err != nil {
		return err
	}
	if err := allGood(loaded); err != nil {
		return fmt.Errorf("lag: the load: %w", err)
	}
	at := func(res *load.Result, q float64) float64 { return float64(res.Hist.ValueAtQuantile(q)) / 1e3 }
	above := max(at(replica, 99)-at(bare, 99), 0)
	f[fmt.Sprintf("replica lag p99 above a bare consumer's, %d commands/s", rate)] = above
	f[fmt.Sprintf("replica lag p99, %d commands/s", rate)], f["nats.go p99"] = at(replica, 99), at(bare, 99)
	f[fmt.Sprintf("replica lag p50, %d commands/s", rate)], f["nats.go p50"] = at(replica, 50), at(bare, 50)
	f[fmt.Sprintf("commands/s of the lag at %d", rate)] = loaded.Rate() * float64(rate/lagBatches)
	return nil
}

// probe places marked orders at the writer, and asks the replica for each of them at once.
func (l *lagRun) probe() (replica, bare *load.Result, err error) {
	replica, bare = &load.Result{Hist: load.NewHistogram()}, &load.Result{Hist: load.NewHistogram()}
	reader, err := load.Dial(l.replica.public)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close()
	var failed error
	refused := 0
	answered := map[string]time.Time{}
	var mark string
	res, err := load.Loop{
		Addr: l.writer.internal, Workers: 1, Schedule: load.Even{PerSecond: lagProbes, For: l.length(lagRound)},
		Next: func(_ int, dst []byte) ([]byte, error) {
			l.sent++
			mark = natsMark(lagMark, l.sent)
			return load.Post("", internalV1+"/orders", markedOrder(l.sent, mark)).Bytes(dst, nil), nil
		},
		Each: func(_ int, _ time.Time, a *load.Answer) {
			at := time.Now()
			answered[mark] = at
			if err := shown(reader, a.Seq); err != nil {
				failed = err
				refused++
				return
			}
			replica.Record(time.Since(at))
		},
	}.Run()
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, fmt.Errorf("lag: %d probes: %w", refused, err)
	}
	if err := allGood(res); err != nil {
		return nil, nil, fmt.Errorf("lag: probes: %w", err)
	}
	for mark, at := range answered {
		seen, ok := l.marks.at(mark)
		for end := time.Now().Add(time.Second); !ok && time.Now().Before(end); seen, ok = l.marks.at(mark) {
			time.Sleep(time.Millisecond) // the last ones are on their way
		}
		if !ok {
			return nil, nil, fmt.Errorf("lag: the bare consumer has not received the order %s", mark)
		}
		bare.Record(seen.Sub(at))
	}
	return replica, bare, nil
}

// markedOrder returns an order for the second pair that the consumer recognises; every second one trades.
func markedOrder(i int, mark string) []byte {
	side := "buy"
	if i%2 == 1 {
		side = "sell"
	}
	return fmt.Appendf(nil, `{"currencyPairCode":%q,"side":%q,"type":"limit","price":"65000.00","amount":"0.0001",`+
		`"clientOrderId":%q}`, pairName(1), side, mark)
}

// shown asks a replica for the second pair's ticker at seq or later.
func shown(c *load.Conn, seq uint64) error {
	if seq == 0 {
		return errors.New("an order was answered without X-Seq")
	}
	req := load.Get("", "/api/tickers?currencyPairCode="+pairName(1), "X-Min-Seq: "+strconv.FormatUint(seq, 10))
	if err := c.Send(req.Bytes(nil, nil)); err != nil {
		return err
	}
	var a load.Answer
	if err := c.Read(&a); err != nil {
		return err
	}
	if a.Status != 200 {
		return fmt.Errorf("the replica answers %d at seq %d: %.200s", a.Status, seq, a.Body)
	}
	return nil
}

// replicaReads are the documents of D7 (docs/internals/performance.md#d7).
func replicaReads() []string {
	return []string{
		"/api/tickers?currencyPairCode=P0000_USDT", "/api/orderbook?currencyPairCode=P0001_USDT",
		aggregator + "/tickers",
	}
}

// replicationReads measures D7: reads of a replica beside reads of its writer.
func replicationReads(r *Run) error {
	c, err := r.startCluster(1, contents{130, 20, 10})
	if err != nil {
		return err
	}
	defer c.end()
	x, err := c.replica()
	if err != nil {
		return err
	}
	defer x.end()
	replica, writer := side{"replica", x.public, x.CPU}, side{"writer", c.product.public, c.product.CPU}
	for _, target := range replicaReads() {
		name, req := "GET on a replica, CPU, "+target, load.Get("", target)
		err := r.rounds(name, r.cpuRounds(), replica.us(r, name, target, httpConns, req),
			writer.us(r, "writer", target, httpConns, req))
		if err != nil {
			return err
		}
	}
	return nil
}

// Parameters of D8 (docs/internals/performance.md#d8).
const (
	localCommands = 50_000 // commands/s
	localRound    = time.Second
)

// replicationLocal measures D8: what a stream costs an exchange that does not wait for it.
func replicationLocal(r *Run) error {
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
	single, batches := singleOrders(pairName(0)), batchRequests(journalGroup)
	one := func(p *product, order, cpu string) turn {
		return func(f figures) error {
			res, err := p.oneByOne(single, r.length(localRound))
			if err != nil {
				return err
			}
			f[order] = float64(res.Hist.ValueAtQuantile(50))
			f[cpu], err = p.paced(batches, r.length(localRound))
			return err
		}
	}
	return r.rounds("ack=local against no stream", r.cpuRounds(),
		one(with, "order p50, ack=local", "CPU a command, ack=local"), one(without, "no stream, p50", "no stream, CPU"))
}

// paced returns the CPU a command, in us, at localCommands a second. What the stream still has to send counts.
func (p *product) paced(batches []*load.Request, d time.Duration) (us float64, err error) {
	before := p.CPU()
	res, err := load.Loop{
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

// Parameters of D5 and D6 (docs/internals/performance.md#d5).
const (
	takeoverAfter = 1.5 // seconds, the default of cluster.takeover_after
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
	defer func() { _ = os.RemoveAll(dir) }()
	return r.rounds("takeover", r.faultRounds(), func(f figures) error {
		next, err := c.standby(dir)
		if err != nil {
			return err
		}
		took, err := r.takenOver(c.product, next)
		if err != nil {
			next.end()
			return err
		}
		f["writer killed, until an order is answered"] = took.Seconds()
		c.product.hangUp()
		c.product, dir = next, c.product.dir
		return nil
	})
}

// takenOver kills the writer and returns the time until the standby has answered an order.
func (r *Run) takenOver(p, next *product) (time.Duration, error) {
	req := load.Post("", internalV1+"/orders", orderBody(0, pairName(0)))
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
	l, err := c.bare.log("reference", 3)
	if err != nil {
		return err
	}
	return r.rounds("leader killed", r.faultRounds(), func(f figures) error { return r.leaderKilled(c, l, f) })
}

// faultRounds returns the number of rounds with a fault, which take some seconds each.
func (r *Run) faultRounds() int {
	if r.Quick {
		return 1
	}
	return r.Rounds
}

func (r *Run) leaderKilled(c *cluster, l *natsLog, f figures) error {
	info, err := c.bare.settled(faultWithin)
	if err != nil {
		return err
	}
	if err := l.lead(info.leader); err != nil {
		return err
	}
	leader := c.named(info.leader)
	if leader < 0 {
		return fmt.Errorf("the stream is led by %q", info.leader)
	}
	stop := make(chan struct{})
	alone := make(chan time.Duration, 1)
	go func() { alone <- l.outage(bytes.Repeat([]byte("x"), 200), stop) }()
	own := make(chan time.Duration, 1)
	go func() { own <- c.product.outage(stop) }()
	time.Sleep(100 * time.Millisecond) // both loops run
	c.all[leader].Kill()
	killed := time.Now()
	req := load.Post("", internalV1+"/orders", orderBody(0, pairName(0)))
	for time.Since(killed) < faultWithin { // until both go on
		if a, err := load.Once(c.product.internal, req); err == nil && a.Status == 200 {
			break
		}
		time.Sleep(retryEvery)
	}
	for time.Since(killed) < faultWithin && !l.alive() {
		time.Sleep(retryEvery)
	}
	close(stop)
	gap, bareGap := <-own, <-alone
	f["leader of the stream killed, until an order is answered"] = gap.Seconds()
	f["the same for nats.go alone"] = bareGap.Seconds()
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
		a, err := load.Once(p.internal, load.Post("", internalV1+"/orders", orderBody(i, pairName(0))))
		if err != nil || a.Status != 200 {
			time.Sleep(retryEvery)
			continue
		}
		longest, acked = max(longest, time.Since(acked)), time.Now()
	}
}
