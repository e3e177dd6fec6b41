package residents

import (
	"fmt"

	"tickhive/hive"
	"tickhive/launchpad"
)

// act makes an agent act on a token: mostly workers, sometimes scouts, rarely queens.
func (d *decisions) act() {
	token := d.remembered()
	if token == nil {
		return
	}
	a := hive.Act{TokenID: token.AgentNFT()}
	switch n := d.below(100); {
	case n < 55:
		d.work(&a, token)
	case n < 85:
		d.scout(&a)
	default:
		d.rule(&a)
	}
	d.addHive(a)
}

func (d *decisions) work(a *hive.Act, token *launchpad.Token) {
	a.Source = hive.Agent{Tier: hive.WorkerTier, N: token.No}.String()
	switch n := d.below(10); {
	case n < 6:
		a.Type, a.Reason = hive.Observation, pick(&d.rng, seen)
		a.Payload = fmt.Sprintf(`{"holders":%d,"boosted":%t}`, token.Holders, token.Boosted)
	case n < 9:
		a.Type, a.Reason = hive.RiskScore, pick(&d.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, d.between(5, 95))
	default:
		a.Type, a.Reason = hive.ParamUpdate, "adaptive_slippage"
		a.Payload = d.slippage()
	}
}

func (d *decisions) scout(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Scout, N: uint32(d.between(1, scouts))}.String()
	switch n := d.below(20); {
	case n < 10:
		a.Type, a.Reason = hive.Signal, pick(&d.rng, patterns)
		a.Payload = fmt.Sprintf(`{"strength":%d}`, d.between(1, 100))
	case n < 14:
		a.Type, a.Reason = hive.Flag, pick(&d.rng, alarms)
		a.Payload = fmt.Sprintf(`{"severity":%q}`, pick(&d.rng, severities))
	case n < 19:
		a.Type, a.Reason = hive.RiskScore, pick(&d.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, d.between(5, 95))
	default:
		a.Type, a.Reason, a.Payload = hive.Override, "scout_risk_override", d.slippage()
	}
}

func (d *decisions) rule(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Queen, N: uint32(d.between(1, queens))}.String()
	if lifted := d.suspended(); lifted != 0 && d.oneIn(2) {
		a.TokenID, a.Type, a.Reason, a.Payload = lifted, hive.Suspension, "review_passed", `{"suspended":false}`
		return
	}
	switch n := d.below(20); {
	case n < 7:
		a.Type, a.Reason = hive.Directive, pick(&d.rng, goals)
	case n < 12:
		a.Type, a.Reason = hive.BudgetAllocation, "weekly_budget"
		a.Payload = fmt.Sprintf(`{"budget":%d,"currency":"USBI"}`, 100*d.between(1, 50))
	case n < 15:
		a.Type, a.Reason = hive.ConfigUpdate, "policy_update"
		a.Payload = fmt.Sprintf(`{"mevProtection":%q}`, pick(&d.rng, protections))
	case n < 19:
		a.Type, a.Reason, a.Payload = hive.Override, "queen_risk_override", d.slippage()
	default:
		a.Type, a.Reason, a.Payload = hive.Suspension, "anomalous_flow", `{"suspended":true}`
	}
}

// suspended returns the token of a suspended worker, 0 when there is none.
func (d *decisions) suspended() uint64 {
	status := hive.Suspended
	list := d.hive.Workers(d.nowNs, hive.WorkerQuery{Page: hive.Page{Page: 1, PageSize: 1}, Status: &status})
	if len(list.Items) == 0 {
		return 0
	}
	return list.Items[0].TokenID
}

func (d *decisions) slippage() string {
	return fmt.Sprintf(`{"slippageCapBps":%d}`, 5*d.between(hive.MinSlippageBps/5, hive.MaxSlippageBps/5))
}
