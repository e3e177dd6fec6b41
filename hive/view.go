package hive

import (
	"math"
	"strconv"

	"github.com/tidwall/btree"

	"github.com/tickhive/tickhive/internal/refuse"
)

// View is the complete state of the hive at one instant; immutable. Queries take the time of the process clock.
// A view is exact up to its next due second. A query that arrives later, before the due changes are applied,
// gets the state of the last instant before.
//
// The trees below a view are copy-on-write. The action log and its posting lists are append-only and published by
// length: a reader never looks beyond the number of entries that its view names.
type View struct {
	opt          Options
	seed         uint64
	genesisNs    int64
	nowNs        int64
	nextNs       int64
	maxActiveSec int64
	maxBoostSec  int64

	log             logView
	all, untargeted *postings

	workers       *btree.Map[uint32, *Worker]
	byToken       *btree.Map[string, uint32]
	byStatus      *btree.Map[uint64, struct{}]
	proposals     *btree.Map[uint32, *Proposal]
	byState       *btree.Map[uint64, struct{}]
	byWorker      *btree.Map[uint64, struct{}]
	byWorkerState *btree.Map[uint64, struct{}]
	closed        *btree.Map[uint64, uint32]
}

// View returns the current state. It copies in O(1): trees share nodes until the state changes them, and the
// log only grows.
func (s *State) View() *View {
	return &View{
		opt: s.opt, seed: s.seed, genesisNs: s.genesisNs, nowNs: s.nowNs, nextNs: s.NextNs(),
		maxActiveSec: s.maxActiveSec, maxBoostSec: s.maxBoostSec,
		log: s.log.logView, all: s.all, untargeted: s.untargeted,
		workers: s.workers.Copy(), byToken: s.byToken.Copy(), byStatus: s.byStatus.Copy(),
		proposals: s.proposals.Copy(), byState: s.byState.Copy(), byWorker: s.byWorker.Copy(),
		byWorkerState: s.byWorkerState.Copy(), closed: s.closed.Copy(),
	}
}

// Newest returns the largest workerId, 0 when there is no worker.
func (v *View) Newest() uint32 {
	id, _, _ := v.workers.Max()
	return id
}

// Entries returns the number of entries of the action log.
func (v *View) Entries() uint64 { return v.log.n }

// Head returns the hash of the last log entry.
func (v *View) Head() Hash { return v.log.head }

// atSec returns the second for which the view answers a query at nowNs.
func (v *View) atSec(nowNs int64) int64 {
	if v.nextNs != 0 && nowNs >= v.nextNs {
		nowNs = v.nextNs - 1
	}
	return max(nowNs, v.nowNs) / secondNs
}

// worker returns the worker of a :tokenId.
func (v *View) worker(tokenID uint64) (*Worker, bool) {
	return v.workers.Get(workerOf(tokenID))
}

// ParseTokenID reads a :tokenId. It does not check whether the token exists.
func ParseTokenID(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 63)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// entriesOf returns the part of a posting list that the view covers.
func (v *View) entriesOf(l *idList) ids { return ids{&v.log, l.upTo(v.log.n)} }

// lowerBound returns the number of keys in tr that are below key.
func lowerBound(tr *btree.Map[uint64, struct{}], key uint64) int {
	lo, hi := 0, tr.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if k, _, _ := tr.GetAt(mid); k < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Page holds the paging parameters of every list query.
//
// After is the number of the row behind which the page begins, in the order of the list; 0: at the beginning. Rows
// that arrive move the pages, but not what follows a row.
type Page struct {
	Page, PageSize int64
	After          uint64
}

// Check refuses members out of range.
func (p Page) Check() *refuse.Refusal {
	switch {
	case p.Page < 1:
		return refuse.Param("page", "page is at least 1.")
	case p.PageSize < 1 || p.PageSize > MaxPageSize:
		return refuse.Param("pageSize", "pageSize is 1 to %d.", MaxPageSize)
	}
	return nil
}

// offset returns the number of rows before the page. It saturates for a page beyond any list.
func (p Page) offset() int {
	if p.Page-1 > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(p.Page-1) * int(p.PageSize)
}

// span returns the range [from, to) of the page in a list of n rows.
func (p Page) span(n int) (from, to int) {
	from = min(p.offset(), n)
	return from, min(from+int(p.PageSize), n)
}

// endAt forgets the number of the last row on the last page.
func (l *List[T]) endAt(last bool) {
	if last {
		l.Next = 0
	}
}

// WorkerQuery asks for a page of the worker list.
type WorkerQuery struct {
	Page
	Status *Status   // nil: any status
	Token  *[20]byte // nil: any token
	Newest *uint32   // largest workerId in the list; nil: no limit
}

// behind returns the smallest workerId of the page's rows and those behind it.
func (q *WorkerQuery) behind() uint32 { return uint32(min(q.After, MaxWorkers)) + 1 }

// newest returns the largest workerId that the list may contain.
func (q *WorkerQuery) newest() uint32 {
	if q.Newest == nil {
		return MaxWorkers
	}
	return min(*q.Newest, MaxWorkers)
}

// Workers returns one page, by workerId ascending. q must have passed Check.
func (v *View) Workers(nowNs int64, q WorkerQuery) (out List[WorkerInfo]) {
	nowSec := v.atSec(nowNs)
	if q.Token != nil {
		id, ok := v.byToken.Get(string(q.Token[:]))
		w, _ := v.workers.Get(id)
		if ok && id <= q.newest() && (q.Status == nil || *q.Status == w.Status()) {
			out.TotalItems = 1
			if q.offset() == 0 && q.After < uint64(id) {
				out.Items = append(out.Items, v.info(w, nowSec))
			}
		}
		return out
	}
	if q.Status != nil {
		lo := lowerBound(v.byStatus, pair(uint32(*q.Status), 0))
		hi := lowerBound(v.byStatus, pair(uint32(*q.Status), q.newest()+1))
		out.TotalItems = int64(hi - lo)
		lo = min(lowerBound(v.byStatus, pair(uint32(*q.Status), q.behind())), hi)
		from, to := q.span(hi - lo)
		for i := from; i < to; i++ {
			key, _, _ := v.byStatus.GetAt(lo + i)
			w, _ := v.workers.Get(uint32(key))
			out.Items = append(out.Items, v.info(w, nowSec))
			out.Next = key & math.MaxUint32
		}
		out.endAt(to == hi-lo)
		return out
	}
	total := min(v.byToken.Len(), int(q.newest()))
	out.TotalItems = int64(total)
	begin := min(int(q.behind())-1, total) // workers are numbered from 1 without a gap
	from, to := q.span(total - begin)
	for i := begin + from; i < begin+to; i++ {
		id, w, _ := v.workers.GetAt(i)
		out.Items = append(out.Items, v.info(w, nowSec))
		out.Next = uint64(id)
	}
	out.endAt(begin+to == total)
	return out
}

// The results of queries and commands. They share no memory with the state that changes later. Times are Unix
// seconds.
type (
	// List is one page of rows and the number of rows on all pages.
	List[T any] struct {
		Items      []T
		TotalItems int64
		Next       uint64 // number of the page's last row, 0 on the last page
	}
	// WorkerInfo describes a worker at the time of a query.
	WorkerInfo struct {
		ID              uint32
		TokenID         uint64
		Token           [20]byte // the token's address
		Symbol          string
		DeployedAt      int64
		Status          Status
		Config          Config
		LastActiveAt    int64
		LastActionAt    int64 // time of the newest entry with this worker as its source, 0: none
		LastOverrideAt  int64 // 0: never
		OverridingTier  Tier  // tier of the agent that made the last override
		TotalActions    int64 // number of entries with this worker as their source
		ActionCount24h  int64
		ActiveProposals int64
		RecentlyClosed  int64 // number of proposals that closed in the last 7 days
	}
	// Overview holds the counts that the hive's overview shows.
	Overview struct {
		Tokens, Queens, Scouts   int64
		ActiveWorkers            int64
		LastActivityAt           int64
		Spawned24h, Spawned7d    int64 // numbers of tokens
		Actions24h, Overrides24h int64 // numbers of entries
	}
	// EntryInfo is an entry of the action log with its block and transaction hash.
	EntryInfo struct {
		Entry
		BlockNumber int64
		TxHash      Hash
	}
	// TallyInfo is a tally with the results computed from it.
	TallyInfo struct {
		Weights          Tally
		QuorumCents      int64
		QuorumReached    bool
		CurrentlyPassing bool
	}
	// ProposalInfo is a proposal. Its Tally hides the member of Proposal with the same name.
	ProposalInfo struct {
		Proposal
		Tally TallyInfo
	}
	// VoteInfo is a counted vote with the tally after it.
	VoteInfo struct {
		VoteID      string
		ProposalID  string
		Vote        VoteKind
		WeightCents int64
		TxHash      Hash
		VotedAt     int64
		Tally       TallyInfo
	}
)

func (t Tally) info(quorumCents int64) TallyInfo {
	return TallyInfo{
		Weights: t, QuorumCents: quorumCents,
		QuorumReached: t.quorum(quorumCents), CurrentlyPassing: t.passing(quorumCents),
	}
}

func (p *Proposal) info(quorumCents int64) ProposalInfo {
	return ProposalInfo{Proposal: *p, Tally: p.Tally.info(quorumCents)}
}

func (e Entry) info(seed uint64, genesisNs int64) EntryInfo {
	return EntryInfo{Entry: e, BlockNumber: blockAt(genesisNs, e.TimeNs), TxHash: txHash(seed, e.ID)}
}

func (v *View) info(w *Worker, nowSec int64) WorkerInfo {
	own := v.entriesOf(&w.postings.own)
	return WorkerInfo{
		ID: w.ID, TokenID: w.TokenID(), Token: w.Token, Symbol: w.Symbol, DeployedAt: w.DeployedSec,
		Status: w.Status(), Config: *w.Config, LastActiveAt: w.lastActive(nowSec), LastActionAt: w.LastActionSec,
		LastOverrideAt: w.LastOverrideSec, OverridingTier: w.OverridingTier,
		TotalActions: int64(own.len()), ActionCount24h: own.since(nowSec - daySec),
		ActiveProposals: w.ActiveProposals, RecentlyClosed: v.closedSince(w.ID, nowSec-recentlyClosedSec),
	}
}

// Overview returns the counts of the hive's overview at nowNs. docs/contract/market-data.md#ticker defines its
// windows of time.
func (v *View) Overview(nowNs int64) Overview {
	nowSec := v.atSec(nowNs)
	override := Override
	return Overview{
		Tokens: int64(v.byToken.Len()), Queens: int64(v.opt.Queens), Scouts: int64(v.opt.Scouts),
		ActiveWorkers:  int64(lowerBound(v.byStatus, pair(uint32(Active)+1, 0))),
		LastActivityAt: max(v.maxActiveSec, min(nowSec, v.maxBoostSec)),
		Spawned24h:     v.spawnedSince(nowSec - daySec),
		Spawned7d:      v.spawnedSince(nowSec - 7*daySec),
		Actions24h:     v.entriesOf(v.all.list(nil, nil)).since(nowSec - daySec),
		Overrides24h:   v.entriesOf(v.all.list(&override, nil)).since(nowSec - daySec),
	}
}

// spawnedSince returns the number of tokens spawned later than sec. It is a binary search: workers are numbered
// in the order of spawns.
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
