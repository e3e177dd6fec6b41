package agents

import (
	"encoding/json"

	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/server/body"
	"tickhive/server/edge"
)

var (
	proposalForm = body.Of(
		raw("tokenId", edge.KindInt64, func(f *hive.ProposalForm) *json.RawMessage { return &f.TokenID }).
			As(edge.Field{Required: true, Range: []int64{0}}),
		raw("topic", edge.KindText,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Topic }).As(edge.Field{Required: true}),
		raw("payload", edge.KindObject,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Payload }).As(edge.Field{Required: true}),
		raw("proposer", edge.KindText,
			func(f *hive.ProposalForm) *json.RawMessage { return &f.Proposer }).As(edge.Field{Required: true}),
		raw("urgent", edge.KindBoolean, func(f *hive.ProposalForm) *json.RawMessage { return &f.Urgent }).
			As(edge.Field{Default: false}),
	)
	actionForm = body.Of(
		raw("sourceAgentId", edge.KindText,
			func(f *hive.ActionForm) *json.RawMessage { return &f.SourceAgentID }).As(edge.Field{Required: true}),
		raw("targetTokenId", edge.KindInt64, func(f *hive.ActionForm) *json.RawMessage { return &f.TargetTokenID }).
			As(edge.Field{Required: true, Range: []int64{0}}),
		raw("actionType", edge.KindWord, func(f *hive.ActionForm) *json.RawMessage { return &f.ActionType }).
			As(edge.Field{Required: true, Words: actionTypeNames}),
		raw("actionPayload", edge.KindObject, func(f *hive.ActionForm) *json.RawMessage { return &f.ActionPayload }),
		raw("reasonCode", edge.KindText,
			func(f *hive.ActionForm) *json.RawMessage { return &f.ReasonCode }).As(edge.Field{Required: true}),
	)
)

// internalPropose serves POST /hive/proposals.
func (s *Service) internalPropose(c *edge.Ctx) *refuse.Refusal {
	var form hive.ProposalForm
	if err := proposalForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cmd, rej := form.Parse()
	if rej != nil {
		return rej
	}
	ledger := s.views().ledger
	if t, known := ledger.ByNFT(cmd.TokenID); known {
		for account, amount := range ledger.Holders(t, launchpad.One) {
			cmd.Holders = append(cmd.Holders, hive.Holder{Account: account, Holdings: amount.Big()})
		}
	}
	res, cerr := s.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the proposals of the worker")
	}
	row := newProposalRow(&res.Proposal)
	return sendDecimals(c, &row)
}

// internalAct serves POST /hive/actions.
func (s *Service) internalAct(c *edge.Ctx) *refuse.Refusal {
	var form hive.ActionForm
	if err := actionForm.Decode(c.PostBody(), &form); err != nil {
		return err
	}
	cmd, rej := form.Parse()
	if rej != nil {
		return rej
	}
	res, cerr := s.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the action log")
	}
	return sendFree(c, &logEntry{newLogRow(&res.Entry), res.Entry.Prev.String()})
}
