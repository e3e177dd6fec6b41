package cli

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
)

// stopsSlowly starts the program in dir and advances its clock by a span whose simulation delays the stop, on this
// machine by about the given time. It sends the response's status when the response arrives.
func stopsSlowly(t *testing.T, dir string, by time.Duration) (in *harness.Instance, status chan int) {
	t.Helper()
	in = harness.Start(t, "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--data-dir", dir)
	const tried = 20 * time.Minute // of the market
	began := time.Now()
	in.Call(200, "POST", "/clock", fmt.Sprintf(`{"advance":%q}`, tried))
	span := time.Duration(float64(tried) * min(float64(by)/float64(time.Since(began)), 24*366*3))
	status = make(chan int, 1)
	go func() {
		defer close(status)
		body := strings.NewReader(fmt.Sprintf(`{"advance":%q}`, span.Round(time.Second)))
		if resp, err := http.Post(in.Internal+"/clock", "", body); err == nil {
			_ = resp.Body.Close()
			status <- resp.StatusCode
		}
	}()
	for strings.Contains(in.Do("GET", in.Public+"/api/time", "").Body, "2026-01-01T00:20:00.000Z") {
		// the clock does not move yet
	}
	return in, status
}

// The program finishes accepted requests, whatever signals it receives while it stops. Every
// signal is logged and changes nothing.
func TestFurtherSignalsDoNotSpoilACleanStop(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	in, status := stopsSlowly(t, dir, 4*time.Second)
	in.Signal(syscall.SIGTERM)
	in.WaitLog("msg=stopping", 1)
	for i, s := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT,
		syscall.SIGTERM,
	} {
		in.Signal(s)
		in.WaitLog("already stopping", i+1)
	}
	in.Signal(syscall.SIGHUP)
	in.WaitLog("nothing to reload", 1)
	if got := <-status; got != 200 {
		t.Errorf("the request that was accepted before the signal: status %d", got)
	}
	in.EndsClean(dir)
	if said := in.Stderr.String(); strings.Contains(said, "at once\n") || !strings.Contains(said, "msg=stopped") {
		t.Errorf("%s", said)
	}
}

// GNU timeout and init systems of containers send a signal to the process and to its group. No
// signal between the first one and the end of the process changes the exit code.
func TestTheSameSignalManyTimesEndsCleanly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.Start(t, "--data-dir", dir)
	for !in.Ended() {
		_ = in.Cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
		_ = in.Cmd.Process.Signal(syscall.SIGHUP)
	}
	in.EndsClean(dir)
}

// A person who presses Ctrl-C a third time does not have to wait.
func TestTheThirdInterruptExitsAtOnce(t *testing.T) {
	dir := t.TempDir()
	in, _ := stopsSlowly(t, dir, time.Hour)
	in.Signal(syscall.SIGINT)
	in.WaitLog("msg=stopping", 1)
	in.Signal(syscall.SIGINT)
	in.WaitLog("already stopping", 1)
	if in.Ended() {
		t.Error("the second interrupt ended it")
	}
	in.Signal(syscall.SIGINT)
	if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(),
		"interrupted 3 times: exiting immediately") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clean {
		t.Errorf("%v, clean %t", err, meta.Clean)
	}
}

func TestAHangupWithoutATerminalEndsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := harness.StartEmpty(t, "--data-dir", dir)
	for i := range 3 {
		in.Signal(syscall.SIGHUP)
		in.WaitLog("nothing to reload", i+1)
	}
	if a := in.Do("GET", in.Public+"/api/healthcheck", ""); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	in.Signal(syscall.SIGTERM)
	in.EndsClean(dir)
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
	in := harness.LaunchWith(t, func(c *exec.Cmd) { c.Stderr = w }, nil,
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir)
	_ = w.Close()
	in.WaitLine("ready ")
	_ = r.Close()
	in.Signal(syscall.SIGINT)
	in.EndsClean(dir)
}
