package hive

import (
	"math"

	"github.com/tidwall/btree"
)

// ProposalQuery asks for a page of proposals. A nil member does not filter.
type ProposalQuery struct {
	Page
	TokenID *uint64
	Status  *ProposalStatus
}

// Proposals returns one page, newest first. q must have passed Check.
func (v *View) Proposals(q ProposalQuery) (out List[ProposalInfo]) {
	tr, hiWord, ok := v.proposalIndex(q)
	if !ok {
		return out
	}
	lo, hi := 0, v.proposals.Len()
	if tr != nil {
		lo, hi = lowerBound(tr, pair(hiWord, 0)), lowerBound(tr, pair(hiWord+1, 0))
	}
	out.TotalItems = int64(hi - lo)
	if q.After != 0 {
		before := uint32(min(q.After, math.MaxUint32))
		if tr == nil {
			hi = min(hi, int(before)-1)
		} else {
			hi = min(hi, lowerBound(tr, pair(hiWord, before)))
		}
	}
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		n := uint32(hi - i) // without a filter: proposals are numbered from 1 without a gap
		if tr != nil {
			key, _, _ := tr.GetAt(hi - 1 - i)
			n = uint32(key)
		}
		p, _ := v.proposals.Get(n)
		out.Items = append(out.Items, p.info(v.opt.QuorumCents))
		out.Next = uint64(n)
	}
	out.endAt(to == hi-lo)
	return out
}

// proposalIndex returns the index of a query's filters, nil without filters.
func (v *View) proposalIndex(q ProposalQuery) (tr *btree.Map[uint64, struct{}], hiWord uint32, ok bool) {
	if q.TokenID == nil {
		if q.Status == nil {
			return nil, 0, true
		}
		return v.byState, uint32(*q.Status), true
	}
	w, ok := v.worker(*q.TokenID)
	switch {
	case !ok:
		return nil, 0, false
	case q.Status == nil:
		return v.byWorker, w.ID, true
	}
	return v.byWorkerState, w.ID<<2 | uint32(*q.Status), true
}

// Proposal returns one proposal; ok is false for an unknown id.
func (v *View) Proposal(id string) (d ProposalInfo, ok bool) {
	n, ok := parseProposalID(id)
	p, found := v.proposals.Get(n)
	if !ok || !found {
		return d, false
	}
	return p.info(v.opt.QuorumCents), true
}
