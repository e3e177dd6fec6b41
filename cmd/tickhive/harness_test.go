package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tickhive/internal/datadir"
	"tickhive/internal/node"
)

// asProgram makes the test binary run the program. go test builds it once, and it runs under
// the race detector when the tests do.
const asProgram = "TEST_AS_TICKHIVE"

// asLater makes it the next version of the program, whose records the present one does not know.
const asLater = "TEST_AS_LATER"

// asEarlier makes it a program that knows no referral settings.
const asEarlier = "TEST_AS_EARLIER"

// testSwitches are variables of the tests. They are no keys, so the program would refuse them.
var testSwitches = []string{
	"TICKHIVE_SOAK", "TICKHIVE_STRICT", "TICKHIVE_SHOTS", "TICKHIVE_BENCH",
	"TICKHIVE_BENCH_DIR", "TICKHIVE_CLIENTS",
}

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(asStream)); len(words) > 0 {
		os.Exit(serveStream(words))
	}
	if os.Getenv(asProgram) != "" {
		if os.Getenv(asLater) != "" {
			node.Rules++
			_ = os.Unsetenv(asLater)
		}
		if os.Getenv(asEarlier) != "" {
			meaning = slices.DeleteFunc(meaning, func(s string) bool { return s == "referral" })
			_ = os.Unsetenv(asEarlier)
		}
		for _, name := range testSwitches {
			_ = os.Unsetenv(name)
		}
		os.Exit(process())
	}
	waitTogether()
	leaveToClients()
	hearHangups()
	code := 1
	if err := streamSeed.make(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	endLasting()
	streamSeed.remove()
	os.Exit(code)
}

// leaveToClients leaves out the tests whose names begin with TestBrowser, unless -run or -skip is given. They take a
// third of the time of this package; make clients and make soak have them.
func leaveToClients() {
	if os.Getenv("TICKHIVE_CLIENTS") == "1" || os.Getenv("TICKHIVE_SOAK") == "1" {
		return
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.run" || f.Name == "test.skip" })
	if !given {
		_ = flag.Set("test.skip", "^TestBrowser")
		fmt.Println("TestBrowser... left out: TICKHIVE_CLIENTS=1 runs them (make clients)")
	}
}

// hearHangups makes the started programs hear SIGHUP also where the tests run under nohup: a program inherits that its
// parent ignores the signal, not that the parent catches it.
func hearHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// waitTogether lets more tests run at a time than there are cores, because most of their time they
// wait: for a started program, for heartbeats, for a stop. More than three for each core take memory, up to five
// programs of 100 MB each. -parallel overrides it.
func waitTogether() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
}

// patience limits every wait that only ends a test which would otherwise hang. All tests share a few
// cores and one disk, and a machine that compiles at the same time can hold up one sync for a minute.
const patience = 3 * time.Minute

// instance is the real program in a separate process, on free ports.
type instance struct {
	t        testing.TB
	cmd      *exec.Cmd
	public   string // http://127.0.0.1:PORT
	internal string // http://127.0.0.1:PORT/internal/v1
	root     string // http://127.0.0.1:PORT of the internal listener
	token    string
	lines    chan string
	stderr   *lockedBuffer
	exited   chan struct{}
	code     int
}

// lockedBuffer holds the output of a process. A test may read it while the process writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts the program with these arguments in a separate directory and waits for
// nothing.
func launch(t testing.TB, env []string, args ...string) *instance {
	t.Helper()
	return launchWith(t, func(*exec.Cmd) {}, env, args...)
}

// launchWith calls launch with a change of the command.
func launchWith(t testing.TB, change func(*exec.Cmd), env []string, args ...string) *instance {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = t.TempDir()
	change(cmd)
	return launchCommand(t, env, cmd)
}

// launchCommand calls launch with a command that executes the program.
func launchCommand(t testing.TB, env []string, cmd *exec.Cmd) *instance {
	t.Helper()
	in := &instance{t: t, cmd: cmd, lines: make(chan string, 256), stderr: &lockedBuffer{}, exited: make(chan struct{})}
	if in.cmd.Dir == "" {
		in.cmd.Dir = t.TempDir()
	}
	if in.cmd.Env == nil {
		in.cmd.Env = os.Environ()
	}
	in.cmd.Env = append(in.cmd.Env, asProgram+"=1")
	if slices.Contains(cmd.Args, "--journal") || slices.Contains(cmd.Args, "--from") {
		in.cmd.Env = append(in.cmd.Env, streamSeed.env)
	}
	in.cmd.Env = append(in.cmd.Env, env...)
	in.cmd.Stderr = in.stderr
	out, err := in.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(in.exited)
		for s := bufio.NewScanner(out); s.Scan(); {
			in.lines <- s.Text()
		}
		close(in.lines)
		_ = in.cmd.Wait()
		in.code = in.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = in.cmd.Process.Kill()
		<-in.exited
		if t.Failed() {
			t.Logf("standard error:\n%s", in.stderr.String())
		}
	})
	return in
}

// start calls launch on free ports. It waits until the program is ready.
func start(t testing.TB, args ...string) *instance {
	t.Helper()
	in := launch(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"},
		args...)...)
	in.takeAddresses(in.waitLine("ready "))
	return in
}

// startEmpty calls start with a virtual clock at 2026-01-01, without pairs or simulation.
func startEmpty(t testing.TB, args ...string) *instance {
	t.Helper()
	return start(t, append([]string{
		"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z",
	}, args...)...)
}

// waitLine waits for a line of standard output with this prefix.
func (in *instance) waitLine(prefix string) string {
	in.t.Helper()
	line, ok := in.line(prefix)
	if !ok {
		in.t.Fatalf("the program ended before it said %q:\n%s", prefix, in.stderr.String())
	}
	return line
}

// line calls waitLine. ok is false when the program has ended.
func (in *instance) line(prefix string) (line string, ok bool) {
	in.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, ok = <-in.lines:
			if !ok || strings.HasPrefix(line, prefix) {
				return line, ok
			}
		case <-deadline:
			in.t.Fatalf("no line %q within %s:\n%s", prefix, patience, in.stacks())
		}
	}
}

func (in *instance) takeAddresses(line string) {
	in.t.Helper()
	var word, public, internal string
	line = strings.NewReplacer("public=", "", "internal=", "").Replace(line)
	if n, err := fmt.Sscan(line, &word, &public, &internal); n != 3 || err != nil {
		in.t.Fatalf("addresses in %q: %v", line, err)
	}
	in.public, in.root = "http://"+public, "http://"+internal
	in.internal = in.root + "/internal/v1"
}

// signal sends a signal to the process.
func (in *instance) signal(s syscall.Signal) {
	in.t.Helper()
	if err := in.cmd.Process.Signal(s); err != nil {
		in.t.Fatal(err)
	}
}

// wait waits for the end of the process and returns the exit code.
func (in *instance) wait() int {
	in.t.Helper()
	select {
	case <-in.exited:
		return in.code
	case <-time.After(patience):
		in.t.Fatalf("the program did not end within %s:\n%s", patience, in.stacks())
		return -1
	}
}

// stacks ends the process with the stacks of its goroutines and returns its standard error.
func (in *instance) stacks() string {
	in.t.Helper()
	in.signal(syscall.SIGQUIT)
	select {
	case <-in.exited:
	case <-time.After(10 * time.Second): // it handles no signal: the disk holds it
	}
	return in.stderr.String()
}

// waitLog waits until the log has the given number of lines with this text.
func (in *instance) waitLog(text string, lines int) {
	in.t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(in.stderr.String(), text) < lines; runtime.Gosched() {
		if in.ended() || time.Now().After(deadline) {
			in.t.Fatalf("not %d lines with %q:\n%s", lines, text, in.stderr.String())
		}
	}
}

// endsClean checks that the process exits with code 0 and leaves a cleanly stopped directory.
func (in *instance) endsClean(dir string) {
	in.t.Helper()
	if code := in.wait(); code != 0 {
		in.t.Errorf("exit code %d: %s", code, in.stderr.String())
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || !meta.Clean {
		in.t.Errorf("%v, clean %t", err, meta.Clean)
	}
}

// ended reports whether the process has ended.
func (in *instance) ended() bool {
	select {
	case <-in.exited:
		return true
	default:
		return false
	}
}

// answer is the result of a request.
type answer struct {
	status int
	header http.Header
	body   string
}

var httpClient = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	Timeout:   patience, // a virtual day takes 7 s on a quiet core
}

// do sends a request; header is pairs of names and values.
func (in *instance) do(method, url, body string, header ...string) answer {
	in.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		in.t.Fatal(err)
	}
	if in.token != "" {
		req.Header.Set("Authorization", "Bearer "+in.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		in.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		in.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// call sends a request to the internal API; path follows /internal/v1. It returns the body as a JSON
// value with numbers as text, and fails on another status.
func (in *instance) call(want int, method, path, body string) map[string]any {
	in.t.Helper()
	a := in.do(method, in.internal+path, body)
	if a.status != want {
		in.t.Fatalf("%s %s %.300s: status %d, want %d: %s", method, path, body, a.status, want, a.body)
	}
	return object(in.t, a.body)
}

// refuse makes a call that must fail. It checks status, code and field.
func (in *instance) refuse(status int, code, field, method, path, body string) {
	in.t.Helper()
	a := in.do(method, in.internal+path, body)
	if a.status != status {
		in.t.Errorf("%s %s %.300s: status %d, want %d: %s", method, path, body, a.status, status, a.body)
		return
	}
	m := object(in.t, a.body)
	got, _ := m["field"].(string)
	if m["code"] != code || got != field || m["message"] == "" || m["requestId"] != a.header.Get("X-Request-Id") {
		in.t.Errorf("%s %s %.300s: %s, want code %s and field %q", method, path, body, a.body, code, field)
	}
}

// object decodes a JSON object with numbers as json.Number.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return m
}

// pair adds a pair with 2 and 8 digits and no minimum order.
func (in *instance) pair(code string) {
	in.t.Helper()
	in.call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":8}`, code))
}

// limit places a limit order of the built-in account.
func (in *instance) limit(pair, side, price, amount string) map[string]any {
	in.t.Helper()
	return in.call(200, "POST", "/orders", fmt.Sprintf(
		`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%s,"amount":%s}`, pair, side, price, amount))
}
