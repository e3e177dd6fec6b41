package hive

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"tickhive/internal/refuse"
)

func commentWrong() *refuse.Refusal {
	return refuse.Param("comment", "comment is a string of at most %d characters.", MaxComment)
}

func (v *CastVote) check() *refuse.Refusal {
	if v.ProposalID == "" {
		return refuse.Param("proposalId", "proposalId is required: a string.")
	}
	if v.Vote >= votes {
		return refuse.Param("vote", "vote is required: yes, no or abstain.")
	}
	if utf8.RuneCountInString(v.Comment) > MaxComment || !utf8.ValidString(v.Comment) {
		return commentWrong()
	}
	return nil
}

// planVote makes the checks of docs/contract/hive.md#votes that follow authentication and the rate limit, in
// order.
func (s *State) planVote(cmd CastVote, rec *Record) *refuse.Refusal {
	if rej := cmd.check(); rej != nil {
		return rej
	}
	w, ok := s.knownWorker(workerOf(cmd.TokenID))
	if !ok {
		return unknownWorker("tokenId")
	}
	n, ok := parseProposalID(cmd.ProposalID)
	p, found := s.proposals.Get(n)
	if !ok || !found || p.Worker != w.ID || p.Checkpoint != cmd.Checkpoint {
		return refuse.New(refuse.ProposalNotFound, "proposalId", "This token has no such proposal.")
	}
	if cmd.Level < MinLevel {
		return refuse.New(refuse.LevelTooLow, "", "Voting needs level %d, the user has %d.", MinLevel,
			cmd.Level)
	}
	if cmd.Holdings == nil || cmd.Holdings.Cmp(oneToken) < 0 {
		return refuse.New(refuse.NoHoldings, "", "Voting needs at least 1 %s.", w.Symbol)
	}
	if p.Status != ProposalActive || rec.TimeNs >= p.ClosesSec*secondNs {
		return refuse.New(refuse.ProposalClosed, "proposalId", "The vote period of %s has ended.", p.ID())
	}
	if _, voted := s.voters[p.N][cmd.User]; voted {
		return refuse.New(refuse.AlreadyVoted, "proposalId", "The user has already voted on %s.", p.ID())
	}
	if len(s.voters[p.N]) >= MaxVoters {
		return refuse.Later(fullSec, "%s has %d votes, the limit.", p.ID(), MaxVoters)
	}
	if rej := s.logFull(1 + s.mayEnter(rec)); rej != nil {
		return rej
	}
	rec.Kind, rec.Proposal, rec.User, rec.Vote, rec.Comment = RecVote, p.N, cmd.User, cmd.Vote, cmd.Comment
	rec.Weight = weightCents(cmd.Level, cmd.Owned, logCents(cmd.Counted))
	rec.add(&s.log, Entry{
		TimeNs: rec.TimeNs, Source: Agent{WorkerTier, w.ID}, Target: w.ID, Type: VoteCast,
		Payload: fmt.Sprintf(`{"proposalId":"%s","vote":"%s"}`, p.ID(), cmd.Vote), Reason: "user_vote",
	})
	return nil
}

func (s *State) applyVote(rec *Record, res *Result) {
	p := s.editProposal(rec.Proposal)
	s.votes++
	s.voters[p.N][rec.User] = struct{}{}
	p.Tally[rec.Vote] += rec.Weight
	if rec.Comment != "" {
		// The clone keeps the comments of the published version unchanged.
		p.Comments = append(slices.Clone(p.Comments), Comment{rec.Comment, rec.TimeNs / secondNs})
		if n := len(p.Comments); n > KeptComments {
			p.Comments = p.Comments[n-KeptComments:]
		}
	}
	s.putProposal(p)
	res.Vote = VoteInfo{
		VoteID: fmt.Sprintf("vote-%d", s.votes), ProposalID: p.ID(), Vote: rec.Vote, WeightCents: rec.Weight,
		TxHash: txHash(s.seed, rec.own().ID), VotedAt: rec.TimeNs / secondNs,
		Tally: p.Tally.info(s.opt.QuorumCents),
	}
}
