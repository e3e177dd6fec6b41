package bench

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/bench/bare"
	"tickhive/bench/load"
)

// Parameters of D3 (docs/internals/performance.md#d3).
const (
	lagRound   = 4 * time.Second
	lagBatches = 500 // requests a second that carry the load
	lagProbes  = 150 // marked orders a second
	lagMark    = "probe-"
)

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
	info, err := c.bare.Product()
	if err != nil {
		return err
	}
	marks, err := c.bare.Watch(info.Name, lagMark)
	if err != nil {
		return err
	}
	defer marks.Stop()
	l := lagRun{Run: r, writer: c.product, replica: x, marks: marks}
	for _, rate := range []int{10_000, 100_000} {
		if err := l.at(rate); err != nil {
			return err
		}
	}
	return nil
}

type lagRun struct {
	*Run
	writer, replica *product
	marks           *bare.Marks
	sent            int // marked orders so far
}

// at measures the lag under so many commands a second.
func (l *lagRun) at(rate int) error {
	l.say("lag at %d commands/s", rate)
	with := fmt.Sprintf("%d commands/s in batches of %d, ack=local, %d marked orders a second; the replica's GET with "+
		"X-Min-Seq included", rate, rate/lagBatches, lagProbes)
	more := l.S.Cost(fmt.Sprintf("replica lag p99 above a bare consumer's, %d commands/s", rate), "ms", with).
		Aim("D3", 2)
	own := l.S.Cost(fmt.Sprintf("replica lag p99, %d commands/s", rate), "ms", with).Against("nats.go")
	middle := l.S.Cost(fmt.Sprintf("replica lag p50, %d commands/s", rate), "ms", with).Against("nats.go")
	offered := l.S.Rate(fmt.Sprintf("commands/s of the lag at %d", rate), "commands/s", with)
	batches := batchRequests(rate / lagBatches)
	for range l.Rounds {
		stop := make(chan struct{})
		var loaded *load.Result
		var err error
		var wg sync.WaitGroup
		wg.Go(func() {
			loaded, err = load.Open{
				Addr: l.writer.internal, Requests: batches, Workers: 2, Stop: stop,
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
		more.Round(max(at(replica, 99)-at(bare, 99), 0))
		own.Round(at(replica, 99), at(bare, 99))
		middle.Round(at(replica, 50), at(bare, 50))
		offered.Round(loaded.Rate() * float64(rate/lagBatches))
	}
	own.ByMedian()
	middle.ByMedian()
	more.ByMedian()
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
	var refused atomic.Int64
	answered := map[string]time.Time{}
	var mark string
	res, err := load.Open{
		Addr: l.writer.internal, Workers: 1, Schedule: load.Even{PerSecond: lagProbes, For: l.length(lagRound)},
		Next: func(_ int, dst []byte) ([]byte, error) {
			l.sent++
			mark = markOf(l.sent)
			return load.Post("", internalV1+"/orders", markedOrder(l.sent, mark)).Bytes(dst, nil), nil
		},
		Each: func(_ int, _ time.Time, a *load.Answer) {
			at := time.Now()
			answered[mark] = at
			if err := shown(reader, a.Seq); err != nil {
				failed = err
				refused.Add(1)
				return
			}
			replica.Record(time.Since(at))
		},
	}.Run()
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, fmt.Errorf("lag: %d probes: %w", refused.Load(), err)
	}
	if err := allGood(res); err != nil {
		return nil, nil, fmt.Errorf("lag: probes: %w", err)
	}
	for mark, at := range answered {
		seen, ok := l.marks.At(mark)
		for end := time.Now().Add(time.Second); !ok && time.Now().Before(end); seen, ok = l.marks.At(mark) {
			time.Sleep(time.Millisecond) // the last ones are on their way
		}
		if !ok {
			return nil, nil, fmt.Errorf("lag: the bare consumer has not received the order %s", mark)
		}
		bare.Record(seen.Sub(at))
	}
	return replica, bare, nil
}

func markOf(n int) string { return bare.Mark(lagMark, n) }

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
