package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tickhive/internal/datadir"
)

// stopsSlowly starts the program in dir and advances its clock by a span whose simulation delays the stop, on this
// machine by about the given time. It sends the response's status when the response arrives.
func stopsSlowly(t *testing.T, dir string, by time.Duration) (in *instance, status chan int) {
	t.Helper()
	in = start(t, "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--data-dir", dir)
	const tried = 20 * time.Minute // of the market
	began := time.Now()
	in.call(200, "POST", "/clock", fmt.Sprintf(`{"advance":%q}`, tried))
	span := time.Duration(float64(tried) * min(float64(by)/float64(time.Since(began)), 24*366*3))
	status = make(chan int, 1)
	go func() {
		defer close(status)
		body := strings.NewReader(fmt.Sprintf(`{"advance":%q}`, span.Round(time.Second)))
		if resp, err := http.Post(in.internal+"/clock", "", body); err == nil {
			_ = resp.Body.Close()
			status <- resp.StatusCode
		}
	}()
	for strings.Contains(in.do("GET", in.public+"/api/time", "").body, "2026-01-01T00:20:00.000Z") {
		// the clock does not move yet
	}
	return in, status
}

// The program finishes accepted requests, whatever signals it receives while it stops. Every
// signal is logged and changes nothing.
func TestFurtherSignalsDoNotSpoilACleanStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, status := stopsSlowly(t, dir, shutdownTime/5)
	in.signal(syscall.SIGTERM)
	in.waitLog("msg=stopping", 1)
	for i, s := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT,
		syscall.SIGTERM,
	} {
		in.signal(s)
		in.waitLog("already stopping", i+1)
	}
	in.signal(syscall.SIGHUP)
	in.waitLog("nothing to reload", 1)
	if got := <-status; got != 200 {
		t.Errorf("the request that was accepted before the signal: status %d", got)
	}
	in.endsClean(dir)
	if said := in.stderr.String(); strings.Contains(said, "at once\n") || !strings.Contains(said, "msg=stopped") {
		t.Errorf("%s", said)
	}
}

// GNU timeout and init systems of containers send a signal to the process and to its group. No
// signal between the first one and the end of the process changes the exit code.
func TestTheSameSignalManyTimesEndsCleanly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := start(t, "--data-dir", dir)
	for !in.ended() {
		_ = in.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
		_ = in.cmd.Process.Signal(syscall.SIGHUP)
	}
	in.endsClean(dir)
}

// A person who presses Ctrl-C a third time does not have to wait.
func TestTheThirdInterruptExitsAtOnce(t *testing.T) {
	dir := t.TempDir()
	in, _ := stopsSlowly(t, dir, time.Hour)
	in.signal(syscall.SIGINT)
	in.waitLog("msg=stopping", 1)
	in.signal(syscall.SIGINT)
	in.waitLog("already stopping", 1)
	if in.ended() {
		t.Error("the second interrupt ended it")
	}
	in.signal(syscall.SIGINT)
	if code := in.wait(); code != 1 || !strings.Contains(in.stderr.String(),
		"interrupted 3 times: exiting immediately") {
		t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clean {
		t.Errorf("%v, clean %t", err, meta.Clean)
	}
}

func TestAHangupWithoutATerminalEndsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := startEmpty(t, "--data-dir", dir)
	for i := range 3 {
		in.signal(syscall.SIGHUP)
		in.waitLog("nothing to reload", i+1)
	}
	if a := in.do("GET", in.public+"/api/healthcheck", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	in.signal(syscall.SIGTERM)
	in.endsClean(dir)
}

// At SIGHUP each reloadable part is reloaded. A part that fails logs the reason and stays
// unchanged.
func TestAHangupReloads(t *testing.T) {
	log := &lockedBuffer{}
	r := reloads{log: slog.New(slog.NewTextHandler(log, nil))}
	calls := 0
	r.list = []reloader{
		{"certificates", func() error { calls++; return nil }},
		{"key", func() error { return errors.New("no such file") }},
	}
	signals := make(chan os.Signal)
	end := r.follow(processSignals{reload: signals})
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	end()
	if calls != 2 {
		t.Errorf("reloaded %d times", calls)
	}
	for _, want := range []string{
		"msg=reloaded signal=hangup what=certificates",
		`msg="reload failed; keeping the old content" signal=hangup what=key error="no such file"`,
	} {
		if strings.Count(log.String(), want) != 2 {
			t.Errorf("%q is not there twice: %s", want, log.String())
		}
	}
}

// The reader of the log may end before the program does: tee receives the terminal's Ctrl-C
// too.
func TestALogThatNobodyReadsDoesNotSpoilAStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in := launchWith(t, func(c *exec.Cmd) { c.Stderr = w }, nil,
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir)
	_ = w.Close()
	in.waitLine("ready ")
	_ = r.Close()
	in.signal(syscall.SIGINT)
	in.endsClean(dir)
}
