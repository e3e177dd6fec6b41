package exchange

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim"
)

// base holds the parts that exist in every phase. The goroutine that runs the phases owns it;
// the front's handlers read what other goroutines may read.
type base struct {
	o     Options
	log   *slog.Logger
	data  *datadir.Dir
	clock clock.Clock

	core *engine.Core
	feed *marketdata.Feed
	sim  *sim.Market // nil: no simulated market

	secrets    *seal.Key        // seals the secrets of the accounts
	clusterKey *clusterkey.Ring // nil: none
	internal   *tls.Config      // of the internal listener; nil: plain text

	front *front

	openedNs int64 // process clock when the directory was locked: no earlier process has accepted a request since

	failed bool // a recovery ended with a log that may have more records than it noted
}

// Opened is an exchange with a locked data directory, an empty market and open listeners, which answer 503
// except on early routes. Recover leads to the next phase; Stop ends the exchange.
type Opened struct{ *base }

// Open opens the listeners, locks the data directory and builds the handlers.
func Open(o Options) (*Opened, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := o.bind()
	if err != nil {
		return nil, err
	}
	x, err := open(o, s)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return x, nil
}

func open(o Options, s sockets) (*Opened, error) {
	b := &base{o: o, log: o.Log}
	room, err := b.shareConnections()
	if err != nil {
		return nil, err
	}
	if err := b.openData(); err != nil {
		return nil, err
	}
	if path := b.o.Internal.TokenFile; path != "" {
		if b.o.Internal.Token, err = b.data.Token(path); err != nil {
			return nil, errors.Join(fmt.Errorf("internal.token_file: %w", err), b.data.Close(b.data.WasClean()))
		}
	}
	if err = b.openCluster(); err == nil && s.internal != nil {
		b.internal, err = b.internalTLS(s.internal.Addr())
	}
	if err != nil {
		return nil, errors.Join(err, b.data.Close(b.data.WasClean()))
	}
	if b.secrets, err = b.secretKey(); err != nil {
		return nil, errors.Join(err, b.data.Close(b.data.WasClean()))
	}
	b.core, b.feed = engine.NewCore(o.Engine), marketdata.NewFeed(o.Market)
	b.makeSim()
	if b.front, err = newFront(b, room); err != nil {
		return nil, errors.Join(err, b.data.Close(b.data.WasClean()))
	}
	b.front.listen(s, &b.o)
	return &Opened{b}, nil
}

// secretKey returns the key that seals the secrets in the directory, or, of a follower, those in the stream.
func (b *base) secretKey() (*seal.Key, error) {
	if b.o.Follow == nil {
		return datadir.SecretKey(b.data, b.o.Auth.SecretKey)
	}
	return b.followerKey("")
}

// followerKey returns the keys of a follower, among them the one with the id sealed unless it is empty.
func (b *base) followerKey(sealed string) (*seal.Key, error) {
	dir := ""
	if c := b.o.Follow.Copy; c != nil {
		dir = c.Dir()
	}
	return datadir.FollowerKey(dir, b.o.Auth.SecretKey, sealed)
}

// openData opens the data directory and creates the process clock. A virtual clock begins at the
// start of the backfill, or continues from the time that the last process had reached.
func (b *base) openData() error {
	startNs := b.o.Clock.StartNs
	if !b.o.Clock.StartGiven {
		startNs = b.o.Machine.Clock.NowNs()
	}
	var err error
	b.data, err = datadir.Open(datadir.Options{
		Path: b.o.Dir, Virtual: b.o.Clock.Virtual, StartNs: startNs, StartGiven: b.o.Clock.StartGiven,
		Recorded: b.o.Clock.Recorded, Seed: uint64(b.o.Sim.Seed), SeedGiven: b.o.Sim.SeedGiven,
		Backfill:        time.Duration(b.o.Sim.Backfill),
		Epoch:           b.o.epoch(),
		ConfiguredPairs: len(b.o.Pairs) > 0, Acked: b.o.quorum() && b.o.Stream.Durable,
		FS: b.o.Machine.FS, Boot: b.o.Machine.Boot, Random: b.o.Machine.Random,
	})
	if err != nil {
		return err
	}
	for _, note := range b.data.Notes() {
		b.log.Info(note)
	}
	switch {
	case !b.o.Clock.Virtual:
		b.clock = b.o.Machine.Clock
	case b.data.Empty():
		b.clock = clock.NewManual(startNs - int64(b.data.Backfill()))
	case !b.o.Clock.StartGiven:
		b.clock = clock.NewManual(b.data.ClockNs())
	default:
		b.clock = clock.NewManual(max(startNs, b.data.ClockNs()))
	}
	b.openedNs = b.clock.NowNs()
	return nil
}

// machineNs returns the clock of machine time for the servers; nil: each server uses its default.
func (b *base) machineNs() func() int64 {
	if b.o.Machine.Driver == nil {
		return nil
	}
	return b.o.Machine.Clock.NowNs
}

// fullBefore is the time before the end of a backfill from which the books of major pairs are deep.
const fullBefore = 5 * time.Minute

// makeSim builds the simulated market, which opens at the start of the backfill.
func (b *base) makeSim() {
	if !b.o.Sim.Enabled {
		return
	}
	startNs := b.clock.NowNs()
	if !b.clock.Virtual() {
		startNs -= int64(b.data.Backfill()) // openData set a virtual clock back by this span
	}
	fullNs := startNs + int64(max(0, b.data.Backfill()-fullBefore))
	if b.clock.Virtual() {
		// deep books double the time that a fast-forward takes (docs/adr/0083-major-pairs-quote-one-tick.md)
		fullNs = math.MaxInt64
	}
	b.sim = sim.New(sim.Options{
		Core: b.core, Seed: b.data.Seed(), StartNs: startNs, FullNs: fullNs,
		Pairs: b.o.Sim.Pairs, Config: b.o.Sim.Config,
	})
}

// sources returns the sources of commands that a loop runs.
func (r *restored) sources() (all []sequencer.Source) {
	if r.sim != nil {
		all = append(all, r.sim)
	}
	return append(all, r.agents.sources()...)
}

// simState stores the simulated market as a part of the market's snapshots.
type simState struct{ *sim.Market }

// Name returns the part's name.
func (simState) Name() string { return "sim" }

// extras returns the states that snapshots of the market contain besides core and feed.
func (b *base) extras() []machine.Extra {
	if b.sim == nil {
		return nil
	}
	return []machine.Extra{simState{b.sim}}
}

// PublicAddr returns the address of the public listener.
func (b *base) PublicAddr() string { return listen.Address(b.front.sockets.public) }

// InternalAddr returns the address of the internal listener.
func (b *base) InternalAddr() string { return listen.Address(b.front.sockets.internal) }

// BinanceAddrs returns the addresses of the Binance-compatible listener, none if there is none.
func (b *base) BinanceAddrs() (all []string) {
	for _, ln := range b.front.sockets.binance {
		all = append(all, listen.Address(ln))
	}
	return all
}

// Failed receives the error of a listener that ended unexpectedly, or node.ErrFenced.
func (b *base) Failed() <-chan error { return b.front.failed }

// fail reports on Failed an error that ends the exchange. It drops the error if the channel is full, because an earlier
// error ends the exchange already.
func (f *front) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// incident logs an incident and stores it for the status page. The message is for everybody.
// detail, which may be empty, is for the operator: it alone may name files, addresses and users,
// and what differs between two equal incidents.
func (b *base) incident(kind, message, detail string) {
	args := []any{"incident", kind}
	if detail != "" {
		args = append(args, "detail", detail)
	}
	b.log.Warn(message, args...)
	in := datadir.Incident{
		AtMs: b.clock.NowNs() / int64(time.Millisecond), Kind: kind, Message: message, Detail: detail,
	}
	if err := b.data.AddIncident(in); err != nil {
		b.log.Error("incident not stored", "error", err)
	}
}
