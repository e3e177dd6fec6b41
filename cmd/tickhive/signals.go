package main

import (
	"os"
	"os/signal"
	"syscall"
)

// processSignals are the signals of a process that serves. No signal that can be caught ends
// it uncleanly, but for the interrupt that a person repeats (stopBefore).
type processSignals struct {
	stop   <-chan os.Signal // a clean stop: SIGTERM, SIGINT, and SIGHUP of a closed terminal
	reload <-chan os.Signal // SIGHUP without a terminal
}

// takeSignals takes the signals over for the rest of the process: given back, the last one
// of a burst would end a process that has stopped cleanly with the signal's exit code.
func takeSignals(p *program) processSignals {
	stop, reload := make(chan os.Signal, 8), make(chan os.Signal, 1)
	hangup := reload
	if p.onTerminal() && !signal.Ignored(syscall.SIGHUP) {
		hangup = stop // nohup and trap '' HUP say that the process outlives its terminal
	}
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	signal.Notify(hangup, syscall.SIGHUP)
	// A reader of the log that ends first, such as tee, must not take the process along.
	signal.Ignore(syscall.SIGPIPE)
	return processSignals{stop: stop, reload: reload}
}

// onTerminal reports whether a terminal is the process's input or output.
func (p *program) onTerminal() bool {
	return isTerminal(os.Stdin) || isTerminal(p.out)
}

// reloader reads again what a running process can read again. A new one that cannot be used
// is an error, and the old one stays.
type reloader struct {
	name   string
	reload func() error
}

// follow reloads at every reload signal, on a goroutine that the function it returns ends. A
// part of the program that can be reloaded joins x.reloaders in newExchange.
func (x *exchange) follow(signals processSignals) (end func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case sig := <-signals.reload:
				x.reload(sig)
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

func (x *exchange) reload(sig os.Signal) {
	if len(x.reloaders) == 0 {
		x.log.Info("there is nothing to reload", "signal", sig.String())
	}
	for _, r := range x.reloaders {
		if err := r.reload(); err != nil {
			x.log.Error("not reloaded, the old one stays", "signal", sig.String(), "what", r.name, "error", err)
		} else {
			x.log.Info("reloaded", "signal", sig.String(), "what", r.name)
		}
	}
}
