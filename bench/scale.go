package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/bench/report"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/marketdata"
)

// runScale measures how costs grow with sizes. A quick run omits the largest size of each curve.
func runScale(r *Run) error {
	for _, f := range []func(*Run) error{
		scaleBuiltIn, scalePairs, scaleOrders, scaleTrades, scaleCandles, scaleConnections, scalePollers,
	} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the sizes of a curve.
func (r *Run) sizes(all ...int) []int {
	if r.Quick {
		return all[:len(all)-1]
	}
	return all
}

// curve adds a curve of costs over sizes, and a note when the cost grows faster than the size.
func (r *Run) curve(name, x, y, note string, xs, ys []float64) {
	r.S.Curves = append(r.S.Curves, report.Curve{
		Name: name, XLabel: x, YLabel: y, X: xs, Y: ys,
		Slope: report.Slope(xs, ys), Note: note,
	})
}

// unit adds the cost of one of the largest size of a curve to a row of the table.
func (r *Run) unit(name string, xs, ys []float64) error {
	last := len(xs) - 1
	r.row(name).With += fmt.Sprintf(", %.0f of them", xs[last])
	return r.round(figures{name: ys[last] / xs[last]})
}

// settled is the time after a start at which M1 is measured.
const settled = time.Minute

// scaleBuiltIn measures M1 (docs/internals/performance.md#m1): the resident memory of an exchange that nobody asks.
func scaleBuiltIn(r *Run) error {
	dir, err := r.temp("built-in")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
	resident := func(name string, start func() (*proc.Child, error)) turn {
		return func(f figures) error {
			p, err := start()
			if err != nil {
				return err
			}
			defer p.Stop()
			time.Sleep(r.length(settled))
			bytes, err := proc.Memory(p.PID())
			f[name] = float64(bytes) / 1e6
			return err
		}
	}
	simulated := func() (*proc.Child, error) { return r.simulated(dir, "25h") }
	return r.rounds("built-in pairs", 1, resident("memory of the built-in pairs, first start", simulated),
		resident("memory of the built-in pairs, after a restart", simulated),
		resident("memory of an empty exchange", func() (*proc.Child, error) {
			p, err := r.serve(filepath.Join(dir, "empty"))
			if err != nil {
				return nil, err
			}
			return p.Child, nil
		}))
}

// scalePairs measures memory, publication and the documents over all pairs.
func scalePairs(r *Run) error {
	var xs, memory, publish, cpu, render []float64
	for _, n := range r.sizes(1, 10, 100, 1000, 10_000) {
		r.say("%d pairs", n)
		before := heap()
		w := newMarket(n, 2)
		xs, memory = append(xs, float64(n)), append(memory, float64(heap()-before))
		const changes = 20_000
		took := proc.CPUNs(func() {
			for i := range int64(changes) {
				w.change(i)
			}
		})
		publish = append(publish, took/changes)
		runtime.KeepAlive(w)
		still, changing, err := tickersCPU(r, n)
		if err != nil {
			return err
		}
		cpu, render = append(cpu, still), append(render, changing)
	}
	r.curve("Memory of pairs", "pairs", "bytes of heap", "", xs, memory)
	r.curve("Command, fold and publish of one pair", "pairs", "CPU ns", "the root copies its directory of groups of 32",
		xs, publish)
	r.curve("/tickers, unchanged", "pairs", "server CPU us", "", xs, cpu)
	r.curve("/tickers, 1,000 changes/s", "pairs", "server CPU us", "the changing thread taken off", xs, render)
	return r.unit("memory of a pair", xs, memory)
}

// tickersCPU returns the server's CPU a response with all tickers, without and with changes.
func tickersCPU(r *Run, pairs int) (still, changing float64, err error) {
	m, err := r.startMarket(pairs, 2)
	if err != nil {
		return 0, 0, err
	}
	defer m.Stop()
	for round := range r.Rounds {
		for _, x := range []struct {
			on   bool
			best *float64
		}{{false, &still}, {true, &changing}} {
			us, _, err := m.answers(allTickers, 4, 1000, x.on, httpRound)
			if err != nil {
				return 0, 0, err
			}
			if round == 0 || us < *x.best {
				*x.best = us
			}
		}
	}
	return still, changing, nil
}

// scaleOrders measures the memory of resting orders, and the cost of placing and canceling one among them.
func scaleOrders(r *Run) error {
	var xs, memory, cost []float64
	for _, n := range r.sizes(1000, 10_000, 100_000, 1_000_000, 5_000_000) {
		r.say("%d resting orders", n)
		before := heap()
		c := newCoreRun(nil)
		for i := range int64(n) {
			side, away := engine.Side(i&1), 1+i*7919%5000
			if side == engine.Buy {
				away = -away
			}
			c.apply(&engine.Command{Kind: engine.Place, Side: side, Price: 100_000 + away, Amount: 1 + i%100})
		}
		xs, memory = append(xs, float64(n)), append(memory, float64(heap()-before))
		const pairs = 200_000
		took := proc.CPUNs(func() {
			for i := range int64(pairs) {
				c.apply(&engine.Command{Kind: engine.Place, Side: engine.Buy, Price: 99_999 - i*7919%5000, Amount: 5})
				c.apply(&engine.Command{Kind: engine.Cancel, Order: engine.OrderID(1 + uint64(i*104_729)%uint64(n))})
			}
		})
		cost = append(cost, took/(2*pairs))
		runtime.KeepAlive(c)
	}
	r.curve("Memory of resting orders", "orders", "bytes of heap", "", xs, memory)
	r.curve("Place or cancel among resting orders", "resting orders", "CPU ns",
		"cache misses: every order is found at a random place", xs, cost)
	return r.unit("memory of a resting order", xs, memory)
}

// scaleTrades measures the memory of retained trades and the cost of a further trade.
func scaleTrades(r *Run) error {
	var xs, memory, cost []float64
	for _, n := range r.sizes(10_000, 100_000, 1_000_000, 10_000_000) {
		r.say("%d kept trades", n)
		before := heap()
		feed := marketdata.NewFeed(marketdata.Options{
			Retention: marketdata.Retention{TradesMin: n, TradesMax: n}, NoOrders: true,
		})
		count := 0
		c := newCoreRun(func(events []engine.Event) {
			feed.Fold(events)
			if count++; count%publishEvery == 0 {
				feed.Publish(events[0].TimeNs)
			}
		})
		took := proc.CPUNs(func() {
			for i := range int64(n) {
				for k := range int64(2) {
					c.apply(&engine.Command{Side: engine.Side((i + k) & 1), Price: 100_000 + i%20, Amount: 5})
				}
			}
		})
		xs, memory, cost = append(xs, float64(n)), append(memory, float64(heap()-before)), append(cost, took/float64(n))
		if kept := feed.Stats().Trades; kept < n {
			return fmt.Errorf("scale: %d trades are kept of %d", kept, n)
		}
		runtime.KeepAlive(c)
	}
	r.curve("Memory of kept trades", "trades", "bytes of heap", "", xs, memory)
	r.curve("A trade, from two commands to its fold", "trades kept", "CPU ns", "", xs, cost)
	return r.unit("memory of a kept trade", xs, memory)
}

// scaleCandles measures the memory of a closed candle; every minute has a trade.
func scaleCandles(r *Run) error {
	const minutes = 20_000
	r.say("%d minutes of candles", minutes)
	feed := marketdata.NewFeed(marketdata.Options{NoOrders: true})
	c := newCoreRun(func(events []engine.Event) { feed.Fold(events) })
	for i := range int64(minutes) {
		c.now = startNs + i*int64(time.Minute)
		for k := range int64(2) {
			c.apply(&engine.Command{Side: engine.Side((i + k) & 1), Price: 100_000 + i%20, Amount: 5})
		}
		feed.Publish(c.now)
	}
	s := feed.Stats()
	if s.Candles < minutes-1 {
		return fmt.Errorf("scale: %d candles of %d minutes", s.Candles, minutes)
	}
	return r.unit("memory of a closed candle", []float64{float64(s.Candles)}, []float64{float64(s.CandleBytes)})
}

// idleConnections is the largest number of connections.
const idleConnections = 15_000

// keepFiles is the number of file descriptors that client and server need in addition to the connections.
const keepFiles = 256

// scaleConnections opens connections up to the limit of file descriptors. Each sends one request; one
// connection continues to send requests.
func scaleConnections(r *Run) error {
	most := min(idleConnections, int(cmdline.FileLimit())-keepFiles)
	if most < idleConnections {
		r.S.Note("connections: the descriptor limit allows %d", most)
	}
	p, err := r.startFilled(contents{1, 60, 10})
	if err != nil {
		return err
	}
	defer p.end()
	base, err := proc.Memory(p.PID())
	if err != nil {
		return err
	}
	var open []*load.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	var xs, memory, cost []float64
	for _, n := range r.sizes(1, 10, 100, 1000, most) {
		r.say("%d connections", n)
		for len(open) < n {
			c, err := askOn(p.public, book)
			if err != nil {
				return err
			}
			open = append(open, c)
		}
		res, err := load.Loop{
			Addr: p.public, Requests: []*load.Request{book}, Workers: 1, Warm: httpWarm,
			For: httpRound, CPU: p.CPU,
		}.Run()
		if err != nil {
			return err
		}
		now, err := proc.Memory(p.PID())
		if err != nil {
			return err
		}
		xs, memory, cost = append(xs, float64(n)), append(memory, max(float64(now-base), 1)),
			append(cost, res.ServerUs())
	}
	r.curve("Memory of connections", "connections", "bytes resident",
		"small counts are lost in the pages that the process holds anyway", xs[2:], memory[2:])
	r.curve("Book 40x40 beside open connections", "connections", "server CPU us", "", xs, cost)
	return r.unit("memory of a connection", xs, memory)
}

// askOn opens a connection, sends one request, reads the answer and leaves the connection open.
func askOn(addr string, req *load.Request) (*load.Conn, error) {
	c, err := load.Dial(addr)
	if err != nil {
		return nil, err
	}
	var a load.Answer
	if err = c.Send(req.Bytes(nil, nil)); err == nil {
		err = c.Read(&a)
	}
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("scale: status %d", a.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// scalePollers measures a constant total rate of requests from an increasing number of pollers.
func scalePollers(r *Run) error {
	const pairs = 100
	p, err := r.startFilled(contents{pairs, 60, 100})
	if err != nil {
		return err
	}
	defer p.end()
	codes := make([]string, pairs)
	for i := range codes {
		codes[i] = pairName(i)
	}
	var xs, p99, cpu []float64
	for _, n := range r.sizes(1, 10, 100, 1000) {
		r.say("%d pollers", n)
		res, err := load.Loop{
			Addr: p.public, Schedule: load.Even{PerSecond: 2000, For: r.length(3 * time.Second)},
			Requests: pollRequests("", codes), Workers: n, Grace: pollGrace, CPU: p.CPU,
		}.Run()
		if err != nil {
			return err
		}
		if res.Errors > 0 {
			return fmt.Errorf("scale: %d pollers: %s: %w", n, res.Statuses(), res.Err)
		}
		l := r.latency(res, fmt.Sprintf("%d pollers, 2,000 requests/s", n))
		xs, p99, cpu = append(xs, float64(n)), append(p99, l.At(99)), append(cpu, res.ServerUs())
	}
	r.curve("p99 of pollers at 2,000 requests/s", "pollers", "us", "one poller alone sends one request at a time", xs,
		p99)
	r.curve("CPU of an answer by pollers", "pollers", "server CPU us", "", xs, cpu)
	return nil
}
