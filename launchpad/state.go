package launchpad

import (
	"sync/atomic"

	"github.com/tidwall/btree"

	"tickhive/internal/fifo"
)

// State is the ledger: every token, pool and balance as a function of the records
// applied. Owner: the store's goroutine. Trees marked shared are copy-on-write, and the
// objects in them are never changed, because Views hold them too.
type State struct {
	opt Options

	begun         bool
	seed          uint64
	genesisNs     int64
	nowNs         int64  // time of the last record, Unix ns
	seq           uint64 // number of records applied
	position      uint64 // number of ledger transactions so far
	lastListBlock int64
	faults        uint64 // number of coming spawns that injected faults will refuse
	totals        [currencies]Total

	idents    identList                   // by workerId - 1; shared, append-only
	tokens    *btree.Map[uint32, *Token]  // by workerId; shared
	byAddress *btree.Map[string, uint32]  // token address -> workerId; shared
	balances  *btree.Map[string, Amount]  // key: balanceKey; shared
	spawners  *btree.Map[string, spawner] // key: address; shared
	index     index                       // shared
	symbols   map[string]uint32
	window    window
	boostEnds *btree.Map[uint64, struct{}] // running boosts; key: boostKey

	checkpoints fifo.Queue[*checkpoint]    // those that last, oldest first; they end in this order
	newest      map[uint32]*checkpoint     // the newest of them of each token
	past        *btree.Map[string, Amount] // holdings that they remember; key: pastKey; shared
	maxPast     int                        // MaxPast

	published atomic.Pointer[View]
}

// degree is small, because each change after a publish copies the nodes on its path.
const degree = 16

// New returns an empty ledger. opt must be valid.
func New(opt Options) *State {
	s := &State{
		opt: opt, seed: opt.Seed,
		tokens:    btree.NewMap[uint32, *Token](degree),
		byAddress: btree.NewMap[string, uint32](degree),
		balances:  btree.NewMap[string, Amount](degree),
		spawners:  btree.NewMap[string, spawner](degree),
		index:     newIndex(),
		symbols:   map[string]uint32{},
		boostEnds: btree.NewMap[uint64, struct{}](degree),
		newest:    map[uint32]*checkpoint{},
		past:      btree.NewMap[string, Amount](degree),
		maxPast:   MaxPast,
	}
	for c := range Currency(currencies) {
		s.totals[c].Currency = c
	}
	return s
}

// LastNs returns the time of the last record, Unix nanoseconds.
func (s *State) LastNs() int64 { return s.nowNs }

// nextTxHash counts a ledger transaction and returns its hash.
func (s *State) nextTxHash() Hash {
	s.position++
	return derive("tx", s.seed, s.position)
}

// edit returns a copy of a token to be changed; put then stores it. Views keep the previous version.
func (s *State) edit(no uint32) *Token {
	t, ok := s.tokens.Get(no)
	if !ok {
		panic("BUG: launchpad: no such token")
	}
	c := *t
	return &c
}

func (s *State) put(t *Token) {
	before, _ := s.tokens.Set(t.No, t)
	s.index.change(before, t)
}

// nextDue returns the second of the next change that time alone causes, and the function that carries it out: a swap
// leaves its window, a boost ends, a checkpoint is forgotten. The second is 0 when there is none.
func (s *State) nextDue() (sec int64, carryOut func(*State)) {
	first := func(at int64, f func(*State)) {
		if sec == 0 || at < sec {
			sec, carryOut = at, f
		}
	}
	if s.window.Len() > 0 {
		first(s.window.nextExpiry(), (*State).slideOne)
	}
	if k, _, ok := s.boostEnds.Min(); ok {
		first(int64(k>>20), (*State).endOneBoost)
	}
	if s.checkpoints.Len() > 0 {
		first((*s.checkpoints.At(0)).endSec, (*State).forgetOne)
	}
	return sec, carryOut
}

// carryOutDue makes the changes that are due at nowSec, in the order of their times, at most maxDue of them.
func (s *State) carryOutDue(nowSec int64) {
	for range maxDue {
		sec, carryOut := s.nextDue()
		if sec == 0 || sec > nowSec {
			return
		}
		carryOut(s)
	}
}

// NextNs returns the time of the next change that time alone causes, 0 when there is none.
func (s *State) NextNs() int64 {
	sec, _ := s.nextDue()
	return sec * secondNs
}

// Due returns the Tick that applies all due changes.
func (s *State) Due(int64) []Command { return []Command{Tick{}} }
