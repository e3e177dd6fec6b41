package entry

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/step"
)

// Cause is the reason why a Canceler cancels all orders of an account.
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

// maxJobs bounds the accounts whose orders one step of a Canceler cancels.
const maxJobs = 64

// Canceler cancels all orders of an account without a request of its user: after a halt, when the dead man's switch
// fires, and when the last socket is gone that had asked for it. It cancels in pairs that take no cancels later.
//
// Owner: any goroutine may call Halt, Join and Leave; one goroutine calls Step. Halts and switches are part of
// the accounts, so a restart loses none; sockets are not.
type Canceler struct {
	e     *Entry
	state *accounts.State // read only inside Exchange.Query
	do    func(accounts.Command) (accounts.Result, error)
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
	again    bool // it was begun while running
	queued   bool
}

// NewCanceler returns the canceler of an Entry's accounts. Attach attaches it.
func NewCanceler(e *Entry) *Canceler {
	return &Canceler{
		e: e, sockets: map[engine.AccountID]int{}, gone: map[engine.AccountID]int64{}, jobs: map[jobKey]*job{},
	}
}

// Attach sets the recovered accounts and the function that changes them, and resumes halts that the last process left
// unfinished. The caller calls it once, before the loop runs.
func (x *Canceler) Attach(state *accounts.State, do func(accounts.Command) (accounts.Result, error)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state, x.do = state, do
	for _, n := range state.HaltedUsers() {
		x.begin(engine.AccountID(n), Halted, 0)
	}
}

// Counts returns how often all orders of an account were canceled, by the cause.
func (x *Canceler) Counts() map[string]uint64 {
	n := map[string]uint64{}
	for _, c := range causes {
		n[c.String()] = x.counts[c].Load()
	}
	return n
}

// Halt cancels the open orders of a halted account. It returns the number of canceled orders and how many are open
// then: those of halted pairs, which later steps cancel. No more come: the engine refuses every order behind the halt.
func (x *Canceler) Halt(account engine.AccountID) (canceled, open int) {
	x.mu.Lock()
	s := x.begin(account, Halted, 0)
	free := !s.running
	s.running = true
	x.mu.Unlock()
	if free {
		x.carryOn(s)
		canceled = s.canceled
		x.endOrWait(s)
	}
	_ = x.e.opt.Exchange.Query(func() { open, _ = x.state.HaltedOrders(uint32(account)) }) // 0 while the loop ends
	return canceled, open
}

// Join counts a socket of the account that asks for the cancel of all orders when it is gone.
func (x *Canceler) Join(account engine.AccountID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sockets[account]++
	delete(x.gone, account)
}

// Leave ends Join. After the grace of the account's last socket, a step cancels the orders, unless the socket has
// withdrawn its wish.
func (x *Canceler) Leave(account engine.AccountID, graceNs int64, withdrawn bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sockets[account]--; x.sockets[account] > 0 {
		return
	}
	delete(x.sockets, account)
	if !withdrawn {
		x.gone[account] = x.e.opt.Clock.NowNs() + graceNs
	}
}

// NextNs returns the process time after nowNs at which the next cancel falls due, step.Never without one.
func (x *Canceler) NextNs(nowNs int64) int64 {
	next := step.Never
	_ = x.e.opt.Exchange.Query(func() { // the loop that ends fires no switch
		if at := x.state.NextSwitch(nowNs); at != 0 {
			next = at
		}
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, at := range x.gone {
		next = min(next, max(at, nowNs+1))
	}
	return next
}

// Step begins the cancels that are due and goes on with those in progress, of at most maxJobs accounts. It
// reports whether one of them ended.
func (x *Canceler) Step(nowNs int64) (worked bool) {
	for _, s := range x.due(nowNs) {
		x.carryOn(s)
		worked = x.endOrWait(s) || worked
	}
	return worked
}

// fired returns the switches that have fired and have no job, at most maxJobs.
func (x *Canceler) fired(nowNs int64) (fired []accounts.Deadline) {
	_ = x.e.opt.Exchange.Query(func() { // a later step finds what this one does not
		x.mu.Lock()
		defer x.mu.Unlock()
		x.state.Fired(nowNs, func(d accounts.Deadline) bool {
			if s := x.jobs[jobKey{engine.AccountID(d.User), SwitchFired}]; s == nil || s.firedNs != d.AtNs {
				fired = append(fired, d)
			}
			return len(fired) < maxJobs
		})
	})
	return fired
}

// due returns the jobs that the caller must carry on, and end when they are done.
func (x *Canceler) due(nowNs int64) (take []*job) {
	fired := x.fired(nowNs)
	x.mu.Lock()
	defer x.mu.Unlock()
	var ended []engine.AccountID
	for account, at := range x.gone {
		if at <= nowNs {
			ended = append(ended, account)
		}
	}
	slices.Sort(ended)
	for _, account := range ended[:min(len(ended), maxJobs)] {
		delete(x.gone, account)
		x.begin(account, Disconnected, nowNs)
	}
	for _, d := range fired {
		x.begin(engine.AccountID(d.User), SwitchFired, d.AtNs)
	}
	for len(x.queue) > 0 && len(take) < maxJobs {
		s := x.queue[0]
		x.queue, s.queued = x.queue[1:], false
		if !s.running && x.jobs[s.jobKey] == s {
			s.running = true
			take = append(take, s)
		}
	}
	return take
}

// wait queues a job for a later step. The caller must hold mu.
func (x *Canceler) wait(s *job) {
	if !s.queued {
		x.queue, s.queued = append(x.queue, s), true
	}
}

// begin returns the job of an account for a cause and begins it again, one that is running when its step has ended. The
// caller must hold mu.
func (x *Canceler) begin(account engine.AccountID, c Cause, atNs int64) *job {
	key := jobKey{account, c}
	s := x.jobs[key]
	if s == nil {
		s = &job{jobKey: key}
		x.jobs[key] = s
	}
	if s.again = s.running; !s.running {
		s.begun, s.firedNs = false, atNs
		x.wait(s)
	}
	return s
}

// carryOn cancels what it can. The caller has set running.
func (x *Canceler) carryOn(s *job) {
	if s.cause == Halted {
		halted := true
		err := x.e.opt.Exchange.Query(func() { _, halted = x.state.HaltedOrders(uint32(s.account)) })
		if !halted { // the halt was lifted
			s.bounds, s.begun = nil, true
		}
		if err != nil || !halted {
			return
		}
	}
	if !s.begun {
		bounds, err := x.e.bounds(&MassCancel{Caller: s.account, Pair: engine.ControlPair})
		if err != nil {
			return // the engine takes nothing at the moment
		}
		s.bounds, s.begun = bounds, true
	}
	n := 0
	n, s.bounds = x.e.cancelUpTo(s.account, s.bounds)
	s.canceled += n
}

// endOrWait removes a job that has canceled everything, or makes it wait. It reports whether it removed it.
func (x *Canceler) endOrWait(s *job) bool {
	ended := s.begun && len(s.bounds) == 0
	if ended && s.cause == SwitchFired {
		ended = x.disarm(s)
	}
	x.mu.Lock()
	if s.running = false; s.again {
		s.again, s.begun, ended = false, false, false
	}
	if ended {
		delete(x.jobs, s.jobKey)
	} else {
		x.wait(s)
	}
	x.mu.Unlock()
	if !ended {
		return false
	}
	x.counts[s.cause].Add(1)
	if x.Done != nil {
		x.Done(s.account, s.cause, s.canceled)
	}
	return true
}

// disarm turns a switch off that has fired, unless its user has set it again.
func (x *Canceler) disarm(s *job) bool {
	_, err := x.do(accounts.Command{Kind: accounts.SetSwitch, User: uint32(s.account), FiredNs: s.firedNs})
	var reject *refuse.Refusal
	return err == nil || errors.As(err, &reject)
}
