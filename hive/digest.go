package hive

import (
	"encoding/binary"
	"fmt"

	"github.com/tickhive/tickhive/internal/mix"
	"github.com/tickhive/tickhive/internal/wire"
)

// Kinds of what is mixed.
const (
	mixWorker = iota + 1
	mixProposal
	mixVoter
	mixClosed
	mixHead
)

// Digest returns a sum over the whole state: what each worker, proposal and voter adds is taken off when the thing
// changes and added again afterwards. So it is the same for equal states, however they came about, and can be computed
// from a state. Of the action log it has the hash of the newest entry, which covers all before; of the comments of a
// proposal the number and the newest one.
func (s *State) Digest() uint64 {
	begun := uint64(0)
	if s.begun {
		begun = 1
	}
	h := mix.Of4(begun<<8|mixHead, s.seed, uint64(s.genesisNs), uint64(s.nowNs))
	return s.digest + mix.Of4(h, s.votes, s.log.n, binary.LittleEndian.Uint64(s.log.head[:]))
}

func (w *Worker) mix() uint64 {
	if w == nil {
		return 0
	}
	c := *w
	return mix.Bytes(mixWorker, wire.Append(nil, c.code))
}

func (p *Proposal) mix() uint64 {
	if p == nil {
		return 0
	}
	c := *p
	n := len(p.Comments)
	c.Comments = c.Comments[max(n-1, 0):]
	return mix.Of4(mix.Bytes(mixProposal, wire.Append(nil, c.code)), uint64(p.N), uint64(n), mixProposal)
}

func mixOfVoter(proposal uint32, user [16]byte) uint64 {
	le := binary.LittleEndian
	return mix.Of4(le.Uint64(user[:]), le.Uint64(user[8:]), uint64(proposal), mixVoter)
}

func mixOfClosed(key uint64, n uint32) uint64 { return mix.Of4(key, uint64(n), mixClosed, 0) }

// digestOf computes the sum of the state again, but for the head.
func (s *State) digestOf() (sum uint64) {
	s.workers.Scan(func(_ uint32, w *Worker) bool {
		sum += w.mix()
		return true
	})
	s.proposals.Scan(func(_ uint32, p *Proposal) bool {
		sum += p.mix()
		return true
	})
	for n, voters := range s.voters {
		for user := range voters {
			sum += mixOfVoter(n, user)
		}
	}
	s.closed.Scan(func(key uint64, n uint32) bool {
		sum += mixOfClosed(key, n)
		return true
	})
	return sum
}

// CheckDigest compares the running digest with the one of the state.
func (s *State) CheckDigest() error {
	if now := s.digestOf(); now != s.digest {
		return fmt.Errorf("the running sum of the hive is %016x, the state has %016x", s.digest, now)
	}
	return nil
}
