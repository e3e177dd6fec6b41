package exchange_test

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/launchpad"
)

// positions is between the loop and the parts. It notes the position of each deposit, vote and order when it is
// applied.
type positions struct {
	sequencer.Parts
	journal sequencer.Journal

	mu      sync.Mutex
	changed sync.Cond
	of      map[string]uint64
	applied []string // by the record under way
}

func (p *positions) hook(o *sequencer.LoopOptions) {
	p.changed.L, p.of = &p.mu, map[string]uint64{}
	p.Parts, p.journal, o.Parts, o.Sources = o.Parts, o.Journal, p, append(o.Sources, p)
}

func (p *positions) note(what ...any) { p.applied = append(p.applied, fmt.Sprint(what...)) }

// Advance implements sequencer.Parts.
func (p *positions) Advance(pos uint64) {
	p.Parts.Advance(pos)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range p.applied {
		p.of[key] = pos
	}
	p.applied = p.applied[:0]
	p.changed.Broadcast()
}

// at waits until one is applied, and returns its position.
func (p *positions) at(key string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.of[key] == 0 {
		p.changed.Wait()
	}
	return p.of[key]
}

// any waits until one of them is applied.
func (p *positions) any(keys ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for _, key := range keys {
			if p.of[key] != 0 {
				return
			}
		}
		p.changed.Wait()
	}
}

// Observe implements sequencer.Observer.
func (p *positions) Observe(events []engine.Event) {
	for i := range events {
		if e := &events[i]; e.Kind == engine.EventAccepted {
			p.note("order ", e.Price)
		}
	}
}

// NextNs, Act and Skip implement sequencer.Source: it never acts.
func (p *positions) NextNs() int64 { return step.Never }

func (p *positions) Act(int64, []engine.Command) []engine.Command { return nil }

func (p *positions) Skip(int64) {}

// Apply implements sequencer.Parts.
func (p *positions) Apply(cmd *engine.Command) any {
	result := p.Parts.Apply(cmd)
	switch machine.Part(cmd.Control.Part) {
	case machine.Accounts:
		if c, err := accounts.DecodeCommand(cmd.Control.Record); err == nil && c.Kind == accounts.Deposit {
			p.note("deposit ", c.User, c.Amount)
		}
	case machine.Hive:
		if c, err := hive.DecodeCommand(cmd.Control.Record); err == nil {
			if v, ok := c.(hive.CastVote); ok {
				p.note("vote ", v.User[0])
			}
		}
	}
	return result
}

// Publish implements sequencer.Parts. A client that is answered before sees that its change is not shown.
func (p *positions) Publish() {
	for range 8 {
		runtime.Gosched()
	}
	p.Parts.Publish()
}

// mixed is an exchange whose clients deposit, place orders and vote.
type mixed struct {
	*exchangetest.Rig
	t        *testing.T
	applied  positions
	waits    sequencer.Mark // of deposits and votes
	shows    sequencer.Mark
	proposal hive.ProposalInfo
	disk     *vfstest.Mem
	stream   *jettest.Mem
	syncs    sync.RWMutex // held: no sync of the journal ends
}

func newMixed(t *testing.T, policy sequencer.SyncPolicy, quorum bool) *mixed {
	m := &mixed{t: t, disk: vfstest.NewMem(), stream: jettest.NewMem(), shows: policy.Shows()}
	o := exchangetest.Options("d")
	o.Machine.FS, o.Journal.Sync, o.Clock = m.disk, policy, exchange.ClockOptions{}
	o.Hooks.Loop = m.applied.hook
	if quorum {
		m.shows = sequencer.Acked
		o.Cluster.Key = clusterRing()
		o.Stream = exchange.StreamOptions{
			Sim: exchange.SimOff, Quorum: true,
			Open: func(context.Context, string) (jet.Log, func(), error) { return m.stream.Connect(), func() {}, nil },
		}
	}
	m.waits = max(m.shows, sequencer.Synced)
	m.Rig = exchangetest.Start(t, o)
	m.Pair("BTC_USDT")
	for range 2 {
		m.Call("POST", "/users", "{}")
	}
	a := m.Agents()
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: launchAddress(1), Amount: launchpad.AmountOf(1000)},
		launchpad.Spawn{Owner: launchAddress(1), Name: "N", Symbol: "ABC"},
	} {
		if _, err := a.DoLaunchpad(cmd); err != nil {
			t.Fatal(err)
		}
	}
	res, err := a.DoHive(hive.Propose{
		TokenID: launchpad.FirstAgentNFT, Topic: hive.SlippageCap, Payload: `{"slippageCapBps":70}`, Proposer: "p",
	})
	if err != nil {
		t.Fatal(err)
	}
	m.proposal = res.Proposal
	m.disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync && path.Ext(op.Path) == ".wal" {
			m.syncs.RLock()
			defer m.syncs.RUnlock()
		}
		return vfstest.Fault{}
	})
	return m
}

// hold lets no further record reach the mark of the answers until release.
func (m *mixed) hold() (release func()) {
	if m.shows == sequencer.Acked {
		m.stream.SetDown(true)
		return func() { m.stream.SetDown(false) }
	}
	m.syncs.Lock()
	return m.syncs.Unlock
}

// act is a change of a client: what carries it out, its key, the mark of its answer, and whether readers see it.
type act struct {
	key  string
	wait sequencer.Mark
	do   func() error
	seen func() bool
}

func (m *mixed) deposit(user uint32, n uint64) act {
	return act{fmt.Sprint("deposit ", user, units(n)), m.waits, func() error {
		_, err := m.DoAccounts(accounts.Command{Kind: accounts.Deposit, User: user, Currency: "BTC", Amount: units(n)})
		return err
	}, func() bool {
		return m.Accounts().Shown().Balance(user, "BTC").Total == units(n*(n+1)/2).Wide()
	}}
}

func (m *mixed) order(price int64) act {
	return act{fmt.Sprint("order ", price), m.shows, func() error {
		return m.Submit(&sequencer.Batch{Commands: []engine.Command{{Kind: engine.Place, Price: price, Amount: 1000}}})
	}, func() bool {
		for level := range m.Feed().Board().Load().View(0).Bids.All {
			if level.Price == price {
				return true
			}
		}
		return false
	}}
}

func (m *mixed) vote(user byte) act {
	var weight atomic.Int64 // with this vote, once it is answered
	return act{fmt.Sprint("vote ", user), m.waits, func() error {
		res, err := m.Agents().DoHive(vote(launchpad.FirstAgentNFT, &m.proposal, user))
		weight.Store(res.Vote.Tally.Weights[hive.Yes])
		return err
	}, func() bool {
		_, v := m.Agents().Views()
		p, _ := v.Proposal(m.proposal.ID())
		return p.Tally.Weights[hive.Yes] > 0 && p.Tally.Weights[hive.Yes] >= weight.Load()
	}}
}

// run carries out a change and checks its answer: readers see it, and its record has reached the mark.
func (m *mixed) run(a act) {
	if err := a.do(); err != nil {
		m.t.Errorf("%s: %v", a.key, err)
		return
	}
	if pos, reached := m.applied.at(a.key), m.applied.journal.Reached(a.wait); reached < pos {
		m.t.Errorf("%s is answered at record %d, and %d has reached its mark", a.key, reached, pos)
	}
	if !a.seen() {
		m.t.Errorf("%s is answered, and readers do not see it", a.key)
	}
}

// No answer comes before its publication and its mark, with deposits, orders and votes mixed.
func TestNoAnswerComesBeforeItsPublicationAndItsMark(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy sequencer.SyncPolicy
		quorum bool
	}{
		{"interval", sequencer.SyncInterval, false},
		{"off", sequencer.SyncOff, false},
		{"always", sequencer.SyncAlways, false},
		{"quorum", sequencer.SyncInterval, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMixed(t, c.policy, c.quorum)
			m.held()
			const each = 60
			var clients sync.WaitGroup
			for user := range uint32(2) {
				clients.Go(func() {
					for n := range uint64(each) {
						m.run(m.deposit(user+1, n+2))
					}
				})
				clients.Go(func() {
					for n := range int64(each) {
						m.run(m.order(1000 + 2*n + int64(user)))
					}
				})
			}
			clients.Go(func() {
				for n := range byte(each) {
					m.run(m.vote(n + 2))
				}
			})
			clients.Wait()
		})
	}
}

// held lets one change of each kind wait for its mark.
func (m *mixed) held() {
	changes := []act{m.deposit(1, 1), m.order(10), m.vote(1)}
	release := m.hold()
	var answered sync.Map
	var clients sync.WaitGroup
	for _, a := range changes {
		clients.Go(func() {
			m.run(a)
			answered.Store(a.key, true)
		})
	}
	if m.shows == sequencer.Synced { // the loop itself is in the sync
		m.applied.any(changes[0].key, changes[1].key, changes[2].key)
	} else {
		for _, a := range changes {
			m.applied.at(a.key)
		}
	}
	for _, a := range changes {
		if m.shows == sequencer.Written {
			waitFor(m.t, a.key+" is shown", a.seen)
		} else if a.seen() {
			m.t.Errorf("%s is shown before its mark", a.key)
		}
		if _, early := answered.Load(a.key); early && a.wait != sequencer.Written {
			m.t.Errorf("%s is answered before its mark", a.key)
		}
	}
	release()
	clients.Wait()
	m.run(m.deposit(2, 1))
}
