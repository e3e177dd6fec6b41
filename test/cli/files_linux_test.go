package cli

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// launchWithFiles calls launch with a limit of open files, as a shell or a unit sets it.
func launchWithFiles(t *testing.T, files int, args ...string) *harness.Instance {
	t.Helper()
	script := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files)
	args = append([]string{
		"-c", script, harness.Program(t), "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0",
	}, args...)
	return harness.LaunchCommand(t, nil, exec.Command("/bin/sh", args...))
}

// openFiles returns the number of the program's open descriptors.
func openFiles(in *harness.Instance) int {
	in.T.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", in.Cmd.Process.Pid))
	if err != nil {
		in.T.Fatal(err)
	}
	return len(list)
}

// dial opens a connection and sends nothing.
func dial(in *harness.Instance, base string) net.Conn {
	in.T.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		in.T.Fatal(err)
	}
	in.T.Cleanup(func() { _ = c.Close() })
	return c
}

// readStatus returns the status of the next response on c.
func readStatus(in *harness.Instance, c net.Conn) int {
	in.T.Helper()
	if err := c.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		in.T.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		in.T.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// fill opens 20 connections more than there are places. The 20 oldest must be closed, because they are
// the least useful ones; fill returns the others, which the server holds.
func fill(in *harness.Instance, base string, places int) (held []net.Conn) {
	in.T.Helper()
	const more = 20
	var all []net.Conn
	for range places + more {
		c := dial(in, base)
		if _, err := c.Write([]byte("G")); err != nil { // until then the kernel holds it
			in.T.Fatal(err)
		}
		all = append(all, c)
	}
	for i, c := range all {
		wait := harness.Patience
		if i >= more {
			wait = time.Millisecond
		}
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			in.T.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			held = append(held, c)
		}
	}
	return held
}

// serves sends requests on a new connection until the status is 200. Places become free when
// the server has seen the end of the connections that held them.
func serves(in *harness.Instance, base, path string) {
	in.T.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); ; <-look.C {
		c := dial(in, base)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			path); err != nil {
			in.T.Fatal(err)
		}
		status := readStatus(in, c)
		_ = c.Close()
		if status == 200 {
			return
		}
		if time.Now().After(end) {
			in.T.Fatalf("%s%s: %d", base, path, status)
		}
	}
}

// countFiles returns the number of files in a folder with this ending.
func countFiles(t *testing.T, dir, ending string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// When both listeners have reached their connection limits, the program still opens the files
// that it needs: the journal continues in new segments, snapshots are written, the state is
// hashed. Afterwards both listeners serve again, and nothing is lost.
func TestConnectionsLeaveRoomForTheJournal(t *testing.T) {
	t.Parallel()
	for _, c := range []room{{256, 144, 48}, {1024, 720, 240}} {
		t.Run(fmt.Sprint(c.files), func(t *testing.T) {
			t.Parallel()
			leaveRoom(t, c.files, c)
		})
	}
}

// room holds the connections of each listener under a limit of open files.
type room struct{ files, public, internal int }

func leaveRoom(t *testing.T, files int, want room) {
	dir := t.TempDir()
	in := launchWithFiles(t, files, "--data-dir", dir, "--pairs", "none", "--sim", "off", "--clock", "virtual",
		"--clock-start", "2026-01-01T00:00:00Z",
		"--set", "journal.segment_bytes=4096", "--set", "journal.snapshot_bytes=4096", "--set", "journal.keep=all",
		"--set", "server.read_timeout=60s")
	in.TakeAddresses(in.WaitLine("ready "))
	for _, word := range []string{
		"level=WARN", fmt.Sprintf("files=%d ", files), "configured=16384",
		fmt.Sprintf("public=%d ", want.public), "LimitNOFILE=26448",
	} {
		if !strings.Contains(in.Stderr.String(), word) {
			t.Errorf("no %s in the log", word)
		}
	}
	in.Pair("BTC_USDT") // on the connection that all later requests of the test use
	held := fill(in, in.Public, want.public)
	inside := fill(in, in.Root, want.internal-1)
	if len(held) != want.public || len(inside) != want.internal-1 {
		t.Errorf("%d and %d connections are held, want %d and %d", len(held), len(inside), want.public, want.internal-1)
	}
	full := openFiles(in)
	t.Logf("%d descriptors of %d in use with %d and %d connections", full, files, len(held), len(inside)+1)
	if full > files || full < want.public+want.internal {
		t.Errorf("%d descriptors of %d are in use", full, files)
	}

	segments := countFiles(t, filepath.Join(dir, "engine"), ".wal")
	for range 400 {
		in.Limit("BTC_USDT", "buy", "1", "1")
	}
	in.Call(200, "POST", "/users", "{}")
	hash := in.Do("GET", in.Internal+"/state-hash", "")
	if hash.Status != 200 {
		t.Errorf("state hash: %d %s", hash.Status, hash.Body)
	}
	if n := countFiles(t, filepath.Join(dir, "engine"), ".wal"); n < segments+2 {
		t.Errorf("%d segments, %d before", n, segments)
	}
	metrics := in.Do("GET", in.Root+"/metrics", "").Body
	for _, line := range []string{
		`tickhive_accept_failures_total{listener="public"} 0`,
		`tickhive_accept_failures_total{listener="internal"} 0`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(harness.Patience); countFiles(t, filepath.Join(dir, "engine"), ".snap") == 0; <-look.C {
		if time.Now().After(end) {
			t.Fatal("no snapshot was written")
		}
	}

	for _, c := range append(held, inside...) {
		_ = c.Close()
	}
	serves(in, in.Public, "/api/healthcheck")
	serves(in, in.Root, "/internal/v1/clock")
	in.Signal(syscall.SIGKILL)
	<-in.Exited
	second := harness.StartEmpty(t, "--data-dir", dir)
	if again := second.Do("GET", second.Internal+"/state-hash", "").Body; again != hash.Body {
		t.Errorf("after the restart %s, before %s", again, hash.Body)
	}
}

// A listener that cannot accept a connection for lack of a descriptor reports it and
// continues. It serves the waiting connections once descriptors are free.
func TestListenersOutlastTheLackOfDescriptors(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	status := func() string { return in.Do("GET", in.Public+"/api/status", "").Body } // on a persistent connection
	metrics := func() string { return in.Do("GET", in.Root+"/metrics", "").Body }
	status()
	metrics()
	limitResource(in, syscall.RLIMIT_NOFILE, 0)
	waiting := map[string]net.Conn{}
	for base, path := range map[string]string{in.Public: "/api/healthcheck", in.Root: "/internal/v1/clock"} {
		c := dial(in, base)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			path); err != nil {
			t.Fatal(err)
		}
		waiting[base] = c
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(harness.Patience); !ok(); <-look.C {
			if in.Ended() {
				t.Fatalf("%s: the program ended", what)
			}
			if time.Now().After(end) {
				t.Fatalf("%s: not seen in %s\n%.3000s", what, status(), metrics())
			}
		}
	}
	until("incidents of both listeners", func() bool {
		s := status()
		return strings.Contains(s, "the public listener cannot accept connections; ") &&
			strings.Contains(s, "the internal listener cannot accept connections; ") &&
			!strings.Contains(s, "too many open files") && strings.Count(s, `"kind":"listener"`) == 2
	})
	until("failures counted", func() bool {
		m := metrics()
		return strings.Contains(m, `tickhive_accept_failures_total{listener="public"} `) &&
			!strings.Contains(m, `tickhive_accept_failures_total{listener="public"} 0`) &&
			!strings.Contains(m, `tickhive_accept_failures_total{listener="internal"} 0`)
	})
	limitResource(in, syscall.RLIMIT_NOFILE, 4096)
	for base, c := range waiting {
		if got := readStatus(in, c); got != 200 {
			t.Errorf("%s: %d", base, got)
		}
	}
	until("the end of the incidents", func() bool { return !strings.Contains(status(), `"kind":"listener"`) })
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// With too few descriptors the program does not start. It prints the required number and how
// to get it.
func TestTooFewDescriptorsAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	in := launchWithFiles(t, 64, "--data-dir", dir)
	if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(), "the open-files limit is 64; ") ||
		!strings.Contains(in.Stderr.String(), "LimitNOFILE=") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}
