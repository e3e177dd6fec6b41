package hive

import (
	"errors"
	"fmt"
)

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
