package hive

import (
	"errors"
	"fmt"
	"math"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
)

// State is the state of the hive, a function of the commands carried out, their times, the settings in force and the
// facts folded. Owner: the goroutine of the machine. Trees marked shared are copy-on-write, and the objects in them are
// never changed, because Views hold them too.
type State struct {
	opt Options

	begun        bool
	seed         uint64
	genesisNs    int64
	nowNs        int64  // time of the last change, Unix ns
	votes        uint64 // number of votes cast so far
	maxActiveSec int64  // newest activity of any worker except boosts, Unix seconds
	maxBoostSec  int64  // newest end of a boost, Unix seconds

	log        log
	all        *postings // all entries; shared, append-only
	untargeted *postings // entries without a target; shared, append-only

	workers   *btree.Map[uint32, *Worker]  // by workerId; shared
	byToken   *btree.Map[string, uint32]   // key: token address; value: workerId; shared
	byStatus  *btree.Map[uint64, struct{}] // key: status and workerId; shared
	idleQueue *btree.Map[uint64, struct{}] // workers that are not idle; key: idleKey

	proposals     *btree.Map[uint32, *Proposal]    // by number; shared
	byState       *btree.Map[uint64, struct{}]     // key: status and number; shared
	byWorker      *btree.Map[uint64, struct{}]     // key: worker and number; shared
	byWorkerState *btree.Map[uint64, struct{}]     // key: worker with status, and number; shared
	closed        *btree.Map[uint64, uint32]       // closes of a worker up to a second; key: closedKey; shared
	closeQueue    *btree.Map[uint64, struct{}]     // active proposals; key: closeKey
	voters        map[uint32]map[[16]byte]struct{} // voters of the active proposals, by number
	voted         map[uint32]uint64                // what the voters of an active proposal add to the digest

	digest uint64 // of everything but the head (digest.go)
}

// degree is small, because each change after a publish copies the nodes on its path.
const degree = 16

// New returns an empty hive. opt must be valid.
func New(opt Options) *State {
	set := func() *btree.Map[uint64, struct{}] { return btree.NewMap[uint64, struct{}](degree) }
	return &State{
		opt: opt,
		all: new(postings), untargeted: new(postings),
		workers: btree.NewMap[uint32, *Worker](degree), byToken: btree.NewMap[string, uint32](degree),
		byStatus: set(), idleQueue: set(),
		proposals: btree.NewMap[uint32, *Proposal](degree), byState: set(), byWorker: set(), byWorkerState: set(),
		closed: btree.NewMap[uint64, uint32](degree), closeQueue: set(), voters: map[uint32]map[[16]byte]struct{}{},
		voted: map[uint32]uint64{},
	}
}

// SetOptions sets the settings in force. What is decided later follows them, so a proposal that is active then needs
// the new quorum when it closes. What has got its end already keeps it.
func (s *State) SetOptions(opt Options) { s.opt = opt }

// LastNs returns the time of the last change, Unix nanoseconds.
func (s *State) LastNs() int64 { return s.nowNs }

// nextDue returns the second of the next change that time alone causes, and the function that carries it out: a
// proposal closes, or a worker becomes idle. In the same second proposals close first, because that may be activity.
// The second is 0 when there is none.
func (s *State) nextDue() (sec int64, carryOut func(*State)) {
	if key, _, ok := s.closeQueue.Min(); ok {
		sec, carryOut = int64(key>>22), (*State).closeOne
	}
	if key, _, ok := s.idleQueue.Min(); ok {
		if at := int64(key >> 20); carryOut == nil || at < sec {
			sec, carryOut = at, (*State).idleOne
		}
	}
	return sec, carryOut
}

// carryOut makes the changes that are due by nowNs, each at its own time, in the order of their times, at most most of
// them. It returns their number.
func (s *State) carryOut(nowNs int64, most int) (n int) {
	for ; n < most; n++ {
		sec, change := s.nextDue()
		if change == nil || sec > nowNs/secondNs {
			break
		}
		s.nowNs = max(s.nowNs, sec*secondNs)
		change(s)
	}
	return n
}

// NextNs returns the time of the next change that time alone causes, 0 when there is none.
func (s *State) NextNs() int64 {
	sec, _ := s.nextDue()
	return sec * secondNs
}

// Begun reports whether Begin was applied.
func (s *State) Begun() bool { return s.begun }

// The hive's limits.
const (
	// MaxEntries bounds the action log. An entry takes about 200 bytes of memory.
	MaxEntries = 1 << 24
	// MaxWorkers equals the launchpad's MaxTokens: each token has one worker.
	MaxWorkers = 1 << 20
	// MaxProposals bounds the proposals of all workers together.
	MaxProposals = 1 << 22
	// MaxActiveProposals bounds the active proposals of one token, so that its lists stay short.
	MaxActiveProposals = 1000
	// MaxVoters bounds the voters of one proposal, which are stored until it closes.
	MaxVoters = 1 << 20
	// maxDue bounds the changes that a Tick carries out. The rest waits for the next one.
	maxDue = 256
	// MaxPayload is the largest payload of an action or a proposal, in bytes.
	MaxPayload = 4096
	// MaxReason is the longest reasonCode, in ASCII characters (docs/contract/hive.md#action-log).
	MaxReason = 32
	// MaxComment is the longest comment of a vote, in characters.
	MaxComment = 500
	// MaxProposer is the longest name of a proposer, in bytes.
	MaxProposer = 64
	// KeptComments is the number of newest comments that a proposal retains.
	KeptComments = 50
	// RecentActions is the number of newest entries that a worker's answers show.
	RecentActions = 20
	// fullSec is the Retry-After, in seconds, of a refusal because a limit is reached. Only time or an operator
	// resolves it.
	fullSec = 60
	// MaxPageSize is the largest page of every list; the default page sizes follow
	// (docs/contract/launchpad.md#tokens, docs/contract/hive.md#action-log).
	MaxPageSize            = 100
	DefaultPageSize        = 20
	DefaultLogPageSize     = 50
	secondNs               = 1_000_000_000
	daySec                 = 86400
	idleAfterSec           = 7 * daySec
	proposalSec            = 7 * daySec
	urgentSec              = daySec
	recentlyClosedSec      = 7 * daySec // period that votes.recentlyClosed covers
	blockNs                = 2 * secondNs
	firstAgentNFT          = 10001
	passingNum, passingDen = 3, 5 // a proposal passes when yes / (yes + no) >= 3/5
)

// QuorumConfig is the section hive of the configuration.
type QuorumConfig struct {
	Quorum setting.Decimal `toml:"quorum" default:"100" help:"vote weight that a proposal needs"`
}

// Options returns the settings of the hive, or what is wrong with the quorum.
func (c *QuorumConfig) Options() (Options, error) {
	cents, exact, fits := fixed.Units(c.Quorum.Value(), 2)
	o := DefaultOptions()
	o.QuorumCents = cents
	if o.Validate() != nil || !exact || !fits {
		return o, fmt.Errorf("hive.quorum: %s must be from 0 to 10^9 with at most two fractional digits", c.Quorum)
	}
	return o, nil
}

// Check reports an invalid quorum.
func (c *QuorumConfig) Check() error {
	_, err := c.Options()
	return err
}

// Options holds the settings of the hive (State.SetOptions). A snapshot does not contain them.
type Options struct {
	QuorumCents int64  // hundredths of vote weight that a proposal needs to pass (hive.quorum)
	Queens      uint32 // number of queens: queen-1 to queen-N
	Scouts      uint32 // number of scouts: scout-1 to scout-N
}

// DefaultOptions returns quorum 100, three queens, two scouts.
func DefaultOptions() Options {
	return Options{QuorumCents: 100_00, Queens: 3, Scouts: 2}
}

// Validate reports an option that is out of range.
func (o *Options) Validate() error {
	if o.QuorumCents < 0 || o.QuorumCents > 1_000_000_000_00 {
		return errors.New("hive.quorum is not within 0 and 10^9")
	}
	if o.Queens == 0 || o.Scouts == 0 {
		return errors.New("a hive has at least one queen and one scout")
	}
	return nil
}

// Do carries out what is due by nowNs, then the command at nowNs. An error is a *refuse.Refusal; then nothing has
// changed but what was due. So what a command does never depends on the Ticks before it; they only keep what it finds
// due small.
func (s *State) Do(nowNs int64, cmd Command) (res Result, err error) {
	res.Due = s.carryOut(nowNs, math.MaxInt)
	lastNs := s.nowNs
	s.nowNs = max(s.nowNs, nowNs)
	if rej := s.do(cmd, &res); rej != nil {
		s.nowNs = lastNs
		return res, rej
	}
	return res, nil
}

// Tick carries out what is due by nowNs, at most maxDue changes.
func (s *State) Tick(nowNs int64) Result { return Result{Due: s.carryOut(nowNs, maxDue)} }

// do validates a command and carries it out at s.nowNs. It changes nothing when it refuses.
func (s *State) do(cmd Command, res *Result) *refuse.Refusal {
	if _, begin := cmd.(Begin); begin == s.begun {
		return refuse.New(refuse.Conflict, "", "The hive begins once, with its first command.")
	}
	switch cmd := cmd.(type) {
	case Begin:
		s.begun, s.seed, s.genesisNs = true, cmd.Seed, cmd.GenesisNs
	case Act:
		return s.act(&cmd, res)
	case Propose:
		return s.propose(&cmd, res)
	case CastVote:
		return s.vote(&cmd, res)
	default:
		panic("BUG: hive: unknown command")
	}
	return nil
}

// Check walks over workers and proposals and reports the first broken invariant. Recovery and tests call it.
func (s *State) Check() error {
	active, closed := map[uint32]int64{}, map[uint32]uint32{}
	var err error
	s.proposals.Scan(func(_ uint32, p *Proposal) bool {
		_, ok := s.workers.Get(p.Worker)
		if !ok {
			err = fmt.Errorf("%s: no worker %d", p.ID(), p.Worker)
		}
		if p.Status == ProposalActive {
			active[p.Worker]++
		} else {
			closed[p.Worker]++
		}
		return err == nil
	})
	queued := 0
	s.workers.Scan(func(id uint32, w *Worker) bool {
		switch _, inIndex := s.byStatus.Get(pair(uint32(w.Status()), id)); {
		case w.ActiveProposals != active[id]:
			err = fmt.Errorf("worker %d: %d active proposals, counted %d", id, active[id], w.ActiveProposals)
		case !inIndex:
			err = fmt.Errorf("worker %d: not in the status index", id)
		case closedBy(s.closed, id, 1<<42-1) != closed[id]:
			err = fmt.Errorf("worker %d: %d proposals have closed, the times have %d", id, closed[id],
				closedBy(s.closed, id, 1<<42-1))
		}
		if !w.IsIdle {
			queued++
		}
		return err == nil
	})
	before, last := uint64(0), uint32(0)
	s.closed.Scan(func(key uint64, n uint32) bool {
		if key>>42 != before {
			before, last = key>>42, 0
		}
		if _, ok := s.workers.Get(uint32(before)); err == nil && (!ok || n <= last) {
			err = fmt.Errorf("worker %d: %d closes follow %d", before, n, last)
		}
		last = n
		return err == nil
	})
	if n := s.workers.Len(); err == nil && (s.byStatus.Len() != n || s.byToken.Len() != n ||
		s.idleQueue.Len() != queued || s.byState.Len() != s.proposals.Len() || s.byWorker.Len() != s.proposals.Len() ||
		s.byWorkerState.Len() != s.proposals.Len()) {
		err = errors.New("an index has too many or too few members")
	}
	if err == nil {
		err = s.CheckDigest()
	}
	return err
}
