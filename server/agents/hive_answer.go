package agents

import (
	"encoding/hex"

	json "github.com/goccy/go-json"

	"tickhive/hive"
	"tickhive/internal/fixed"
	"tickhive/server/edge"
)

// The answers of the hive, in the shapes and member order of docs/contract/api.md,
// docs/contract/internal.md and docs/contract/hive.md. Times are Unix seconds.
type (
	// agentPage is one page of a list.
	agentPage[T any] struct {
		Items      []T   `json:"items"`
		Page       int64 `json:"page"`
		PageSize   int64 `json:"pageSize"`
		TotalItems int64 `json:"totalItems"`
	}
	workerRow struct {
		WorkerID       int64  `json:"workerId"`
		AgentNftID     uint64 `json:"agentNftId"`
		TokenAddress   string `json:"tokenAddress"`
		TokenSymbol    string `json:"tokenSymbol"`
		Status         string `json:"status"`
		LastActiveAt   int64  `json:"lastActiveAt"`
		ActionCount24h int64  `json:"actionCount24h"`
		Config         struct {
			SlippageCapBps int64  `json:"slippageCapBps"`
			MEVProtection  string `json:"mevProtection"`
		} `json:"config"`
	}
	workerAnswer struct {
		Worker struct {
			ID           int64  `json:"id"`
			AgentNftID   uint64 `json:"agentNftId"`
			TokenAddress string `json:"tokenAddress"`
			DeployedAt   int64  `json:"deployedAt"`
			Status       string `json:"status"`
			LastActiveAt int64  `json:"lastActiveAt"`
		} `json:"worker"`
		Config struct {
			SlippageCapBps      int64    `json:"slippageCapBps"`
			MEVProtection       string   `json:"mevProtection"`
			SignalSubscriptions []string `json:"signalSubscriptions"`
		} `json:"config"`
		RecentActions []workerAction `json:"recentActions"`
		Stats         struct {       // the override members are null when there was no override
			TotalActions   int64   `json:"totalActions"`
			LastOverrideAt *int64  `json:"lastOverrideAt"`
			OverridingTier *string `json:"overridingTier"`
		} `json:"stats"`
		Votes struct { // recently means the last 7 days
			ActiveProposals int64 `json:"activeProposals"`
			RecentlyClosed  int64 `json:"recentlyClosed"`
		} `json:"votes"`
	}
	// workerAction is a log entry whose target is the worker's token.
	workerAction struct {
		TxHash         string          `json:"txHash"`
		ActionType     string          `json:"actionType"`
		Params         json.RawMessage `json:"params"`
		ReasonCode     string          `json:"reasonCode"`
		BlockNumber    int64           `json:"blockNumber"`
		BlockTimestamp int64           `json:"blockTimestamp"`
	}
	overviewAnswer struct {
		Hive struct {
			TotalTokens  int64 `json:"totalTokens"`
			TotalWorkers int64 `json:"totalWorkers"`
			TotalQueens  int64 `json:"totalQueens"`
			TotalScouts  int64 `json:"totalScouts"`
		} `json:"hive"`
		Swarm struct {
			ActiveWorkers  int64 `json:"activeWorkers"`
			LastActivityAt int64 `json:"lastActivityAt"`
		} `json:"swarm"`
		Ecosystem struct {
			TotalAgentTokensSpawned int64 `json:"totalAgentTokensSpawned"`
			TokensSpawnedLast24h    int64 `json:"tokensSpawnedLast24h"`
			TokensSpawnedLast7d     int64 `json:"tokensSpawnedLast7d"`
			TotalActions24h         int64 `json:"totalActions24h"`
			TotalOverrides24h       int64 `json:"totalOverrides24h"`
		} `json:"ecosystem"`
	}
	logRow struct {
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
	// logEntry is a log entry with the hash that links it to the entry before.
	logEntry struct {
		logRow
		PrevHash string `json:"prevHash"`
	}
	tallyAnswer struct {
		YesWeight        decimalText `json:"yesWeight"`
		NoWeight         decimalText `json:"noWeight"`
		AbstainWeight    decimalText `json:"abstainWeight"`
		QuorumThreshold  decimalText `json:"quorumThreshold"`
		QuorumReached    bool        `json:"quorumReached"`
		PassingThreshold decimalText `json:"passingThreshold"`
		CurrentlyPassing bool        `json:"currentlyPassing"`
	}
	proposalRow struct {
		ProposalID string          `json:"proposalId"`
		TokenID    uint64          `json:"tokenId"`
		Topic      string          `json:"topic"`
		Payload    json.RawMessage `json:"payload"`
		Proposer   string          `json:"proposer"`
		Status     string          `json:"status"`
		CreatedAt  int64           `json:"createdAt"`
		ClosesAt   int64           `json:"closesAt"`
		Tally      tallyAnswer     `json:"tally"`
	}
	proposalAnswer struct {
		proposalRow
		Comments []commentRow `json:"comments"`
	}
	commentRow struct {
		Comment string `json:"comment"`
		VotedAt int64  `json:"votedAt"`
	}
	voteAnswer struct {
		VoteID       string      `json:"voteId"`
		ProposalID   string      `json:"proposalId"`
		Vote         string      `json:"vote"`
		Weight       decimalText `json:"weight"`
		TxHash       string      `json:"txHash"`
		VotedAt      int64       `json:"votedAt"`
		CurrentTally tallyAnswer `json:"currentTally"`
	}
)

// decimalText is a decimal, encoded as a JSON number.
type decimalText string

// MarshalJSON writes the text as a number.
func (d decimalText) MarshalJSON() ([]byte, error) { return []byte(d), nil }

// answerPage returns the answer of a list. row converts each item.
func answerPage[T, R any](items []T, total, page, size int64, row func(*T) R) *agentPage[R] {
	out := &agentPage[R]{Items: make([]R, len(items)), Page: page, PageSize: size, TotalItems: total}
	for i := range items {
		out.Items[i] = row(&items[i])
	}
	return out
}

// answerList returns a page of a list of the hive, and names the cursor of the next one.
func answerList[T, R any](c *edge.Ctx, l *hive.List[T], p hive.Page, row func(*T) R) *agentPage[R] {
	c.NextRow(l.Next)
	return answerPage(l.Items, l.TotalItems, p.Page, p.PageSize, row)
}

// centsText returns hundredths as a decimal with two digits.
func centsText(cents int64) decimalText {
	return decimalText(fixed.AppendI64(nil, cents, 2))
}

func addressText(a [20]byte) string { return "0x" + hex.EncodeToString(a[:]) }

func newTallyAnswer(t *hive.TallyInfo) tallyAnswer {
	w := &t.Weights
	return tallyAnswer{
		YesWeight: centsText(w[hive.Yes]), NoWeight: centsText(w[hive.No]), AbstainWeight: centsText(w[hive.Abstain]),
		QuorumThreshold:  decimalText(fixed.AppendShortest(nil, fixed.FromI64(t.QuorumCents), 2)),
		QuorumReached:    t.QuorumReached,
		PassingThreshold: "0.6", CurrentlyPassing: t.CurrentlyPassing,
	}
}

func newProposalRow(p *hive.ProposalInfo) proposalRow {
	return proposalRow{
		ProposalID: p.ID(), TokenID: p.TokenID(), Topic: p.Topic.String(), Payload: json.RawMessage(p.Payload),
		Proposer: p.Proposer, Status: p.Status.String(), CreatedAt: p.CreatedSec, ClosesAt: p.ClosesSec,
		Tally: newTallyAnswer(&p.Tally),
	}
}

// newProposalAnswer returns a proposal with its comments, newest first.
func newProposalAnswer(p *hive.ProposalInfo) *proposalAnswer {
	out := &proposalAnswer{proposalRow: newProposalRow(p), Comments: make([]commentRow, len(p.Comments))}
	for i, c := range p.Comments {
		out.Comments[len(p.Comments)-1-i] = commentRow{c.Text, c.Sec}
	}
	return out
}

func newVoteAnswer(v *hive.VoteInfo) *voteAnswer {
	return &voteAnswer{
		VoteID: v.VoteID, ProposalID: v.ProposalID, Vote: v.Vote.String(), Weight: centsText(v.WeightCents),
		TxHash: v.TxHash.String(), VotedAt: v.VotedAt, CurrentTally: newTallyAnswer(&v.Tally),
	}
}

func newLogRow(e *hive.EntryInfo) logRow {
	return logRow{
		EntryID: e.ID, SourceAgentID: e.Source.String(), SourceTier: e.Source.Tier.String(),
		TargetTokenID: e.TargetTokenID(), ActionType: e.Type.String(), ActionPayload: json.RawMessage(e.Payload),
		ReasonCode: e.Reason, BlockNumber: e.BlockNumber, Timestamp: e.Sec(), TxHash: e.TxHash.String(),
	}
}

func newWorkerRow(w *hive.WorkerInfo) workerRow {
	out := workerRow{
		WorkerID: int64(w.ID), AgentNftID: w.TokenID, TokenAddress: addressText(w.Token), TokenSymbol: w.Symbol,
		Status: w.Status.String(), LastActiveAt: w.LastActiveAt, ActionCount24h: w.ActionCount24h,
	}
	out.Config.SlippageCapBps, out.Config.MEVProtection = w.Config.SlippageCapBps, w.Config.MEV.String()
	return out
}

// newWorkerAnswer returns a worker with the newest log entries whose target is its token.
func newWorkerAnswer(w *hive.WorkerInfo, recent []hive.EntryInfo) *workerAnswer {
	var out workerAnswer
	o := &out.Worker
	o.ID, o.AgentNftID, o.TokenAddress = int64(w.ID), w.TokenID, addressText(w.Token)
	o.DeployedAt, o.Status, o.LastActiveAt = w.DeployedAt, w.Status.String(), w.LastActiveAt
	out.Config.SlippageCapBps, out.Config.MEVProtection = w.Config.SlippageCapBps, w.Config.MEV.String()
	out.Config.SignalSubscriptions = w.Config.Signals
	out.RecentActions = make([]workerAction, len(recent))
	for i := range recent {
		e := &recent[i]
		out.RecentActions[i] = workerAction{
			TxHash: e.TxHash.String(), ActionType: e.Type.String(), Params: json.RawMessage(e.Payload),
			ReasonCode: e.Reason, BlockNumber: e.BlockNumber, BlockTimestamp: e.Sec(),
		}
	}
	out.Stats.TotalActions = w.TotalActions
	if w.LastOverrideAt != 0 {
		at, tier := w.LastOverrideAt, w.OverridingTier.String()
		out.Stats.LastOverrideAt, out.Stats.OverridingTier = &at, &tier
	}
	out.Votes.ActiveProposals, out.Votes.RecentlyClosed = w.ActiveProposals, w.RecentlyClosed
	return &out
}

func newOverviewAnswer(o *hive.Overview) *overviewAnswer {
	var out overviewAnswer
	h, s, e := &out.Hive, &out.Swarm, &out.Ecosystem
	h.TotalTokens, h.TotalWorkers, h.TotalQueens, h.TotalScouts = o.Tokens, o.Tokens, o.Queens, o.Scouts
	s.ActiveWorkers, s.LastActivityAt = o.ActiveWorkers, o.LastActivityAt
	e.TotalAgentTokensSpawned, e.TokensSpawnedLast24h, e.TokensSpawnedLast7d = o.Tokens, o.Spawned24h, o.Spawned7d
	e.TotalActions24h, e.TotalOverrides24h = o.Actions24h, o.Overrides24h
	return &out
}
