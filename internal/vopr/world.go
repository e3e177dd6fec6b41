package vopr

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/server/stream"
)

// startNs is 2026-01-01T00:00:00Z, the beginning of every simulation.
const startNs = int64(1_767_225_600_000_000_000)

// simMachine holds the clocks of the machine, which the scheduler moves. It implements clock.Source.
type simMachine struct {
	wallNs int64 // may be set
	bootNs int64 // advances steadily
}

// Read implements clock.Source.
func (m *simMachine) Read() (wallNs, monotonicNs int64) { return m.wallNs, m.bootNs }

// BootNs implements clock.Source.
func (m *simMachine) BootNs() int64 { return m.bootNs }

// pass lets time pass.
func (m *simMachine) pass(ns int64) {
	m.wallNs += ns
	m.bootNs += ns
}

// Failure is an outcome that breaks a promise.
type Failure struct {
	Seed uint64
	What string
}

func (f *Failure) Error() string { return fmt.Sprintf("seed %d: %s", f.Seed, f.What) }

// Result describes a run of one seed.
type Result struct {
	Mix        Mix
	Transcript string // hash of everything that happened
}

// Mix counts what a seed did.
type Mix struct {
	Requests, Acknowledged, Refused, Unknown  int
	Market, Accounts, Launchpad, Hive         int // commands
	Lives, Refusals, Epochs, Incidents, Steps int

	Accepted int // starts with --accept-data-loss
	Restored int // directories from before a power cut that took what lying syncs left
	Settings int // starts with other settings
	Replays  int // replays of the log after a start
	Marks    int // states of before that they met
	Sums     int // restarts whose totals were compared with those before it
	Limits   int // losses that no start can notice, see earlierLog

	StreamMix
	CaughtUp int // comparisons of the readers with answers

	Balances int // users whose balances were compared with their deals
	Audits   int // records after which the money was checked against the books
	AllIn    int // market buys of all that a balance pays; TooMuch: refused ones
	TooMuch  int
	Lists    int // order lists that were placed
	Delisted int // pairs

	Trailing, TakeProfits, QuoteSells int // orders that were placed; take profits that do not trail
	Moved                             int // replaces of what an order waits for
	Reached                           int // orders with fills that waited, and whose pair had trades that reached them

	Quotes  int // orders and cancels under client order ids that are used again
	Fired   int // open orders of users whose switch had fired while no process ran
	Still   int // records of refused commands that changed nothing
	Within  int // turns of others while a step of the loop, its backlog or the journal was paused
	Stopped int // exchanges that a failed sync has stopped
	Closed  int // proposals that were found closed after a start

	Edges [edges]int // moments that were met from both sides

	Aimed  [machine.Parts]int // faults in a record of each part
	Ends   [ends]int
	Faults [vfstest.Classes]int
}

// Add adds the counts of another run.
func (m *Mix) Add(o *Mix) {
	m.Requests += o.Requests
	m.Acknowledged += o.Acknowledged
	m.Refused += o.Refused
	m.Unknown += o.Unknown
	m.Market += o.Market
	m.Accounts += o.Accounts
	m.Launchpad += o.Launchpad
	m.Hive += o.Hive
	m.Lives += o.Lives
	m.Refusals += o.Refusals
	m.Epochs += o.Epochs
	m.Incidents += o.Incidents
	m.Steps += o.Steps
	m.Within += o.Within
	m.Accepted += o.Accepted
	m.Restored += o.Restored
	m.Quotes += o.Quotes
	m.Delisted += o.Delisted
	m.Lists += o.Lists
	m.Trailing += o.Trailing
	m.Moved += o.Moved
	m.TakeProfits += o.TakeProfits
	m.QuoteSells += o.QuoteSells
	m.Reached += o.Reached
	m.Replays += o.Replays
	m.Marks += o.Marks
	m.Settings += o.Settings
	m.Fired += o.Fired
	m.Still += o.Still
	m.Stopped += o.Stopped
	m.Closed += o.Closed
	for i := range m.Aimed {
		m.Aimed[i] += o.Aimed[i]
	}
	m.StreamMix.add(&o.StreamMix)
	m.CaughtUp += o.CaughtUp
	m.Balances += o.Balances
	m.Audits += o.Audits
	m.AllIn += o.AllIn
	m.TooMuch += o.TooMuch
	m.Sums += o.Sums
	m.Limits += o.Limits
	for i := range m.Ends {
		m.Ends[i] += o.Ends[i]
	}
	for i := range m.Edges {
		m.Edges[i] += o.Edges[i]
	}
	for i := range m.Faults {
		m.Faults[i] += o.Faults[i]
	}
}

// Commands returns the number of commands of all parts.
func (m *Mix) Commands() int { return m.Market + m.Accounts + m.Launchpad + m.Hive }

// world is one run: the machine, the exchange on it, and the model.
type world struct {
	seed    uint64
	rnd     *rand.Rand
	plan    plan
	disk    *vfstest.Mem
	machine simMachine
	boot    int
	clock   *clock.Steady // of the present process

	foreign *vfstest.Mem // the disk of another exchange

	p  *process
	x  *exchange.Running // nil: no client is admitted
	up error             // the outcome of the start

	model    *model
	mix      Mix
	nonce    int
	serial   int // of client order ids and symbols
	inflight []*request
	busy     map[string]bool
	streams  *audience

	backup *vfstest.Mem // the disk without faults that explain a refusal; nil: there is no such fault
	cutMay losses       // those of the backup
	may    losses       // those that the end of the last life permits
	// lied: a sync lied before a power cut, and no start has said what is lost. One may refuse the disk.
	lied     bool
	lies     int                  // syncs that had lied at the latest power cut
	intact   *vfstest.Mem         // the disk before the cut, as a copy of every file would have it
	accept   bool                 // the next start has --accept-data-loss
	stale    bool                 // an earlier segment was put back, see earlierLog
	stepped  bool                 // the clock of the machine was set: a signed request may be too old
	starting []vfstest.Injection  // faults of the present start
	halted   bool                 // one of them failed a sync behind the start: the exchange takes no changes
	compared bool                 // the present process is compared with those before: its states are noted
	only     machine.Part         // requests are of this part; Market: of any
	epochs   bool                 // the present life has begun a new epoch
	settings int                  // of the present process, see options
	was      sequencer.SyncPolicy // of the process before

	answers   int   // a clock for the model: answers so far
	safe      int   // what was answered up to this tick is synced
	verified  int   // tick at which the present process was verified
	startedNs int64 // time at which the present process began
	standing  bool  // the clock stands

	marks     map[uint64]string // state hash by position of the log, of running processes
	audited   uint64            // position of the log up to which a replay has checked the money
	last      uint64            // position of the log at the end of the last life, 0: unknown
	tickers   map[string]string // X-Seq of the tickers then, by pair
	sums      map[string]string // totals then, by currency; nil: a change may be missing in them
	unknown   int               // mix.Unknown at the start of the present process
	failure   error
	sum       hash.Hash
	trace     io.Writer // nil: no trace
	scheduled int
}

// Run simulates a seed. It writes the transcript to trace unless it is nil. The error is a Failure.
func Run(seed uint64, trace io.Writer) (Result, error) { return newWorld(seed, trace).simulate() }

// simulate runs the lives of the plan.
func (w *world) simulate() (Result, error) {
	w.foreign = foreignDisk()
	defer func() { w.p.end() }() // its coroutines hold the whole exchange
	w.logf("plan %+v", w.plan)
	for i := range w.plan.lives {
		if w.runLife(&w.plan.lives[i], i == len(w.plan.lives)-1); w.failure != nil {
			break
		}
	}
	for c := range w.mix.Faults {
		w.mix.Faults[c] = w.disk.Injected(vfstest.Class(c))
	}
	r := Result{Mix: w.mix, Transcript: hex.EncodeToString(w.sum.Sum(nil))}
	if w.failure != nil {
		return r, &Failure{w.seed, w.failure.Error()}
	}
	return r, nil
}

func newWorld(seed uint64, trace io.Writer) *world {
	w := &world{
		seed: seed, rnd: rand.New(rand.NewPCG(seed, 0x7069)), disk: vfstest.NewMem(),
		machine: simMachine{wallNs: startNs},
		model:   newModel(), marks: map[uint64]string{}, busy: map[string]bool{},
		sum: sha256.New(), trace: trace,
	}
	w.plan = newPlan(w.rnd)
	w.streams = &audience{
		all: newReaders(), told: &w.model.told, rnd: w.rnd, mix: &w.mix.StreamMix, sum: w.sum,
		logf: w.logf, fail: w.fail,
	}
	w.disk.KeepVersions(4)
	return w
}

// foreignDisk returns the disk of an exchange that has worked for a while.
var foreignDisk = sync.OnceValue(func() *vfstest.Mem {
	w := newWorld(1<<63, nil)
	w.plan.lives = nil
	l := life{commands: 300, end: stop}
	w.runLife(&l, false)
	return w.disk
})

func (w *world) logf(format string, args ...any) {
	line := fmt.Appendf(nil, "%d "+format+"\n", append([]any{w.machine.bootNs}, args...)...)
	_, _ = w.sum.Write(line)
	if w.trace != nil {
		_, _ = w.trace.Write(line)
	}
}

// fail keeps the first broken promise as the run's failure; later ones are mostly its consequences.
func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
		w.logf("FAILURE %v", w.failure)
	}
}

func (w *world) options() exchange.Options {
	random := rand.NewChaCha8([32]byte{byte(w.seed), byte(w.seed >> 8), byte(w.seed >> 16), byte(w.mix.Lives), 1})
	o := exchange.Options{
		Log: slog.New(logs{w}), Dir: "d",
		Binance: exchange.BinanceConfig{Listen: []string{"none: a driver has no sockets"}},
		Journal: exchange.JournalOptions{JournalConfig: exchange.JournalConfig{
			Sync: w.plan.sync, SegmentBytes: w.plan.segment, SnapshotBytes: w.plan.snapshot,
		}},
		Clock:          exchange.ClockOptions{Virtual: w.plan.virtual},
		Sim:            exchange.SimOptions{SimConfig: exchange.SimConfig{Seed: 1}},
		AcceptDataLoss: w.accept,
		Hooks: exchange.Hooks{
			Streams: func(o *stream.Options) { o.QueueBytes = streamQueueBytes }, Sinks: w.p.interrupted,
		},
		Machine: exchange.Machine{
			FS: w.disk, Clock: w.clock, Boot: fmt.Sprintf("boot-%d", w.boot), Random: random, Driver: w.p,
		},
	}
	o.Rate.Allow, o.Rate.VotesPerMinute = []string{"192.0.2.0/24"}, 10_000
	if w.plan.keepAll {
		o.Journal.Keep = exchange.KeepAll
	}
	w.configure(&o)
	return o
}

// configure sets the settings by which records are decided: a start with others writes a record of them.
func (w *world) configure(o *exchange.Options) {
	o.Accounts.Referral = accounts.DefaultConfig()
	o.Launchpad, o.Hive = launchpad.DefaultOptions(), hive.DefaultOptions()
	if w.settings == 0 {
		return
	}
	n := int64(w.settings)
	o.Accounts.Withdrawal.Minimum = fixed.FromI64(w.commission() * 1e18)
	o.Accounts.Referral.Levels[0] -= uint32(n)
	o.Launchpad.Fee = launchpad.AmountOf(uint64(100 - 30*n))
	o.Launchpad.CooldownNs -= n * int64(time.Hour)
	o.Launchpad.NativeUSD = launchpad.AmountOf(uint64(1 + n))
	o.Hive.QuorumCents -= 10_00 * n
	o.Engine.AccountStops = 200 - int(n)
}

// commission returns the whole units that a withdrawal costs.
func (w *world) commission() int64 { return int64(w.settings) }

// begin starts a process, which admits clients once it has recovered.
func (w *world) begin() {
	w.p = &process{rnd: w.rnd}
	p := w.p // the disk belongs to this process, also when there is another one
	w.disk.Before(func(op vfstest.Op) vfstest.Fault { p.atSync(op); return vfstest.Fault{} })
	w.disk.After(p.atSync)
	w.clock = clock.NewSteady(&w.machine)
	w.x, w.up, w.startedNs, w.compared, w.standing = nil, nil, w.clock.NowNs(), false, false
	w.mix.Lives++
	w.p.begin("main", func() {
		opened, err := exchange.Open(w.options())
		if err != nil {
			w.up = err
			return
		}
		recovered, err := opened.Recover(context.Background())
		if err != nil {
			opened.Stop(context.Background())
			w.up = err
			return
		}
		running, err := recovered.Start(context.Background())
		if err != nil {
			recovered.Stop(context.Background())
			w.up = err
			return
		}
		running.Admit()
		w.x = running
	})
}

// run schedules until done returns true or the process ends. It reports whether done did.
func (w *world) run(done func() bool) bool {
	for n := 0; !w.p.dead && w.failure == nil; n++ {
		if done() {
			return true
		}
		if n > 2_000_000 {
			w.fail("the process hangs: %s", w.p.names())
			return false
		}
		if w.scheduled++; w.scheduled%markEvery == 0 {
			w.mark()
		}
		w.p.turn()
		if w.p.bug != "" {
			w.fail("%s", w.p.bug)
			return false
		}
		if w.rnd.IntN(16) == 0 && !w.p.dead {
			if r := w.streams.pick(); w.streams.act(r) == closedSlow {
				w.streams.open(r, w.x.Hub())
			}
		}
		if w.rnd.IntN(8) == 0 && !w.standing {
			w.machine.pass(w.rnd.Int64N(int64(2 * time.Millisecond)))
		}
	}
	return false
}

func (p *process) names() (all []string) {
	for _, t := range p.tasks {
		all = append(all, t.name)
	}
	return all
}

// await runs a request alone, between those under way, and returns when it has ended.
func (w *world) await(name string, fn func()) {
	ended := false
	w.p.begin(name, func() { fn(); ended = true })
	w.run(func() bool { return ended || w.halted })
}

// logs is the slog.Handler: errors and incidents belong to the transcript.
type logs struct{ *world }

// Enabled implements slog.Handler.
func (w logs) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w logs) Handle(_ context.Context, r slog.Record) error {
	if w.p.dead { // its coroutines unwind
		return nil
	}
	var b bytes.Buffer
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	})
	w.logf("log %s%s", r.Message, b.String())
	return nil
}

// WithAttrs implements slog.Handler.
func (w logs) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w logs) WithGroup(string) slog.Handler { return w }
