package machine

import (
	"sync/atomic"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/launchpad"
)

// Shown is what readers see of the parts beside the market. A loop or a replica drives it (sequencer.Parts): the state
// is at the last record that is written, and Accounts and Views follow it when readers may see the record. One
// goroutine calls the other methods.
type Shown struct {
	state *State
	taken uint64 // records of launchpad and hive that were applied when Take was called last

	Accounts *accounts.Shown
	views    atomic.Pointer[Views]
	next     *Views // handed over and not visible yet
	spare    *change
}

// Views is what readers see of launchpad and hive, at one record.
type Views struct {
	Ledger *launchpad.View
	Hive   *hive.View
}

// change is what records have changed.
type change struct {
	money *accounts.Report // nil: nothing
	views *Views           // nil: they are as before
}

// NewShown makes what readers see of a state, at its position. From then on the state reports what changes.
func NewShown(s *State) *Shown {
	s.Money.Advance(s.Pos)
	p := &Shown{state: s, taken: s.agents, Accounts: s.Money.ShownBy(s.opts.Secrets)}
	p.views.Store(p.view())
	return p
}

func (p *Shown) view() *Views { return &Views{p.state.Ledger.View(), p.state.Hive.View()} }

// Views returns what readers see of launchpad and hive. Any goroutine may call it.
func (p *Shown) Views() *Views { return p.views.Load() }

// Apply applies a command of another part. The result is a *Result.
func (p *Shown) Apply(cmd *engine.Command) any {
	result, err := p.state.ApplyOther(cmd)
	if err != nil {
		panic("BUG: machine: a record that was just written: " + err.Error())
	}
	return result
}

// Advance moves the position of the accounts to the record that was just applied.
func (p *Shown) Advance(pos uint64) { p.state.Money.Advance(pos) }

// Follow makes what the state has applied since the last call visible, where readers see every record at once.
func (p *Shown) Follow() {
	if c := p.Take(); c != nil {
		p.Show(c)
	}
	p.Publish()
}

// Take returns what has changed since the last Take, nil for nothing.
func (p *Shown) Take() any {
	money, agents := p.state.Money.Take(), p.state.agents
	if money == nil && agents == p.taken {
		return nil
	}
	c := p.spare
	if p.spare = nil; c == nil {
		c = &change{}
	}
	c.money, c.views = money, nil
	if agents != p.taken {
		c.views, p.taken = p.view(), agents
	}
	return c
}

// Show hands a change over to what readers see.
func (p *Shown) Show(taken any) {
	c := taken.(*change)
	if c.money != nil {
		p.Accounts.Fold(c.money)
	}
	if c.views != nil {
		p.next = c.views
	}
	*c, p.spare = change{}, c
}

// Publish makes what was handed over visible.
func (p *Shown) Publish() {
	if p.next != nil {
		p.views.Store(p.next)
		p.next = nil
	}
	p.Accounts.Publish()
}
