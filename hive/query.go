package hive

import (
	"encoding/json"
	"math"
	"sort"

	"github.com/tidwall/btree"
)

// Page is the paging part of every list query.
type Page struct{ Page, PageSize int64 }

// Check refuses numbers out of range.
func (p Page) Check() *Reject {
	switch {
	case p.Page < 1:
		return invalid("page", "page is at least 1.")
	case p.PageSize < 1 || p.PageSize > MaxPageSize:
		return invalid("pageSize", "pageSize is 1 to %d.", MaxPageSize)
	}
	return nil
}

// offset is the number of rows before the page; a page beyond any list saturates.
func (p Page) offset() int {
	if p.Page-1 > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(p.Page-1) * int(p.PageSize)
}

// span cuts the page out of n rows: [from, to).
func (p Page) span(n int) (from, to int) {
	from = min(p.offset(), n)
	return from, min(from+int(p.PageSize), n)
}

// WorkerQuery asks for a page of the worker list.
type WorkerQuery struct {
	Page
	Status *Status   // nil: any
	Token  *[20]byte // nil: any
}

// Workers is one page by workerId ascending. q must have passed Check.
func (v *View) Workers(nowNs int64, q WorkerQuery) WorkerList {
	out := WorkerList{Items: []WorkerItem{}, Page: q.Page.Page, PageSize: q.PageSize}
	nowSec := v.atSec(nowNs)
	if q.Token != nil {
		id, ok := v.byToken.Get(string(q.Token[:]))
		w, _ := v.workers.Get(id)
		if ok && (q.Status == nil || *q.Status == w.Status()) {
			out.TotalItems = 1
			if q.offset() == 0 {
				out.Items = append(out.Items, v.workerItem(w, nowSec))
			}
		}
		return out
	}
	if q.Status != nil {
		lo := lowerBound(v.byStatus, pair(uint32(*q.Status), 0))
		hi := lowerBound(v.byStatus, pair(uint32(*q.Status)+1, 0))
		out.TotalItems = int64(hi - lo)
		from, to := q.span(hi - lo)
		for i := from; i < to; i++ {
			key, _, _ := v.byStatus.GetAt(lo + i)
			w, _ := v.workers.Get(uint32(key))
			out.Items = append(out.Items, v.workerItem(w, nowSec))
		}
		return out
	}
	out.TotalItems = int64(v.byToken.Len())
	from, to := q.span(v.byToken.Len())
	for i := from; i < to; i++ {
		_, w, _ := v.workers.GetAt(i)
		out.Items = append(out.Items, v.workerItem(w, nowSec))
	}
	return out
}

// LogQuery asks for a page of the action log; nil members filter nothing. Since and
// Until are Unix seconds, both included.
type LogQuery struct {
	Page
	TokenID      *uint64
	Type         *ActionType
	Tier         *Tier
	Since, Until *int64
}

// Check refuses numbers out of range and a period that ends before it begins.
func (q *LogQuery) Check() *Reject {
	if rej := q.Page.Check(); rej != nil {
		return rej
	}
	if q.Since != nil && q.Until != nil && *q.Since > *q.Until {
		return invalid("since", "since is not after until.")
	}
	return nil
}

// Entries of one filter are one posting list, and a period is a range of it, so a page
// costs two binary searches and the page.
func (v *View) find(q *LogQuery) (list ids, lo, hi int) {
	p := v.all
	if q.TokenID != nil {
		p = v.untargeted
		if *q.TokenID != 0 {
			w, ok := v.worker(*q.TokenID)
			if !ok {
				return ids{}, 0, 0
			}
			p = &w.trail.aimed
		}
	}
	list = v.entriesOf(p.list(q.Type, q.Tier))
	lo, hi = 0, list.len()
	if q.Since != nil {
		lo = list.from(*q.Since)
	}
	if q.Until != nil && *q.Until < math.MaxInt64 {
		hi = max(lo, list.from(*q.Until+1))
	}
	return list, lo, hi
}

// Log is one page, newest first. q must have passed Check.
func (v *View) Log(q LogQuery) LogList {
	list, lo, hi := v.find(&q)
	out := LogList{Items: []EntryInfo{}, Page: q.Page.Page, PageSize: q.PageSize, TotalItems: int64(hi - lo)}
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		e := v.log.entry(list.at(hi - 1 - i))
		out.Items = append(out.Items, e.info(v.seed, v.genesisNs))
	}
	return out
}

// Entry is one entry with the hash that it carries; ok is false for an unknown id.
func (v *View) Entry(id uint64) (InternalEntry, bool) {
	if id == 0 || id > v.log.n {
		return InternalEntry{}, false
	}
	e := v.log.entry(id)
	return InternalEntry{EntryInfo: e.info(v.seed, v.genesisNs), PrevHash: e.Prev.String()}, true
}

// ProposalQuery asks for a page of the proposals; nil members filter nothing.
type ProposalQuery struct {
	Page
	TokenID *uint64
	Status  *ProposalStatus
}

// Proposals is one page, newest first. q must have passed Check.
func (v *View) Proposals(q ProposalQuery) ProposalList {
	out := ProposalList{Items: []ProposalInfo{}, Page: q.Page.Page, PageSize: q.PageSize}
	tr, hiWord, ok := v.proposalIndex(q)
	if !ok {
		return out
	}
	lo, hi := 0, v.proposals.Len()
	if tr != nil {
		lo, hi = lowerBound(tr, pair(hiWord, 0)), lowerBound(tr, pair(hiWord+1, 0))
	}
	out.TotalItems = int64(hi - lo)
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		n := uint32(hi - i) // without a filter: numbers are dense from 1
		if tr != nil {
			key, _, _ := tr.GetAt(hi - 1 - i)
			n = uint32(key)
		}
		p, _ := v.proposals.Get(n)
		out.Items = append(out.Items, *p.info(v.opt.QuorumCents))
	}
	return out
}

// proposalIndex is the index of a query's filters, nil without any.
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

// Proposal is one proposal with its comments, newest first; ok is false for an unknown
// id.
func (v *View) Proposal(id string) (d ProposalDetail, ok bool) {
	n, ok := parseProposalID(id)
	p, found := v.proposals.Get(n)
	if !ok || !found {
		return d, false
	}
	d = ProposalDetail{ProposalInfo: *p.info(v.opt.QuorumCents), Comments: make([]CommentInfo, 0, len(p.Comments))}
	for i := len(p.Comments) - 1; i >= 0; i-- {
		d.Comments = append(d.Comments, CommentInfo{p.Comments[i].Text, p.Comments[i].Sec})
	}
	return d, true
}

// Worker is the detail of a token's worker; ok is false for an unknown id.
func (v *View) Worker(nowNs int64, tokenID uint64) (d WorkerDetail, ok bool) {
	w, ok := v.worker(tokenID)
	if !ok {
		return d, false
	}
	nowSec := v.atSec(nowNs)
	d.Worker = WorkerInfo{
		ID: int64(w.ID), AgentNftID: w.TokenID(), TokenAddress: addressText(w.Token), DeployedAt: w.DeployedSec,
		Status: w.Status().String(), LastActiveAt: w.lastActive(nowSec),
	}
	d.Config = ConfigDetail{w.Config.SlippageCapBps, w.Config.MEV.String(), w.Config.Signals}
	d.RecentActions = v.recent(w)
	d.Stats.TotalActions = int64(v.entriesOf(&w.trail.own).len())
	if w.LastOverrideSec != 0 {
		at, tier := w.LastOverrideSec, w.OverridingTier.String()
		d.Stats.LastOverrideAt, d.Stats.OverridingTier = &at, &tier
	}
	d.Votes = VoteCounts{ActiveProposals: w.ActiveProposals, RecentlyClosed: closedSince(w.closedSec, nowSec-recentlyClosedSec)}
	return d, true
}

// closedSince counts the times later than sec; they are ascending.
func closedSince(times []int64, sec int64) int64 {
	return int64(len(times) - sort.Search(len(times), func(i int) bool { return times[i] > sec }))
}

// Recent is the newest entries whose target is the worker's token, newest first.
func (v *View) Recent(workerID uint32) []Action {
	if w, ok := v.workers.Get(workerID); ok {
		return v.recent(w)
	}
	return []Action{}
}

func (v *View) recent(w *Worker) []Action {
	list := v.entriesOf(w.trail.aimed.list(nil, nil))
	out := []Action{}
	for i := list.len() - 1; i >= 0 && len(out) < RecentActions; i-- {
		e := v.log.entry(list.at(i))
		out = append(out, Action{
			TxHash: txHash(v.seed, e.ID).String(), ActionType: e.Type.String(), Params: json.RawMessage(e.Payload),
			ReasonCode: e.Reason, BlockNumber: blockAt(v.genesisNs, e.TimeNs), BlockTimestamp: e.Sec(),
		})
	}
	return out
}

// WorkerState is what the launchpad's answers want to know of a worker; its members are
// those of the launchpad's WorkerState, so that one converts into the other.
type WorkerState struct {
	Status       string
	LastActionAt int64 // last entry of its own, 0: none
	LastActiveAt int64
	TotalActions int64 // its own entries
}

// WorkerState looks a worker up by its workerId.
func (v *View) WorkerState(nowNs int64, workerID uint32) (st WorkerState, ok bool) {
	w, ok := v.workers.Get(workerID)
	if !ok || !w.Known {
		return st, false
	}
	return WorkerState{
		Status: w.Status().String(), LastActionAt: w.LastActionSec, LastActiveAt: w.lastActive(v.atSec(nowNs)),
		TotalActions: int64(v.entriesOf(&w.trail.own).len()),
	}, true
}

// Overview counts the hive; its windows are those of Decisions section 3.1.
func (v *View) Overview(nowNs int64) (o Overview) {
	nowSec := v.atSec(nowNs)
	tokens := int64(v.byToken.Len())
	o.Hive = HiveCounts{TotalTokens: tokens, TotalWorkers: tokens, TotalQueens: int64(v.opt.Queens), TotalScouts: int64(v.opt.Scouts)}
	o.Swarm = SwarmCounts{
		ActiveWorkers:  int64(lowerBound(v.byStatus, pair(uint32(Active)+1, 0))),
		LastActivityAt: max(v.maxActiveSec, min(nowSec, v.maxBoostSec)),
	}
	override := Override
	o.Ecosystem = EcosystemCounts{
		TotalAgentTokensSpawned: tokens,
		TokensSpawnedLast24h:    v.spawnedSince(nowSec - daySec),
		TokensSpawnedLast7d:     v.spawnedSince(nowSec - 7*daySec),
		TotalActions24h:         v.entriesOf(v.all.list(nil, nil)).since(nowSec - daySec),
		TotalOverrides24h:       v.entriesOf(v.all.list(&override, nil)).since(nowSec - daySec),
	}
	return o
}

// spawnedSince counts tokens spawned later than sec; workers stand in that order.
func (v *View) spawnedSince(sec int64) int64 {
	lo, hi := 0, v.workers.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if _, w, _ := v.workers.GetAt(mid); w.DeployedSec <= sec {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int64(v.workers.Len() - lo)
}
