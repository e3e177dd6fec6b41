package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"tickhive/accounts"
	"tickhive/bench/proc"
	"tickhive/bench/worst"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/exchange"
	"tickhive/internal/step"
	"tickhive/launchpad"
	"tickhive/server/account"
	"tickhive/server/admin"
)

// worstCmd measures the CPU time that the loop's thread spends on one step while a request needs as much work as the
// limits allow. Loop, stores and hub are stepped on one thread, with every sink of the exchange.
type worstCmd struct {
	Dir string `arg:"" help:"Directory for the data of the exchanges."`
}

// Run answers each line of standard input with the figures of a new exchange (worst.Request), as JSON.
func (b *worstCmd) Run(p *program) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fmt.Fprintln(p.out, "ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		found, err := b.measure()
		if err != nil {
			return err
		}
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%s\n", text)
	}
	return nil
}

// measure runs every request once.
func (b *worstCmd) measure() ([]worst.Request, error) {
	dir, err := os.MkdirTemp(b.Dir, "worst-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing in it is needed
	w := &worstMarket{}
	if err := w.start(dir); err != nil {
		return nil, err
	}
	w.requests()
	w.x.Stop(context.Background())
	return w.found, w.failed
}

// worstMarket is an exchange that one goroutine steps, on one thread.
type worstMarket struct {
	x      *exchange.Running
	steps  serial
	users  []string // ids
	nonce  int
	found  []worst.Request
	failed error // the first one
}

// fail notes the first failure.
func (w *worstMarket) fail(format string, args ...any) {
	if w.failed == nil {
		w.failed = fmt.Errorf("worst: "+format, args...)
	}
}

// start opens an exchange with the settings of serve.
func (w *worstMarket) start(dir string) error {
	o := exchange.Options{
		Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Public:   exchange.PublicOptions{Rate: exchange.RateOptions{Allow: []string{"127.0.0.0/8"}}},
		Accounts: accounts.Options{Random: rand.Reader}, Referral: accounts.DefaultConfig(),
		Launchpad: launchpad.DefaultOptions(), Hive: hive.DefaultOptions(), Sim: exchange.SimOptions{Seed: 1},
	}
	o.Machine.Driver = &w.steps
	o.Hooks.Account = func(o *account.Options) { o.Exchange = timed{o.Exchange, &w.steps} }
	o.Hooks.Admin = func(o *admin.Options) { o.Exchange = timedAdmin{timed{o.Exchange, &w.steps}, o.Exchange} }
	opened, err := exchange.Open(o)
	if err != nil {
		return err
	}
	recovered, err := opened.Recover(context.Background())
	if err != nil {
		return err
	}
	if w.x, err = recovered.Start(context.Background()); err != nil {
		return err
	}
	w.x.Admit()
	return nil
}

// measure runs a request and notes the longest step that it takes.
func (w *worstMarket) measure(name string, request func()) {
	if w.failed != nil {
		return
	}
	w.steps.took = w.steps.took[:0]
	request()
	took := w.steps.took
	r := worst.Request{Name: name, Steps: len(took)}
	if len(took) > 0 {
		slices.Sort(took)
		r.MedianNs, r.LongestNs = int64(took[len(took)/2]), int64(took[len(took)-1])
	}
	for _, d := range took {
		r.AllNs += int64(d)
	}
	w.found = append(w.found, r)
}

// serial is a driver that steps every component in turn, and measures the steps of the loop.
type serial struct {
	all  []*serialStep
	took []time.Duration // of the loop's steps, and of the reads that it makes for handlers
}

type serialStep struct {
	step.Stepper
	loop, busy, stopped bool
}

// Drive implements step.Driver.
func (d *serial) Drive(name string, s step.Stepper) {
	d.all = append(d.all, &serialStep{Stepper: s, loop: name == "loop"})
}

// Wait implements step.Driver.
func (d *serial) Wait(c <-chan struct{}) {
	for {
		select {
		case <-c:
			return
		default:
			d.round()
		}
	}
}

// round steps every component once, except those that wait for this one.
func (d *serial) round() {
	for _, s := range d.all {
		if s.busy || s.stopped {
			continue
		}
		s.busy = true
		before := proc.ThreadCPU()
		s.stopped = s.Step().Stopped
		if took := proc.ThreadCPU() - before; s.loop {
			d.took = append(d.took, took)
		}
		s.busy = false
	}
}

// timed runs the reads that handlers make, and notes how long the loop is busy with each part. With a driver, a read
// that need not wait runs outside the steps of the loop.
type timed struct {
	readsAndWrites
	steps *serial
}

// readsAndWrites is the interface of the loop for handlers.
type readsAndWrites interface {
	Submit(b *sequencer.Batch) error
	Query(fn func()) error
	QueryPair(p engine.PairID, fn func()) error
	QueryParts(p engine.PairID, read func(pause func())) error
}

// Query implements readsAndWrites.
func (t timed) Query(fn func()) error { return t.readsAndWrites.Query(t.whole(fn)) }

// QueryPair implements readsAndWrites.
func (t timed) QueryPair(p engine.PairID, fn func()) error {
	return t.readsAndWrites.QueryPair(p, t.whole(fn))
}

func (t timed) whole(fn func()) func() {
	return func() {
		before := proc.ThreadCPU()
		fn()
		t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
	}
}

// QueryParts implements readsAndWrites.
func (t timed) QueryParts(p engine.PairID, read func(pause func())) error {
	return t.readsAndWrites.QueryParts(p, func(pause func()) {
		before := proc.ThreadCPU()
		read(func() {
			t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
			pause()
			before = proc.ThreadCPU()
		})
		t.steps.took = append(t.steps.took, proc.ThreadCPU()-before)
	})
}

// timedAdmin is timed for the internal listener, which also moves a virtual clock.
type timedAdmin struct {
	timed
	clock admin.Exchange
}

// AdvanceTo implements admin.Exchange.
func (t timedAdmin) AdvanceTo(ns int64) error { return t.clock.AdvanceTo(ns) }
