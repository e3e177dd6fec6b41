package residents

import (
	"time"

	"tickhive/hive"
	"tickhive/launchpad"
)

// Steps are stepNs apart, and each is delayed by up to jitterNs. After Options.FullNs every step has actions;
// before it, only some have.
const (
	secondNs  = int64(time.Second)
	stepNs    = int64(30 * time.Second)
	jitterNs  = int64(20 * time.Second)
	busyEvery = 3  // between Options.BusyNs and FullNs, one step in busyEvery has actions
	calmEvery = 18 // before Options.BusyNs, one step in calmEvery has actions
	// maxActions is the largest number of actions in one step.
	maxActions = 6
)

// forgetSec is the age of a token, in seconds, from which residents may forget it.
const forgetSec = 12 * 3600

// Action holds one command, either for the ledger or for the hive; the other member is nil.
type Action struct {
	Ledger launchpad.Command
	Hive   hive.Command
}

// Simulation decides the actions of each step. It is immutable.
type Simulation struct{ opt Options }

// New returns a Simulation, or an error for options that Validate refuses.
func New(o Options) (*Simulation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Simulation{opt: o}, nil
}

// atNs returns the time of a step. Steps are numbered from the genesis.
func (s *Simulation) atNs(genesisNs, step int64) int64 {
	r := newRNG(^s.opt.Seed, uint64(step))
	return genesisNs + step*stepNs + r.below(jitterNs)
}

func (s *Simulation) counts(atNs, step int64) bool { return step%s.stride(atNs) == 0 }

// stride returns the distance between two steps that have actions: 1, busyEvery or calmEvery.
func (s *Simulation) stride(atNs int64) int64 {
	switch {
	case atNs < s.opt.BusyNs:
		return calmEvery
	case atNs < s.opt.FullNs:
		return busyEvery
	}
	return 1
}

// NextNs returns the time, Unix ns, of the first step after afterNs that has actions.
func (s *Simulation) NextNs(genesisNs, afterNs int64) int64 {
	for step := max(afterNs-genesisNs-jitterNs, 0) / stepNs; ; step++ {
		if at := s.atNs(genesisNs, step); at > afterNs && s.counts(at, step) {
			return at
		}
	}
}

// before returns the time of the previous step that has actions.
func (s *Simulation) before(genesisNs, step int64) int64 {
	for step--; step > 0 && !s.counts(s.atNs(genesisNs, step), step); step-- {
	}
	return s.atNs(genesisNs, step)
}

// decisions collects the actions of one step.
type decisions struct {
	*Simulation
	rng
	nowNs   int64
	ledger  *launchpad.View
	hive    *hive.View
	actions []Action
}

// Act returns the actions of the step at nowNs, a time that NextNs returned. ledger and swarm are the views
// published at that time.
func (s *Simulation) Act(nowNs int64, ledger *launchpad.View, swarm *hive.View) []Action {
	step := (nowNs - ledger.GenesisNs()) / stepNs
	t := decisions{Simulation: s, rng: newRNG(s.opt.Seed, uint64(step)), nowNs: nowNs, ledger: ledger, hive: swarm}
	t.grow()
	if ledger.Len() > 0 {
		switch n := t.below(1000); {
		case n < 440:
			t.trade()
		case n < 460:
			t.seldom(t.boost)
		case n < 500:
			t.transfer()
		case n < 515:
			t.seldom(t.propose)
		case n < 815:
			t.act()
		}
		t.votes(s.before(ledger.GenesisNs(), step))
	}
	return t.actions[:min(len(t.actions), maxActions)]
}

// seldom calls f at each step while only some steps have actions, and at one in busyEvery steps once every step
// has, so that f runs about equally often per hour.
func (d *decisions) seldom(f func()) {
	if d.stride(d.nowNs) > 1 || d.oneIn(busyEvery) {
		f()
	}
}

func (d *decisions) addLedger(c launchpad.Command) { d.actions = append(d.actions, Action{Ledger: c}) }

func (d *decisions) addHive(c hive.Command) { d.actions = append(d.actions, Action{Hive: c}) }

func (d *decisions) resident() *Resident {
	return &d.opt.Residents[d.below(int64(len(d.opt.Residents)))]
}

// remembered returns a random token that residents have not forgotten, or nil when eight draws find none.
func (d *decisions) remembered() *launchpad.Token {
	for range 8 {
		token, ok := d.ledger.ByNFT(uint64(launchpad.FirstAgentNFT + d.below(int64(d.ledger.Len()))))
		if ok && !d.forgotten(token) {
			return token
		}
	}
	return nil
}

func (d *decisions) forgotten(token *launchpad.Token) bool {
	return token.No%5 == 3 && d.nowNs/secondNs > token.SpawnedSec+forgetSec
}

// need deposits to a resident what is missing for an amount of a currency, and a little more.
func (d *decisions) need(r *Resident, c launchpad.Currency, amount launchpad.Amount) {
	if have := d.ledger.Balance(r.Address, c); have.Less(amount) {
		d.addLedger(launchpad.Deposit{
			To: r.Address, Currency: c,
			Amount: amount.Add(launchpad.AmountOf(uint64(d.between(1_000, 20_000)))),
		})
	}
}
