package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"tickhive/bench/limits/floor"
	"tickhive/bench/limits/floor/wl"
	"tickhive/bench/proc"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/marketdata/replica"
)

// logWriter is a core run that appends its commands to a log: it makes a journal without a loop.
type logWriter struct {
	*coreRun
	dir     replica.LogDir
	log     *wal.Log
	journal *sequencer.WALJournal
	one     [1]*engine.Command
	count   uint64 // commands written
}

func newLogWriter(dir string, follow func([]engine.Event)) (*logWriter, error) {
	l := &logWriter{dir: replica.LogDir{
		FS: vfs.OS{}, Dir: dir,
		Options: wal.Options{NoLock: true, RecordVersion: engine.CommandVersion, Writer: "bench"},
	}}
	var err error
	if l.log, err = wal.Open(l.dir.FS, dir, l.dir.Options); err != nil {
		return nil, err
	}
	l.journal = sequencer.NewWALJournal(l.log, sequencer.SyncOff)
	l.journal.BeginBulk()
	l.coreRun = &coreRun{core: engine.NewCore(engine.Options{}), now: startNs, follow: follow}
	return l, l.do(engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: benchInstrument("BTC")})
}

func (l *logWriter) do(cmd engine.Command) error {
	l.apply(&cmd)
	l.count++
	l.one[0] = &cmd
	_, err := l.journal.Append(l.one[:])
	return err
}

func (l *logWriter) ops(ops []wl.Op) error {
	for i := range ops {
		o := &ops[i]
		if o.Type != wl.Limit {
			if err := l.do(engine.Command{Kind: engine.Cancel, Order: engine.OrderID(o.ID)}); err != nil {
				return err
			}
		}
		if o.Type != wl.Cancel {
			if err := l.do(engine.Command{
				Kind: engine.Place, Side: engine.Side(o.Side), Price: o.Price,
				Amount: int64(o.Qty),
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logWriter) end() error {
	if err := l.journal.EndBulk(); err != nil {
		return err
	}
	return l.journal.Close()
}

// runRecovery measures E7 and E8 (docs/internals/performance.md#engine).
func runRecovery(r *Run) error {
	for _, x := range []struct {
		name   string
		target float64
	}{{"w1", 2e6}, {"w2", 1e6}} {
		if err := replayLog(r, x.name, x.target); err != nil {
			return err
		}
	}
	return largeMarket(r)
}

// replayLog measures a recovery from the journal without a snapshot: core and feed with every option enabled,
// without publication.
func replayLog(r *Run, name string, target float64) error {
	r.say("%s: journal alone", name)
	dir, err := r.temp("replay")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := newLogWriter(dir, nil)
	if err != nil {
		return err
	}
	w := floor.Generate(name)
	if err := l.ops(w.Preload); err != nil {
		return err
	}
	if err := l.ops(w.Ops); err != nil {
		return err
	}
	commands := l.count
	if err := l.end(); err != nil {
		return err
	}
	with := fmt.Sprintf("%d commands", commands)
	rate := r.S.Rate(name+" from the journal alone", "commands/s", with).Aim("E7", target)
	cpu := r.S.Cost(name+" CPU of recovery", "ns/command", with).Against("floor")
	for range r.Rounds {
		book := floor.NewBook(name, w)
		base := proc.CPUNs(func() { floor.Run(book, w.Preload); floor.Run(book, w.Ops) }) / float64(commands)
		runtime.GC()
		before, start := proc.SelfCPU(), time.Now()
		rep, err := recoverDir(l.dir)
		if err != nil {
			return err
		}
		took := time.Since(start)
		cpu.Round(float64(proc.SelfCPU()-before)/float64(commands), base)
		rate.Round(float64(commands) / took.Seconds())
		if got, want := rep.Core.HashPair(0, nil), l.core.HashPair(0, nil); rep.Pos != commands || got != want {
			return fmt.Errorf("%s: the recovered book at %d is not the one at %d", name, rep.Pos, commands)
		}
	}
	return nil
}

// recoverDir recovers a market from its directory like serve.
func recoverDir(dir replica.LogDir) (*replica.Replica, error) {
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	r, _, err := replica.Load(replica.Options{}, dir, replica.NoLimit)
	if err != nil {
		return nil, err
	}
	rd, err := log.Reader(r.Pos + 1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rd.Close() }()
	return r, r.Replay(rd, 0, nil)
}

// Sizes of the large market of E7 and E8 (docs/internals/performance.md#engine).
const (
	largeOrders = 1_000_000
	largeTrades = 1_000_000
	tailOps     = 100_000
)

// fillLarge writes the commands for a million resting orders on 20,000 levels and for a million trades.
func (l *logWriter) fillLarge() error {
	for i := range int64(largeOrders) {
		side, away := engine.Side(i&1), 100+i*7919%10_000
		price := 100_000 - away
		if side == engine.Sell {
			price = 100_000 + away
		}
		if err := l.do(engine.Command{Kind: engine.Place, Side: side, Price: price, Amount: 1 + i%100}); err != nil {
			return err
		}
	}
	return l.trades(largeTrades)
}

// trades makes n trades of one maker and one taker order each.
func (l *logWriter) trades(n int) error {
	for i := range int64(n) {
		for k := range int64(2) {
			if err := l.do(engine.Command{
				Kind: engine.Place, Side: engine.Side((i + k) & 1),
				Price: 100_000 + i%20 - 10, Amount: 5,
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func largeMarket(r *Run) error {
	r.say("snapshot and tail, 1 M resting orders and 1 M trades")
	dir, err := r.temp("large")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := newLogWriter(filepath.Join(dir, "log"), nil)
	if err != nil {
		return err
	}
	if err := l.fillLarge(); err != nil {
		return err
	}
	if err := l.end(); err != nil {
		return err
	}
	if err := snapshotOf(l.dir); err != nil {
		return err
	}
	if err := appendTail(l.dir); err != nil {
		return err
	}
	m := r.S.Cost("snapshot + tail, 1 M orders and 1 M trades", "s",
		fmt.Sprintf("tail of %d commands; nothing published", 2*tailOps)).Aim("E7", 2)
	cpu := r.S.Cost("snapshot + tail, CPU", "s", "")
	for range r.Rounds {
		runtime.GC()
		before, start := proc.SelfCPU(), time.Now()
		rep, err := recoverDir(l.dir)
		if err != nil {
			return err
		}
		m.Round(time.Since(start).Seconds())
		cpu.Round((proc.SelfCPU() - before).Seconds())
		if n := rep.Core.OpenOrders(0); n != largeOrders {
			return fmt.Errorf("recovery found %d resting orders", n)
		}
		if n := rep.Feed.Stats().Trades; n < largeTrades {
			return fmt.Errorf("recovery found %d trades", n)
		}
	}
	return snapshotPause(r, l.dir)
}

// snapshotOf writes a snapshot of the market that the log in dir contains.
func snapshotOf(dir replica.LogDir) error {
	rep, err := recoverDir(dir)
	if err != nil {
		return err
	}
	return wal.WriteSnapshot(dir.FS, dir.Dir, dir.Options, wal.SnapshotMeta{Seq: rep.Pos}, func(w io.Writer) error {
		return rep.Write(w, nil)
	})
}

// appendTail appends trades to the log after the snapshot.
func appendTail(dir replica.LogDir) error {
	rep, err := recoverDir(dir)
	if err != nil {
		return err
	}
	l := &logWriter{dir: dir, coreRun: &coreRun{core: rep.Core, now: rep.LastNs}}
	if l.log, err = wal.Open(dir.FS, dir.Dir, dir.Options); err != nil {
		return err
	}
	l.journal = sequencer.NewWALJournal(l.log, sequencer.SyncOff)
	l.journal.BeginBulk()
	if err := l.trades(tailOps); err != nil {
		return err
	}
	return l.end()
}
