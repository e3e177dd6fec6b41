package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/durable"
	"tickhive/internal/fixed"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/server"
	"tickhive/sim/life"
)

// historySpan is how long before the current time the launchpad's history begins if there is a
// backfill. Workers become idle and proposals close after seven days, so a demo has some of each.
const historySpan = int64(9 * 24 * time.Hour)

// userLookup is the accounts as launchpad and hive read them; *accounts.View implements it.
type userLookup interface {
	// Level returns a user's level and ledger address, "" if the user does not exist.
	Level(n uint32) (level int, address string)
	// NumberOf returns the number of the user with this id.
	NumberOf(id uuid.UUID) (n uint32, ok bool)
}

// agentSide is launchpad, hive and their simulated life in a running exchange. Order of calls:
// newAgentSide, open, fill (within the backfill), begin (when the market runs), close.
type agentSide struct {
	cfg     *Config
	process clock.Clock
	log     *logging
	desk    *server.LaunchpadDesk
	// users is set before clients are admitted; nil: there are no users.
	users userLookup

	clock  ledgerClock
	fs     *bulkFS // nil: nothing is stored
	ledger *launchpad.Store
	swarm  *hive.Store
	life   *life.Life // nil: no simulated life
	fresh  bool       // this process created the ledger

	living sync.Mutex // held while one span is simulated
	lastNs int64      // end of the simulated time
	ending chan struct{}
	ended  chan struct{}
}

// ledgerClock is the process clock, except while a span is simulated: then it shows the
// simulated time. Any goroutine may read it.
type ledgerClock struct {
	process clock.Clock
	spanNs  atomic.Int64 // 0: the process clock
}

// NowNs implements clock.Clock.
func (c *ledgerClock) NowNs() int64 {
	if ns := c.spanNs.Load(); ns != 0 {
		return ns
	}
	return c.process.NowNs()
}

// Virtual implements clock.Clock. A simulated span counts as virtual: nothing happens by itself.
func (c *ledgerClock) Virtual() bool { return c.spanNs.Load() != 0 || c.process.Virtual() }

// newAgentSide builds the handlers, whose routes can then be registered. It opens nothing.
func newAgentSide(cfg *Config, process clock.Clock, log *logging) (*agentSide, error) {
	a := &agentSide{cfg: cfg, process: process, log: log}
	a.clock.process = process
	var err error
	a.desk, err = server.NewLaunchpadDesk(server.LaunchpadOptions{
		Clock: &a.clock, User: a.user, Find: a.find, VotesPerMinute: cfg.Rate.VotesPerMinute,
	})
	return a, err
}

func (a *agentSide) user(n engine.AccountID) (level int64, address string, ok bool) {
	if a.users == nil || n <= 0 || int64(n) > math.MaxUint32 {
		return 0, "", false
	}
	l, address := a.users.Level(uint32(n))
	return int64(l), address, address != ""
}

func (a *agentSide) find(id [16]byte) (engine.AccountID, bool) {
	if a.users == nil {
		return 0, false
	}
	n, ok := a.users.NumberOf(id)
	return engine.AccountID(n), ok && n != 0
}

// open recovers both stores and registers every token with the hive. In a new data directory
// with a backfill, the ledger begins with its history. If data is nil, nothing is stored.
func (a *agentSide) open(data *dataDir, lives bool) error {
	seed := uint64(a.cfg.Sim.Seed)
	lo, err := a.cfg.launchpadOptions()
	if err != nil {
		return err
	}
	ho := hive.DefaultOptions()
	if ho.QuorumCents, err = a.cfg.quorum(); err != nil {
		return err
	}
	set := durable.Config{
		Log:   wal.Options{NoLock: true, Writer: "TickHive " + cmdline.Version, SegmentBytes: a.cfg.Journal.SegmentBytes},
		Clock: &a.clock, Logf: a.logf, KeepAll: a.cfg.Journal.Keep == "all", SnapshotBytes: a.cfg.Journal.SnapshotBytes,
	}
	ls, hs := launchpad.StoreOptions{Config: set}, hive.StoreOptions{Config: set}
	if data != nil {
		seed = data.meta.Seed
		a.fs = newBulkFS()
		ls.FS, ls.Dir = a.fs, data.sub("launchpad")
		hs.FS, hs.Dir = a.fs, data.sub("hive")
	}
	lo.Seed = seed
	ls.Options = lo
	busy, live := a.paces(lives)
	if a.ledger, err = launchpad.OpenStore(ls); err != nil {
		return err
	}
	v := a.ledger.View()
	ho.Seed, ho.GenesisNs = v.Seed(), v.GenesisNs()
	hs.Options = ho
	if a.swarm, err = hive.OpenStore(hs); err != nil {
		return errors.Join(err, a.ledger.Close())
	}
	a.lastNs, a.fresh = v.GenesisNs(), v.Seq() == 1
	if !a.fresh {
		a.clock.spanNs.Store(0) // the history exists already
		busy = 0
		if err := a.resume(); err != nil {
			return err
		}
	}
	if lives {
		a.life, err = life.New(life.Options{
			Seed: v.Seed(), BusyNs: busy, LiveNs: live, Residents: life.Residents(v.Seed()),
		})
		if err != nil {
			return err
		}
	}
	return a.desk.Open(a.ledger, a.swarm)
}

// paces returns the times from which the simulated life is busy and live (life.Options). It
// also sets the clock of new stores to the start of their history.
func (a *agentSide) paces(lives bool) (busyNs, liveNs int64) {
	if a.process.Virtual() {
		liveNs = math.MaxInt64 // no client watches while a virtual clock is moved
	}
	backfill := int64(a.cfg.Sim.Backfill)
	if !lives || backfill == 0 {
		return 0, liveNs
	}
	end := a.process.NowNs()
	if a.process.Virtual() {
		end += backfill // makeClock set it back by this span
	}
	a.clock.spanNs.Store(end - max(backfill, historySpan))
	return end - backfill, max(end, liveNs)
}

// resume sets lastNs to the last record's time or the current time, whichever is later. A
// virtual clock that is behind the logs is moved forward.
func (a *agentSide) resume() error {
	var last int64
	err := errors.Join(
		a.ledger.Fold(func(s *launchpad.State) { last = max(last, s.LastNs()) }),
		a.swarm.Fold(func(s *hive.State) { last = max(last, s.LastNs()) }))
	if manual, ok := a.process.(*clock.Manual); ok && last > manual.NowNs() {
		manual.Set(last)
	}
	a.lastNs = max(last, a.process.NowNs())
	return err
}

func (a *agentSide) logf(format string, args ...any) { a.log.Warn(fmt.Sprintf(format, args...)) }

// fill simulates the history of a new data directory. No part of it is durable before all of
// it is complete. Without a history to simulate fill does nothing. It returns ctx's error when
// ctx is canceled.
func (a *agentSide) fill(ctx context.Context, endNs int64) error {
	if a.life == nil || a.clock.spanNs.Load() == 0 {
		return nil
	}
	a.fs.begin()
	err := a.liveTo(ctx, endNs)
	return errors.Join(err, a.fs.end())
}

// begin starts the simulated life on the process clock.
func (a *agentSide) begin() error {
	a.clock.spanNs.Store(0)
	if err := a.desk.Tick(); err != nil {
		return err
	}
	a.lastNs = max(a.lastNs, a.process.NowNs())
	if a.life != nil && !a.process.Virtual() {
		a.ending, a.ended = make(chan struct{}), make(chan struct{})
		go a.keepLiving()
	}
	return nil
}

// keepLiving runs one step after the other. It skips the steps that a sleeping machine missed.
func (a *agentSide) keepLiving() {
	defer close(a.ended)
	for {
		next := a.life.NextNs(a.ledger.View().GenesisNs(), a.lastNs)
		wait := time.NewTimer(time.Duration(next - a.process.NowNs()))
		select {
		case <-a.ending:
			wait.Stop()
			return
		case <-wait.C:
		}
		a.lastNs = next
		if late := a.process.NowNs() - next; late < int64(time.Minute) {
			a.slot(next)
		} else {
			a.lastNs += late
		}
	}
}

// advance simulates up to a virtual clock's time and applies everything that falls due in
// between. POST /clock calls it after the market has moved.
func (a *agentSide) advance() error {
	end := a.process.NowNs()
	if a.life != nil {
		if err := a.liveTo(context.Background(), end); err != nil {
			return err
		}
	}
	return a.desk.Tick()
}

// liveTo runs every step up to endNs, each at its simulated time, until ctx is canceled.
func (a *agentSide) liveTo(ctx context.Context, endNs int64) error {
	a.living.Lock()
	defer a.living.Unlock()
	defer a.clock.spanNs.Store(0)
	genesis := a.ledger.View().GenesisNs()
	for {
		next := a.life.NextNs(genesis, a.lastNs)
		if next > endNs {
			a.lastNs = endNs
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		a.lastNs = next
		a.clock.spanNs.Store(next)
		if err := errors.Join(a.ledger.Tick(next), a.swarm.Tick(next)); err != nil {
			return err
		}
		a.slot(next)
	}
}

// slot applies the actions of one step. Refusals are expected and ignored.
func (a *agentSide) slot(ns int64) {
	for _, s := range a.life.Act(ns, a.ledger.View(), a.swarm.View()) {
		var err error
		if s.Ledger != nil {
			_, err = a.desk.Carry(s.Ledger)
		} else {
			_, err = a.desk.Act(s.Hive)
		}
		if errors.Is(err, wal.ErrUnavailable) || errors.Is(err, wal.ErrStopped) {
			return
		}
	}
}

// stop ends the simulated life; the stores still serve requests.
func (a *agentSide) stop() {
	if a.ending != nil {
		close(a.ending)
		<-a.ended
		a.ending = nil
	}
}

// close takes a last snapshot of each store and closes it.
func (a *agentSide) close() error {
	a.stop()
	var err error
	if a.swarm != nil {
		err = a.swarm.Close()
	}
	if a.ledger != nil {
		err = errors.Join(err, a.ledger.Close())
	}
	return err
}

// launchpadOptions returns the configured fee, cooldown and rate.
func (c *Config) launchpadOptions() (launchpad.Options, error) {
	o := launchpad.DefaultOptions()
	var feeErr, rateErr error
	o.Fee, feeErr = launchpad.ParseAmount(string(c.Launchpad.Fee))
	o.NativeUSD, rateErr = launchpad.ParseAmount(string(c.Launchpad.NativeUSD))
	o.CooldownNs = int64(c.Launchpad.Cooldown)
	if feeErr != nil {
		return o, fmt.Errorf("launchpad.fee: %w", feeErr)
	}
	if rateErr != nil {
		return o, fmt.Errorf("launchpad.native_usd: %w", rateErr)
	}
	return o, o.Validate()
}

// quorum returns hive.quorum in hundredths.
func (c *Config) quorum() (int64, error) {
	cents, exact, fits := fixed.Units(c.Hive.Quorum.value(), 2)
	o := hive.DefaultOptions()
	o.QuorumCents = cents
	if err := o.Validate(); err != nil || !exact || !fits {
		return 0, fmt.Errorf("hive.quorum: %s is not 0 to 10^9 with at most two fractional digits", c.Hive.Quorum)
	}
	return cents, nil
}
