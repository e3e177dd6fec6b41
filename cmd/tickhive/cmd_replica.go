package main

import (
	"context"
	"errors"
	"fmt"
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
	Quiet          bool     `help:"Suppress progress output."`
}

// Run serves until SIGTERM or an interrupt, or until a record cannot be executed.
func (r *replicaCmd) Run(p *program) error {
	signals := takeSignals(p)
	f := serveFlags{
		ConfigFile: r.ConfigFile, Set: r.Set, Listen: r.Listen, InternalListen: r.InternalListen, Quiet: r.Quiet,
	}
	if r.From != "" {
		f.Set = append(f.Set, "replica.from="+r.From)
	}
	f.Set = append(f.Set, "data.dir=", "journal.stream=", "journal.ack=local", "sim.enabled=false", "sim.backfill=0",
		"clock.mode=real", "binance.listen=")
	cfg, err := f.config(p)
	if err != nil {
		return err
	}
	if cfg.Replica.From == "" {
		return usageError{Err: errors.New("a replica needs --from nats://HOST:PORT")}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	follow, done, err := cfg.followStream(ctx)
	if err != nil {
		return fmt.Errorf("--from (replica.from): %w", err)
	}
	defer done()
	if err := cfg.read("the stream's first message", []byte(follow.Genesis.Settings)); err != nil {
		return err
	}
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("the settings of the stream: %w", err)
	}
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
