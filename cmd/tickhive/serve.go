package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// serveCmd runs the exchange until it is told to stop.
type serveCmd struct {
	serveFlags
}

// shutdownTime bounds how long accepted requests may still take after SIGTERM.
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

// serve is the life of the program between its flags and its end.
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
		if err := x.stopBefore(sig, signals); err != nil {
			return false, err
		}
		if err := x.startup.err; !errors.Is(err, context.Canceled) {
			return false, err // it had failed by itself
		}
		return false, nil
	}
}

// interruptsToExit is how many interrupts end the process at once, as in Docker's daemon:
// wrappers that pass a signal on send it twice, and a person presses Ctrl-C again.
const interruptsToExit = 3

// stopBefore stops in order. Further signals are logged and change nothing, whoever sends
// them: a supervisor that does not want to wait has SIGKILL. Interrupts, which a person
// sends, end the process at once when there are enough of them. first is nil where none came.
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
