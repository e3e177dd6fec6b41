package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
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
	if up, err := x.startBefore(signals); !up {
		return err
	}
	select {
	case err := <-x.failed:
		x.stop(context.Background())
		return err
	case sig := <-signals:
		x.log.Info("stopping", "signal", sig.String())
		return x.stopBefore(signals)
	}
}

// startup is the start of the market, on a goroutine of its own. What it builds is that
// goroutine's alone until done is closed.
type startup struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of start, once done is closed
}

// end calls a start under way off and returns when nothing of it runs any more.
func (s *startup) end() {
	s.cancel()
	<-s.done
}

// begin starts the market; whoever called it goes on and looks at x.startup.
func (x *exchange) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	s := &startup{cancel: cancel, done: make(chan struct{})}
	x.startup = s
	go func() {
		defer close(s.done)
		defer func() {
			if p := recover(); p != nil {
				s.err = &startPanic{value: p, stack: debug.Stack()}
			}
		}()
		s.err = x.start(ctx)
	}()
}

// startPanic is a panic within the start. What it was building may be half changed and its
// locks held: nothing of it is stopped in order, snapshot or written again.
type startPanic struct {
	value any
	stack []byte
}

// Error says what the panic said, and where.
func (e *startPanic) Error() string {
	return fmt.Sprintf("the start failed on a defect of the program: %v\n%s", e.value, e.stack)
}

// startBefore listens, brings the market up and lets everybody in, unless a signal or the end of a
// listener comes first: then what has begun is stopped, up is false, and err is what the
// program ends with.
func (x *exchange) startBefore(signals <-chan os.Signal) (up bool, err error) {
	if err := x.listen(); err != nil {
		return false, errors.Join(err, x.closeMarket(nil))
	}
	x.begin()
	select {
	case <-x.startup.done:
		if err := x.startup.err; err != nil {
			x.stop(context.Background())
			return false, err
		}
		x.setReady()
		return true, nil
	case err := <-x.failed:
		x.stop(context.Background())
		return false, err
	case sig := <-signals:
		x.log.Info("stopping", "signal", sig.String())
		if err := x.stopBefore(signals); err != nil {
			return false, err
		}
		if err := x.startup.err; !errors.Is(err, context.Canceled) {
			return false, err // it had failed by itself
		}
		return false, nil
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
