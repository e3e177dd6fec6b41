package exchange

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/account"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/agents"
	"github.com/tickhive/tickhive/server/binance"
	"github.com/tickhive/tickhive/server/conn"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/forward"
	"github.com/tickhive/tickhive/server/private"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/stream"
	"github.com/tickhive/tickhive/server/web"
)

// front holds the listeners and the handlers behind them. It exists from Open on. Handlers that need
// more than the published views read the phase view.
type front struct {
	log  *slog.Logger
	data *datadir.Dir
	now  func() int64 // process clock
	// machineNs is the clock of the machine, by which a virtual clock runs.
	machineNs func() int64
	recorded  bool           // recorded files drive the clock
	player    *player.Player // nil: no player plays them
	pace      pace
	// clockHeld reports whether the machine's clock has made a step that an operator must accept.
	clockHeld func() bool

	market         *public.Market // serves the public routes
	publicServer   *edge.Server
	internalServer *admin.Server
	hub            *stream.Hub
	forward        *forward.Forwarder // nil: not a replica
	replica        *forward.Replica   // nil: not a replica
	faults         *fault.Switch
	account        *account.Service
	private        *private.Feed
	agents         *agents.Service
	binance        *binance.Facade // nil: no listener

	sockets sockets
	changes viewChanges // a sink where Options.showsLate
	failed  chan error  // error that ends the exchange

	knownNs   atomic.Int64 // time that an earlier process had reached (refuseEarlier)
	scrubs    scrubStats
	former    formerKeys
	transfers transfers
	owes      atomic.Pointer[error] // why a step of the start waits for room; nil: none does
	gate      sequencer.Gate        // reference to the loop of Running
	phase     atomic.Pointer[phaseView]
	ready     atomic.Bool  // clients are admitted; the internal listener reads it
	progress  atomic.Int64 // progress of backfill or recovery in millionths; negative: neither is running
}

// phaseView is the part of the current phase that handlers may read. It is immutable: a later phase replaces it as
// a whole (enter).
type phaseView struct {
	journal  *journal     // nil: nothing is stored, or the journal is not open yet
	accounts *accountSide // nil: not recovered yet
	running  *Running     // nil: no loop serves clients yet
	follows  *Following   // nil: no replica
}

// Default limits of connections, used unless descriptors are short.
const (
	internalConnections = admin.DefaultConns
)

// newFront builds the handlers. They serve nothing before listen.
func newFront(b *base, room connLimits) (*front, error) {
	f := &front{
		log: b.log, data: b.data, clockHeld: b.clockHeld, failed: make(chan error, 4), faults: &fault.Switch{},
		now: b.clock.NowNs, machineNs: b.o.Machine.Clock.NowNs, recorded: b.o.Clock.Recorded,
		player: b.o.Clock.Player, forward: b.forwarder(),
	}
	if _, err := f.faults.Add(b.o.Faults, b.clock.NowNs()); err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	f.phase.Store(&phaseView{})
	f.replica = f.newReplica(b)
	f.progress.Store(-1)
	page, err := pages(b)
	if err != nil {
		return nil, err
	}
	if f.agents, err = agents.New(hook(b.o.Hooks.Agents, agents.Options{
		Clock: b.clock, User: f.user, VotesPerMinute: b.o.Rate.VotesPerMinute,
		Find: func(id [16]byte) (engine.AccountID, bool) { return f.account.Entry().Find(id) },
	})); err != nil {
		return nil, err
	}
	f.market = public.New(hook(b.o.Hooks.Market, public.Options{
		Board: b.feed.Board(), Clock: b.clock, Version: cmdline.Version, Status: f.status,
		Commissions: f.commissions, CommissionsVersion: f.commissionsVersion,
	}))
	f.private = private.New(b.feed.History(), func(n engine.AccountID, currency string) accounts.BalanceView {
		return f.account.Balance(n, currency)
	})
	b.feed.Observe(f.private.Observe)
	if f.account, err = account.New(hook(b.o.Hooks.Account, account.Options{
		Exchange: &f.gate, Core: b.core, History: b.feed.History(), Board: b.feed.Board(), Clock: b.clock,
		Random: b.o.Machine.Random, Limits: b.o.Engine.Limits,
		Legacy: b.o.Auth.Legacy, PublicURL: b.o.Auth.PublicURL, Commissions: f.market.Commissions, Ledger: f.agents,
		Feed: f.private,
	})); err != nil {
		return nil, err
	}
	f.hub = stream.NewHub(hook(b.o.Hooks.Streams, stream.Options{
		Board: b.feed.Board(), Clock: b.clock, Epoch: b.data.Epoch(), StatusRow: public.WritePairStatus,
		Private: f.account.Private(), Feed: f.private, NotWriter: f.notWriter(), Stale: f.replica.Stale,
		Published:     f.published(b),
		SocketOptions: stream.SocketOptions{MachineNs: b.machineNs(), Driver: b.o.Machine.Driver},
		Faults:        f.faults,
		Status: func(dst []byte) []byte {
			whole, _ := f.market.StatusView()
			return whole(dst)
		},
	}))
	if len(b.o.Binance.Listen) > 0 {
		f.binance = binance.New(hook(b.o.Hooks.Binance, binance.Options{
			Board: b.feed.Board(), Clock: b.clock, Engine: b.o.Engine, Entry: f.account.Entry(), Users: f.account,
			Seed: b.data.Seed(), Feed: f.private, Faults: f.faults,
		}))
	}
	if err := f.makeInternal(b, room.internal); err != nil {
		return nil, err
	}
	if err := f.makePublic(b, room.public, page); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	for i := range b.o.Faults {
		if err := f.publicServer.CheckFault(&b.o.Faults[i]); err != nil {
			return nil, fmt.Errorf("faults: %w", err)
		}
	}
	return f, nil
}

// pages returns the routes of the page and of the descriptions. With a driver there are none: they depend on
// nothing, and take longer to make than the rest of a start.
func pages(b *base) (edge.Resource, error) {
	if b.o.Machine.Driver != nil {
		return func(*edge.Server) []*edge.Route { return nil }, nil
	}
	return web.Page(web.Options{
		Binance: b.BinanceAddrs, Secure: b.o.Certificates.Public != nil, Replay: b.o.Clock.Player != nil,
		Console: func(ctx *fasthttp.RequestCtx) string { return admin.ShowsConsole(b.o.Server.Console, ctx) },
	})
}

func (f *front) makePublic(b *base, connections int, page edge.Resource) (err error) {
	o := &b.o
	var console *edge.Console
	if c := o.Server.Console; c == admin.ConsoleLoopback || c == admin.ConsoleToken {
		console = f.internalServer.Console()
	}
	conns := o.Server.ConnConfig
	conns.Connections = connections
	f.publicServer, err = edge.New(hook(b.o.Hooks.Public, edge.Options{
		Clock: b.clock, SeqOf: b.feed.Board().SeqOf, Log: b.log, Faults: f.faults,
		Replica: f.replica, Peers: b.clusterKey,
		SplitAggregator: o.Aggregator.Listen != "", AggregatorHost: o.Aggregator.Host,
		Rate: o.Rate, ConnConfig: conns, Certificate: o.Certificates.Public,
		Authenticate: f.account.Authenticate, MachineNs: b.machineNs(),
		Facade: f.binance.Routes(), Console: console,
		Resources: []edge.Resource{
			f.market.Routes, stream.Routes(f.hub), page, f.market.UDFRoutes, f.account.Routes, f.agents.Routes,
		},
	}))
	return err
}

func (f *front) makeInternal(b *base, connections int) (err error) {
	sources := f.metricsSource(b)
	o := admin.Options{
		Exchange: clockGate{&f.gate, f}, Core: b.core, History: b.feed.History(), Board: b.feed.Board(), Clock: b.clock,
		Entry: f.account.Entry(),
		Resources: []admin.Resource{
			f.account.InternalRoutes, f.agents.InternalRoutes, admin.FaultRoutes(f.faults, b.clock.NowNs,
				func(r *fault.Rule) error { return f.publicServer.CheckFault(r) }, b.feed.Board()),
			admin.SimRoutes(f.simulation(b)),
			web.Internal(func() []*edge.Route { return f.internalServer.Routes() }),
		},
		Token: b.o.Internal.Token, Hosts: b.o.Internal.Hosts, Connections: connections,
		Socket: strings.HasPrefix(b.o.Internal.Listen, listen.Unix), TLS: b.internal,
		Nodes:  b.clusterKey,
		Replay: b.replay(), Ready: &f.ready, Stale: f.replica.Stale, MachineNs: b.machineNs(),
		LogLevel: b.o.LogLevel, Log: b.log,
		StateHash: func() (machine.StateHash, error) { return f.stateHash(b) },
		Incidents: f.incidents,
		Snapshot:  f.snapshot,
		Pace:      f,
		Metrics:   admin.NewMetrics(sources),
		Figures: admin.NewFigures(admin.FiguresSource{
			MetricsSource: sources, Incidents: f.incidents,
			Faults: func() []*fault.Active { return f.faults.List(b.clock.NowNs()) },
		}),
	}
	f.internalServer, err = admin.New(hook(b.o.Hooks.Admin, o))
	return err
}

// metricsSource returns what a scrape and the figures read.
func (f *front) metricsSource(b *base) admin.MetricsSource {
	return admin.MetricsSource{
		Board: b.feed.Board(), Clock: b.clock,
		Loop: func() (*sequencer.LoopStats, int) {
			if x := f.phase.Load().running; x != nil {
				return x.loop.Stats(), x.loop.QueueLen()
			}
			return nil, 0
		},
		Routes: func() map[string][]edge.RouteStat {
			return map[string][]edge.RouteStat{
				"public": f.publicServer.RouteStats(), "internal": f.internalServer.RouteStats(),
				"binance": f.publicServer.FacadeStats(),
			}
		},
		Server: func() *edge.Server { return f.publicServer }, Accepts: f.accepts,
		Status: f.market.StatusWord, Refused: func() bool { return f.changesFailed() != nil }, Disk: b.data.Room,
		Logs: f.logStats, Replication: f.replicationStat,
		Streams: f.streamStats, Limited: f.limited, FacadeAuth: f.facadeAuth,
		Guarded:    func() map[string]uint64 { return f.account.Canceler().Counts() },
		Scrubs:     func() (ended uint64, damaged int64) { return f.scrubs.ended.Load(), f.scrubs.damaged.Load() },
		SecretKeys: f.secretKeys,
	}
}

// replay returns the recording that is played, nil if there is none.
func (b *base) replay() *admin.Replay {
	if b.o.Clock.Player == nil {
		return nil
	}
	return &admin.Replay{Player: b.o.Clock.Player, Epoch: b.data.Epoch()}
}

// sockets holds the listeners of an exchange. An optional one is nil when it has no address; the Binance-compatible one
// may have several. With a driver all are nil.
type sockets struct {
	public, internal, aggregator net.Listener
	binance                      []net.Listener
}

// bind opens the sockets, before anything is written: a start whose port is taken leaves no data directory. With a
// driver there are none.
func (o *Options) bind() (s sockets, err error) {
	if o.Machine.Driver != nil {
		return s, nil
	}
	open := func(key, at string) (ln net.Listener) {
		if err != nil {
			return nil
		}
		if ln, err = o.Hooks.Listen(at); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
			return nil
		}
		return ln
	}
	s.public = open("server.listen", o.Server.Listen)
	s.internal = open("internal.listen", o.Internal.Listen)
	if o.Aggregator.Listen != "" {
		s.aggregator = open("aggregator.listen", o.Aggregator.Listen)
	}
	for _, at := range o.Binance.Listen {
		if ln := open("binance.listen", at); ln != nil {
			s.binance = append(s.binance, ln)
		}
	}
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

// close closes the sockets of a start that failed.
func (s sockets) close() (err error) {
	for _, ln := range append([]net.Listener{s.public, s.internal, s.aggregator}, s.binance...) {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
	}
	return err
}

// listen serves the sockets.
func (f *front) listen(s sockets, o *Options) {
	if o.Machine.Driver != nil {
		return
	}
	f.sockets = s
	go f.watch(f.publicServer.Serve, s.public)
	go f.watch(f.internalServer.Serve, s.internal)
	if s.aggregator != nil {
		go f.watch(f.publicServer.ServeAggregator, s.aggregator)
	}
	for _, ln := range s.binance {
		go f.watch(f.publicServer.ServeFacade, ln)
	}
}

// watch serves a listener and reports its error when it ends.
func (f *front) watch(serve func(net.Listener) error, ln net.Listener) {
	if err := serve(ln); err != nil {
		f.fail(err)
	}
}

// runSockets serves the sockets of the streams until endSockets. With a driver there are none but those that the
// driver's program connects to the hub.
func (f *front) runSockets(d step.Driver) {
	if d != nil {
		d.Drive("hub", f.hub)
		return
	}
	go f.hub.Run()
	if f.binance != nil {
		go f.binance.Run()
	}
}

// endSockets closes the WebSockets. shutdown closes the listeners.
func (f *front) endSockets(d step.Driver) {
	f.hub.Shutdown()
	if d == nil {
		f.binance.Shutdown()
	}
}

// shutdown closes the listeners, if there are any, and waits for accepted requests until ctx ends.
func (f *front) shutdown(ctx context.Context) {
	if f.sockets.public == nil {
		return
	}
	end := func(name string, shutdown func(context.Context) error) {
		if err := shutdown(ctx); err != nil {
			f.log.Warn("listener did not end in time", "listener", name, "error", err)
		}
	}
	var public sync.WaitGroup
	public.Go(func() { end("public", f.publicServer.Shutdown) })
	end("internal", f.internalServer.Shutdown)
	public.Wait()
}

// enter makes the view of another phase visible to the handlers.
func (f *front) enter(s phaseView) {
	f.phase.Store(&s)
	if s.running == nil {
		f.gate.Lead(nil)
		return
	}
	f.gate.Lead(s.running.loop)
}

// admit lets clients in.
func (f *front) admit() {
	f.ready.Store(true)
	f.publicServer.SetReady()
}

// accepts returns the accept statistics of every listener.
func (f *front) accepts() []conn.AcceptStat {
	return append(f.publicServer.Accepts(), f.internalServer.Accepts())
}

// stateHash returns the hash of the current state. With a journal a follower computes it, so that the loop does not
// stop; otherwise the loop computes it, the market pair by pair in parts.
func (f *front) stateHash(b *base) (h machine.StateHash, err error) {
	if y := f.phase.Load().follows; y != nil {
		return y.StateHash()
	}
	x := f.phase.Load().running
	switch {
	case x == nil:
		return h, sequencer.ErrUnavailable
	case x.snapshots != nil:
		return x.snapshots.keeper.Hash()
	}
	market, err := machine.HashMarketOf(&f.gate, b.core, b.feed)
	if err != nil {
		return h, err
	}
	err = f.gate.Query(func() { h = x.state.HashWith(market) })
	return h, err
}

// user returns the level and the ledger address of an account.
func (f *front) user(n engine.AccountID) (level int64, address string, ok bool) {
	a := f.phase.Load().accounts
	if a == nil || n <= 0 || int64(n) > math.MaxUint32 {
		return 0, "", false
	}
	l, address := a.view.Level(uint32(n))
	return int64(l), address, address != ""
}

// clockGate is the engine for the internal API: the gate, and the setting of a virtual clock.
type clockGate struct {
	*sequencer.Gate
	f *front
}

// AdvanceTo writes the time to the directory before it moves the clock, so that no acknowledged
// move is lost. A time that was written but not acknowledged does no harm.
func (g clockGate) AdvanceTo(ns int64) error {
	if err := g.f.data.KeepClock(ns); err != nil {
		return fmt.Errorf("%w: %w", sequencer.ErrUnavailable, err)
	}
	if x := g.f.phase.Load().running; x != nil {
		return x.AdvanceTo(ns)
	}
	return sequencer.ErrUnavailable
}

// attach passes the recovered accounts to the handlers.
func (f *front) attach(h *Hooks, a *accountSide) {
	f.account.Attach(hook(h.Store, account.Store{State: a.state, Shown: a.view, Do: a.do}))
}

// Public returns the public server, for its routes and counters.
func (b *base) Public() *edge.Server { return b.front.publicServer }

// Internal returns the internal listener's server, for its routes and counters.
func (b *base) Internal() *admin.Server { return b.front.internalServer }

// Hub returns the hub of the streams.
func (b *base) Hub() *stream.Hub { return b.front.hub }

// Agents returns the handlers of launchpad and hive.
func (b *base) Agents() *agents.Service { return b.front.agents }

// Core returns the matching core. The loop's goroutine owns it.
func (b *base) Core() *engine.Core { return b.core }

// Feed returns the market data. The loop's goroutine owns it; any goroutine may read its board.
func (b *base) Feed() *marketdata.Feed { return b.feed }

// Loop returns the running loop.
func (x *Running) Loop() *sequencer.Loop { return x.loop }

// State returns the state that decides, at the last record. The loop's goroutine owns it.
func (x *Running) State() *machine.State { return x.state }

// Accounts returns the accounts. The loop's goroutine owns them; Shown is for all.
func (x *Running) Accounts() *accounts.State { return x.accounts.state }
