package history

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"tickhive/bench/limits/floor"
	"tickhive/bench/proc"
	"tickhive/bench/report"
	"tickhive/internal/fixed"
)

// replayRows is the number of trades of the file: the tape keeps as many at most, so its memory has its full size.
const replayRows = 2_000_000

// Run holds what the measurements need of the scenario that they belong to.
type Run struct {
	S       *report.Scenario
	Product string // the program to measure
	Rounds  int
	Temp    func(name string) (dir string, err error)
	Say     func(format string, args ...any)
}

// Measure measures R1 and R3 (docs/internals/performance.md#r1).
func (r *Run) Measure() error {
	if err := r.replay(); err != nil {
		return err
	}
	return r.backfill()
}

// replay measures the replay of a CSV file: the whole program, from its start to its end, which reads the file
// twice. The reference reads it once in this process and parses its numbers.
func (r *Run) replay() error {
	dir, err := r.Temp("replay")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
	path := filepath.Join(dir, "trades.csv")
	if err := os.WriteFile(path, tradesFile(replayRows), 0o600); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	with := fmt.Sprintf("%d trades of a CSV file through order entry, the whole program", replayRows)
	rate := r.S.Rate("replay of trades", "trades/s", with).Aim("R1", 400_000)
	memory := r.S.Cost("replay of trades, largest resident memory", "MiB", with).Aim("R1", 256)
	cpu := r.S.Cost("replay of trades, CPU", "ns/trade", with).Against("read and parse")
	for range r.Rounds {
		r.Say("replay: %d trades", replayRows)
		base := proc.CPUNs(func() { err = parseTrades(path) })
		if err != nil {
			return err
		}
		cmd := exec.Command(r.Product, "replay", "--quiet", "--log-level", "warn", "--listen", "127.0.0.1:0",
			"--internal-listen", "127.0.0.1:0", "--format", "trades", path)
		forgetMemory()
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("history: replay: %w: %s", err, out)
		}
		rate.Round(replayRows / time.Since(start).Seconds())
		state := cmd.ProcessState
		cpu.Round(float64(state.UserTime()+state.SystemTime())/replayRows, base/replayRows)
		if use, ok := state.SysUsage().(*syscall.Rusage); ok {
			memory.Round(float64(use.Maxrss) / 1024) // KiB on Linux
		}
	}
	return nil
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

// parseTrades reads the file and parses the three numbers of each row.
func parseTrades(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only: no data can be lost
	in := bufio.NewScanner(f)
	in.Scan() // the header
	for in.Scan() {
		row := in.Bytes()
		for range 3 {
			cell, rest, _ := bytes.Cut(row, []byte{','})
			if _, err := strconv.ParseFloat(string(cell), 64); err != nil {
				return fmt.Errorf("history: %w", err)
			}
			row = rest
		}
	}
	return in.Err() //nolint:wrapcheck // of a file that this run wrote
}

// backfill measures the start of an exchange whose simulated pairs have a history. The reference is the floor of the
// core in the same round, which shows the machine's speed.
func (r *Run) backfill() error {
	w := floor.Generate("w1")
	for _, c := range []struct {
		span   string
		rounds int
		target float64
	}{{"25h", r.Rounds, 2}, {"720h", 1, 40}} {
		with := "12 simulated pairs, " + c.span + " before the start, until ready"
		wall := r.S.Cost("backfill of "+c.span, "s", with).Aim("R3", c.target)
		cpu := r.S.Cost("backfill of "+c.span+", CPU of the program", "s", with).Against("floor w1")
		for range c.rounds {
			r.Say("replay: backfill of %s", c.span)
			base := proc.CPUNs(func() {
				book := floor.NewBook("w1", w)
				floor.Run(book, w.Preload)
				floor.Run(book, w.Ops)
			})
			dir, err := r.Temp("backfill")
			if err != nil {
				return err
			}
			start := time.Now()
			p, err := proc.Start(nil, r.Product, "serve", "--quiet", "--log-level", "warn", "--listen", "127.0.0.1:0",
				"--internal-listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--sim", "on",
				"--backfill", c.span)
			if err == nil {
				wall.Round(time.Since(start).Seconds())
				cpu.Round(p.CPU().Seconds(), base/1e9)
				p.Kill()
			}
			_ = os.RemoveAll(dir) // nothing in it is needed
			if err != nil {
				return err
			}
		}
	}
	return nil
}
