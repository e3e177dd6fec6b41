package life

import (
	"fmt"

	"tickhive/hive"
)

// propose opens a proposal about a token's worker, now and then an urgent one.
func (t *turn) propose() {
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
	t.say(p)
}

// voters is how many residents a slot of voting hears at most.
const voters = 3

// vote lets residents vote on one of the open proposals. Who has voted before is refused.
func (t *turn) vote() {
	active := hive.ProposalActive
	q := hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 100}, Status: &active}
	list := t.hive.Proposals(q)
	if len(list.Items) == 0 {
		return
	}
	p := &list.Items[t.below(int64(len(list.Items)))]
	token, ok := t.ledger.ByNFT(p.TokenID)
	if !ok {
		return
	}
	// What people make of a proposal is its own: most find friends, some do not.
	mood := newRNG(t.opt.Seed, uint64(p.CreatedAt))
	yes := pick(&mood, []int64{85, 75, 70, 40})
	for range voters {
		who := t.resident()
		held := t.ledger.Holding(who.Address, token)
		if who.Level < hive.MinLevel || held.IsZero() {
			continue
		}
		v := hive.CastVote{
			TokenID: p.TokenID, ProposalID: p.ProposalID, User: who.User, Level: who.Level,
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
		t.say(v)
	}
}
