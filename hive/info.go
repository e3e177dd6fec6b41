package hive

// The values that queries and commands return. They share nothing with the state that
// changes later. Times are Unix seconds.
type (
	// List is one page of rows and the number of rows on all pages.
	List[T any] struct {
		Items      []T
		TotalItems int64
	}
	// WorkerInfo is a worker at the time of a query.
	WorkerInfo struct {
		ID              uint32
		TokenID         uint64
		Token           [20]byte // address
		Symbol          string
		DeployedAt      int64
		Status          Status
		Config          Config
		LastActiveAt    int64
		LastActionAt    int64 // time of the last entry that this worker made, 0: none
		LastOverrideAt  int64 // 0: never
		OverridingTier  Tier  // of the last override
		TotalActions    int64 // its own entries
		ActionCount24h  int64
		ActiveProposals int64
		RecentlyClosed  int64 // proposals that closed in the last 7 days
	}
	// Overview counts the hive.
	Overview struct {
		Tokens, Queens, Scouts   int64
		ActiveWorkers            int64
		LastActivityAt           int64
		Spawned24h, Spawned7d    int64 // tokens
		Actions24h, Overrides24h int64 // entries
	}
	// EntryInfo is an entry of the action log with its place on the ledger.
	EntryInfo struct {
		Entry
		BlockNumber int64
		TxHash      Hash
	}
	// TallyInfo is a tally and what follows from it.
	TallyInfo struct {
		Weights          Tally
		QuorumCents      int64
		QuorumReached    bool
		CurrentlyPassing bool
	}
	// ProposalInfo is a proposal; Tally covers the one of Proposal.
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
		ActiveProposals: w.ActiveProposals, RecentlyClosed: closedSince(w.closedSec, nowSec-recentlyClosedSec),
	}
}
