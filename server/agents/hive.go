package agents

import (
	"encoding/hex"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// overview serves GET /api/agents/overview.
func (s *Service) overview(c *edge.Ctx) *refuse.Refusal {
	v := s.views()
	o := v.hive.Overview(v.nowNs)
	var w json.Writer
	writeOverview(&w, &o)
	return sendFree(c, &w)
}

// hivePage reads the page of a list of the hive.
func hivePage(c *edge.Ctx, pages *edge.Pages, rows *edge.Cursor[uint64]) (p hive.Page, err *refuse.Refusal) {
	if p.Page, p.PageSize, err = pages.Of(c); err != nil {
		return p, err
	}
	p.After, err = rows.Of(c)
	return p, err
}

// workers serves GET /api/agents/workers.
func (s *Service) workers(c *edge.Ctx) *refuse.Refusal {
	var q hive.WorkerQuery
	var err *refuse.Refusal
	if q.Page, err = hivePage(c, hivePages, hiveRows); err != nil {
		return err
	}
	if q.Status, err = filterWord(c, workerStatus, hive.Active); err != nil {
		return err
	}
	if q.Token, err = tokenAddress.Of(c); err != nil {
		return err
	}
	block, given, err := asOf.Find(c)
	if err != nil {
		return err
	}
	v := s.views()
	if given {
		newest := v.ledger.NewestAsOf(block)
		q.Newest = &newest
		setAsOf(c, block)
	} else {
		setAsOf(c, v.ledger.AsOfNewest(v.nowNs, v.hive.Newest()))
	}
	list := v.hive.Workers(v.nowNs, q)
	w := writeList(c, &list, q.Page, writeWorkerRow)
	return sendFree(c, &w)
}

func noWorker() *refuse.Refusal {
	return refuse.Missing("tokenId", "No worker has this token id.")
}

// worker serves GET /api/agents/workers/:tokenId.
func (s *Service) worker(c *edge.Ctx) *refuse.Refusal {
	text, err := workerOf.Of(c)
	if err != nil {
		return err
	}
	id, ok := hive.ParseTokenID(text)
	if !ok {
		return noWorker()
	}
	v := s.views()
	worker, ok := v.hive.Worker(v.nowNs, id)
	if !ok {
		return noWorker()
	}
	var w json.Writer
	writeWorker(&w, &worker, v.hive.Recent(id))
	return sendFree(c, &w)
}

// proposals serves GET /api/agents/proposals.
func (s *Service) proposals(c *edge.Ctx) *refuse.Refusal {
	var q hive.ProposalQuery
	var err *refuse.Refusal
	if q.TokenID, err = filterID(c); err != nil {
		return err
	}
	if q.Status, err = filterWord(c, proposalStatus, hive.ProposalActive); err != nil {
		return err
	}
	if q.Page, err = hivePage(c, hivePages, hiveRows); err != nil {
		return err
	}
	v := s.views()
	setAsOf(c, v.ledger.AsOf(v.nowNs))
	list := v.hive.Proposals(q)
	w := writeList(c, &list, q.Page, writeProposalRow)
	return sendDecimals(c, &w)
}

// proposal serves GET /api/agents/proposals/{proposalId}. The payload holds only integers and
// names, so no member is mistaken for a decimal.
func (s *Service) proposal(c *edge.Ctx) *refuse.Refusal {
	text, err := proposalOf.Of(c)
	if err != nil {
		return err
	}
	v := s.views()
	p, ok := v.hive.Proposal(text)
	if !ok {
		return &refuse.Refusal{
			Code: refuse.ProposalNotFound, Field: "proposalId",
			Message: "There is no proposal with this id.",
		}
	}
	var w json.Writer
	writeProposal(&w, &p)
	return sendDecimals(c, &w)
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
	text, err := workerOf.Of(c)
	if err != nil {
		return err
	}
	id, ok := hive.ParseTokenID(text)
	v := s.views()
	t, known := v.ledger.ByNFT(id)
	if !ok || !known {
		return noWorker()
	}
	u, err := s.user(engine.AccountID(c.Principal.Account))
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
	var w json.Writer
	writeVote(&w, &res.Vote)
	return sendDecimals(c, &w)
}

// filterID reads the id of a token by which a list is filtered. A value that cannot be an id matches no entry.
func filterID(c *edge.Ctx) (*uint64, *refuse.Refusal) {
	n, given, err := ofToken.Find(c)
	if err != nil || !given {
		return nil, err
	}
	id := uint64(n)
	if n < 0 {
		id = math.MaxUint64
	}
	return &id, nil
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
	w := writeList(c, &list, q.Page, writeLogRow)
	return sendFree(c, &w)
}

// readLogQuery reads the parameters in the order of the table in
// docs/contract/api.md#hive-launchpad_base_url.
func readLogQuery(c *edge.Ctx) (q hive.LogQuery, err *refuse.Refusal) {
	if q.TokenID, err = filterID(c); err != nil {
		return q, err
	}
	if q.Type, err = filterWord(c, actionType, hive.ActionType(0)); err != nil {
		return q, err
	}
	if q.Tier, err = filterWord(c, sourceTier, hive.Queen); err != nil {
		return q, err
	}
	if q.Since, err = filter(c, since); err != nil {
		return q, err
	}
	if q.Until, err = filter(c, until); err != nil {
		return q, err
	}
	q.Page, err = hivePage(c, logPages, logRows)
	return q, err
}

// The answers of the hive have the members of docs/contract/api.md, docs/contract/internal.md and
// docs/contract/hive.md. Times are Unix seconds, and payloads stand as the hive keeps them.

// writePage returns one page of a list. row writes an item.
func writePage[T any](items []T, total, page, size int64, row func(w *json.Writer, item *T)) json.Writer {
	var w json.Writer
	w.Object()
	w.Name("items").List()
	for i := range items {
		row(&w, &items[i])
	}
	w.EndList()
	w.Name("page").Int(page)
	w.Name("pageSize").Int(size)
	w.Name("totalItems").Int(total)
	w.EndObject()
	return w
}

// writeList returns a page of a list of the hive, and names the cursor of the next one.
func writeList[T any](c *edge.Ctx, l *hive.List[T], p hive.Page, row func(w *json.Writer, item *T)) json.Writer {
	c.NextRow(l.Next)
	return writePage(l.Items, l.TotalItems, p.Page, p.PageSize, row)
}

func addressText(a [20]byte) string { return "0x" + hex.EncodeToString(a[:]) }

// writeTally writes a tally; weights are hundredths.
func writeTally(w *json.Writer, t *hive.TallyInfo) {
	w.Object()
	w.Name("yesWeight").Units(t.Weights[hive.Yes], 2)
	w.Name("noWeight").Units(t.Weights[hive.No], 2)
	w.Name("abstainWeight").Units(t.Weights[hive.Abstain], 2)
	w.Name("quorumThreshold").Rate(t.QuorumCents, 2)
	w.Name("quorumReached").Bool(t.QuorumReached)
	w.Name("passingThreshold").Rate(6, 1)
	w.Name("currentlyPassing").Bool(t.CurrentlyPassing)
	w.EndObject()
}

func writeProposalRow(w *json.Writer, p *hive.ProposalInfo) {
	w.Object()
	writeProposalMembers(w, p)
	w.EndObject()
}

func writeProposalMembers(w *json.Writer, p *hive.ProposalInfo) {
	w.Name("proposalId").Word(p.ID())
	w.Name("tokenId").Uint(p.TokenID())
	w.Name("topic").Word(p.Topic.String())
	w.Name("payload").Raw([]byte(p.Payload))
	w.Name("proposer").Text(p.Proposer)
	w.Name("status").Word(p.Status.String())
	w.Name("createdAt").Int(p.CreatedSec)
	w.Name("closesAt").Int(p.ClosesSec)
	writeTally(w.Name("tally"), &p.Tally)
}

// writeProposal writes a proposal with its comments, newest first.
func writeProposal(w *json.Writer, p *hive.ProposalInfo) {
	w.Object()
	writeProposalMembers(w, p)
	w.Name("comments").List()
	for _, c := range slices.Backward(p.Comments) {
		w.Object()
		w.Name("comment").Text(c.Text)
		w.Name("votedAt").Int(c.Sec)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
}

func writeVote(w *json.Writer, v *hive.VoteInfo) {
	w.Object()
	w.Name("voteId").Text(v.VoteID)
	w.Name("proposalId").Text(v.ProposalID)
	w.Name("vote").Word(v.Vote.String())
	w.Name("weight").Units(v.WeightCents, 2)
	w.Name("txHash").Word(v.TxHash.String())
	w.Name("votedAt").Int(v.VotedAt)
	writeTally(w.Name("currentTally"), &v.Tally)
	w.EndObject()
}

func writeLogRow(w *json.Writer, e *hive.EntryInfo) {
	w.Object()
	writeLogMembers(w, e)
	w.EndObject()
}

func writeLogMembers(w *json.Writer, e *hive.EntryInfo) {
	w.Name("entryId").Uint(e.ID)
	w.Name("sourceAgentId").Text(e.Source.String())
	w.Name("sourceTier").Word(e.Source.Tier.String())
	w.Name("targetTokenId").Uint(e.TargetTokenID())
	w.Name("actionType").Word(e.Type.String())
	w.Name("actionPayload").Raw([]byte(e.Payload))
	w.Name("reasonCode").Text(e.Reason)
	w.Name("blockNumber").Int(e.BlockNumber)
	w.Name("timestamp").Int(e.Sec())
	w.Name("txHash").Word(e.TxHash.String())
}

func writeWorkerRow(w *json.Writer, info *hive.WorkerInfo) {
	w.Object()
	w.Name("workerId").Int(int64(info.ID))
	w.Name("agentNftId").Uint(info.TokenID)
	w.Name("tokenAddress").Word(addressText(info.Token))
	w.Name("tokenSymbol").Text(info.Symbol)
	w.Name("status").Word(info.Status.String())
	w.Name("lastActiveAt").Int(info.LastActiveAt)
	w.Name("actionCount24h").Int(info.ActionCount24h)
	w.Name("config").Object()
	w.Name("slippageCapBps").Int(info.Config.SlippageCapBps)
	w.Name("mevProtection").Word(info.Config.MEV.String())
	w.EndObject()
	w.EndObject()
}

// writeWorker writes a worker with the newest log entries whose target is its token. The members of overrides are null
// when there was none. Recently means the last 7 days.
func writeWorker(w *json.Writer, info *hive.WorkerInfo, recent []hive.EntryInfo) {
	w.Object()
	w.Name("worker").Object()
	w.Name("id").Int(int64(info.ID))
	w.Name("agentNftId").Uint(info.TokenID)
	w.Name("tokenAddress").Word(addressText(info.Token))
	w.Name("deployedAt").Int(info.DeployedAt)
	w.Name("status").Word(info.Status.String())
	w.Name("lastActiveAt").Int(info.LastActiveAt)
	w.EndObject()
	w.Name("config").Object()
	w.Name("slippageCapBps").Int(info.Config.SlippageCapBps)
	w.Name("mevProtection").Word(info.Config.MEV.String())
	w.Name("signalSubscriptions").List()
	for _, name := range info.Config.Signals {
		w.Text(name)
	}
	w.EndList()
	w.EndObject()
	writeActions(w.Name("recentActions"), recent, true)
	w.Name("stats").Object()
	w.Name("totalActions").Int(info.TotalActions)
	w.Name("lastOverrideAt").IntOrNull(info.LastOverrideAt, info.LastOverrideAt != 0)
	w.Name("overridingTier")
	if info.LastOverrideAt != 0 {
		w.Word(info.OverridingTier.String())
	} else {
		w.Null()
	}
	w.EndObject()
	w.Name("votes").Object()
	w.Name("activeProposals").Int(info.ActiveProposals)
	w.Name("recentlyClosed").Int(info.RecentlyClosed)
	w.EndObject()
	w.EndObject()
}

// writeActions writes log entries as a worker's actions, with their reasons if the answer has them.
func writeActions(w *json.Writer, recent []hive.EntryInfo, reasons bool) {
	w.List()
	for i := range recent {
		e := &recent[i]
		w.Object()
		w.Name("txHash").Word(e.TxHash.String())
		w.Name("actionType").Word(e.Type.String())
		w.Name("params").Raw([]byte(e.Payload))
		if reasons {
			w.Name("reasonCode").Text(e.Reason)
		}
		w.Name("blockNumber").Int(e.BlockNumber)
		w.Name("blockTimestamp").Int(e.Sec())
		w.EndObject()
	}
	w.EndList()
}

func writeOverview(w *json.Writer, o *hive.Overview) {
	w.Object()
	w.Name("hive").Object()
	w.Name("totalTokens").Int(o.Tokens)
	w.Name("totalWorkers").Int(o.Tokens)
	w.Name("totalQueens").Int(o.Queens)
	w.Name("totalScouts").Int(o.Scouts)
	w.EndObject()
	w.Name("swarm").Object()
	w.Name("activeWorkers").Int(o.ActiveWorkers)
	w.Name("lastActivityAt").Int(o.LastActivityAt)
	w.EndObject()
	w.Name("ecosystem").Object()
	w.Name("totalAgentTokensSpawned").Int(o.Tokens)
	w.Name("tokensSpawnedLast24h").Int(o.Spawned24h)
	w.Name("tokensSpawnedLast7d").Int(o.Spawned7d)
	w.Name("totalActions24h").Int(o.Actions24h)
	w.Name("totalOverrides24h").Int(o.Overrides24h)
	w.EndObject()
	w.EndObject()
}
