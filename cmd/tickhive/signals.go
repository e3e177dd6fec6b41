package main

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/tickhive/tickhive/internal/exchange"
)

// processSignals holds the signals of a serving process. Of the signals that a process can catch, only repeated
// interrupts end it before it has stopped in order (served.stop).
type processSignals struct {
	stop   chan os.Signal   // stop in order: SIGTERM, SIGINT, SIGHUP when a terminal was closed, and inputClosed
	reload <-chan os.Signal // reload files: SIGHUP without a terminal
}

// takeSignals catches the signals until the process ends. Releasing them earlier would let the last of several
// signals end a process that has stopped in order with the signal's exit code.
func takeSignals(p *program) processSignals {
	stop, reload := make(chan os.Signal, 8), make(chan os.Signal, 1)
	hangup := reload
	if p.onTerminal() && !signal.Ignored(syscall.SIGHUP) {
		hangup = stop // nohup and trap '' HUP mean that the process should outlive its terminal
	}
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangup, syscall.SIGHUP)
	// A reader of the log that ends first, such as tee, must not end the process.
	signal.Ignore(syscall.SIGPIPE)
	return processSignals{stop: stop, reload: reload}
}

// inputClosed takes the place of a signal: standard input has closed.
type inputClosed struct{}

// Signal implements os.Signal.
func (inputClosed) Signal() {}

// String implements os.Signal.
func (inputClosed) String() string { return "standard input closed" }

// untilClosed stops the process when in has no more to read. The system closes a pipe when the process at its other end
// ends, after kill -9 too.
func (s processSignals) untilClosed(in io.Reader) {
	_, _ = io.Copy(io.Discard, in) // an input that cannot be read is closed
	s.stop <- inputClosed{}
}

// onTerminal reports whether the process's input or output is a terminal.
func (p *program) onTerminal() bool {
	return isTerminal(os.Stdin) || isTerminal(p.out)
}

// reloader reloads one file while the process runs and reports whether its content is another one. When the new file is
// not usable, reload returns an error and the old content stays valid.
type reloader struct {
	name   string
	reload func() (changed bool, err error)
}

// reloads lists the files to reload at SIGHUP.
type reloads struct {
	log  *slog.Logger
	list []reloader
}

// newReloads returns the files that an exchange with these options reloads.
func newReloads(o *exchange.Options) *reloads {
	r := &reloads{log: o.Log}
	if c := o.Certificates.Public; c != nil {
		r.list = append(r.list, reloader{"tls.cert and tls.key", c.Reload})
	}
	if c := o.Certificates.Internal; c != nil {
		r.list = append(r.list, reloader{"internal.cert and internal.key", c.Reload})
	}
	return r
}

// follow starts a goroutine that reloads the files at every reload signal. end stops it.
func (r *reloads) follow(signals processSignals) (end func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case sig := <-signals.reload:
				r.reload(sig)
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

func (r *reloads) reload(sig os.Signal) {
	if len(r.list) == 0 {
		r.log.Info("nothing to reload", "signal", sig.String())
	}
	for _, f := range r.list {
		switch changed, err := f.reload(); {
		case err != nil:
			r.log.Error("reload failed; keeping the old content", "signal", sig.String(), "what", f.name, "error", err)
		case !changed:
			r.log.Warn("nothing to reload: the files have the content that is in force", "signal", sig.String(),
				"what", f.name)
		default:
			r.log.Info("reloaded", "signal", sig.String(), "what", f.name)
		}
	}
}
