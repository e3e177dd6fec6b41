package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/internal/fixed"
)

// The full load of docs/internals/performance.md#r2.
const (
	restartOrders = 1_000_000 // that rest
	restartRate   = 300_000   // commands/s at most
	restartLoad   = 7 * time.Second
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
	if err := p.addPairs(0, 1); err != nil {
		return err
	}
	if err := p.rest(restartOrders); err != nil {
		return err
	}
	requests, round := batchRequests(batchSize), 0
	return r.rounds("restart", r.Rounds, func(f figures) error {
		lasts := r.length(restartLoad) + time.Duration(round)*1700*time.Millisecond
		round++
		rate, err := p.fullLoad(requests, lasts)
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
		f["start after a kill, until ready"] = time.Since(start).Seconds()
		p = next
		f["start after a kill, CPU of the program"], f["load before a kill"] = p.CPU().Seconds(), rate
		return nil
	})
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

// fullLoad sends batches over several connections, at most restartRate commands a second in all. It returns the
// commands a second that were answered.
func (p *product) fullLoad(requests []*load.Request, lasts time.Duration) (rate float64, err error) {
	res, err := load.Loop{
		Addr: p.internal, Requests: requests, Workers: batchConns,
		Schedule: load.Even{PerSecond: restartRate / batchSize, For: lasts},
	}.Run()
	if err != nil {
		return 0, err
	}
	return batchSize * res.Rate(), nil
}

// replayTrades is the number of trades of the file: as many as are kept at most, so that their memory has its full
// size.
const replayTrades = 2_000_000

// runReplay measures R1 and R3: how long an exchange takes to have a past, by the replay of a file of trades and by the
// backfill of simulated pairs.
func runReplay(r *Run) error {
	if err := r.replay(); err != nil {
		return err
	}
	if err := r.backfill("25h", r.Rounds); err != nil {
		return err
	}
	return r.backfill("720h", 1)
}

// replay measures the replay of a CSV file: the whole program, from its start to its end.
func (r *Run) replay() error {
	dir, err := r.temp("replay")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
	path := filepath.Join(dir, "trades.csv")
	if err := os.WriteFile(path, tradesFile(replayTrades), 0o600); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return r.rounds("replay", r.Rounds, func(f figures) error {
		cmd := exec.Command(r.Product, "replay", "--quiet", "--log-level", "warn", "--listen", "127.0.0.1:0",
			"--internal-listen", "127.0.0.1:0", "--format", "trades", path)
		forgetMemory()
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("bench: replay: %w: %s", err, out)
		}
		state := cmd.ProcessState
		f["replay of trades"] = replayTrades / time.Since(start).Seconds()
		f["replay of trades, CPU"] = float64(state.UserTime()+state.SystemTime()) / replayTrades
		if use, ok := state.SysUsage().(*syscall.Rusage); ok {
			f["replay of trades, largest resident memory"] = float64(use.Maxrss) / 1024 // KiB on Linux
		}
		return nil
	})
}

// forgetMemory makes this process small and sets its largest resident memory to the present one. On Linux a program
// counts the largest memory of the process that starts it as its own: after the other scenarios that is a gigabyte.
func forgetMemory() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // another system has no such file
}

// tradesFile returns a CSV file of n trades.
func tradesFile(n int) []byte {
	b := append(make([]byte, 0, 40*n), "time,price,amount,side\n"...)
	ms, cents, random := int64(1_700_000_000_000), int64(6_000_000), uint32(1)
	for range n {
		random = random*1_664_525 + 1_013_904_223
		ms += int64(random>>24) + 1
		cents += int64(random>>20&63) - 31
		b = append(strconv.AppendInt(b, ms, 10), ',')
		b = append(fixed.AppendI64(b, cents, 2), ',')
		b = fixed.AppendI64(b, int64(random>>8&0xffff)+1, 5)
		b = append(b, []string{",buy\n", ",sell\n"}[random>>31]...)
	}
	return b
}

// backfill measures the start of an exchange whose simulated pairs have a history.
func (r *Run) backfill(span string, rounds int) error {
	return r.rounds("backfill of "+span, rounds, func(f figures) error {
		dir, err := r.temp("backfill")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
		start := time.Now()
		p, err := r.simulated(dir, span)
		if err != nil {
			return err
		}
		f["backfill of "+span] = time.Since(start).Seconds()
		f["backfill of "+span+", CPU of the program"] = p.CPU().Seconds()
		p.Kill()
		return nil
	})
}

// simulated starts the exchange with the built-in pairs, their simulated market and a history.
func (r *Run) simulated(dir, span string) (*proc.Child, error) {
	return proc.Start(nil, r.Product, "serve", "--quiet", "--log-level", "warn", "--listen", "127.0.0.1:0",
		"--internal-listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--sim", "on", "--backfill", span)
}
