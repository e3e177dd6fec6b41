package hive

import (
	"encoding/json"
	"strconv"

	"tickhive/internal/rawjson"
	"tickhive/internal/refuse"
)

// VoteForm holds the members of a vote's body as JSON text; nil for a missing member. The handler has already
// refused unknown and duplicate members.
type VoteForm struct{ ProposalID, Vote, Comment json.RawMessage }

// Parse reads the members in the order of docs/contract/api.md and refuses the first wrong one. The caller sets
// the token, the user, and the user's level, holdings and owned tokens.
func (f VoteForm) Parse() (CastVote, *refuse.Refusal) {
	var v CastVote
	if v.ProposalID, _ = rawjson.Text(f.ProposalID); v.ProposalID == "" {
		return v, refuse.Param("proposalId", "proposalId is required: a string.")
	}
	word, ok := rawjson.Text(f.Vote)
	if ok {
		v.Vote, ok = parseVote(word)
	}
	if !ok {
		return v, refuse.Param("vote", "vote is required: yes, no or abstain.")
	}
	if v.Comment, ok = rawjson.Text(f.Comment); !ok && !rawjson.Absent(f.Comment) {
		return v, commentWrong()
	}
	return v, v.check()
}

// ActionForm holds the members of the body of POST /hive/actions, like VoteForm.
type ActionForm struct{ SourceAgentID, TargetTokenID, ActionType, ActionPayload, ReasonCode json.RawMessage }

// Parse reads the members in the order of the table and refuses the first wrong one.
func (f ActionForm) Parse() (Act, *refuse.Refusal) {
	var a Act
	if a.Source, _ = rawjson.Text(f.SourceAgentID); a.Source == "" {
		return a, sourceWrong()
	}
	if !readID(f.TargetTokenID, &a.TokenID) {
		return a, refuse.Param("targetTokenId", "targetTokenId is required: an integer, 0 for no token.")
	}
	word, ok := rawjson.Text(f.ActionType)
	if ok {
		a.Type, ok = parseActionType(word)
	}
	if !ok {
		return a, typeWrong()
	}
	if !rawjson.Absent(f.ActionPayload) {
		a.Payload = compact(string(f.ActionPayload))
	}
	if rej := a.checkPayload(); rej != nil {
		return a, rej
	}
	if a.Reason, ok = rawjson.Text(f.ReasonCode); !ok {
		return a, reasonWrong()
	}
	return a, a.check()
}

// ProposalForm holds the members of the body of POST /hive/proposals, like VoteForm.
type ProposalForm struct{ TokenID, Topic, Payload, Proposer, Urgent json.RawMessage }

// Parse reads the members in the order of the table and refuses the first wrong one.
func (f ProposalForm) Parse() (Propose, *refuse.Refusal) {
	var p Propose
	if !readID(f.TokenID, &p.TokenID) {
		return p, refuse.Param("tokenId", "tokenId is required: an integer.")
	}
	word, ok := rawjson.Text(f.Topic)
	if ok {
		p.Topic, ok = parseTopic(word)
	}
	if !ok {
		return p, topicWrong()
	}
	p.Payload = compact(string(f.Payload))
	if rej := p.checkPayload(); rej != nil {
		return p, rej
	}
	if p.Proposer, ok = rawjson.Text(f.Proposer); !ok {
		return p, proposerWrong()
	}
	if rej := p.check(); rej != nil {
		return p, rej
	}
	switch string(f.Urgent) {
	case "true":
		p.Urgent = true
	case "", "null", "false":
	default:
		return p, refuse.Param("urgent", "urgent is true or false.")
	}
	return p, nil
}

// readID reads a JSON integer of at least 0 into p. It returns false for anything else.
func readID(raw json.RawMessage, p *uint64) bool {
	if len(raw) == 0 || len(raw) > 19 {
		return false
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	*p = n
	return err == nil
}
