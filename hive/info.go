package hive

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
