package hive

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

func TestAWorkerIsCreatedActiveWithDefaults(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	d := r.worker(token)
	if token != 10001 || d.ID != 1 || d.TokenID != 10001 || d.Status != Active || d.DeployedAt != startSec ||
		d.LastActiveAt != startSec || d.Token != [20]byte{0: 0xee, 19: 1} {
		t.Fatalf("%+v", d)
	}
	if d.Config.SlippageCapBps != 100 || d.Config.MEV != MEVStandard ||
		!slices.Equal(d.Config.Signals, []string{"scout-token-quality", "scout-trading-pattern"}) {
		t.Fatalf("%+v", d.Config)
	}
	if d.TotalActions != 0 || d.LastOverrideAt != 0 || d.OverridingTier != NoTier || d.ActiveProposals != 0 ||
		d.RecentlyClosed != 0 ||
		len(r.s.View().Recent(token)) != 0 {
		t.Fatalf("%+v", d)
	}
	for _, id := range []uint64{0, 1, 10000, 10002, 1 << 62} {
		if _, ok := r.s.View().Worker(r.now, id); ok {
			t.Errorf("token %d has a worker", id)
		}
	}
}

func TestIdleComesAtTheExactSecondOfTheLastActivityPlusSevenDays(t *testing.T) {
	for name, do := range map[string]func(r *rig, token uint64){
		"spawn":  func(*rig, uint64) {},
		"swap":   func(r *rig, _ uint64) { f := fact(1, startSec); f.SwapSec = r.now / secondNs; r.fold(f) },
		"signal": func(r *rig, token uint64) { r.must(act("scout-1", token, Signal, "")) },
		"flag":   func(r *rig, token uint64) { r.must(act("queen-1", token, Flag, "")) },
		"own":    func(r *rig, _ uint64) { r.must(act("worker-1", 0, Observation, "")) },
		"vote": func(r *rig, token uint64) {
			id := r.open(Propose{
				TokenID: token, Topic: SlippageCap, Payload: `{"slippageCapBps":60}`,
				Proposer: "queen-1",
			})
			r.must(vote(token, id, 1, No))
		},
	} {
		r := newRig(t)
		token := r.spawn(1)
		last := int64(startSec)
		if name != "spawn" {
			r.toNs(start + 3*daySec*secondNs + 600_000_000)
			do(r, token)
			last += 3 * daySec
		}
		if got := r.worker(token).LastActiveAt; got != last {
			t.Fatalf("%s: lastActiveAt %d, want %d", name, got, last)
		}
		r.toNs((last+weekSec)*secondNs - 1)
		r.status(token, "active")
		// A restart that sleeps through it.
		again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
		if err != nil {
			t.Fatal(err)
		}
		r.s = again
		r.status(token, "active")
		r.toNs((last + weekSec) * secondNs)
		r.status(token, "idle")
		r.check()
		r.toNs((last + weekSec + 5) * secondNs)
		r.must(act("scout-2", token, Signal, ""))
		r.status(token, "active")
		r.check()
	}
}

func TestOtherActionsOnATokenAreNoActivity(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.to(startSec + 5*daySec)
	for _, typ := range []ActionType{
		ConfigUpdate, ParamUpdate, Override, Directive, BudgetAllocation, Observation,
		RiskScore, ProposalCreated,
	} {
		r.must(act("queen-1", token, typ, ""))
	}
	r.to(startSec + weekSec)
	r.status(token, "idle")
}

func TestARunningBoostIsActivityUpToItsEnd(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	f := fact(1, startSec)
	f.BoostSec = startSec + 30*daySec
	r.fold(f)
	r.to(startSec + 20*daySec)
	r.status(token, "active")
	if got := r.worker(token).LastActiveAt; got != startSec+20*daySec {
		t.Fatalf("lastActiveAt %d while the boost runs", got)
	}
	if o := r.s.View().Overview(r.now); o.LastActivityAt != startSec+20*daySec {
		t.Fatalf("%+v", o)
	}
	r.toNs((startSec+37*daySec)*secondNs - 1)
	r.status(token, "active")
	if got := r.worker(token).LastActiveAt; got != startSec+30*daySec {
		t.Fatalf("lastActiveAt %d after the boost", got)
	}
	r.to(startSec + 37*daySec)
	r.status(token, "idle")
	r.check()
}

func TestSuspensionHoldsUntilAQueenEndsIt(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.must(act("queen-2", token, Suspension, `{"suspended": true}`))
	r.status(token, "suspended")
	r.to(startSec + weekSec)
	r.status(token, "suspended")
	r.must(act("queen-1", token, Suspension, `{"suspended":false}`))
	r.status(token, "idle")
	r.must(act("queen-1", token, Suspension, `{"suspended":true}`))
	r.must(act("scout-1", token, Signal, ""))
	r.status(token, "suspended")
	r.must(act("queen-1", token, Suspension, `{"suspended":false}`))
	r.status(token, "active")
	if o := r.s.View().Overview(r.now); o.ActiveWorkers != 1 {
		t.Fatalf("%+v", o)
	}
	r.check()
}

func TestWorkersAreListedByIdWithFilters(t *testing.T) {
	r := newRig(t)
	for n := uint32(1); n <= 45; n++ {
		r.spawn(n)
	}
	r.to(startSec + daySec)
	for n := uint32(3); n <= 45; n += 3 {
		r.must(act("queen-1", firstAgentNFT-1+uint64(n), Suspension, `{"suspended":true}`))
	}
	suspended := Suspended
	l := r.s.View().Workers(r.now, WorkerQuery{Page: Page{Page: 2, PageSize: 10}, Status: &suspended})
	if l.TotalItems != 15 || len(l.Items) != 5 || l.Items[0].ID != 33 || l.Items[4].ID != 45 {
		t.Fatalf("%+v", l)
	}
	l = r.s.View().Workers(r.now, WorkerQuery{Page: Page{Page: 3, PageSize: 20}})
	if l.TotalItems != 45 || len(l.Items) != 5 || l.Items[0].ID != 41 || l.Items[0].TokenID != 10041 {
		t.Fatalf("%+v", l)
	}
	addr, active := fact(6, 0).Token, Active
	l = r.s.View().Workers(r.now, WorkerQuery{Page: Page{Page: 1, PageSize: 20}, Token: &addr})
	if l.TotalItems != 1 || l.Items[0].ID != 6 || l.Items[0].Status != Suspended ||
		l.Items[0].Config.MEV != MEVStandard {
		t.Fatalf("%+v", l)
	}
	for _, q := range []WorkerQuery{
		{Page: Page{Page: 2, PageSize: 20}, Token: &addr},
		{Page: Page{Page: 1, PageSize: 20}, Token: &addr, Status: &active},
		{Page: Page{Page: 1, PageSize: 20}, Token: &[20]byte{1}},
		{Page: Page{Page: 1 << 60, PageSize: 100}},
	} {
		if l := r.s.View().Workers(r.now, q); len(l.Items) != 0 {
			t.Errorf("%+v: %+v", q, l)
		}
	}
	for _, p := range []Page{{PageSize: 1}, {Page: 1}, {Page: 1, PageSize: 101}, {Page: -1, PageSize: 5}} {
		if rej := p.Check(); rej == nil || rej.Code != refuse.InvalidParam {
			t.Errorf("%+v: %v", p, rej)
		}
	}
}

func TestOverviewWindowsAreExactToTheSecond(t *testing.T) {
	r := newRig(t)
	token := r.spawn(1)
	r.toNs(start + 900_000_000)
	r.must(act("queen-1", token, Override, `{}`))
	r.must(act("worker-1", token, Observation, `{}`))
	r.to(startSec + 3600)
	r.spawn(2)
	r.must(act("scout-1", 0, Observation, `{}`))
	eco := func(actions, overrides, day, week, own int64) {
		t.Helper()
		r.due()
		o := r.s.View().Overview(r.now)
		want := Overview{
			Tokens: 2, Queens: 3, Scouts: 2, ActiveWorkers: o.ActiveWorkers, LastActivityAt: o.LastActivityAt,
			Spawned24h: day, Spawned7d: week, Actions24h: actions, Overrides24h: overrides,
		}
		if o != want {
			t.Fatalf("at +%d: %+v, want %+v", r.now-start, o, want)
		}
		l := r.s.View().Workers(r.now, WorkerQuery{Page: Page{Page: 1, PageSize: 1}})
		if l.Items[0].ActionCount24h != own {
			t.Fatalf("actionCount24h %d, want %d", l.Items[0].ActionCount24h, own)
		}
	}
	eco(3, 1, 2, 2, 1)
	r.toNs((startSec+daySec)*secondNs - 1)
	eco(3, 1, 2, 2, 1)
	r.toNs((startSec + daySec) * secondNs)
	eco(1, 0, 1, 2, 0)
	r.toNs((startSec + weekSec) * secondNs)
	eco(0, 0, 0, 1, 0)
	r.toNs((startSec + weekSec + 3600) * secondNs)
	eco(0, 0, 0, 0, 0)
	if d := r.worker(token); d.TotalActions != 1 {
		t.Fatalf("%+v", d)
	}
}
