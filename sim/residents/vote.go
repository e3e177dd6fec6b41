package residents

import (
	"fmt"

	"tickhive/hive"
	"tickhive/launchpad"
)

// propose opens a proposal about a token's worker; some of the proposals are urgent.
func (d *decisions) propose() {
	token := d.remembered()
	if token == nil || token.Empty() {
		return
	}
	p := hive.Propose{TokenID: token.AgentNFT(), Urgent: d.oneIn(2), Proposer: "token-holders"}
	switch d.below(3) {
	case 0:
		p.Topic, p.Payload = hive.SlippageCap, d.slippage()
	case 1:
		p.Topic, p.Payload = hive.MEVProtection, fmt.Sprintf(`{"mevProtection":%q}`, pick(&d.rng, protections))
	default:
		p.Topic = hive.SignalSubscriptions
		p.Payload = fmt.Sprintf(`{"signalSubscriptions":["scout-token-quality",%q]}`, pick(&d.rng, feeds))
	}
	if d.oneIn(3) {
		p.Proposer = hive.Agent{Tier: hive.Scout, N: uint32(d.between(1, scouts))}.String()
	}
	for account, amount := range d.ledger.Holders(token, launchpad.One) {
		p.Holders = append(p.Holders, hive.Holder{Account: account, Holdings: amount.Big()})
	}
	d.addHive(p)
}

// votingPart is the part of a proposal's duration, in per cent, within which residents vote.
const votingPart = 85

// votes casts the votes of this step. A resident's time of voting on a proposal is a function of the two alone,
// so no resident votes twice.
func (d *decisions) votes(sinceNs int64) {
	active := hive.ProposalActive
	list := d.hive.Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 100}, Status: &active})
	for i := range list.Items {
		p := &list.Items[i]
		token, ok := d.ledger.ByNFT(p.TokenID())
		if !ok {
			continue
		}
		// Each proposal has its own popularity; most find support.
		mood := newRNG(d.opt.Seed, uint64(p.CreatedSec)<<24^p.TokenID())
		yes := pick(&mood, []int64{90, 80, 75, 40})
		for j := range d.opt.Residents {
			moment := p.CreatedSec*secondNs + 1 + mood.below((p.ClosesSec-p.CreatedSec)*secondNs*votingPart/100)
			if sinceNs < moment && moment <= d.nowNs {
				d.vote(&d.opt.Residents[j], p, token, yes)
			}
		}
	}
}

// vote casts the vote of one resident, if they may vote.
func (d *decisions) vote(who *Resident, p *hive.ProposalInfo, token *launchpad.Token, yes int64) {
	held := d.ledger.Holding(who.Address, token)
	if who.Level < hive.MinLevel || held.Less(launchpad.One) {
		return
	}
	v := hive.CastVote{
		TokenID: p.TokenID(), ProposalID: p.ID(), User: who.User, Account: who.Address, Level: who.Level,
		Holdings: held.Big(), Owned: d.ledger.Owned(who.Address), Vote: hive.No,
	}
	switch n := d.below(100); {
	case n < yes:
		v.Vote = hive.Yes
	case n > 94:
		v.Vote = hive.Abstain
	}
	if d.oneIn(3) {
		v.Comment = pick(&d.rng, comments[v.Vote])
	}
	d.addHive(v)
}
