package main

import (
	"bytes"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// lineWriter passes on the lines that a program in this process prints.
type lineWriter chan string

func (l lineWriter) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// loops returns the number of loops that run in this process.
func loops() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("sequencer.(*Loop).Run("))
}

// The loop of a backfill ends before the journal does; it does not run on during the stop.
func TestNoLoopIsLeftWhenABackfillIsStopped(t *testing.T) {
	lines, signals := make(lineWriter, 16), make(chan os.Signal, 1)
	p := &program{out: lines, err: &harness.Output{}}
	f := serveFlags{
		Listen: "127.0.0.1:0", InternalListen: "127.0.0.1:0", DataDir: t.TempDir(), Backfill: "60d", Quiet: true,
		Set: []string{"rate.allow=127.0.0.1"},
	}
	cfg, err := f.config(p)
	if err != nil {
		t.Fatal(err)
	}
	o, err := exchangeOptions(cfg, p, true)
	if err != nil {
		t.Fatal(err)
	}
	before := loops()
	ended := make(chan error, 1)
	go func() { ended <- serve(p, o, announcement{out: lines}, processSignals{stop: signals}) }()
	in := &harness.Instance{T: t}
	in.TakeAddresses(<-lines)
	in.WaitUnderWay()
	if n := loops(); n <= before {
		t.Errorf("%d loops run during the backfill, %d before: the name of the loop's function is wrong", n, before)
	}
	signals <- syscall.SIGTERM
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
	if n := loops(); n != before {
		t.Errorf("%d loops run, %d before", n, before)
	}
}
