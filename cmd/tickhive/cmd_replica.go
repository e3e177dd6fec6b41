package main

import (
	"context"
	"errors"
	"time"

	"tickhive/internal/exchange"
)

// replicaCmd serves the public reads of an exchange whose records it follows in a stream.
type replicaCmd struct {
	From           string   `placeholder:"nats://HOST:PORT,..." help:"Servers of the writer's stream (replica.from)."`
	ConfigFile     string   `name:"config" placeholder:"FILE" help:"Configuration file (TOML)."`
	Set            []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Set a configuration key; may be repeated."`
	Listen         string   `key:"server.listen" placeholder:"ADDR" help:"Address of the public listener (127.0.0.1:8080); port 0 picks a free port."`
	InternalListen string   `key:"internal.listen" placeholder:"ADDR" help:"Address of the internal listener (127.0.0.1:8081), or unix:PATH; port 0 picks a free port."`
	Events         bool     `help:"Append trades, changes of books and orders to a stream for other programs, which keeps 1 GiB (replica.events)."`
	Quiet          bool     `help:"Suppress progress output."`
}

// Run serves until SIGTERM or an interrupt, or until a record cannot be executed.
func (r *replicaCmd) Run(p *program) error {
	signals := takeSignals(p)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := serveFlags{Listen: r.Listen, InternalListen: r.InternalListen, Quiet: r.Quiet}
	if r.Events {
		s.Set = []string{"replica.events=1073741824"}
	}
	f := streamFlags{From: r.From, ConfigFile: r.ConfigFile, Set: r.Set}
	cfg, follow, done, err := f.follower(ctx, p, s)
	if err != nil {
		return err
	}
	defer done()
	o, err := cfg.exchangeOptions(p, r.Quiet)
	if err != nil {
		return err
	}
	follow.MaxLag = time.Duration(cfg.Replica.MaxLag)
	o.Sim.Seed, o.Sim.SeedGiven, o.Follow = follow.Genesis.Seed, true, &follow
	return p.follow(ctx, o, signals)
}

// follow opens, starts, runs and stops a replica.
func (p *program) follow(ctx context.Context, o exchange.Options, signals processSignals) error {
	defer newReloads(&o).follow(signals)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened, err := exchange.Open(o)
	if err != nil {
		return addressRemedy(err)
	}
	a := announcement{out: p.out}
	a.addresses(opened, o.Public.Certificate != nil)
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
		return err
	}
	y, err := recovered.Follow(ctx)
	if err != nil {
		stopInTime(recovered)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	y.Admit()
	a.ready()
	err = y.Wait(stop)
	stopInTime(y)
	o.Log.Info("stopped")
	return err
}

// stopInTime stops a phase of a replica.
func stopInTime(x interface{ Stop(ctx context.Context) }) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	x.Stop(ctx)
}
