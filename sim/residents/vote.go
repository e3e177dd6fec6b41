package residents

import (
	"fmt"

	"tickhive/hive"
	"tickhive/launchpad"
)

// propose opens a proposal about a token's worker; some of the proposals are urgent.
func (t *decisions) propose() {
	token := t.remembered()
	if token == nil || token.Empty() {
		return
	}
	p := hive.Propose{TokenID: token.AgentNFT(), Urgent: t.oneIn(2), Proposer: "token-holders"}
	switch t.below(3) {
	case 0:
		p.Topic, p.Payload = hive.SlippageCap, t.slippage()
	case 1:
		p.Topic, p.Payload = hive.MEVProtection, fmt.Sprintf(`{"mevProtection":%q}`, pick(&t.rng, protections))
	default:
		p.Topic = hive.SignalSubscriptions
		p.Payload = fmt.Sprintf(`{"signalSubscriptions":["scout-token-quality",%q]}`, pick(&t.rng, feeds))
	}
	if t.oneIn(3) {
		p.Proposer = hive.Agent{Tier: hive.Scout, N: uint32(t.between(1, scouts))}.String()
	}
	for account, amount := range t.ledger.Holders(token, launchpad.One) {
		p.Holders = append(p.Holders, hive.Holder{Account: account, Holdings: amount.Big()})
	}
	t.addHive(p)
}

// votingPart is the part of a proposal's duration, in per cent, within which residents vote.
const votingPart = 85

// votes casts the votes of this step. A resident's time of voting on a proposal is a function of the two alone,
// so no resident votes twice.
func (t *decisions) votes(sinceNs int64) {
	active := hive.ProposalActive
	list := t.hive.Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 100}, Status: &active})
	for i := range list.Items {
		p := &list.Items[i]
		token, ok := t.ledger.ByNFT(p.TokenID())
		if !ok {
			continue
		}
		// Each proposal has its own popularity; most find support.
		mood := newRNG(t.opt.Seed, uint64(p.CreatedSec)<<24^p.TokenID())
		yes := pick(&mood, []int64{90, 80, 75, 40})
		for j := range t.opt.Residents {
			moment := p.CreatedSec*secondNs + 1 + mood.below((p.ClosesSec-p.CreatedSec)*secondNs*votingPart/100)
			if sinceNs < moment && moment <= t.nowNs {
				t.vote(&t.opt.Residents[j], p, token, yes)
			}
		}
	}
}

// vote casts the vote of one resident, if they may vote.
func (t *decisions) vote(who *Resident, p *hive.ProposalInfo, token *launchpad.Token, yes int64) {
	held := t.ledger.Holding(who.Address, token)
	if who.Level < hive.MinLevel || held.Less(launchpad.One) {
		return
	}
	v := hive.CastVote{
		TokenID: p.TokenID(), ProposalID: p.ID(), User: who.User, Account: who.Address, Level: who.Level,
		Holdings: held.Big(), Owned: t.ledger.Owned(who.Address), Vote: hive.No,
	}
	switch n := t.below(100); {
	case n < yes:
		v.Vote = hive.Yes
	case n > 94:
		v.Vote = hive.Abstain
	}
	if t.oneIn(3) {
		v.Comment = pick(&t.rng, comments[v.Vote])
	}
	t.addHive(v)
}
