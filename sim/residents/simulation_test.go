package residents_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/sim/residents"
)

const genesisNs = int64(1_767_225_600_000_000_000)

// place holds a launchpad and a hive for a Simulation.
type place struct {
	t      testing.TB
	nowNs  int64
	state  *machine.State
	sim    *residents.Simulation
	lastNs int64

	actions, refused int
	reasons          map[refuse.Code]int
}

func newPlace(t testing.TB, seed uint64, busyNs int64) *place {
	t.Helper()
	p := &place{
		t: t, nowNs: genesisNs, lastNs: genesisNs, reasons: map[refuse.Code]int{},
		state: machine.New(machine.Options{}),
	}
	if _, err := p.do(genesisNs, residents.Action{Ledger: launchpad.Begin{Seed: seed}}); err != nil {
		t.Fatal(err)
	}
	begin := hive.Begin{Seed: seed, GenesisNs: genesisNs}
	if _, err := p.do(genesisNs, residents.Action{Hive: begin}); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.sim, err = residents.New(residents.Options{
		Seed: seed, BusyNs: busyNs, FullNs: math.MaxInt64,
		Residents: residents.Builtin(seed),
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// do applies a command at a time.
func (p *place) do(ns int64, cmd residents.Action) (*machine.Result, error) {
	if cmd.Ledger != nil {
		return p.apply(ns, machine.OfLaunchpad(cmd.Ledger))
	}
	return p.apply(ns, machine.OfHive(cmd.Hive))
}

func (p *place) apply(ns int64, rec *engine.ControlRecord) (*machine.Result, error) {
	out, err := p.state.ApplyOther(&engine.Command{Kind: engine.Other, TimeNs: ns, Control: rec})
	if err != nil {
		p.t.Fatal(err)
	}
	return out, out.Refused
}

// due carries out what is due up to a time.
func (p *place) due(ns int64) {
	p.t.Helper()
	for next := p.state.NextNs(); next != 0 && next <= ns; next = p.state.NextNs() {
		if _, err := p.apply(next, p.state.DueRecord()); err != nil {
			p.t.Fatal(err)
		}
	}
}

// until runs the steps up to ns; with restart, it makes a new Simulation before every step, as restarts
// do.
func (p *place) until(ns int64, restart func() *residents.Simulation) {
	p.t.Helper()
	for next := p.sim.NextNs(genesisNs, p.lastNs); next <= ns; next = p.sim.NextNs(genesisNs, p.lastNs) {
		if next <= p.lastNs {
			p.t.Fatalf("step %d is not after %d", next, p.lastNs)
		}
		p.lastNs = next
		p.nowNs = next
		if restart != nil {
			p.sim = restart()
		}
		p.due(next)
		for _, s := range p.sim.Act(next, p.state.Ledger.View(), p.state.Hive.View()) {
			p.carry(s)
		}
	}
	p.nowNs = ns
	p.due(ns)
}

func (p *place) carry(s residents.Action) {
	p.t.Helper()
	p.actions++
	p.due(p.nowNs)
	out, err := p.do(p.nowNs, s)
	if err == nil && out.Ledger.Refused != nil {
		err = out.Ledger.Refused
	}
	if err == nil {
		return
	}
	p.refused++
	var refused *refuse.Refusal
	if !errors.As(err, &refused) {
		p.t.Fatal(err)
	}
	p.reasons[refused.Code]++
	if refused.Code == refuse.InvalidParam || refused.Code == refuse.InvalidSymbol {
		p.t.Fatalf("an action that no client could take: %+v %+v: %v", s.Ledger, s.Hive, err)
	}
}

// text returns all observable state of launchpad and hive.
func (p *place) text() string {
	return fmt.Sprintf("%d records, %d entries, head %s, totals %v",
		p.state.Ledger.View().Seq(), p.state.Hive.View().Entries(), p.state.Hive.View().Head(),
		p.state.Ledger.View().Totals())
}

const day = int64(24 * time.Hour)

func TestADemoThatBeginsHasEverythingToLookAt(t *testing.T) {
	end := genesisNs + 9*day
	p := newPlace(t, 1, end-25*int64(time.Hour))
	start := time.Now()
	p.until(end, nil)
	took := time.Since(start)
	v, h := p.state.Ledger.View(), p.state.Hive.View()
	withPool, traded, boosted, holders := 0, 0, 0, int64(0)
	for page := int64(1); page <= 3; page++ {
		for _, it := range v.Tokens(end, launchpad.ListQuery{Page: page, PageSize: 100}).Items {
			if !it.TVL.IsZero() {
				withPool++
			}
			if !it.Volume.IsZero() {
				traded++
			}
			if it.Boosted {
				boosted++
			}
			holders += it.Holders
		}
	}
	count := func(s hive.ProposalStatus) int64 {
		return h.Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 1}, Status: &s}).TotalItems
	}
	workers := func(s hive.Status) int64 {
		return h.Workers(end, hive.WorkerQuery{Page: hive.Page{Page: 1, PageSize: 1}, Status: &s}).TotalItems
	}
	active, passed, rejected := count(hive.ProposalActive), count(hive.ProposalPassed), count(hive.ProposalRejected)
	t.Logf("%v: %d actions, %d refused %v; %d tokens, %d with a pool, %d traded, %d boosted, %d holders; "+
		"%d entries; proposals %d active, %d passed, %d rejected; workers %d active, %d idle, %d suspended",
		took, p.actions, p.refused, p.reasons, v.Len(), withPool, traded, boosted, holders, h.Entries(), active, passed,
		rejected,
		workers(hive.Active), workers(hive.Idle), workers(hive.Suspended))
	o := h.Overview(end)
	for what, ok := range map[string]bool{
		"20 tokens with liquidity":     withPool >= 20,
		"12 traded in a day":           traded >= 12,
		"running boosts":               boosted >= 2,
		"4 holders a token":            holders >= int64(4*v.Len()),
		"active proposals":             active >= 2,
		"passed proposals":             passed >= 3,
		"rejected proposals":           rejected >= 1,
		"idle workers":                 workers(hive.Idle) >= 1,
		"active workers":               workers(hive.Active) >= 15,
		"actions today":                o.Actions24h >= 100,
		"tokens of today":              o.Spawned24h >= 1,
		"few refusals":                 p.refused*4 < p.actions,
		"seven days know more":         o.Spawned7d > o.Spawned24h,
		"fewer actions than a backlog": p.actions < 10_000,
	} {
		if !ok {
			t.Errorf("missing: %s", what)
		}
	}
}

func TestTheSameSeedTakesTheSameStepsAndARestartChangesNothing(t *testing.T) {
	end := genesisNs + 2*day
	a, b, c := newPlace(t, 7, 0), newPlace(t, 7, 0), newPlace(t, 8, 0)
	a.until(end, nil)
	restart := func() *residents.Simulation {
		l, err := residents.New(residents.Options{Seed: 7, FullNs: math.MaxInt64, Residents: residents.Builtin(7)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for at := genesisNs; at < end; at += 7_777 * int64(time.Second) {
		b.until(at, restart)
	}
	b.until(end, restart)
	c.until(end, nil)
	if a.text() != b.text() {
		t.Errorf("one run, and one with a restart before every step:\n%s\n%s", a.text(), b.text())
	}
	if a.text() == c.text() {
		t.Errorf("two seeds, one run: %s", a.text())
	}
	for _, p := range []*place{a, b, c} {
		if err := errors.Join(p.state.Ledger.Check(), p.state.Hive.Check()); err != nil {
			t.Error(err)
		}
	}
}

// While people may be looking, something happens every half minute, and rare events stay rare.
func TestTheLivePaceIsLively(t *testing.T) {
	p := newPlace(t, 5, 0)
	p.until(genesisNs+day, nil)
	all := hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 1}}
	calm, calmActions := p.state.Hive.View().Proposals(all).TotalItems, p.actions
	l, err := residents.New(residents.Options{Seed: 5, Residents: residents.Builtin(5)})
	if err != nil {
		t.Fatal(err)
	}
	p.sim, p.actions = l, 0
	longest := int64(0)
	for last := p.lastNs; last < genesisNs+day+day/24; {
		next := l.NextNs(genesisNs, last)
		longest, last = max(longest, next-last), next
	}
	if longest > 60*int64(time.Second) {
		t.Errorf("nothing happens for %s", time.Duration(longest))
	}
	p.until(genesisNs+2*day, nil)
	lively := p.state.Hive.View().Proposals(all).TotalItems - calm
	t.Logf("a day: %d actions and %d proposals; a lively one: %d and %d", calmActions, calm, p.actions, lively)
	if p.actions < 2*calmActions || lively > 3*calm+10 {
		t.Errorf("%d actions and %d proposals in a lively day", p.actions, lively)
	}
}

func TestALaunchpadOfOthersLeavesNothingToDoWrong(t *testing.T) {
	p := newPlace(t, 3, 0)
	var outsider launchpad.Address
	outsider[0] = 1
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: outsider, Currency: launchpad.NATIVE, Amount: launchpad.AmountOf(1000)},
		launchpad.Spawn{Owner: outsider, Name: "Outsider", Symbol: "HONEY", TotalSupply: "1"},
	} {
		p.carry(residents.Action{Ledger: cmd})
	}
	p.until(genesisNs+day/2, nil)
	if p.state.Ledger.View().Len() < 10 {
		t.Errorf("%d tokens after half a day beside an outsider's", p.state.Ledger.View().Len())
	}
}

func TestFewResidentsAreRefused(t *testing.T) {
	if _, err := residents.New(residents.Options{}); err == nil {
		t.Error("a simulation without residents")
	}
}
