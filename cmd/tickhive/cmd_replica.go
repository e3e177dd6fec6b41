package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/listen"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/vfs"
)

// replicaCmd serves the public reads of an exchange whose records it follows in a stream.
type replicaCmd struct {
	From           string   `placeholder:"nats://HOST:PORT,..." help:"Servers of the writer's stream (replica.from)."`
	Seed           string   `name:"credentials" placeholder:"FILE" help:"Credentials of these servers (stream.credentials). The writer of 'serve --journal embedded' keeps them as stream.nk in its data directory."`
	ClusterKey     string   `name:"cluster-key" placeholder:"FILE" help:"Key file of the cluster (cluster.key_file). The writer keeps it as cluster.key in its data directory; on one machine it is found beside the credentials."`
	ConfigFile     string   `name:"config" placeholder:"FILE" help:"Configuration file (TOML)."`
	Set            []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set a configuration key; may be repeated."`
	Listen         string   `key:"server.listen" placeholder:"ADDR" help:"Address of the public listener (127.0.0.1:8080); port 0 picks a free port."`
	InternalListen string   `key:"internal.listen" placeholder:"ADDR" help:"Address of the internal listener (127.0.0.1:8081), or unix:PATH; port 0 picks a free port."`
	BinanceListen  string   `key:"binance.listen" placeholder:"ADDR,..." help:"With --promote: addresses of the Binance-compatible listener, which answers 421 until this node is the writer (none)."`
	Promote        bool     `help:"Become the writer when the writer is silent for cluster.takeover_after; needs --data-dir."`
	Snapshot       string   `placeholder:"FILE" help:"Begin with this snapshot (tickhive backup) unless the directory has a copy."`
	SnapshotFrom   []string `placeholder:"https://HOST:PORT" help:"Internal listener of a node whose snapshot to begin with, instead of the writer's (replica.snapshot_from); may be repeated."`
	TrustLazySync  bool     `help:"With --promote: do not ask whether the servers sync before they acknowledge (stream.trust_lazy_sync)."`
	DataDir        string   `placeholder:"DIR" help:"Directory for a copy of the records, which the next start continues. --promote needs it; 'stream restore --from-dir' makes a data directory from it."`
	Advertise      string   `placeholder:"HOST:PORT" help:"Address of the public listener for replicas (cluster.advertise)."`
	Events         bool     `help:"Append trades, changes of books and orders to a stream for other programs, which keeps 1 GiB (replica.events)."`
	Quiet          bool     `help:"Suppress progress output."`

	keep []string // files that a writer which becomes a standby takes along from its data directory
}

// Run serves until SIGTERM or an interrupt, or until a record cannot be executed.
func (r *replicaCmd) Run(p *program) error {
	switch {
	case r.Promote && r.DataDir == "":
		return usageError{Err: errors.New("--promote: a standby needs a directory: add --data-dir DIR")}
	case r.TrustLazySync && !r.Promote:
		return usage("--trust-lazy-sync: only a writer, and with --promote a standby, ask the servers")
	case r.BinanceListen != "" && !r.Promote:
		return usage("--binance-listen: only a writer, and with --promote a standby, have this listener")
	case r.Promote && r.Events:
		return usageError{Err: errors.New("--events: a writer appends no events; let another replica do it")}
	}
	if !r.Promote { // it never trades; its configuration may be the writer's
		r.Set = append(r.Set, "binance.listen=")
	}
	kept := &listen.Kept{Open: listen.At}
	defer kept.Close()
	s := serveFlags{
		Listen: r.Listen, InternalListen: r.InternalListen, BinanceListen: r.BinanceListen, Quiet: r.Quiet,
	}
	return r.run(p, s, kept, takeSignals(p))
}

// run follows the stream on the sockets of kept.
func (r *replicaCmd) run(p *program, s serveFlags, kept *listen.Kept, signals processSignals) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if len(r.SnapshotFrom) > 0 {
		s.Set = append(s.Set, "replica.snapshot_from="+strings.Join(r.SnapshotFrom, ","))
	}
	if r.TrustLazySync {
		s.Set = append(s.Set, trustLazySync)
	}
	if r.Events {
		s.Set = append(s.Set, "replica.events=1073741824")
	}
	if r.Advertise != "" {
		s.Set = append(s.Set, "cluster.advertise="+r.Advertise)
	}
	if r.DataDir == "" {
		s.Sim = "off" // a copy has the snapshots of a writer
	}
	f := streamFlags{
		From: r.From, Seed: r.Seed, ClusterKey: r.ClusterKey, ConfigFile: r.ConfigFile, Set: r.Set, standby: r.Promote,
		dir: r.DataDir,
	}
	cfg, follow, done, err := f.follower(ctx, p, s)
	if err != nil {
		return err
	}
	defer done()
	begins, err := r.beginning(ctx, cfg, &follow)
	if err != nil {
		return err
	}
	defer func() { _ = begins.close() }() // a download that nobody needs
	o, err := exchangeOptions(cfg, p, r.Quiet)
	if err != nil {
		return err
	}
	begins.Report = o.Log
	follow.Snapshot, follow.Client = begins.find, begins.Client
	follow.MaxLag, follow.Trim = time.Duration(cfg.Replica.MaxLag), cfg.Cluster.Trim
	o.Sim.Seed, o.Sim.SeedGiven, o.Follow, o.Hooks.Listen = int64(follow.Genesis.Seed), true, &follow, kept.Listen
	if r.DataDir == "" {
		_, err = p.follow(ctx, o, 0, signals)
		return err
	}
	o.Stream.Quorum, follow.Stands = r.Promote, r.Promote
	return r.stand(ctx, p, &o, time.Duration(cfg.Cluster.TakeoverAfter), signals)
}

// beginning returns what finds the snapshot with which the node begins. Where the stream does not have its first
// message any more, the copy in the directory, or this snapshot, tells what the message said.
func (r *replicaCmd) beginning(ctx context.Context, cfg *config.Config, f *exchange.FollowOptions) (*beginning, error) {
	b := &beginning{Start: node.Start{
		Machine: node.OwnMachine(), Log: f.Log, Keys: f.Keys, File: r.Snapshot, Peers: cfg.Replica.Peers,
		Client: cfg.Ring().Client(), Options: exchange.EngineLogOptions(), Genesis: f.Genesis, Report: slog.Default(),
	}}
	if r.DataDir != "" {
		if err := os.MkdirAll(r.DataDir, 0o700); err != nil {
			return nil, err
		}
		b.To = filepath.Join(r.DataDir, node.DownloadName)
	} else {
		temp, err := os.CreateTemp("", "tickhive-snapshot-*")
		if err != nil {
			return nil, err
		}
		if b.To = temp.Name(); temp.Close() != nil {
			return nil, err
		}
	}
	if f.Genesis != (node.Genesis{}) {
		return b, nil
	}
	if g, ok := node.CopyGenesis(vfs.OS{}, r.DataDir); ok && r.DataDir != "" {
		f.Genesis, b.Genesis = g, g
		return b, nil
	}
	var err error
	f.Genesis, err = b.genesis(ctx)
	return b, err
}

// stand follows with a copy while another node is the writer. With --promote it becomes the writer when the other
// writer falls silent, and follows again when it is no longer the writer.
func (r *replicaCmd) stand(ctx context.Context, p *program, o *exchange.Options, after time.Duration,
	signals processSignals,
) error {
	for led := false; ; led = true {
		dir, err := openCopy(ctx, r.DataDir, o.Follow, r.keep, o.Log)
		if err != nil {
			return fmt.Errorf("--data-dir: %w", err)
		}
		following := *o
		following.Follow.Copy = dir
		h, err := p.follow(ctx, following, after, signals)
		if h == nil {
			again := errors.Is(err, node.ErrOffChain)
			if again {
				err = dir.SetAside(err)
			}
			if err = errors.Join(err, dir.Close()); led && !again {
				again, err = p.awaitStream(err, signals)
			}
			if again && err == nil {
				continue
			}
			return err
		}
		if err := h.Finish(&following); err != nil {
			h.Held.End()
			return err
		}
		if err = serve(p, writerOptions(*o, r.DataDir, h), announcement{out: p.out}, signals); err != nil {
			h.Held.End() // no beats of a node that does not serve
		}
		if !errors.Is(err, node.ErrFenced) {
			return err
		}
	}
}

// writerOptions returns the options of a node that has taken over.
func writerOptions(o exchange.Options, dir string, h *exchange.Handover) exchange.Options {
	log := o.Follow.Log
	o.Follow, o.Dir = nil, dir
	o.Stream.Handover = h
	o.Stream.Open = func(context.Context, string) (jet.Log, func(), error) { return log, func() {}, nil }
	return o
}

// follow opens, starts, runs and stops a replica. A standby, whose options have a copy, returns the term that it has
// taken; otherwise the term is nil.
func (p *program) follow(ctx context.Context, o exchange.Options, after time.Duration, signals processSignals,
) (h *exchange.Handover, err error) {
	defer newReloads(&o).follow(signals)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened, err := exchange.Open(o)
	if err != nil {
		return nil, addressRemedy(err)
	}
	a := announcement{out: p.out}
	a.addresses(opened, o.Certificates.Public != nil)
	a.listening()
	stop, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case sig := <-signals.stop:
			o.Log.Info("stopping", "signal", sig.String())
			cancel()
			close(stop)
		case <-ended:
		}
	}()
	recovered, err := opened.Recover(ctx)
	if err != nil {
		stopInTime(opened)
		return nil, err
	}
	y, err := recovered.Follow(ctx)
	if err != nil {
		stopInTime(recovered)
		if errors.Is(err, context.Canceled) {
			return nil, nil
		}
		return nil, err
	}
	y.Admit()
	a.ready()
	if !o.Follow.Stands {
		err = y.Wait(stop)
		stopInTime(y)
		o.Log.Info("stopped")
		return nil, err
	}
	if h, err = y.TakeOver(ctx, after); h != nil {
		brief, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond) // for requests under way
		defer cancel()
		y.Stop(brief)
		return h, nil
	}
	stopInTime(y)
	o.Log.Info("stopped")
	return nil, err
}

// stopInTime stops a phase of a replica.
func stopInTime(x interface{ Stop(ctx context.Context) }) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	x.Stop(ctx)
}
