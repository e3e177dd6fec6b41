package residents

import (
	"fmt"

	"tickhive/hive"
	"tickhive/launchpad"
)

// act makes an agent act on a token: mostly workers, sometimes scouts, rarely queens.
func (t *decisions) act() {
	token := t.remembered()
	if token == nil {
		return
	}
	a := hive.Act{TokenID: token.AgentNFT()}
	switch n := t.below(100); {
	case n < 55:
		t.work(&a, token)
	case n < 85:
		t.scout(&a)
	default:
		t.rule(&a)
	}
	t.addHive(a)
}

func (t *decisions) work(a *hive.Act, token *launchpad.Token) {
	a.Source = hive.Agent{Tier: hive.WorkerTier, N: token.No}.String()
	switch n := t.below(10); {
	case n < 6:
		a.Type, a.Reason = hive.Observation, pick(&t.rng, seen)
		a.Payload = fmt.Sprintf(`{"holders":%d,"boosted":%t}`, token.Holders, token.Boosted)
	case n < 9:
		a.Type, a.Reason = hive.RiskScore, pick(&t.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, t.between(5, 95))
	default:
		a.Type, a.Reason = hive.ParamUpdate, "adaptive_slippage"
		a.Payload = t.slippage()
	}
}

func (t *decisions) scout(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Scout, N: uint32(t.between(1, scouts))}.String()
	switch n := t.below(20); {
	case n < 10:
		a.Type, a.Reason = hive.Signal, pick(&t.rng, patterns)
		a.Payload = fmt.Sprintf(`{"strength":%d}`, t.between(1, 100))
	case n < 14:
		a.Type, a.Reason = hive.Flag, pick(&t.rng, alarms)
		a.Payload = fmt.Sprintf(`{"severity":%q}`, pick(&t.rng, severities))
	case n < 19:
		a.Type, a.Reason = hive.RiskScore, pick(&t.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, t.between(5, 95))
	default:
		a.Type, a.Reason, a.Payload = hive.Override, "scout_risk_override", t.slippage()
	}
}

func (t *decisions) rule(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Queen, N: uint32(t.between(1, queens))}.String()
	if lifted := t.suspended(); lifted != 0 && t.oneIn(2) {
		a.TokenID, a.Type, a.Reason, a.Payload = lifted, hive.Suspension, "review_passed", `{"suspended":false}`
		return
	}
	switch n := t.below(20); {
	case n < 7:
		a.Type, a.Reason = hive.Directive, pick(&t.rng, goals)
	case n < 12:
		a.Type, a.Reason = hive.BudgetAllocation, "weekly_budget"
		a.Payload = fmt.Sprintf(`{"budget":%d,"currency":"USBI"}`, 100*t.between(1, 50))
	case n < 15:
		a.Type, a.Reason = hive.ConfigUpdate, "policy_update"
		a.Payload = fmt.Sprintf(`{"mevProtection":%q}`, pick(&t.rng, protections))
	case n < 19:
		a.Type, a.Reason, a.Payload = hive.Override, "queen_risk_override", t.slippage()
	default:
		a.Type, a.Reason, a.Payload = hive.Suspension, "anomalous_flow", `{"suspended":true}`
	}
}

// suspended returns the token of a suspended worker, 0 when there is none.
func (t *decisions) suspended() uint64 {
	status := hive.Suspended
	list := t.hive.Workers(t.nowNs, hive.WorkerQuery{Page: hive.Page{Page: 1, PageSize: 1}, Status: &status})
	if len(list.Items) == 0 {
		return 0
	}
	return list.Items[0].TokenID
}

func (t *decisions) slippage() string {
	return fmt.Sprintf(`{"slippageCapBps":%d}`, 5*t.between(hive.MinSlippageBps/5, hive.MaxSlippageBps/5))
}
