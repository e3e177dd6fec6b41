package agents

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tickhive/engine"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// Options configures a Service. Clock, User and Find are required.
type Options struct {
	// Clock is the clock of both stores. An answer shows the state at this clock's time.
	Clock clock.Clock
	// User returns the level and the ledger address (0x and 40 hex digits) of an account; ok
	// is false when the account does not exist.
	User func(account engine.AccountID) (level int64, address string, ok bool)
	// Find returns the account of a user id.
	Find func(id [16]byte) (engine.AccountID, bool)
	// VotesPerMinute limits the votes of one user in any 60 s; 0: 10 (rate.votes_per_minute).
	VotesPerMinute int
}

// DefaultVotes is the default of VotesPerMinute (docs/contract/limits.md#rate-limits).
const DefaultVotes = 10

// Service serves the public and internal routes of launchpad and hive, and implements
// Ledger for the account routes. Any goroutine may use it.
type Service struct {
	opt    Options
	stores atomic.Pointer[bothStores]
	votes  *edge.UserLimiter

	// ticked is the virtual time up to which both stores have applied their due changes.
	ticked  atomic.Int64
	ticking sync.Mutex
}

// bothStores holds the two stores; they are always set together.
type bothStores struct {
	ledger *launchpad.Store
	hive   *hive.Store
}

// New returns a Service without stores, so that routes can be built before recovery.
func New(o Options) (*Service, error) {
	if o.Clock == nil || o.User == nil || o.Find == nil {
		return nil, errors.New("agents: Options need a clock, User and Find")
	}
	o.VotesPerMinute = cmp.Or(o.VotesPerMinute, DefaultVotes)
	votes, err := edge.NewUserLimiter(o.VotesPerMinute)
	if err != nil {
		return nil, err
	}
	return &Service{opt: o, votes: votes}, nil
}

// Open sets the recovered stores and reports every token to the hive. The caller calls it
// before the server is ready.
func (s *Service) Open(ledger *launchpad.Store, h *hive.Store) error {
	err := h.Fold(func(state *hive.State) {
		ledger.View().Facts(func(f launchpad.Fact) bool {
			state.Fold(hive.Fact(f))
			return true
		})
	})
	if err == nil {
		s.stores.Store(&bothStores{ledger, h})
	}
	return err
}

// DoLaunchpad submits a command to the ledger and passes the change to the hive before it returns. A client
// that receives the answer therefore finds the worker too.
func (s *Service) DoLaunchpad(cmd launchpad.Command) (launchpad.Result, error) {
	st := s.stores.Load()
	if st == nil {
		return launchpad.Result{}, wal.ErrUnavailable
	}
	res, err := launchpad.Do(st.ledger, cmd)
	if err == nil && res.Fact != nil {
		if ferr := st.hive.Fold(func(state *hive.State) { state.Fold(hive.Fact(*res.Fact)) }); ferr != nil {
			// The change is durable in the ledger. The hive receives it at the next start.
			err = fmt.Errorf("%w: the hive: %w", wal.ErrOutcomeUnknown, ferr)
		}
	}
	return res, err
}

// DoHive submits a command to the hive and returns once it is durable.
func (s *Service) DoHive(cmd hive.Command) (hive.Result, error) {
	st := s.stores.Load()
	if st == nil {
		return hive.Result{}, wal.ErrUnavailable
	}
	return st.hive.Do(cmd)
}

// Tick applies the changes of both stores that are due at the clock's time. With a virtual clock every read
// does this too; the route that sets the clock calls Tick so that its answer comes after the work.
func (s *Service) Tick() error {
	st := s.stores.Load()
	if st == nil {
		return nil
	}
	s.ticking.Lock()
	defer s.ticking.Unlock()
	now := s.opt.Clock.NowNs()
	if err := errors.Join(st.ledger.Tick(now), st.hive.Tick(now)); err != nil {
		return err
	}
	s.ticked.Store(now)
	return nil
}

// storeViews holds the views of both stores and the time at which a request reads them.
type storeViews struct {
	ledger *launchpad.View
	hive   *hive.View
	nowNs  int64
}

// views loads the current views. It loads the hive's view first, so that the ledger's view has a token for
// every worker in it.
func (s *Service) views() storeViews {
	st := s.stores.Load()
	if st == nil {
		panic("BUG: server: a launchpad route before its stores are open")
	}
	now := s.opt.Clock.NowNs()
	if s.opt.Clock.Virtual() && now > s.ticked.Load() {
		// If Tick fails, the store accepts no changes; the answer shows its last state.
		_ = s.Tick()
	}
	return storeViews{hive: st.hive.View(), ledger: st.ledger.View(), nowNs: now}
}

// Views returns the published views, nil before Open.
func (s *Service) Views() (*launchpad.View, *hive.View) {
	st := s.stores.Load()
	if st == nil {
		return nil, nil
	}
	return st.ledger.View(), st.hive.View()
}

// worker returns the worker of a token. If the hive has not received the worker yet, the result is the worker's
// initial state.
func (v *storeViews) worker(t *launchpad.Token) *hive.WorkerInfo {
	w, ok := v.hive.Worker(v.nowNs, t.AgentNFT())
	if !ok {
		w = hive.WorkerInfo{Status: hive.Active, LastActiveAt: t.SpawnedSec}
	}
	return &w
}

// Health returns nil, or the reason why one of the stores accepts no changes.
func (s *Service) Health() error {
	st := s.stores.Load()
	if st == nil {
		return nil
	}
	return errors.Join(st.ledger.Health(), st.hive.Health())
}
