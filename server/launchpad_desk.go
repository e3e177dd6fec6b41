package server

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/wal"
	"tickhive/launchpad"
)

// LaunchpadOptions wires a LaunchpadDesk. Clock, User and Find are required.
type LaunchpadOptions struct {
	// Clock is the clock of both stores: what is answered is as of its time.
	Clock clock.Clock
	// User is the level and the ledger address (0x and 40 hex digits) of an account; ok is
	// false when there is none.
	User func(account engine.AccountID) (level int64, address string, ok bool)
	// Find is the account of a user's id.
	Find func(id [16]byte) (engine.AccountID, bool)
	// VotesPerMinute of one user in any 60 s; default 10 (rate.votes_per_minute).
	VotesPerMinute int
}

// DefaultVotes is how often a user may vote in any 60 s (docs/contract/limits.md#rate-limits).
const DefaultVotes = 10

// LaunchpadDesk is launchpad and hive at the edge: their public and internal routes, and
// the ledger as the account routes need it. Any goroutine may use it.
type LaunchpadDesk struct {
	opt    LaunchpadOptions
	stores atomic.Pointer[agentStores]
	votes  *voteLimiter

	// ticked is up to when a virtual clock's stores have been told the time.
	ticked  atomic.Int64
	ticking sync.Mutex
}

// agentStores are the two stores, which stand or fall together.
type agentStores struct {
	ledger *launchpad.Store
	hive   *hive.Store
}

// NewLaunchpadDesk makes the desk without its stores: routes can be made before recovery.
func NewLaunchpadDesk(o LaunchpadOptions) (*LaunchpadDesk, error) {
	if o.Clock == nil || o.User == nil || o.Find == nil {
		return nil, errors.New("server: LaunchpadOptions need a clock, User and Find")
	}
	setDefault(&o.VotesPerMinute, DefaultVotes)
	votes, err := newVoteLimiter(o.VotesPerMinute)
	if err != nil {
		return nil, err
	}
	return &LaunchpadDesk{opt: o, votes: votes}, nil
}

// Open gives the desk its recovered stores and lets the hive know every token. It comes
// before the server is ready.
func (d *LaunchpadDesk) Open(ledger *launchpad.Store, swarm *hive.Store) error {
	err := swarm.Fold(func(s *hive.State) {
		ledger.View().Facts(func(f launchpad.Fact) bool {
			s.Fold(hive.Fact(f))
			return true
		})
	})
	if err == nil {
		d.stores.Store(&agentStores{ledger, swarm})
	}
	return err
}

// Carry carries out a command of the ledger and tells the hive of it, both before it
// answers: whoever has the answer finds the worker too.
func (d *LaunchpadDesk) Carry(cmd launchpad.Command) (launchpad.Result, error) {
	st := d.stores.Load()
	if st == nil {
		return launchpad.Result{}, wal.ErrUnavailable
	}
	res, err := launchpad.Carry(st.ledger, cmd)
	if err == nil && res.Fact != nil {
		if ferr := st.hive.Fold(func(s *hive.State) { s.Fold(hive.Fact(*res.Fact)) }); ferr != nil {
			// The ledger has it, durable; the hive has it after the next start.
			err = fmt.Errorf("%w: the hive: %w", wal.ErrOutcomeUnknown, ferr)
		}
	}
	return res, err
}

// Act carries out a command of the hive.
func (d *LaunchpadDesk) Act(cmd hive.Command) (hive.Result, error) {
	st := d.stores.Load()
	if st == nil {
		return hive.Result{}, wal.ErrUnavailable
	}
	return st.hive.Do(cmd)
}

// Tick carries out what is due by the clock's time in both stores. A virtual clock's
// reader does it by itself; the owner of such a clock calls it so that its own answer
// comes after.
func (d *LaunchpadDesk) Tick() error {
	st := d.stores.Load()
	if st == nil {
		return nil
	}
	d.ticking.Lock()
	defer d.ticking.Unlock()
	now := d.opt.Clock.NowNs()
	if err := errors.Join(st.ledger.Tick(now), st.hive.Tick(now)); err != nil {
		return err
	}
	d.ticked.Store(now)
	return nil
}

// agentViews are both pictures and the time at which they are looked at.
type agentViews struct {
	ledger *launchpad.View
	hive   *hive.View
	nowNs  int64
}

// views loads the pictures of now. The hive's comes first, so that every worker in it has
// its token in the other.
func (d *LaunchpadDesk) views() agentViews {
	st := d.stores.Load()
	if st == nil {
		panic("BUG: server: a launchpad route before its stores are open")
	}
	now := d.opt.Clock.NowNs()
	if d.opt.Clock.Virtual() && now > d.ticked.Load() {
		// Without its tick a store that takes no changes answers as of the last instant
		// that it knows.
		_ = d.Tick()
	}
	return agentViews{hive: st.hive.View(), ledger: st.ledger.View(), nowNs: now}
}

// Views are the published pictures: nil before Open.
func (d *LaunchpadDesk) Views() (*launchpad.View, *hive.View) {
	st := d.stores.Load()
	if st == nil {
		return nil, nil
	}
	return st.ledger.View(), st.hive.View()
}

// worker is the hive's word on a worker, as the launchpad's answers want it.
func (v *agentViews) worker(id uint32) (launchpad.WorkerState, bool) {
	w, ok := v.hive.WorkerState(v.nowNs, id)
	return launchpad.WorkerState(w), ok
}

// Health is nil, or why one of the stores takes no changes.
func (d *LaunchpadDesk) Health() error {
	st := d.stores.Load()
	if st == nil {
		return nil
	}
	return errors.Join(st.ledger.Health(), st.hive.Health())
}
