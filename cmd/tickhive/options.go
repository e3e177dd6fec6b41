package main

import (
	"github.com/tickhive/tickhive/internal/config"
	"github.com/tickhive/tickhive/internal/exchange"
)

// exchangeOptions returns the options of an exchange of this program.
func exchangeOptions(c *config.Config, p *program, quiet bool) (exchange.Options, error) {
	log, err := newLogging(p.err, c.Log.Level, c.Log.Format, p.environ)
	if err != nil {
		return exchange.Options{}, err
	}
	o, err := c.Options()
	o.Log, o.LogLevel = log.Logger, &log.level
	o.Progress = func(name string) exchange.Progress { return newProgress(p.err, name, "", quiet) }
	if isTerminal(p.out) {
		o.DemoKey = p.showDemoKey
	}
	return o, err
}
