package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// serveCmd runs the exchange until it is told to stop.
type serveCmd struct {
	serveFlags
}

// shutdownTime bounds how long accepted requests may still take after SIGTERM.
const shutdownTime = 20 * time.Second

// Run serves until SIGTERM or an interrupt; a second one exits at once.
func (s *serveCmd) Run(p *program) error {
	cfg, err := s.config(p)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return serve(p, cfg, s.Quiet, signals)
}

// serve is the life of the program between its flags and its end.
func serve(p *program, cfg *Config, quiet bool, signals <-chan os.Signal) error {
	x, err := newExchange(p, cfg, quiet)
	if err != nil {
		return err
	}
	if err := x.listen(); err != nil {
		return err
	}
	started := make(chan error, 1)
	go func() { started <- x.start() }()
	for {
		select {
		case err := <-started:
			if err != nil {
				x.stop(context.Background())
				return err
			}
			x.setReady()
		case err := <-x.failed:
			x.stop(context.Background())
			return err
		case sig := <-signals:
			x.log.Info("stopping", "signal", sig.String())
			return x.stopBefore(signals)
		}
	}
}

// stopBefore stops in order, or at once when a second signal comes.
func (x *exchange) stopBefore(signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		x.stop(ctx)
		close(done)
	}()
	select {
	case <-done:
		x.log.Info("stopped")
		return nil
	case sig := <-signals:
		fmt.Fprintf(x.p.err, "tickhive: second signal (%s): exiting at once\n", sig)
		return exitError(1)
	}
}
