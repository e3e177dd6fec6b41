package residents_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/durable"
	"tickhive/internal/refuse"
	"tickhive/launchpad"
	"tickhive/sim/residents"
)

const genesisNs = int64(1_767_225_600_000_000_000)

// place holds a launchpad and a hive in memory for a Simulation.
type place struct {
	t      testing.TB
	clk    *clock.Manual
	ledger *launchpad.Store
	swarm  *hive.Store
	sim    *residents.Simulation
	lastNs int64

	actions, refused int
	reasons          map[refuse.Code]int
}

func newPlace(t testing.TB, seed uint64, busyNs int64) *place {
	t.Helper()
	p := &place{t: t, clk: clock.NewManual(genesisNs), lastNs: genesisNs, reasons: map[refuse.Code]int{}}
	lo := launchpad.DefaultOptions()
	lo.Seed = seed
	var err error
	store := durable.Config{Clock: p.clk}
	if p.ledger, err = launchpad.OpenStore(launchpad.StoreOptions{Options: lo, Config: store}); err != nil {
		t.Fatal(err)
	}
	ho := hive.DefaultOptions()
	ho.Seed, ho.GenesisNs = seed, genesisNs
	if p.swarm, err = hive.OpenStore(hive.StoreOptions{Options: ho, Config: store}); err != nil {
		t.Fatal(err)
	}
	if p.sim, err = residents.New(residents.Options{
		Seed: seed, BusyNs: busyNs, FullNs: math.MaxInt64,
		Residents: residents.Builtin(seed),
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.ledger.Close()
		_ = p.swarm.Close()
	})
	return p
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
		p.clk.Set(next)
		if restart != nil {
			p.sim = restart()
		}
		for _, s := range p.sim.Act(next, p.ledger.View(), p.swarm.View()) {
			p.carry(s)
		}
	}
	p.clk.Set(ns)
	if err := errors.Join(p.ledger.Tick(ns), p.swarm.Tick(ns)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) carry(s residents.Action) {
	p.t.Helper()
	p.actions++
	var err error
	if s.Ledger != nil {
		var res launchpad.Result
		if res, err = launchpad.Do(p.ledger, s.Ledger); err == nil && res.Fact != nil {
			err = p.swarm.WithState(func(st *hive.State) { st.Fold(hive.Fact(*res.Fact)) })
		}
	} else {
		_, err = p.swarm.Do(p.counted(s.Hive))
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

// counted gives a proposal the ledger's checkpoint, as the service does.
func (p *place) counted(cmd hive.Command) hive.Command {
	prop, ok := cmd.(hive.Propose)
	if token, known := p.ledger.View().ByNFT(prop.TokenID); ok && known {
		res, err := p.ledger.Do(launchpad.Checkpoint{Token: token.No})
		if err != nil {
			p.t.Fatal(err)
		}
		prop.Checkpoint, prop.CheckpointEndSec = res.Checkpoint, res.EndSec
		return prop
	}
	return cmd
}

// text returns all observable state of the two stores.
func (p *place) text() string {
	return fmt.Sprintf("%d records, %d entries, head %s, totals %v",
		p.ledger.View().Seq(), p.swarm.View().Entries(), p.swarm.View().Head(), p.ledger.View().Totals())
}

const day = int64(24 * time.Hour)

func TestADemoThatBeginsHasEverythingToLookAt(t *testing.T) {
	end := genesisNs + 9*day
	p := newPlace(t, 1, end-25*int64(time.Hour))
	start := time.Now()
	p.until(end, nil)
	took := time.Since(start)
	v, h := p.ledger.View(), p.swarm.View()
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
		var err error
		if ferr := p.ledger.WithState(func(s *launchpad.State) { err = s.Check() }); ferr != nil || err != nil {
			t.Error(ferr, err)
		}
		if ferr := p.swarm.WithState(func(s *hive.State) { err = s.Check() }); ferr != nil || err != nil {
			t.Error(ferr, err)
		}
	}
}

// While people may be looking, something happens every half minute, and rare events stay rare.
func TestTheLivePaceIsLively(t *testing.T) {
	p := newPlace(t, 5, 0)
	p.until(genesisNs+day, nil)
	calm, calmActions := p.swarm.View().Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 1}}).TotalItems,
		p.actions
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
	lively := p.swarm.View().Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 1}}).TotalItems - calm
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
	if p.ledger.View().Len() < 10 {
		t.Errorf("%d tokens after half a day beside an outsider's", p.ledger.View().Len())
	}
}

func TestFewResidentsAreRefused(t *testing.T) {
	if _, err := residents.New(residents.Options{}); err == nil {
		t.Error("a simulation without residents")
	}
}
