package agents

import (
	"encoding/hex"
	"math"

	"tickhive/hive"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/edge"
	"tickhive/server/json"
)

// overview serves GET /api/agents/overview.
func (s *Service) overview(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	o := v.hive.Overview(v.nowNs)
	return sendFree(c, newOverviewAnswer(&o))
}

// hivePage reads page and pageSize of the hive's lists.
func hivePage(c *edge.Ctx, defSize int64) (p hive.Page, err *refuse.Refusal) {
	if p.Page, p.PageSize, err = c.Page("page", defSize); err != nil {
		return p, err
	}
	p.After, err = c.Row("page")
	return p, err
}

// workers serves GET /api/agents/workers.
func (s *Service) workers(c *edge.Ctx) *refuse.Refusal {
	var q hive.WorkerQuery
	var err *refuse.Refusal
	if q.Page, err = hivePage(c, hive.DefaultPageSize); err != nil {
		return err
	}
	status, err := c.Enum("status", workerStatuses...)
	if err != nil {
		return err
	}
	if status >= 0 {
		only := hive.Status(status)
		q.Status = &only
	}
	address, err := c.Str("tokenAddress")
	if err != nil {
		return err
	}
	if address != "" {
		a, ok := launchpad.ParseAddress(address)
		if !ok {
			return refuse.Param("tokenAddress", "The parameter tokenAddress must be 0x and 40 hexadecimal digits.")
		}
		q.Token = (*[20]byte)(&a)
	}
	asOf, err := asOf(c)
	if err != nil {
		return err
	}
	v := s.views()
	if asOf != nil {
		newest := v.ledger.NewestAsOf(*asOf)
		q.Newest = &newest
		setAsOf(c, *asOf)
	} else {
		setAsOf(c, v.ledger.AsOfNewest(v.nowNs, v.hive.Newest()))
	}
	list := v.hive.Workers(v.nowNs, q)
	return sendFree(c, answerList(c, &list, q.Page, newWorkerRow))
}

func noWorker() *refuse.Refusal {
	return refuse.Missing("tokenId", "No worker has this token id.")
}

// worker serves GET /api/agents/workers/:tokenId.
func (s *Service) worker(c *edge.Ctx) *refuse.Refusal {
	id, ok := hive.ParseTokenID(c.PathParam("tokenId"))
	if !ok {
		return noWorker()
	}
	v := s.views()
	w, ok := v.hive.Worker(v.nowNs, id)
	if !ok {
		return noWorker()
	}
	return sendFree(c, newWorkerAnswer(&w, v.hive.Recent(id)))
}

// proposals serves GET /api/agents/proposals.
func (s *Service) proposals(c *edge.Ctx) *refuse.Refusal {
	var q hive.ProposalQuery
	var err *refuse.Refusal
	if q.TokenID, err = filterID(c, "tokenId"); err != nil {
		return err
	}
	status, err := c.Enum("status", proposalStatuses...)
	if err != nil {
		return err
	}
	if status >= 0 {
		only := hive.ProposalStatus(status)
		q.Status = &only
	}
	if q.Page, err = hivePage(c, hive.DefaultPageSize); err != nil {
		return err
	}
	v := s.views()
	setAsOf(c, v.ledger.AsOf(v.nowNs))
	list := v.hive.Proposals(q)
	return sendDecimals(c, answerList(c, &list, q.Page, newProposalRow))
}

// proposal serves GET /api/agents/proposals/{proposalId}. The payload holds only integers and
// names, so no member is mistaken for a decimal.
func (s *Service) proposal(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	p, ok := v.hive.Proposal(c.PathParam("proposalId"))
	if !ok {
		return &refuse.Refusal{
			Code: refuse.ProposalNotFound, Field: "proposalId",
			Message: "There is no proposal with this id.",
		}
	}
	return sendDecimals(c, newProposalAnswer(&p))
}

var voteForm = json.Of(
	raw("proposalId", json.KindText,
		func(f *hive.VoteForm) *json.RawMessage { return &f.ProposalID }).As(json.Field{Required: true}),
	raw("vote", json.KindWord, func(f *hive.VoteForm) *json.RawMessage { return &f.Vote }).
		As(json.Field{Required: true, Words: []string{"yes", "no", "abstain"}}),
	raw("comment", json.KindText, func(f *hive.VoteForm) *json.RawMessage { return &f.Comment }).
		As(json.Field{Range: []int64{0, hive.MaxComment}}),
)

// vote serves POST /api/agents/workers/:tokenId/vote. The hive makes all checks beyond the
// shape of the body (docs/contract/hive.md#votes).
func (s *Service) vote(c *edge.Ctx) *refuse.Refusal {
	if err := s.votes.Check(c); err != nil {
		return err
	}
	var form hive.VoteForm
	if err := voteForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cast, rej := form.Parse()
	if rej != nil {
		return rej
	}
	id, ok := hive.ParseTokenID(c.PathParam("tokenId"))
	v := s.views()
	t, known := v.ledger.ByNFT(id)
	if !ok || !known {
		return noWorker()
	}
	u, err := s.user(c.Principal.Account)
	if err != nil {
		return err
	}
	if cast.User, ok = json.ParseUUID(c.Principal.UserID); !ok {
		panic("BUG: server: a caller without a user id")
	}
	cast.TokenID, cast.Level = id, u.level
	cast.Holdings, cast.Owned = v.ledger.Holding(u.address, t).Big(), v.ledger.Owned(u.address)
	if p, open := v.hive.Proposal(cast.ProposalID); open {
		cast.Checkpoint, cast.Counted = p.Checkpoint, v.ledger.HeldAt(u.address, t, p.Checkpoint).Big()
	}
	res, verr := s.DoHive(cast)
	if verr != nil {
		return refusalOf(verr, "the votes of the proposal")
	}
	return sendDecimals(c, newVoteAnswer(&res.Vote))
}

// filterID reads an id by which a list is filtered. A value that cannot be an id matches no entry.
func filterID(c *edge.Ctx, name string) (*uint64, *refuse.Refusal) {
	n, given, err := c.Int(name, 0, math.MinInt64, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	id := uint64(n)
	if n < 0 {
		id = math.MaxUint64
	}
	return &id, nil
}

// filterSec reads a bound of a period in Unix seconds.
func filterSec(c *edge.Ctx, name string) (*int64, *refuse.Refusal) {
	n, given, err := c.Int(name, 0, math.MinInt64, math.MaxInt64)
	if err != nil || !given {
		return nil, err
	}
	return &n, nil
}

// actionTypeNames lists the action types in the order of their constants.
var actionTypeNames = func() (names []string) {
	for t := range hive.ActionTypes {
		names = append(names, t.String())
	}
	return names
}()

// actionLogs serves GET /api/agents/action-logs.
func (s *Service) actionLogs(c *edge.Ctx) *refuse.Refusal {
	q, err := readLogQuery(c)
	if err != nil {
		return err
	}
	if rej := q.Check(); rej != nil {
		return rej
	}
	v := s.views()
	setAsOf(c, v.ledger.AsOf(v.nowNs))
	list := v.hive.Log(q)
	return sendFree(c, answerList(c, &list, q.Page, newLogRow))
}

// readLogQuery reads the parameters in the order of the table in
// docs/contract/api.md#hive-launchpad_base_url.
func readLogQuery(c *edge.Ctx) (q hive.LogQuery, err *refuse.Refusal) {
	if q.TokenID, err = filterID(c, "tokenId"); err != nil {
		return q, err
	}
	kind, err := c.Enum("actionType", actionTypeNames...)
	if err != nil {
		return q, err
	}
	if kind >= 0 {
		t := hive.ActionType(kind)
		q.Type = &t
	}
	tier, err := c.Enum("sourceTier", sourceTiers...)
	if err != nil {
		return q, err
	}
	if tier >= 0 {
		t := hive.Queen + hive.Tier(tier)
		q.Tier = &t
	}
	if q.Since, err = filterSec(c, "since"); err != nil {
		return q, err
	}
	if q.Until, err = filterSec(c, "until"); err != nil {
		return q, err
	}
	q.Page, err = hivePage(c, hive.DefaultLogPageSize)
	return q, err
}

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
