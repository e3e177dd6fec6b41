package harness

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

	"github.com/tickhive/tickhive/internal/datadir"
)

// Main runs the tests of a package that starts the program. It is the whole TestMain of the package.
func Main(m *testing.M) {
	if words := strings.Fields(os.Getenv(asStream)); len(words) > 0 {
		fmt.Fprintln(os.Stderr, serveStream(words))
		os.Exit(1)
	}
	waitTogether()
	hearHangups()
	code := 1
	if err := StreamSeed.make(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	endLasting()
	StreamSeed.remove()
	os.Exit(code)
}

// hearHangups makes the started programs hear SIGHUP also where the tests run under nohup: a program inherits that its
// parent ignores the signal, not that the parent catches it.
func hearHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// waitTogether lets more tests run at a time than there are cores, because most of their time they
// wait: for a started program, for heartbeats, for a stop. Two packages of such tests run at a time, and a test starts
// up to five programs of 100 MB each, so two tests run for each core and no more. -parallel overrides it.
func waitTogether() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
}

// Patience limits every wait that only ends a test which would otherwise hang. All tests share a few
// cores and one disk, and a machine that compiles at the same time can hold up one sync for a minute.
const Patience = 3 * time.Minute

// Instance is the real program in a separate process, on free ports.
type Instance struct {
	T        testing.TB
	Cmd      *exec.Cmd
	Public   string // http://127.0.0.1:PORT
	Internal string // http://127.0.0.1:PORT/internal/v1
	Root     string // http://127.0.0.1:PORT of the internal listener
	Token    string
	Lines    chan string
	Stderr   *Output
	Exited   chan struct{}
	code     int
}

// Output holds the output of a process. A test may read it while the process writes.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Output) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Output) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Launch starts the program with these arguments in a separate directory and waits for
// nothing.
func Launch(t testing.TB, env []string, args ...string) *Instance {
	t.Helper()
	return LaunchWith(t, func(*exec.Cmd) {}, env, args...)
}

// LaunchWith is Launch with a change of the command.
func LaunchWith(t testing.TB, change func(*exec.Cmd), env []string, args ...string) *Instance {
	t.Helper()
	e, env := editionOf(env)
	cmd := exec.Command(e.build(t), args...)
	cmd.Dir = t.TempDir()
	change(cmd)
	return LaunchCommand(t, env, cmd)
}

// LaunchCommand is Launch with a command that executes the program.
func LaunchCommand(t testing.TB, env []string, cmd *exec.Cmd) *Instance {
	t.Helper()
	in := &Instance{T: t, Cmd: cmd, Lines: make(chan string, 256), Stderr: &Output{}, Exited: make(chan struct{})}
	if in.Cmd.Dir == "" {
		in.Cmd.Dir = t.TempDir()
	}
	if in.Cmd.Env == nil {
		in.Cmd.Env = Environ()
	}
	if slices.Contains(cmd.Args, "--journal") || slices.Contains(cmd.Args, "--from") {
		in.Cmd.Env = append(in.Cmd.Env, StreamSeed.env)
	}
	in.Cmd.Env = append(in.Cmd.Env, env...)
	in.Cmd.Stderr = in.Stderr
	out, err := in.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(in.Exited)
		for s := bufio.NewScanner(out); s.Scan(); {
			in.Lines <- s.Text()
		}
		close(in.Lines)
		_ = in.Cmd.Wait()
		in.code = in.Cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = in.Cmd.Process.Kill()
		<-in.Exited
		if strings.Contains(in.Stderr.String(), "WARNING: DATA RACE") {
			t.Error("the program has a data race")
		}
		if t.Failed() {
			t.Logf("standard error:\n%s", in.Stderr.String())
		}
	})
	return in
}

// Serve is Launch of serve on free ports.
func Serve(t testing.TB, env []string, args ...string) *Instance {
	t.Helper()
	return Launch(t, env, append([]string{"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"},
		args...)...)
}

// Start is Serve that waits until the program is ready.
func Start(t testing.TB, args ...string) *Instance {
	t.Helper()
	in := Serve(t, nil, args...)
	in.TakeAddresses(in.WaitLine("ready "))
	return in
}

// StartEmpty is Start with a virtual clock at 2026-01-01, without pairs or simulation.
func StartEmpty(t testing.TB, args ...string) *Instance {
	t.Helper()
	return Start(t, append([]string{
		"--pairs", "none", "--sim", "off", "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z",
	}, args...)...)
}

// WaitLine waits for a line of standard output with this prefix.
func (in *Instance) WaitLine(prefix string) string {
	in.T.Helper()
	line, ok := in.Line(prefix)
	if !ok {
		in.T.Fatalf("the program ended before it said %q:\n%s", prefix, in.Stderr.String())
	}
	return line
}

// Line is WaitLine. ok is false when the program has ended.
func (in *Instance) Line(prefix string) (line string, ok bool) {
	in.T.Helper()
	deadline := time.After(Patience)
	for {
		select {
		case line, ok = <-in.Lines:
			if !ok || strings.HasPrefix(line, prefix) {
				return line, ok
			}
		case <-deadline:
			in.T.Fatalf("no line %q within %s:\n%s", prefix, Patience, in.stacks())
		}
	}
}

func (in *Instance) TakeAddresses(line string) {
	in.T.Helper()
	var word, public, internal string
	line = strings.NewReplacer("public=", "", "internal=", "").Replace(line)
	if n, err := fmt.Sscan(line, &word, &public, &internal); n != 3 || err != nil {
		in.T.Fatalf("addresses in %q: %v", line, err)
	}
	in.Public, in.Root = "http://"+public, "http://"+internal
	in.Internal = in.Root + "/internal/v1"
}

// Signal sends a signal to the process.
func (in *Instance) Signal(s syscall.Signal) {
	in.T.Helper()
	if err := in.Cmd.Process.Signal(s); err != nil {
		in.T.Fatal(err)
	}
}

// Wait waits for the end of the process and returns the exit code.
func (in *Instance) Wait() int {
	in.T.Helper()
	select {
	case <-in.Exited:
		return in.code
	case <-time.After(Patience):
		in.T.Fatalf("the program did not end within %s:\n%s", Patience, in.stacks())
		return -1
	}
}

// stacks ends the process with the stacks of its goroutines and returns its standard error.
func (in *Instance) stacks() string {
	in.T.Helper()
	in.Signal(syscall.SIGQUIT)
	select {
	case <-in.Exited:
	case <-time.After(10 * time.Second): // it handles no signal: the disk holds it
	}
	return in.Stderr.String()
}

// WaitLog waits until the log has the given number of lines with this text.
func (in *Instance) WaitLog(text string, lines int) {
	in.T.Helper()
	for deadline := time.Now().Add(Patience); strings.Count(in.Stderr.String(), text) < lines; runtime.Gosched() {
		if in.Ended() || time.Now().After(deadline) {
			in.T.Fatalf("not %d lines with %q:\n%s", lines, text, in.Stderr.String())
		}
	}
}

// EndsClean checks that the process exits with code 0 and leaves a cleanly stopped directory.
func (in *Instance) EndsClean(dir string) {
	in.T.Helper()
	if code := in.Wait(); code != 0 {
		in.T.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || !meta.Clean {
		in.T.Errorf("%v, clean %t", err, meta.Clean)
	}
}

// Ended reports whether the process has ended.
func (in *Instance) Ended() bool {
	select {
	case <-in.Exited:
		return true
	default:
		return false
	}
}

// Answer is the result of a request.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// HTTPClient sends the requests of the tests. It asks for no compression, so an answer has the program's own bytes.
var HTTPClient = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	Timeout:   Patience, // a virtual day takes 7 s on a quiet core
}

// Do sends a request; header is pairs of names and values.
func (in *Instance) Do(method, url, body string, header ...string) Answer {
	in.T.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		in.T.Fatal(err)
	}
	if in.Token != "" {
		req.Header.Set("Authorization", "Bearer "+in.Token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := HTTPClient.Do(req)
	if err != nil {
		in.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		in.T.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(text)}
}

// Call sends a request to the internal API; path follows /internal/v1. It returns the body as a JSON
// value with numbers as text, and fails on another status.
func (in *Instance) Call(want int, method, path, body string) map[string]any {
	in.T.Helper()
	a := in.Do(method, in.Internal+path, body)
	if a.Status != want {
		in.T.Fatalf("%s %s %.300s: status %d, want %d: %s", method, path, body, a.Status, want, a.Body)
	}
	return Object(in.T, a.Body)
}

// Refuse makes a call that must fail. It checks status, code and field.
func (in *Instance) Refuse(status int, code, field, method, path, body string) {
	in.T.Helper()
	a := in.Do(method, in.Internal+path, body)
	if a.Status != status {
		in.T.Errorf("%s %s %.300s: status %d, want %d: %s", method, path, body, a.Status, status, a.Body)
		return
	}
	m := Object(in.T, a.Body)
	got, _ := m["field"].(string)
	if m["code"] != code || got != field || m["message"] == "" || m["requestId"] != a.Header.Get("X-Request-Id") {
		in.T.Errorf("%s %s %.300s: %s, want code %s and field %q", method, path, body, a.Body, code, field)
	}
}

// Object decodes a JSON object with numbers as json.Number.
func Object(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return m
}

// Pair adds a pair with 2 and 8 digits and no minimum order.
func (in *Instance) Pair(code string) {
	in.T.Helper()
	in.Call(200, "POST", "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":2,"digitsAmount":8}`, code))
}

// Limit places a limit order of the built-in account.
func (in *Instance) Limit(pair, side, price, amount string) map[string]any {
	in.T.Helper()
	return in.Call(200, "POST", "/orders", fmt.Sprintf(
		`{"currencyPairCode":%q,"side":%q,"type":"limit","price":%s,"amount":%s}`, pair, side, price, amount))
}

// WaitUnderWay returns when /api/status shows progress of the start.
func (in *Instance) WaitUnderWay() {
	in.T.Helper()
	for {
		a := in.Do("GET", in.Public+"/api/status", "")
		if !strings.Contains(a.Body, `"status":"recovering"`) {
			in.T.Fatalf("the start is over: %d %.200s", a.Status, a.Body)
		}
		if !strings.Contains(a.Body, `"progress":null`) && !strings.Contains(a.Body, `"progress":0,`) {
			return
		}
	}
}
