package hive

import (
	"sync/atomic"

	"github.com/tidwall/btree"
)

// State is the state of the hive, a function of the records applied and the facts folded. Owner: the store's
// goroutine. Trees marked shared are copy-on-write, and the objects in them are never changed, because Views
// hold them too.
type State struct {
	opt Options

	begun        bool
	seed         uint64
	genesisNs    int64
	nowNs        int64  // time of the last record, Unix ns
	seq          uint64 // number of records applied
	launchpadSeq uint64
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

	published atomic.Pointer[View]
}

// degree is small, because each change after a publish copies the nodes on its path.
const degree = 16

// New returns an empty hive. opt must be valid.
func New(opt Options) *State {
	set := func() *btree.Map[uint64, struct{}] { return btree.NewMap[uint64, struct{}](degree) }
	return &State{
		opt: opt, seed: opt.Seed, genesisNs: opt.GenesisNs,
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

// Due returns the Tick that applies all due changes.
func (s *State) Due(int64) []Command { return []Command{Tick{}} }
