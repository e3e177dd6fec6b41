package residents

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/launchpad"
)

// Resident is a simulated person who owns tokens, trades and votes.
type Resident struct {
	User    [16]byte // the id under which the resident votes
	Address launchpad.Address
	Level   int64 // the account level; voting requires at least 20
}

// Options configures a Simulation.
type Options struct {
	Seed uint64
	// BusyNs and FullNs, Unix ns, are the times from which more of the steps have actions. A history that begins
	// days before then stays short, and the part that people see is lively. BusyNs must not be after FullNs.
	BusyNs, FullNs int64
	// Residents holds the residents of the simulation; Builtin returns the default ones.
	Residents []Resident
}

// Limits of the members of Options.
const (
	minResidents = 2
	maxResidents = 10_000
)

// Validate reports the first invalid member.
func (o *Options) Validate() error {
	if len(o.Residents) < minResidents || len(o.Residents) > maxResidents {
		return errors.New("residents: at least 2 and at most 10,000 are needed")
	}
	return nil
}

// residentsBuiltIn is the number of built-in residents: enough voters for a quorum of 100.
const residentsBuiltIn = 40

// Builtin returns the built-in residents of a seed. Every seventh of them may not vote.
func Builtin(seed uint64) []Resident {
	all := make([]Resident, residentsBuiltIn)
	for i := range all {
		r := newRNG(seed, uint64(i)|1<<63)
		for j := 0; j < 24; j += 8 {
			var word [8]byte
			binary.BigEndian.PutUint64(word[:], r.next())
			copy(all[i].Address[min(j, 12):], word[:])
		}
		binary.BigEndian.PutUint64(all[i].User[:], r.next())
		binary.BigEndian.PutUint64(all[i].User[8:], r.next())
		if all[i].Level = 20 + r.below(11); i%7 == 6 {
			all[i].Level = r.below(20)
		}
	}
	return all
}

// rng is the SplitMix64 generator, which gives the same numbers on every machine. Each step has its own.
type rng uint64

func newRNG(seed, step uint64) rng {
	r := rng(seed*0x9E3779B97F4A7C15 ^ (step+1)*0xD1B54A32D192ED03)
	r.next()
	return r
}

func (r *rng) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below returns a number from 0 to n-1; n must be above 0.
func (r *rng) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// between returns a number from low to high, both included.
func (r *rng) between(low, high int64) int64 { return low + r.below(high-low+1) }

// oneIn returns true with a probability of 1 in n.
func (r *rng) oneIn(n int64) bool { return r.below(n) == 0 }

// heavy returns a number of at least mean/4 with a heavy tail: it doubles with a probability of one in four,
// repeatedly, up to 64 times.
func (r *rng) heavy(mean int64) int64 {
	v := mean/4 + r.below(mean/2+1)
	for k := 0; k < 6 && r.oneIn(4); k++ {
		v *= 2
	}
	return v
}

// pick returns a random element of words.
func pick[T any](r *rng, words []T) T { return words[r.below(int64(len(words)))] }

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
