package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tickhive/internal/datadir"
)

// waitUnderWay returns when /api/status shows progress of the start.
func (in *instance) waitUnderWay() {
	in.t.Helper()
	for {
		a := in.do("GET", in.public+"/api/status", "")
		if !strings.Contains(a.body, `"status":"recovering"`) {
			in.t.Fatalf("the start is over: %d %.200s", a.status, a.body)
		}
		if !strings.Contains(a.body, `"progress":null`) && !strings.Contains(a.body, `"progress":0,`) {
			return
		}
	}
}

// launchAt launches the program on a data directory and returns when it listens.
func launchAt(t testing.TB, dir string, args ...string) *instance {
	t.Helper()
	in := launch(t, nil, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir, "--set",
		"rate.allow=127.0.0.1",
	}, args...)...)
	in.takeAddresses(in.waitLine("listening "))
	return in
}

// endsWithinItsStart sends SIGHUP and two SIGTERM, and checks that the program ends without
// having been ready.
func (in *instance) endsWithinItsStart() {
	in.t.Helper()
	in.signal(syscall.SIGHUP)
	in.waitLog("nothing to reload", 1)
	in.signal(syscall.SIGTERM)
	in.signal(syscall.SIGTERM)
	code, said := in.wait(), in.stderr.String()
	if code != 0 || !strings.Contains(said, "msg=stopped") {
		in.t.Errorf("exit code %d: %s", code, said)
	}
	for _, wrong := range []string{"panic", "DATA RACE", "level=ERROR", "done in"} {
		if strings.Contains(said, wrong) {
			in.t.Errorf("%q in: %s", wrong, said)
		}
	}
	for line := range in.lines {
		in.t.Errorf("said %q", line)
	}
}

func TestATermWithinABackfillEndsInOrderAndTheNextStartIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		in := launchAt(t, dir, "--backfill", "60d")
		in.waitUnderWay()
		in.endsWithinItsStart()
		if meta, err := datadir.ReadMeta(dir); err != nil || !meta.Clean || !meta.Filling {
			t.Errorf("%v, clean %t, filling %t", err, meta.Clean, meta.Filling)
		}
	}
	in := start(t, "--data-dir", dir, "--backfill", "10m")
	if a := in.do("GET", in.public+"/api/status", ""); !strings.Contains(a.body, `"status":"ok"`) ||
		!strings.Contains(a.body, `"incidents":[]`) {
		t.Errorf("%.300s", a.body)
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Filling {
		t.Errorf("%v, filling %t", err, meta.Filling)
	}
	if a := in.do("GET", in.public+"/api/summary", ""); strings.Count(a.body, `"trading_pairs"`) < 10 {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var said bytes.Buffer
	if code := run([]string{"journal", "verify", dir},
		&program{out: &said, err: &said, environ: os.Environ()}); code != 0 {
		t.Errorf("journal verify: %d: %s", code, said.String())
	}
}

func TestATermWithinARecoveryEndsInOrderAndLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := []string{
		"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--backfill", "6h", "--data-dir",
		dir,
	}
	first := start(t, clock...)
	hash := first.do("GET", first.internal+"/state-hash", "").body
	first.signal(syscall.SIGKILL)
	<-first.exited

	for range 2 {
		in := launchAt(t, dir, clock...)
		in.waitUnderWay()
		in.endsWithinItsStart()
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clean {
		t.Errorf("%v, clean %t: the kill must still be reported", err, meta.Clean)
	}
	in := start(t, clock...)
	if again := in.do("GET", in.internal+"/state-hash", "").body; again != hash {
		t.Errorf("the hash is %.300s, before %.300s", again, hash)
	}
	if a := in.do("GET", in.public+"/api/status", ""); !strings.Contains(a.body, "was not shut down cleanly") {
		t.Errorf("%.300s", a.body)
	}
}

// A start that finds its port in use does not change the market of the directory.
func TestAStartThatCannotListenLeavesTheDirectoryClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startEmpty(t, "--data-dir", dir)
	first.pair("BTC_USDT")
	first.signal(syscall.SIGTERM)
	if code := first.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	used := strings.TrimPrefix(startEmpty(t).public, "http://")
	second := launch(t, nil, "serve", "--listen", used, "--internal-listen", "127.0.0.1:0", "--data-dir", dir,
		"--clock", "virtual")
	if code := second.wait(); code != 1 || !strings.Contains(second.stderr.String(), "server.listen") {
		t.Errorf("exit code %d: %s", code, second.stderr.String())
	}
	third := startEmpty(t, "--data-dir", dir)
	if a := third.do("GET", third.public+"/api/status", ""); !strings.Contains(a.body, `"incidents":[]`) {
		t.Errorf("%.500s", a.body)
	}
}

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
	p := &program{out: lines, err: &lockedBuffer{}}
	f := serveFlags{
		Listen: "127.0.0.1:0", InternalListen: "127.0.0.1:0", DataDir: t.TempDir(), Backfill: "60d", Quiet: true,
		Set: []string{"rate.allow=127.0.0.1"},
	}
	cfg, err := f.config(p)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cfg.exchangeOptions(p, true)
	if err != nil {
		t.Fatal(err)
	}
	before := loops()
	ended := make(chan error, 1)
	go func() { ended <- serve(p, o, announcement{out: lines}, processSignals{stop: signals}) }()
	in := &instance{t: t}
	in.takeAddresses(<-lines)
	in.waitUnderWay()
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
