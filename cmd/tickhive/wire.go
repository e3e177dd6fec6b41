package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/internal/cmdline"
	"tickhive/internal/vfs"
	"tickhive/marketdata"
	"tickhive/server"
	"tickhive/server/web"
	"tickhive/sim"
)

// exchange is the wired program. main's goroutine builds, starts and stops it.
type exchange struct {
	p     *program
	cfg   *Config
	log   *logging
	quiet bool

	places   places // connection limits of the listeners
	clock    clock.Clock
	core     *engine.Core
	feed     *marketdata.Feed
	sim      *sim.Market // nil: no simulated market
	gate     gate
	epoch    string
	progress atomic.Int64 // millionths of backfill and recovery; negative: none under way

	prices   *server.Market // its public routes
	public   *server.Server
	internal *server.Internal
	hub      *server.Hub
	agents   *agentSide
	desk     *server.AccountDesk
	accounts *accountSide
	ready    atomic.Bool
	hubRuns  atomic.Bool

	// The durable side; nil without a data directory.
	data       *dataDir
	fs         vfs.FS // file system of the market's log
	market     *marketLog
	opened     atomic.Pointer[marketLog] // market, for goroutines that read it during the start
	policy     sequencer.SyncPolicy
	engineOpts engine.Options
	marketOpts marketdata.Options
	pos        uint64 // journal position at which the next loop begins
	lastNs     int64  // time of the command at pos
	startup    *startup
	reloaders  []reloader // run at SIGHUP

	incidentsMu sync.Mutex        // guards incidents, and data.meta once the loop runs
	incidents   []server.Incident // used without a data directory

	publicLn, internalLn, aggregatorLn net.Listener
	failed                             chan error // error of a listener that ended unexpectedly
}

// newExchange builds everything. Of the things that it opens only the data directory stays open.
func newExchange(p *program, cfg *Config, quiet bool) (*exchange, error) {
	own := *cfg // a used data directory overrides some of it
	x := &exchange{p: p, cfg: &own, quiet: quiet, fs: vfs.OS{}, failed: make(chan error, 3)}
	var err error
	if x.log, err = newLogging(p.err, cfg.Log.Level); err != nil {
		return nil, err
	}
	x.progress.Store(-1)
	if err := x.limitConnections(cmdline.FileLimit()); err != nil {
		return nil, err
	}
	if err := x.openData(); err != nil {
		return nil, err
	}
	x.makeMarket()
	if err = x.makeSim(); err == nil {
		err = x.makeServers()
	}
	if err != nil && x.data != nil {
		err = errors.Join(err, x.data.close(x.data.clean))
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// makeMarket builds core and feed with options that validate has checked.
func (x *exchange) makeMarket() {
	x.engineOpts, x.marketOpts = x.cfg.engineOptions(), x.cfg.marketOptions()
	x.core, x.feed = engine.NewCore(x.engineOpts), marketdata.NewFeed(x.marketOpts)
}

func (x *exchange) makeServers() error {
	page, err := server.Page(web.PartMarket, web.PartAccounts, web.PartLaunchpad)
	if err != nil {
		return err
	}
	if x.agents, err = newAgentSide(x.cfg, x.clock, x.log); err != nil {
		return err
	}
	x.gate.advanced = x.agents.advance
	x.prices = server.NewMarket(server.MarketOptions{
		Board: x.feed.Board(), Clock: x.clock, Version: cmdline.Version, Status: x.status,
		Commissions: x.cfg.commissions(),
	})
	if x.desk, err = x.newAccountDesk(x.agents.desk); err != nil {
		return err
	}
	x.hub = server.NewHub(server.HubOptions{
		Board: x.feed.Board(), Clock: x.clock, Epoch: x.epoch, StatusRow: server.AppendPairStatus,
		Private: x.desk.Private(),
		Status: func(dst []byte) []byte {
			whole, _ := x.prices.StatusView()
			return whole(dst)
		},
	})
	x.public, err = server.New(server.Options{
		Clock: x.clock, Log: x.log.Logger,
		SplitAggregator: x.cfg.Aggregator.Listen != "", AggregatorHost: x.cfg.Aggregator.Host,
		Rate: server.RateOptions{
			PerMinute: x.cfg.Rate.PerMinute, PerSecond: x.cfg.Rate.PerSecond, Clients: x.cfg.Rate.Clients,
			Allow: x.cfg.Rate.Allow, Market: x.cfg.Rate.Market, Account: x.cfg.Rate.Account,
		},
		TrustedProxies: x.cfg.Server.TrustedProxies, ConnectionsPerIP: x.cfg.Server.ConnectionsPerIP,
		Connections: x.places.public, ReadTimeout: time.Duration(x.cfg.Server.ReadTimeout),
		WriteTimeout: time.Duration(x.cfg.Server.WriteTimeout), IdleTimeout: time.Duration(x.cfg.Server.IdleTimeout),
		Authenticate: x.desk.Authenticate,
		Resources:    []server.Resource{x.prices.Resource, server.Streams(x.hub), page, x.prices.UDF, x.desk.Resource, x.agents.desk.Routes},
	})
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	io := server.InternalOptions{
		Exchange: &x.gate, Core: x.core, History: x.feed.History(), Board: x.feed.Board(), Clock: x.clock,
		Entry:     x.desk.Entry(),
		Resources: []server.InternalResource{x.desk.InternalResource, x.agents.desk.Internal},
		Token:     x.cfg.Internal.Token, Hosts: x.cfg.Internal.Hosts, Connections: x.places.internal, Ready: &x.ready, LogLevel: &x.log.level, Log: x.log.Logger,
	}
	if x.data != nil && x.data.clock != nil {
		io.Exchange = clockGate{&x.gate, x.data.clock}
	}
	x.wireInternal(&io)
	x.internal, err = server.NewInternal(io)
	return err
}

// listen opens the listeners, serves them and prints their addresses.
func (x *exchange) listen() error {
	var err error
	if x.publicLn, err = net.Listen("tcp", x.cfg.Server.Listen); err != nil {
		return fmt.Errorf("server.listen: %w", err)
	}
	if x.internalLn, err = net.Listen("tcp", x.cfg.Internal.Listen); err != nil {
		return errors.Join(fmt.Errorf("internal.listen: %w", err), x.publicLn.Close())
	}
	if err := server.CheckInternalAddress(x.internalLn.Addr(), x.cfg.Internal.Token); err != nil {
		return errors.Join(err, x.publicLn.Close(), x.internalLn.Close())
	}
	if at := x.cfg.Aggregator.Listen; at != "" {
		if x.aggregatorLn, err = net.Listen("tcp", at); err != nil {
			return errors.Join(fmt.Errorf("aggregator.listen: %w", err), x.publicLn.Close(), x.internalLn.Close())
		}
		go x.watch(x.public.ServeAggregator, x.aggregatorLn)
	}
	go x.watch(x.public.Serve, x.publicLn)
	go x.watch(x.internal.Serve, x.internalLn)
	fmt.Fprintf(x.p.out, "listening %s\n", x.addresses())
	return nil
}

func (x *exchange) addresses() string {
	return fmt.Sprintf("public=%s internal=%s", x.publicLn.Addr(), x.internalLn.Addr())
}

// watch serves a listener. If the listener ends unexpectedly, the program ends.
func (x *exchange) watch(serve func(net.Listener) error, ln net.Listener) {
	if err := serve(ln); err != nil {
		x.failed <- err
	}
}

// start brings the market up to date: recovery, backfill, then the loop on the process clock with
// the configured assets and pairs. When ctx is canceled, the long phases (recovery, backfill)
// return its error and leave no goroutine behind. The phases after them are short and complete.
func (x *exchange) start(ctx context.Context) error {
	if err := x.recover(ctx); err != nil {
		return err
	}
	if err := x.beginAccounts(); err != nil {
		return err
	}
	x.agents.users = x.accounts.state.View()
	if err := x.agents.open(x.data, x.sim != nil); err != nil {
		return err
	}
	if err := x.backfill(ctx); err != nil {
		return err
	}
	loop := x.newLoop(x.clock)
	go loop.Run()
	x.keep(loop)
	go x.hub.Run()
	x.hubRuns.Store(true)
	x.gate.set(loop)
	if err := x.configure(loop); err != nil {
		return err
	}
	if err := x.agents.begin(); err != nil {
		return err
	}
	if err := x.accounts.demo(x, x.desk); err != nil {
		return err
	}
	if err := x.agents.welcome(); err != nil {
		return err
	}
	if err := x.endFilling(); err != nil {
		return err
	}
	x.progress.Store(-1)
	return nil
}

// setReady admits clients.
func (x *exchange) setReady() {
	x.ready.Store(true)
	x.public.SetReady()
	fmt.Fprintf(x.p.out, "ready %s\n", x.addresses())
	x.log.Info("ready", "public", x.publicLn.Addr().String(), "internal", x.internalLn.Addr().String(), "pairs", x.feed.Board().Load().Len())
}

// stop ends everything from the outside in. It first ends a start under way: a backfill runs
// its own loop, and a recovery folds into the stores, which must not be closed meanwhile. stop
// returns when every goroutine has ended; ctx limits the wait for requests.
func (x *exchange) stop(ctx context.Context) {
	x.startup.end()
	if defect := (*startPanic)(nil); errors.As(x.startup.err, &defect) {
		return // see startPanic
	}
	if x.hubRuns.Load() {
		x.hub.Shutdown() // sockets first: they would outlive the listeners
	}
	for name, shutdown := range map[string]func(context.Context) error{"public": x.public.Shutdown, "internal": x.internal.Shutdown} {
		if err := shutdown(ctx); err != nil {
			x.log.Warn("listener did not end in time", "listener", name, "error", err)
		}
	}
	x.market.endKeeping() // a snapshot under way needs the loop, then the accounts
	loop := x.gate.loop.Load()
	if loop != nil {
		loop.Stop()
	}
	if err := x.agents.close(); err != nil {
		x.log.Error("launchpad and hive did not end in order", "error", err)
	}
	if x.accounts != nil {
		if err := x.settle(); err != nil {
			x.log.Error("the journal could not be synced", "error", err)
		}
		if err := x.accounts.close(); err != nil {
			x.log.Error("the accounts did not end in order", "error", err)
		}
	}
	if err := x.keepClock(); err != nil {
		x.log.Error("the time of the virtual clock was not kept", "error", err)
	}
	if err := x.closeMarket(loop); err != nil {
		x.log.Error("the journal did not end in order", "error", err)
	}
}

// accepts returns the accept statistics of every listener.
func (x *exchange) accepts() []server.AcceptStat {
	return append(x.public.Accepts(), x.internal.Accepts())
}

// status returns the fields of /api/status that package server does not know.
func (x *exchange) status() server.StatusInfo {
	info := server.StatusInfo{Recovering: !x.ready.Load(), Epoch: x.epoch, ProgressPPM: x.progress.Load(), Incidents: x.recentIncidents()}
	for _, a := range x.accepts() {
		if in, lasts := a.Incident(); lasts {
			info.Incidents = append([]server.Incident{in}, info.Incidents...)
		}
	}
	info.Degraded = x.storesFailed() != nil
	if loop := x.gate.loop.Load(); loop != nil {
		info.OldestUnpublishedNs = loop.Stats().OldestNs.Load()
	}
	return info
}
