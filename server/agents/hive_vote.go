package agents

import (
	"encoding/json"

	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
)

var voteForm = body.Of(
	raw("proposalId", edge.KindText,
		func(f *hive.VoteForm) *json.RawMessage { return &f.ProposalID }).As(edge.Field{Required: true}),
	raw("vote", edge.KindWord, func(f *hive.VoteForm) *json.RawMessage { return &f.Vote }).
		As(edge.Field{Required: true, Words: []string{"yes", "no", "abstain"}}),
	raw("comment", edge.KindText, func(f *hive.VoteForm) *json.RawMessage { return &f.Comment }).
		As(edge.Field{Range: []int64{0, hive.MaxComment}}),
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
	if cast.User, ok = body.ParseUUID(c.Principal.UserID); !ok {
		panic("BUG: server: a caller without a user id")
	}
	cast.TokenID, cast.Level, cast.Account = id, u.level, u.address
	cast.Holdings, cast.Owned = v.ledger.Holding(u.address, t).Big(), v.ledger.Owned(u.address)
	res, verr := s.DoHive(cast)
	if verr != nil {
		return refusalOf(verr, "the votes of the proposal")
	}
	return sendDecimals(c, newVoteAnswer(&res.Vote))
}
