package hive

import (
	"fmt"
	"slices"

	"github.com/tickhive/tickhive/internal/wire"
)

// AppendSnapshot appends the encoding of the whole state. Equal states give equal bytes. It does not contain
// the hashes of entries: DecodeSnapshot computes them and compares the last one with the stored head.
func (s *State) AppendSnapshot(dst []byte) []byte {
	const roughEntry = 96 // estimated bytes of an entry; it avoids most reallocations
	c := wire.Writer(slices.Grow(dst, int(s.log.n)*roughEntry))
	s.codeHead(c)
	c.Len(int(s.log.n))
	for id := uint64(1); id <= s.log.n; id++ {
		e := s.log.entry(id)
		e.code(c)
	}
	c.Fixed(s.log.head[:])
	c.Len(s.workers.Len())
	s.workers.Scan(func(_ uint32, w *Worker) bool {
		w2 := *w
		w2.code(c)
		return true
	})
	c.Len(s.proposals.Len())
	s.proposals.Scan(func(_ uint32, p *Proposal) bool {
		p2 := *p
		p2.code(c)
		if p.Status == ProposalActive {
			codeVoters(c, s.voters[p.N])
		}
		return true
	})
	c.Len(s.closed.Len())
	s.closed.Scan(func(key uint64, n uint32) bool {
		c.U64(&key)
		c.U32(&n)
		return true
	})
	return c.Bytes()
}

// DecodeSnapshot rebuilds a state from the bytes of AppendSnapshot. It returns an error for an inconsistent
// state, also when the recomputed hash chain does not end at the stored head.
func DecodeSnapshot(b []byte, opt Options) (*State, error) {
	s := New(opt)
	c := wire.Reader(b)
	s.codeHead(c)
	entries := c.Len(0)
	for range entries {
		var e Entry
		e.code(c)
		e.Prev = s.log.head
		if c.Err() != nil || !s.restoreEntry(&e) {
			c.Fail("entry %d is out of place", e.ID)
			break
		}
	}
	var head Hash
	c.Fixed(head[:])
	if c.Err() == nil && head != s.log.head {
		c.Fail("the entries' hash chain does not end at the head: an entry was changed")
	}
	workers, last := c.Len(0), uint32(0)
	for range workers {
		last = s.readWorker(c, last)
	}
	if c.Err() == nil && s.workers.Len() != workers {
		c.Fail("an entry names a worker that is not there")
	}
	for range c.Len(0) {
		s.readProposal(c)
	}
	for range c.Len(0) {
		var key uint64
		var n uint32
		c.U64(&key)
		c.U32(&n)
		s.closed.Set(key, n)
	}
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("hive: snapshot: %w", err)
	}
	s.digest = s.digestOf()
	for n, voters := range s.voters {
		for user := range voters {
			s.voted[n] += mixOfVoter(n, user)
		}
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("hive: snapshot: %w", err)
	}
	return s, nil
}

func (s *State) codeHead(c *wire.Coder) {
	c.Bool(&s.begun)
	c.U64(&s.seed)
	c.I64(&s.genesisNs)
	c.I64(&s.nowNs)
	c.U64(&s.votes)
}

// restoreEntry adds an entry to the log and to the posting lists. It does not apply the entry's effects, which
// the decoded workers already have.
func (s *State) restoreEntry(e *Entry) bool {
	if e.ID != s.log.n+1 || s.log.n > 0 && e.TimeNs < s.log.row(s.log.n).timeNs {
		return false
	}
	s.log.append(e)
	s.all.add(e)
	if e.Source.Tier == WorkerTier {
		s.restored(e.Source.N).postings.own.append(e.ID)
	}
	if e.Target == 0 {
		s.untargeted.add(e)
	} else {
		s.restored(e.Target).postings.aimed.add(e)
	}
	return true
}

// restored returns the worker with this id. The entries are decoded before the workers, so it makes the worker
// if necessary.
func (s *State) restored(id uint32) *Worker {
	w, ok := s.workers.Get(id)
	if !ok {
		w = s.edit(id)
		s.workers.Set(id, w)
	}
	return w
}

func (w *Worker) code(c *wire.Coder) {
	c.U32(&w.ID)
	c.Fixed(w.Token[:])
	c.Text(&w.Symbol, MaxPayload)
	c.I64(&w.DeployedSec)
	c.I64(&w.LastActiveSec)
	c.I64(&w.BoostSec)
	c.Bool(&w.IsIdle)
	c.Bool(&w.Suspended)
	cfg := Config{}
	if !c.Reading() {
		cfg = *w.Config
	}
	cfg.code(c)
	w.Config = &cfg
	c.I64(&w.LastActionSec)
	c.I64(&w.LastOverrideSec)
	c.U8((*uint8)(&w.OverridingTier), uint8(WorkerTier))
	c.I64(&w.ActiveProposals)
}

func (cfg *Config) code(c *wire.Coder) {
	c.I64(&cfg.SlippageCapBps)
	c.U8((*uint8)(&cfg.MEV), uint8(mevs)-1)
	n := c.Len(len(cfg.Signals))
	if c.Reading() {
		cfg.Signals = make([]string, n)
	}
	for i := range cfg.Signals {
		c.Text(&cfg.Signals[i], MaxSignalBytes)
	}
}

// readWorker reads the next worker, whose id must be above last, and returns the id.
func (s *State) readWorker(c *wire.Coder, last uint32) uint32 {
	var w Worker
	w.code(c)
	const farSec = 1 << 42
	if c.Err() == nil && (w.ID <= last || w.ID > MaxWorkers || w.LastActiveSec < 0 || w.LastActiveSec > farSec ||
		w.BoostSec < 0 || w.BoostSec > farSec) {
		c.Fail("worker %d", w.ID)
	}
	if c.Err() != nil {
		return last
	}
	w.postings = s.restored(w.ID).postings
	s.maxActiveSec = max(s.maxActiveSec, w.LastActiveSec)
	s.maxBoostSec = max(s.maxBoostSec, w.BoostSec)
	s.byToken.Set(string(w.Token[:]), w.ID)
	if w.IsIdle && w.idleAt() > s.nowNs/secondNs {
		c.Fail("worker %d is idle before its time", w.ID)
	}
	s.place(&w)
	return w.ID
}

func (p *Proposal) code(c *wire.Coder) {
	c.U32(&p.Worker)
	c.U8((*uint8)(&p.Topic), uint8(topics)-1)
	c.Text(&p.Payload, MaxPayload)
	c.Text(&p.Proposer, MaxProposer)
	c.U8((*uint8)(&p.Status), uint8(proposalStatuses)-1)
	c.I64(&p.CreatedSec)
	c.I64(&p.ClosesSec)
	c.U64(&p.Checkpoint)
	for i := range p.Tally {
		c.I64(&p.Tally[i])
	}
	n := c.Len(len(p.Comments))
	if c.Reading() && n > 0 {
		p.Comments = make([]Comment, n)
	}
	for i := range p.Comments {
		c.Text(&p.Comments[i].Text, 4*MaxComment)
		c.I64(&p.Comments[i].Sec)
	}
}

func (s *State) readProposal(c *wire.Coder) {
	p := &Proposal{N: uint32(s.proposals.Len()) + 1}
	p.code(c)
	if c.Err() == nil && (p.N > MaxProposals || p.ClosesSec < 0 || p.ClosesSec > 1<<41 || p.Worker == 0 ||
		p.Worker > MaxWorkers) {
		c.Fail("proposal %d", p.N)
	}
	if c.Err() != nil {
		return
	}
	s.putProposal(p)
	if p.Status == ProposalActive {
		s.voters[p.N] = readVoters(c)
	}
}

func codeVoters(c *wire.Coder, voters map[[16]byte]struct{}) {
	users := make([][16]byte, 0, len(voters))
	for u := range voters {
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	c.Len(len(users))
	for i := range users {
		c.Fixed(users[i][:])
	}
}

func readVoters(c *wire.Coder) map[[16]byte]struct{} {
	n := c.Len(0)
	voters := make(map[[16]byte]struct{}, n/16)
	for range n {
		var u [16]byte
		if c.Fixed(u[:]); c.Err() == nil {
			voters[u] = struct{}{}
		}
	}
	return voters
}
