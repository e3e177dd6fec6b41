package hive

import (
	"errors"
	"fmt"

	"github.com/tidwall/btree"

	"tickhive/internal/refuse"
)

// State is the state of the hive, a function of the records applied and the facts folded. Owner: the
// goroutine of the machine. Trees marked shared are copy-on-write, and the objects in them are never changed, because
// Views hold them too.
type State struct {
	opt Options

	begun        bool
	seed         uint64
	genesisNs    int64
	nowNs        int64  // time of the last record, Unix ns
	seq          uint64 // number of records applied
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
	}
}

// LastNs returns the time of the last record, Unix nanoseconds.
func (s *State) LastNs() int64 { return s.nowNs }

// NextNs returns the time at which the next proposal closes or the next worker becomes idle, 0 when there is
// none.
func (s *State) NextNs() int64 {
	var next int64
	if key, _, ok := s.closeQueue.Min(); ok {
		next = int64(key >> 22)
	}
	if key, _, ok := s.idleQueue.Min(); ok {
		if sec := int64(key >> 20); next == 0 || sec < next {
			next = sec
		}
	}
	return next * secondNs
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
	// MaxDue bounds the changes that one record carries out because they are due: proposals that close, and workers
	// that become idle.
	MaxDue = 256
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

// Options holds the configuration of the hive. The quorum applies to proposals that close after the start.
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

// Plan validates cmd at nowNs and returns the record that would carry it out. It changes nothing. A refusal is
// a *refuse.Refusal. It panics on a command before Begin and on a second Begin.
//
// The record first closes the proposals that are due, so the command is planned for the state after them: what a
// command does never depends on when a Tick comes. When more are due than one record closes, only a Tick is accepted.
func (s *State) Plan(nowNs int64, cmd Command) (Record, error) {
	nowNs = max(nowNs, s.nowNs)
	if _, begin := cmd.(Begin); begin == s.begun {
		panic("BUG: hive: Begin is the first command, once")
	}
	rec := Record{TimeNs: nowNs}
	all := s.planCloses(&rec)
	if _, tick := cmd.(Tick); !tick && !all {
		return Record{}, refuse.Later(1, "More than %d proposals close first; try again.", MaxDue)
	}
	if rej := s.plan(cmd, &rec); rej != nil {
		return Record{}, rej
	}
	return rec, nil
}

func (s *State) plan(cmd Command, rec *Record) *refuse.Refusal {
	switch cmd := cmd.(type) {
	case Begin:
		rec.Kind, rec.Seed, rec.GenesisNs = RecBegin, cmd.Seed, cmd.GenesisNs
	case Act:
		return s.planAct(cmd, rec)
	case Propose:
		return s.planPropose(cmd, rec)
	case CastVote:
		return s.planVote(cmd, rec)
	case Tick:
		rec.Kind = RecTick
	default:
		panic("BUG: hive: unknown command")
	}
	return nil
}

// Apply applies a record in this order: what is due by its time, its decision, its log entry. It closes the proposals
// that the record names, and marks workers idle, at most MaxDue together; the rest waits for the next record. Equal
// records and facts yield equal states.
func (s *State) Apply(rec *Record) Result {
	s.seq++
	s.nowNs = rec.TimeNs
	closed := s.applyCloses(rec)
	s.markIdle(s.nowNs/secondNs, MaxDue-len(rec.Closes))
	var res Result
	switch rec.Kind {
	case RecBegin:
		s.begun, s.seed, s.genesisNs = true, rec.Seed, rec.GenesisNs
	case RecPropose:
		s.applyPropose(rec, &res)
	case RecVote:
		s.applyVote(rec, &res)
	case RecAct, RecTick:
	default:
		panic("BUG: hive: unknown record")
	}
	for i := range rec.Entries[closed:] {
		s.appendEntry(&rec.Entries[closed+i])
	}
	if rec.Kind == RecAct {
		res.Entry = rec.own().info(s.seed, s.genesisNs)
	}
	return res
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
	known, queued := 0, 0
	s.workers.Scan(func(id uint32, w *Worker) bool {
		switch _, inIndex := s.byStatus.Get(pair(uint32(w.Status()), id)); {
		case w.ActiveProposals != active[id]:
			err = fmt.Errorf("worker %d: %d active proposals, counted %d", id, active[id], w.ActiveProposals)
		case inIndex != w.Known:
			err = fmt.Errorf("worker %d: in the status index %v", id, inIndex)
		case closedBy(s.closed, id, 1<<42-1) != closed[id]:
			err = fmt.Errorf("worker %d: %d proposals have closed, the times have %d", id, closed[id],
				closedBy(s.closed, id, 1<<42-1))
		}
		if w.Known {
			known++
			if !w.IsIdle {
				queued++
			}
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
	if err == nil && (s.byStatus.Len() != known || s.byToken.Len() != known || s.idleQueue.Len() != queued ||
		s.byState.Len() != s.proposals.Len() || s.byWorker.Len() != s.proposals.Len() ||
		s.byWorkerState.Len() != s.proposals.Len()) {
		err = errors.New("an index has too many or too few members")
	}
	return err
}
