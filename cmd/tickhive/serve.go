package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// serveCmd runs the exchange until a signal stops it.
type serveCmd struct {
	serveFlags
}

// shutdownTime limits the time that accepted requests may still take after SIGTERM.
const shutdownTime = 20 * time.Second

// Run serves until SIGTERM or an interrupt (signals.go).
func (s *serveCmd) Run(p *program) error {
	signals := takeSignals(p)
	cfg, err := s.config(p)
	if err != nil {
		return err
	}
	return serve(p, cfg, s.Quiet, signals)
}

// serve builds, starts, runs and stops the exchange.
func serve(p *program, cfg *Config, quiet bool, signals processSignals) error {
	x, err := newExchange(p, cfg, quiet)
	if err != nil {
		return err
	}
	defer x.follow(signals)()
	if up, err := x.startBefore(signals.stop); !up {
		return err
	}
	select {
	case err := <-x.failed:
		x.stop(context.Background())
		return err
	case sig := <-signals.stop:
		return x.stopBefore(sig, signals.stop)
	}
}

// startup is the start of the market on a separate goroutine. That goroutine owns everything
// that it builds until done is closed.
type startup struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // result of start; valid once done is closed
}

// end cancels a start under way and returns when its goroutine has ended.
func (s *startup) end() {
	s.cancel()
	<-s.done
}

// begin starts the market in the background; x.startup holds the result.
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

// startPanic is a panic during the start. The structures under construction may be half changed
// and their locks held, so none of them is stopped in order, put into a snapshot or written again.
type startPanic struct {
	value any
	stack []byte
}

// Error returns the panic's value and stack.
func (e *startPanic) Error() string {
	return fmt.Sprintf("the start failed on a defect of the program: %v\n%s", e.value, e.stack)
}

// startBefore listens, starts the market and admits clients. If a signal or a failed listener
// comes first, it stops the parts that have started and returns up false and the error that
// the program ends with.
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
		if err := x.stopBefore(sig, signals); err != nil {
			return false, err
		}
		if err := x.startup.err; !errors.Is(err, context.Canceled) {
			return false, err // the start failed before it was canceled
		}
		return false, nil
	}
}

// interruptsToExit is the number of interrupts that end the process at once, as in Docker's
// daemon. Two are not enough: a wrapper that forwards a signal sends it twice, and a person
// presses Ctrl-C again.
const interruptsToExit = 3

// stopBefore stops in order. Further signals are logged and change nothing, because a
// supervisor that does not want to wait can send SIGKILL. Interrupts come from a person:
// interruptsToExit of them end the process at once. first is nil if no signal caused the stop.
func (x *exchange) stopBefore(first os.Signal, signals <-chan os.Signal) error {
	if first != nil {
		x.log.Info("stopping", "signal", first.String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	done := make(chan struct{})
	go func() {
		x.stop(ctx)
		close(done)
	}()
	interrupts := 0
	for sig := first; ; {
		if sig == os.Interrupt {
			interrupts++
		}
		if interrupts >= interruptsToExit {
			fmt.Fprintf(x.p.err, "tickhive: interrupted %d times: exiting at once\n", interrupts)
			return exitError(1)
		}
		select {
		case <-done:
			x.log.Info("stopped")
			return nil
		case sig = <-signals:
			x.log.Warn("already stopping: the signal changes nothing", "signal", sig.String(),
				"interrupts_to_exit_at_once", interruptsToExit)
		}
	}
}
