package exchange

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/machine"
)

// Running is an exchange whose loop runs. Admit admits clients; Stop ends the exchange.
type Running struct {
	*restored
	loop      *sequencer.Loop
	snapshots *snapshots // nil: nothing is stored
	watch     *watch
	scrub     *scrub // nil: off
	canceler  *canceler
	reseal    *reseal                 // nil: there is no former key
	stream    atomic.Pointer[writing] // handlers read it; nil: the records go nowhere else
}

// Start simulates the backfill, starts the loop on the process clock, and adds the configured
// pairs and the demo data. When ctx is canceled, the backfill returns its error; the steps after
// it are short and complete. After an error no loop runs, and Stop of r is left to the caller.
func (r *Recovered) Start(ctx context.Context) (*Running, error) {
	if err := r.backfill(ctx); err != nil {
		return nil, err
	}
	x := &Running{restored: r.restored}
	if x.o.quorum() {
		x.quorum = &quorumJournal{WALJournal: x.journal.writer, synced: x.o.Journal.Sync == sequencer.SyncAlways}
		if x.lead != nil {
			x.quorum.joined = true
			x.quorum.confirmed.Store(x.lead.sent)
		}
	}
	x.loop = x.newLoop(x.clock, x.o.shows(), r.sources())
	x.loop.Begin()
	x.keepSnapshots()
	x.keepWatch()
	x.keepScrub()
	x.front.runSockets(x.o.Machine.Driver)
	x.front.enter(phaseView{journal: x.journal, accounts: x.accounts, running: x})
	if err := x.whenRoom(x.populate); err != nil {
		x.front.endSockets(x.o.Machine.Driver)
		x.halt()
		x.front.enter(phaseView{journal: x.journal, accounts: x.accounts})
		return nil, err
	}
	if err := x.send(ctx); err != nil {
		x.front.endSockets(x.o.Machine.Driver)
		x.halt()
		x.front.enter(phaseView{journal: x.journal, accounts: x.accounts})
		return nil, err
	}
	x.keepCanceling()
	x.keepResealing()
	x.awaitQuotes(ctx)
	x.front.progress.Store(-1)
	return x, nil
}

// quotesWithin bounds how long a start waits for the simulated market. A scenario may have no quotes.
const quotesWithin = time.Second

// awaitQuotes waits until each pair of the simulated market has a bid and an ask, so that the first order of a client
// meets a market. Books that were recovered, or backfilled, have them. On a virtual clock nothing happens meanwhile.
func (x *Running) awaitQuotes(ctx context.Context) {
	if x.sim == nil || x.clock.Virtual() {
		return
	}
	end, look := time.NewTimer(quotesWithin), time.NewTicker(time.Millisecond)
	defer end.Stop()
	defer look.Stop()
	for !x.quoted() {
		select {
		case <-look.C:
		case <-end.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// quoted reports whether each pair of the simulated market that is online has a bid and an ask.
func (x *Running) quoted() bool {
	root := x.feed.Board().Load()
	for i := range x.o.Sim.Pairs {
		v := root.Lookup(x.o.Sim.Pairs[i].Code) // nil: the pair was delisted
		if v != nil && v.Instrument.State == engine.Online && (v.Bids.Len() == 0 || v.Asks.Len() == 0) {
			return false
		}
	}
	return true
}

// populate adds the configured pairs, the demo users and the simulated residents.
func (x *Running) populate() error {
	if err := x.configure(x.loop); err != nil {
		return err
	}
	if err := x.agents.begin(x.loop, x.data.Seed()); err != nil {
		return err
	}
	if err := x.demo(); err != nil {
		return err
	}
	if err := x.fundDemoUser(); err != nil {
		return err
	}
	if err := x.data.KeepClock(x.clock.NowNs()); err != nil {
		return err
	}
	return x.data.SetFilling(false)
}

// Admit makes the exchange serve clients.
func (x *Running) Admit() {
	x.front.admit()
	x.log.Info("ready", "public", listen.Address(x.front.sockets.public),
		"internal", listen.Address(x.front.sockets.internal), "pairs", len(x.feed.Board().Load().Sorted()))
}

// Submit submits a batch to the loop.
func (x *Running) Submit(b *sequencer.Batch) error { return x.loop.Submit(b) }

// Offer hands a batch to the loop; Batch.Await returns its outcome.
func (x *Running) Offer(b *sequencer.Batch) error { return x.loop.Offer(b) }

// OpenOrders returns the number of open orders of a pair, waiting stops included.
func (x *Running) OpenOrders(p engine.PairID) (n int, err error) {
	err = x.loop.QueryPair(p, func() { n = x.core.OpenOrders(p) })
	return n, err
}

// NowNs returns the time of the process clock, Unix ns.
func (x *Running) NowNs() int64 { return x.clock.NowNs() }

// AdvanceTo moves the virtual clock.
func (x *Running) AdvanceTo(ns int64) error { return x.canceler.advance(ns) }

// StateHash returns the hash of the current state.
func (x *Running) StateHash() (machine.StateHash, error) { return x.front.stateHash(x.base) }

// sinks returns the sinks in their order: views before the events of accounts, and both before the sockets, which look
// at them once they are notified.
func (r *restored) sinks() []sequencer.Sink {
	s := []sequencer.Sink{r.feed.Sink(), r.front.private, r.front.hub}
	if r.o.showsLate() {
		s = append(s, &r.front.changes)
	}
	if r.o.Hooks.Sinks != nil {
		s = r.o.Hooks.Sinks(s)
	}
	return s
}

// newLoop builds a loop over core and feed, whose readers see what has reached a mark. Only one loop may run at a time.
func (r *restored) newLoop(c clock.Clock, show sequencer.Mark, sources []sequencer.Source) *sequencer.Loop {
	o := sequencer.LoopOptions{
		Sinks: r.sinks(),
		Core:  r.core, Clock: c, Sources: sources, Parts: r.shown,
		StartNs: max(r.lastNs, r.feed.Board().SealedNs()), StartPos: r.pos,
		Show: show, Driver: r.o.Machine.Driver,
	}
	if r.journal != nil {
		o.Journal = r.journal.writer
	}
	if show == sequencer.Acked {
		o.Journal = r.quorum
	}
	return sequencer.NewLoop(hook(r.o.Hooks.Loop, o))
}
