package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// processSignals holds the signals of a serving process. Of the signals that can be caught,
// only the interrupt that a person repeats ends it uncleanly (served.stop).
type processSignals struct {
	stop   <-chan os.Signal // clean stop: SIGTERM, SIGINT, and SIGHUP of a closed terminal
	reload <-chan os.Signal // SIGHUP without a terminal
}

// takeSignals handles the signals for the rest of the process. If they were released at the end,
// the last signal of a burst would end a cleanly stopped process with the signal's exit code.
func takeSignals(p *program) processSignals {
	stop, reload := make(chan os.Signal, 8), make(chan os.Signal, 1)
	hangup := reload
	if p.onTerminal() && !signal.Ignored(syscall.SIGHUP) {
		hangup = stop // nohup and trap '' HUP mean that the process outlives its terminal
	}
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangup, syscall.SIGHUP)
	// A reader of the log that ends first, for example tee, must not end the process.
	signal.Ignore(syscall.SIGPIPE)
	return processSignals{stop: stop, reload: reload}
}

// onTerminal reports whether the process's input or output is a terminal.
func (p *program) onTerminal() bool {
	return isTerminal(os.Stdin) || isTerminal(p.out)
}

// reloader reloads one file of a running process. If the new file cannot be used, reload
// returns an error and the old content stays in force.
type reloader struct {
	name   string
	reload func() error
}

// reloads are the files that a running process reloads at SIGHUP.
type reloads struct {
	log  *slog.Logger
	list []reloader
}

// follow reloads at every reload signal, on a goroutine that end stops.
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
		if err := f.reload(); err != nil {
			r.log.Error("reload failed; keeping the old content", "signal", sig.String(), "what", f.name, "error", err)
		} else {
			r.log.Info("reloaded", "signal", sig.String(), "what", f.name)
		}
	}
}
