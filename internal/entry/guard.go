package entry

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/internal/step"
)

// Cause is the reason why a Guard cancels all orders of an account.
type Cause uint8

// The causes.
const (
	Halted       Cause = iota // an operator halted the account
	SwitchFired               // its dead man's switch fired
	Disconnected              // its last opted-in socket is gone
)

var causes = [...]Cause{Halted, SwitchFired, Disconnected}

// String returns the word for logs and metrics.
func (c Cause) String() string { return [...]string{"halt", "switch", "disconnect"}[c] }

// maxJobs bounds the accounts whose orders one step of a Guard cancels.
const maxJobs = 64

// Guard cancels all orders of an account without a request of its user: after a halt, when the dead man's switch
// fires, and when the last socket is gone that had asked for it. It cancels in pairs that take no cancels later.
//
// Owner: any goroutine may call Halt, Join and Leave; one goroutine calls Step. Halts and switches are part of
// the accounts, so a restart loses none; sockets are not.
type Guard struct {
	e  *Entry
	do func(accounts.Command) (accounts.Result, error)
	// Done, unless nil, is called after all orders of an account were canceled. Set it before the first step.
	Done func(account engine.AccountID, c Cause, canceled int)

	mu      sync.Mutex
	sockets map[engine.AccountID]int   // number of opted-in sockets
	gone    map[engine.AccountID]int64 // process time at which the grace after the last of them ends
	jobs    map[jobKey]*job            // in progress
	queue   []*job                     // those of jobs that wait for a step, each once
	counts  [len(causes)]atomic.Uint64
}

type jobKey struct {
	account engine.AccountID
	cause   Cause
}

// job is the cancel of all orders of an account.
type job struct {
	jobKey
	firedNs  int64            // SwitchFired: the time to which the switch was set
	begun    bool             // bounds are known
	bounds   []engine.OrderID // newest order ids of the pairs in which orders are still to be canceled
	canceled int
	running  bool // a goroutine cancels
	queued   bool
}

// NewGuard returns the guard of an Entry's accounts. Attach attaches it.
func NewGuard(e *Entry) *Guard {
	return &Guard{
		e: e, sockets: map[engine.AccountID]int{}, gone: map[engine.AccountID]int64{}, jobs: map[jobKey]*job{},
	}
}

// Attach sets the function that changes the recovered accounts, and resumes halts that the last process left
// unfinished. The caller calls it once, after Entry.Attach.
func (g *Guard) Attach(do func(accounts.Command) (accounts.Result, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.do = do
	for _, n := range g.e.view.HaltedUsers() {
		g.begin(engine.AccountID(n), Halted, 0)
	}
}

// Counts returns how often all orders of an account were canceled, by the cause.
func (g *Guard) Counts() map[string]uint64 {
	n := map[string]uint64{}
	for _, c := range causes {
		n[c.String()] = g.counts[c].Load()
	}
	return n
}

// Halt cancels the open orders of a halted account and returns the number of canceled orders. Later steps cancel the
// orders that were on their way to the engine, and the orders of halted pairs.
func (g *Guard) Halt(account engine.AccountID) (canceled int) {
	g.mu.Lock()
	s := g.begin(account, Halted, 0)
	free := !s.running
	s.running = true
	g.mu.Unlock()
	if free {
		g.carryOn(s)
		canceled = s.canceled
		g.endOrWait(s)
	}
	return canceled
}

// Join counts a socket of the account that asks for the cancel of all orders when it is gone.
func (g *Guard) Join(account engine.AccountID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sockets[account]++
	delete(g.gone, account)
}

// Leave ends Join. After the grace of the account's last socket, a step cancels the orders, unless the socket has
// withdrawn its wish.
func (g *Guard) Leave(account engine.AccountID, graceNs int64, withdrawn bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sockets[account]--; g.sockets[account] > 0 {
		return
	}
	delete(g.sockets, account)
	if !withdrawn {
		g.gone[account] = g.e.opt.Clock.NowNs() + graceNs
	}
}

// NextNs returns the process time after nowNs at which the next cancel falls due, step.Never without one.
func (g *Guard) NextNs(nowNs int64) int64 {
	next := step.Never
	if at := g.e.view.NextSwitch(nowNs); at != 0 {
		next = at
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.gone {
		next = min(next, max(at, nowNs+1))
	}
	return next
}

// Step begins the cancels that are due and goes on with those in progress, of at most maxJobs accounts. It
// reports whether one of them ended.
func (g *Guard) Step(nowNs int64) (worked bool) {
	for _, s := range g.due(nowNs) {
		g.carryOn(s)
		worked = g.endOrWait(s) || worked
	}
	return worked
}

// due returns the jobs that the caller must carry on, and end when they are done.
func (g *Guard) due(nowNs int64) (take []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ended []engine.AccountID
	for account, at := range g.gone {
		if at <= nowNs {
			ended = append(ended, account)
		}
	}
	slices.Sort(ended)
	for _, account := range ended[:min(len(ended), maxJobs)] {
		delete(g.gone, account)
		g.begin(account, Disconnected, nowNs)
	}
	var fired []accounts.Deadline
	g.e.view.Fired(nowNs, func(d accounts.Deadline) bool {
		if s := g.jobs[jobKey{engine.AccountID(d.User), SwitchFired}]; s == nil || s.firedNs != d.AtNs {
			fired = append(fired, d)
		}
		return len(fired) < maxJobs
	})
	for _, d := range fired {
		g.begin(engine.AccountID(d.User), SwitchFired, d.AtNs)
	}
	for len(g.queue) > 0 && len(take) < maxJobs {
		s := g.queue[0]
		g.queue, s.queued = g.queue[1:], false
		if !s.running && g.jobs[s.jobKey] == s {
			s.running = true
			take = append(take, s)
		}
	}
	return take
}

// wait queues a job for a later step. The caller must hold mu.
func (g *Guard) wait(s *job) {
	if !s.queued {
		g.queue, s.queued = append(g.queue, s), true
	}
}

// begin returns the job of an account for a cause and begins it again unless it is running. The caller must
// hold mu.
func (g *Guard) begin(account engine.AccountID, c Cause, atNs int64) *job {
	key := jobKey{account, c}
	s := g.jobs[key]
	if s == nil {
		s = &job{jobKey: key}
		g.jobs[key] = s
	}
	if !s.running {
		s.begun, s.firedNs = false, atNs
		g.wait(s)
	}
	return s
}

// carryOn cancels what it can. The caller has set running.
func (g *Guard) carryOn(s *job) {
	if s.cause == Halted {
		open, _, halted := g.e.view.HaltedOrders(uint32(s.account))
		if s.begun = false; !halted || open == 0 {
			return
		}
	}
	if !s.begun {
		bounds, err := g.e.bounds(&MassCancel{Caller: s.account, Pair: engine.ControlPair})
		if err != nil {
			return // the engine takes nothing at the moment
		}
		s.bounds, s.begun = bounds, true
	}
	n := 0
	n, s.bounds = g.e.cancelUpTo(s.account, s.bounds)
	s.canceled += n
}

// endOrWait removes a job that has canceled everything, or makes it wait. It reports whether it removed it.
func (g *Guard) endOrWait(s *job) bool {
	ended := s.begun && len(s.bounds) == 0
	if s.cause == Halted {
		open, coming, halted := g.e.view.HaltedOrders(uint32(s.account))
		ended = !halted || open+coming == 0
	}
	if ended && s.cause == SwitchFired {
		ended = g.disarm(s)
	}
	g.mu.Lock()
	s.running = false
	if ended {
		delete(g.jobs, s.jobKey)
	} else {
		g.wait(s)
	}
	g.mu.Unlock()
	if !ended {
		return false
	}
	g.counts[s.cause].Add(1)
	if g.Done != nil {
		g.Done(s.account, s.cause, s.canceled)
	}
	return true
}

// disarm turns a switch off that has fired, unless its user has set it again.
func (g *Guard) disarm(s *job) bool {
	_, err := g.do(accounts.Command{Kind: accounts.SetSwitch, User: uint32(s.account), FiredNs: s.firedNs})
	var reject *refuse.Refusal
	return err == nil || errors.As(err, &reject)
}
