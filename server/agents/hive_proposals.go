package agents

import (
	"tickhive/hive"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

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
