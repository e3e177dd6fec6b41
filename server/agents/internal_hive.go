package agents

import (
	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// internalPropose serves POST /hive/proposals.
func (d *Service) internalPropose(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "tokenId", "topic", "payload", "proposer", "urgent")
	if err != nil {
		return err
	}
	cmd, rej := hive.ProposalForm{TokenID: form[0], Topic: form[1], Payload: form[2],
		Proposer: form[3], Urgent: form[4]}.Parse()
	if rej != nil {
		return rej
	}
	res, cerr := d.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the proposals of the worker")
	}
	row := newProposalRow(&res.Proposal)
	return sendDecimals(c, &row)
}

// internalAct serves POST /hive/actions.
func (d *Service) internalAct(c *edge.Ctx) *refuse.Refusal {
	form, err := readForm(c.PostBody(), "sourceAgentId", "targetTokenId", "actionType", "actionPayload", "reasonCode")
	if err != nil {
		return err
	}
	cmd, rej := hive.ActionForm{
		SourceAgentID: form[0], TargetTokenID: form[1], ActionType: form[2],
		ActionPayload: form[3], ReasonCode: form[4],
	}.Parse()
	if rej != nil {
		return rej
	}
	res, cerr := d.DoHive(cmd)
	if cerr != nil {
		return refusalOf(cerr, "the action log")
	}
	return sendFree(c, &logEntry{newLogRow(&res.Entry), res.Entry.Prev.String()})
}
