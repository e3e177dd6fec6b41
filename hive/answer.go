package hive

import (
	"encoding/hex"
	"encoding/json"

	"tickhive/internal/fixed"
)

// Decimal is a decimal text that is encoded as a JSON number.
type Decimal string

// MarshalJSON writes the text as a number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d), nil }

// The answers, in the shapes and member order of docs/contract/api.md, docs/contract/internal.md
// and docs/contract/hive.md. Times are Unix seconds.
type (
	// WorkerItem is a row of the worker list.
	WorkerItem struct {
		WorkerID       int64      `json:"workerId"`
		AgentNftID     uint64     `json:"agentNftId"`
		TokenAddress   string     `json:"tokenAddress"`
		TokenSymbol    string     `json:"tokenSymbol"`
		Status         string     `json:"status"`
		LastActiveAt   int64      `json:"lastActiveAt"`
		ActionCount24h int64      `json:"actionCount24h"`
		Config         ConfigInfo `json:"config"`
	}
	// ConfigInfo is the config in a row.
	ConfigInfo struct {
		SlippageCapBps int64  `json:"slippageCapBps"`
		MEVProtection  string `json:"mevProtection"`
	}
	// WorkerList is GET /api/agents/workers.
	WorkerList struct {
		Items      []WorkerItem `json:"items"`
		Page       int64        `json:"page"`
		PageSize   int64        `json:"pageSize"`
		TotalItems int64        `json:"totalItems"`
	}
	// WorkerInfo is the worker object of the detail.
	WorkerInfo struct {
		ID           int64  `json:"id"`
		AgentNftID   uint64 `json:"agentNftId"`
		TokenAddress string `json:"tokenAddress"`
		DeployedAt   int64  `json:"deployedAt"`
		Status       string `json:"status"`
		LastActiveAt int64  `json:"lastActiveAt"`
	}
	// ConfigDetail is the whole config.
	ConfigDetail struct {
		SlippageCapBps      int64    `json:"slippageCapBps"`
		MEVProtection       string   `json:"mevProtection"`
		SignalSubscriptions []string `json:"signalSubscriptions"`
	}
	// Action is an entry aimed at a worker's token.
	Action struct {
		TxHash         string          `json:"txHash"`
		ActionType     string          `json:"actionType"`
		Params         json.RawMessage `json:"params"`
		ReasonCode     string          `json:"reasonCode"`
		BlockNumber    int64           `json:"blockNumber"`
		BlockTimestamp int64           `json:"blockTimestamp"`
	}
	// WorkerStats counts a worker's own actions; the override members are null without one.
	WorkerStats struct {
		TotalActions   int64   `json:"totalActions"`
		LastOverrideAt *int64  `json:"lastOverrideAt"`
		OverridingTier *string `json:"overridingTier"`
	}
	// VoteCounts counts the proposals of a worker; recently is the last 7 days.
	VoteCounts struct {
		ActiveProposals int64 `json:"activeProposals"`
		RecentlyClosed  int64 `json:"recentlyClosed"`
	}
	// WorkerDetail is GET /api/agents/workers/:tokenId.
	WorkerDetail struct {
		Worker        WorkerInfo   `json:"worker"`
		Config        ConfigDetail `json:"config"`
		RecentActions []Action     `json:"recentActions"`
		Stats         WorkerStats  `json:"stats"`
		Votes         VoteCounts   `json:"votes"`
	}
	// HiveCounts is the hive object of the overview.
	HiveCounts struct {
		TotalTokens  int64 `json:"totalTokens"`
		TotalWorkers int64 `json:"totalWorkers"`
		TotalQueens  int64 `json:"totalQueens"`
		TotalScouts  int64 `json:"totalScouts"`
	}
	// SwarmCounts is the swarm object of the overview.
	SwarmCounts struct {
		ActiveWorkers  int64 `json:"activeWorkers"`
		LastActivityAt int64 `json:"lastActivityAt"`
	}
	// EcosystemCounts is the ecosystem object of the overview.
	EcosystemCounts struct {
		TotalAgentTokensSpawned int64 `json:"totalAgentTokensSpawned"`
		TokensSpawnedLast24h    int64 `json:"tokensSpawnedLast24h"`
		TokensSpawnedLast7d     int64 `json:"tokensSpawnedLast7d"`
		TotalActions24h         int64 `json:"totalActions24h"`
		TotalOverrides24h       int64 `json:"totalOverrides24h"`
	}
	// Overview is GET /api/agents/overview.
	Overview struct {
		Hive      HiveCounts      `json:"hive"`
		Swarm     SwarmCounts     `json:"swarm"`
		Ecosystem EcosystemCounts `json:"ecosystem"`
	}
	// EntryInfo is an entry of the action log.
	EntryInfo struct {
		EntryID       uint64          `json:"entryId"`
		SourceAgentID string          `json:"sourceAgentId"`
		SourceTier    string          `json:"sourceTier"`
		TargetTokenID uint64          `json:"targetTokenId"`
		ActionType    string          `json:"actionType"`
		ActionPayload json.RawMessage `json:"actionPayload"`
		ReasonCode    string          `json:"reasonCode"`
		BlockNumber   int64           `json:"blockNumber"`
		Timestamp     int64           `json:"timestamp"`
		TxHash        string          `json:"txHash"`
	}
	// InternalEntry is an entry with its link of the chain.
	InternalEntry struct {
		EntryInfo
		PrevHash string `json:"prevHash"`
	}
	// LogList is GET /api/agents/action-logs.
	LogList struct {
		Items      []EntryInfo `json:"items"`
		Page       int64       `json:"page"`
		PageSize   int64       `json:"pageSize"`
		TotalItems int64       `json:"totalItems"`
	}
	// TallyInfo is the tally of a proposal.
	TallyInfo struct {
		YesWeight        Decimal `json:"yesWeight"`
		NoWeight         Decimal `json:"noWeight"`
		AbstainWeight    Decimal `json:"abstainWeight"`
		QuorumThreshold  Decimal `json:"quorumThreshold"`
		QuorumReached    bool    `json:"quorumReached"`
		PassingThreshold Decimal `json:"passingThreshold"`
		CurrentlyPassing bool    `json:"currentlyPassing"`
	}
	// ProposalInfo is a proposal.
	ProposalInfo struct {
		ProposalID string          `json:"proposalId"`
		TokenID    uint64          `json:"tokenId"`
		Topic      string          `json:"topic"`
		Payload    json.RawMessage `json:"payload"`
		Proposer   string          `json:"proposer"`
		Status     string          `json:"status"`
		CreatedAt  int64           `json:"createdAt"`
		ClosesAt   int64           `json:"closesAt"`
		Tally      TallyInfo       `json:"tally"`
	}
	// ProposalList is GET /api/agents/proposals.
	ProposalList struct {
		Items      []ProposalInfo `json:"items"`
		Page       int64          `json:"page"`
		PageSize   int64          `json:"pageSize"`
		TotalItems int64          `json:"totalItems"`
	}
	// ProposalDetail is GET /api/agents/proposals/{proposalId}.
	ProposalDetail struct {
		ProposalInfo
		Comments []CommentInfo `json:"comments"`
	}
	// CommentInfo is a voter's comment.
	CommentInfo struct {
		Comment string `json:"comment"`
		VotedAt int64  `json:"votedAt"`
	}
	// VoteAnswer is the answer to a vote.
	VoteAnswer struct {
		VoteID       string    `json:"voteId"`
		ProposalID   string    `json:"proposalId"`
		Vote         string    `json:"vote"`
		Weight       Decimal   `json:"weight"`
		TxHash       string    `json:"txHash"`
		VotedAt      int64     `json:"votedAt"`
		CurrentTally TallyInfo `json:"currentTally"`
	}
)

func addressText(a [20]byte) string { return "0x" + hex.EncodeToString(a[:]) }

// centsText prints hundredths with two digits.
func centsText(cents int64) Decimal {
	var buf [24]byte
	return Decimal(fixed.AppendI64(buf[:0], cents, 2))
}

func (t Tally) info(quorumCents int64) TallyInfo {
	var buf [24]byte
	return TallyInfo{
		YesWeight: centsText(t[Yes]), NoWeight: centsText(t[No]), AbstainWeight: centsText(t[Abstain]),
		QuorumThreshold:  Decimal(fixed.AppendShortest(buf[:0], fixed.FromI64(quorumCents), 2)),
		QuorumReached:    t.quorum(quorumCents),
		PassingThreshold: "0.6", CurrentlyPassing: t.passing(quorumCents),
	}
}

func (p *Proposal) info(quorumCents int64) *ProposalInfo {
	return &ProposalInfo{
		ProposalID: p.ID(), TokenID: firstAgentNFT - 1 + uint64(p.Worker), Topic: p.Topic.String(), Payload: json.RawMessage(p.Payload),
		Proposer: p.Proposer, Status: p.Status.String(), CreatedAt: p.CreatedSec, ClosesAt: p.ClosesSec, Tally: p.Tally.info(quorumCents),
	}
}

func (e *Entry) info(seed uint64, genesisNs int64) EntryInfo {
	out := EntryInfo{
		EntryID: e.ID, SourceAgentID: e.Source.String(), SourceTier: e.Source.Tier.String(), ActionType: e.Type.String(),
		ActionPayload: json.RawMessage(e.Payload), ReasonCode: e.Reason, BlockNumber: blockAt(genesisNs, e.TimeNs),
		Timestamp: e.Sec(), TxHash: txHash(seed, e.ID).String(),
	}
	if e.Target != 0 {
		out.TargetTokenID = firstAgentNFT - 1 + uint64(e.Target)
	}
	return out
}

func (v *View) workerItem(w *Worker, nowSec int64) WorkerItem {
	return WorkerItem{
		WorkerID: int64(w.ID), AgentNftID: w.TokenID(), TokenAddress: addressText(w.Token), TokenSymbol: w.Symbol,
		Status: w.Status().String(), LastActiveAt: w.lastActive(nowSec),
		ActionCount24h: v.entriesOf(&w.trail.own).since(nowSec - daySec),
		Config:         ConfigInfo{w.Config.SlippageCapBps, w.Config.MEV.String()},
	}
}
