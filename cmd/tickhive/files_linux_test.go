package main

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
)

// launchWithFiles calls launch with a limit of open files, as a shell or a unit sets it.
func launchWithFiles(t *testing.T, files int, args ...string) *instance {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files)
	args = append([]string{"-c", script, exe, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"},
		args...)
	return launchCommand(t, nil, exec.Command("/bin/sh", args...))
}

// openFiles returns the number of the program's open descriptors.
func (in *instance) openFiles() int {
	in.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", in.cmd.Process.Pid))
	if err != nil {
		in.t.Fatal(err)
	}
	return len(list)
}

// dial opens a connection and sends nothing.
func (in *instance) dial(base string) net.Conn {
	in.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = c.Close() })
	return c
}

// readStatus returns the status of the next response on c.
func (in *instance) readStatus(c net.Conn) int {
	in.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		in.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		in.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// fill opens 20 connections more than there are places. The 20 oldest must be closed, because they are
// the least useful ones; fill returns the others, which the server holds.
func (in *instance) fill(base string, places int) (held []net.Conn) {
	in.t.Helper()
	const more = 20
	var all []net.Conn
	for range places + more {
		c := in.dial(base)
		if _, err := c.Write([]byte("G")); err != nil { // until then the kernel holds it
			in.t.Fatal(err)
		}
		all = append(all, c)
	}
	for i, c := range all {
		wait := patience
		if i >= more {
			wait = time.Millisecond
		}
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			in.t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			held = append(held, c)
		}
	}
	return held
}

// serves sends requests on a new connection until the status is 200. Places become free when
// the server has seen the end of the connections that held them.
func (in *instance) serves(base, path string) {
	in.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); ; <-look.C {
		c := in.dial(base)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			path); err != nil {
			in.t.Fatal(err)
		}
		status := in.readStatus(c)
		_ = c.Close()
		if status == 200 {
			return
		}
		if time.Now().After(end) {
			in.t.Fatalf("%s%s: %d", base, path, status)
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
	in.takeAddresses(in.waitLine("ready "))
	for _, word := range []string{
		"level=WARN", fmt.Sprintf("files=%d ", files), "configured=16384",
		fmt.Sprintf("public=%d ", want.public), "LimitNOFILE=26448",
	} {
		if !strings.Contains(in.stderr.String(), word) {
			t.Errorf("no %s in the log", word)
		}
	}
	in.pair("BTC_USDT") // on the connection that all later requests of the test use
	held := in.fill(in.public, want.public)
	inside := in.fill(in.root, want.internal-1)
	if len(held) != want.public || len(inside) != want.internal-1 {
		t.Errorf("%d and %d connections are held, want %d and %d", len(held), len(inside), want.public, want.internal-1)
	}
	full := in.openFiles()
	t.Logf("%d descriptors of %d in use with %d and %d connections", full, files, len(held), len(inside)+1)
	if full > files || full < want.public+want.internal {
		t.Errorf("%d descriptors of %d are in use", full, files)
	}

	segments := countFiles(t, filepath.Join(dir, "engine"), ".wal")
	for range 400 {
		in.limit("BTC_USDT", "buy", "1", "1")
	}
	in.call(200, "POST", "/users", "{}")
	hash := in.do("GET", in.internal+"/state-hash", "")
	if hash.status != 200 {
		t.Errorf("state hash: %d %s", hash.status, hash.body)
	}
	if n := countFiles(t, filepath.Join(dir, "engine"), ".wal"); n < segments+2 {
		t.Errorf("%d segments, %d before", n, segments)
	}
	metrics := in.do("GET", in.root+"/metrics", "").body
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
	for end := time.Now().Add(patience); countFiles(t, filepath.Join(dir, "engine"), ".snap") == 0; <-look.C {
		if time.Now().After(end) {
			t.Fatal("no snapshot was written")
		}
	}

	for _, c := range append(held, inside...) {
		_ = c.Close()
	}
	in.serves(in.public, "/api/healthcheck")
	in.serves(in.root, "/internal/v1/clock")
	in.signal(syscall.SIGKILL)
	<-in.exited
	second := startEmpty(t, "--data-dir", dir)
	if again := second.do("GET", second.internal+"/state-hash", "").body; again != hash.body {
		t.Errorf("after the restart %s, before %s", again, hash.body)
	}
}

// A listener that cannot accept a connection for lack of a descriptor reports it and
// continues. It serves the waiting connections once descriptors are free.
func TestListenersOutlastTheLackOfDescriptors(t *testing.T) {
	t.Parallel()
	in := startEmpty(t)
	status := func() string { return in.do("GET", in.public+"/api/status", "").body } // on a persistent connection
	metrics := func() string { return in.do("GET", in.root+"/metrics", "").body }
	status()
	metrics()
	in.limitResource(syscall.RLIMIT_NOFILE, 0)
	waiting := map[string]net.Conn{}
	for base, path := range map[string]string{in.public: "/api/healthcheck", in.root: "/internal/v1/clock"} {
		c := in.dial(base)
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
		for end := time.Now().Add(patience); !ok(); <-look.C {
			if in.ended() {
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
	in.limitResource(syscall.RLIMIT_NOFILE, 4096)
	for base, c := range waiting {
		if got := in.readStatus(c); got != 200 {
			t.Errorf("%s: %d", base, got)
		}
	}
	until("the end of the incidents", func() bool { return !strings.Contains(status(), `"kind":"listener"`) })
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// With too few descriptors the program does not start. It prints the required number and how
// to get it.
func TestTooFewDescriptorsAreRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	in := launchWithFiles(t, 64, "--data-dir", dir)
	if code := in.wait(); code != 1 || !strings.Contains(in.stderr.String(), "the open-files limit is 64; ") ||
		!strings.Contains(in.stderr.String(), "LimitNOFILE=") {
		t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}
