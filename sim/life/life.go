package life

import (
	"time"

	"tickhive/hive"
	"tickhive/launchpad"
)

// Times of the slots: they are slotNs apart, each up to jitterNs late. All slots count while
// people may be looking, fewer in a history.
const (
	secondNs = int64(time.Second)
	slotNs   = int64(30 * time.Second)
	jitterNs = int64(20 * time.Second)
	busySlot = 3  // before Options.LiveNs one slot in busySlot counts
	calmSlot = 18 // before Options.BusyNs one slot in calmSlot counts
	// maxSteps is the largest number of steps in one slot.
	maxSteps = 6
)

// forgetSec is the time in seconds from the spawn of a token until residents may forget it.
const forgetSec = 12 * 3600

// Step is one command, of the ledger or of the hive; the other one is nil.
type Step struct {
	Ledger launchpad.Command
	Hive   hive.Command
}

// Life decides the steps of each slot. Immutable.
type Life struct{ opt Options }

// New returns a Life, or an error for options that Validate refuses.
func New(o Options) (*Life, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Life{opt: o}, nil
}

// atNs returns the time of a slot; slots are counted from the genesis.
func (l *Life) atNs(genesisNs, slot int64) int64 {
	r := newRNG(^l.opt.Seed, uint64(slot))
	return genesisNs + slot*slotNs + r.below(jitterNs)
}

func (l *Life) counts(atNs, slot int64) bool { return slot%l.step(atNs) == 0 }

// step returns the distance in slots between two slots that count.
func (l *Life) step(atNs int64) int64 {
	switch {
	case atNs < l.opt.BusyNs:
		return calmSlot
	case atNs < l.opt.LiveNs:
		return busySlot
	}
	return 1
}

// NextNs returns the time of the first slot after afterNs that counts, Unix ns.
func (l *Life) NextNs(genesisNs, afterNs int64) int64 {
	for slot := max(afterNs-genesisNs-jitterNs, 0) / slotNs; ; slot++ {
		if at := l.atNs(genesisNs, slot); at > afterNs && l.counts(at, slot) {
			return at
		}
	}
}

// before returns the time of the previous slot that counts.
func (l *Life) before(genesisNs, slot int64) int64 {
	for slot--; slot > 0 && !l.counts(l.atNs(genesisNs, slot), slot); slot-- {
	}
	return l.atNs(genesisNs, slot)
}

// turn holds the decisions for one slot.
type turn struct {
	*Life
	rng
	nowNs  int64
	ledger *launchpad.View
	hive   *hive.View
	steps  []Step
}

// Act returns the steps of the slot at nowNs, which NextNs returned, given the views published
// by then.
func (l *Life) Act(nowNs int64, ledger *launchpad.View, swarm *hive.View) []Step {
	slot := (nowNs - ledger.GenesisNs()) / slotNs
	t := turn{Life: l, rng: newRNG(l.opt.Seed, uint64(slot)), nowNs: nowNs, ledger: ledger, hive: swarm}
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
		t.votes(l.before(ledger.GenesisNs(), slot))
	}
	return t.steps[:min(len(t.steps), maxSteps)]
}

// seldom calls f as often in a day whether every slot counts or every third.
func (t *turn) seldom(f func()) {
	if t.step(t.nowNs) > 1 || t.oneIn(busySlot) {
		f()
	}
}

func (t *turn) pay(c launchpad.Command) { t.steps = append(t.steps, Step{Ledger: c}) }

func (t *turn) say(c hive.Command) { t.steps = append(t.steps, Step{Hive: c}) }

func (t *turn) resident() *Resident { return &t.opt.Residents[t.below(int64(len(t.opt.Residents)))] }

// remembered returns a random token that is not forgotten, nil when it draws none.
func (t *turn) remembered() *launchpad.Token {
	for range 8 {
		token, ok := t.ledger.ByNFT(uint64(launchpad.FirstAgentNFT + t.below(int64(t.ledger.Len()))))
		if ok && !t.forgotten(token) {
			return token
		}
	}
	return nil
}

func (t *turn) forgotten(token *launchpad.Token) bool {
	return token.No%5 == 3 && t.nowNs/secondNs > token.SpawnedSec+forgetSec
}

// need makes sure that a resident has an amount of a currency: it adds the missing amount from
// outside, with some to spare.
func (t *turn) need(r *Resident, c launchpad.Currency, amount launchpad.Amount) {
	if have := t.ledger.Balance(r.Address, c); have.Less(amount) {
		t.pay(launchpad.Deposit{
			To: r.Address, Currency: c,
			Amount: amount.Add(launchpad.AmountOf(uint64(t.between(1_000, 20_000)))),
		})
	}
}
