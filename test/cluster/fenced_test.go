package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// servedUntil returns how long the node answers a read with something else than 200, until the node has the role.
func (f *failover) servedUntil(n int, role string) (longest time.Duration) {
	f.t.Helper()
	in, good := f.nodes[n], time.Now()
	harness.WaitFor(f.t, func() bool {
		if tries("GET", in.Public+"/api/orderbook?currencyPairCode=AA_USDT", "").Status == 200 {
			good = time.Now()
		}
		longest = max(longest, time.Since(good))
		return roleOf(in) == role && time.Since(good) < 10*time.Millisecond
	})
	return longest
}

// tries sends a request and returns its answer, with the status 0 for none.
func tries(method, url, body string) (a harness.Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return a
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a
	}
	a.Status, a.Body = resp.StatusCode, string(text)
	return a
}

// A writer that another node has replaced goes on as a standby in the same process, acknowledges nothing that is lost,
// and becomes the writer again: frozen and cut off, in both directions, twice in a row.
func TestADeposedWriterFollowsAndTakesOverAgain(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	off := []string{"--sim", "off", "--set", "engine.account_orders=1000000", "--set", "replica.max_lag=1h"}
	lines := [2]*harness.Line{harness.NewLine(t, f.at), harness.NewLine(t, f.at)}
	through := func(args []string, n int) []string {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], f.at, lines[n].Addr())
		}
		return args
	}
	f.start(0, through(f.serve(append([]string{"--promote", "--pairs", "none"}, off...)...), 0))
	a := harness.NewAcked()
	a.Begin(f.nodes[0])
	f.start(1, through(f.standby(1, "--set", "sim.enabled=false"), 1))
	book := f.nodes[0].Follower("AA_USDT")
	for !book.Books["AA_USDT"].Ready() {
		harness.Step(t, book)
	}
	for round, fault := range []string{"freeze", "freeze", "cut", "cut", "freeze", "cut"} {
		old, other := round%2, 1-round%2
		writer := f.nodes[old]
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.Load(writer, uint64(round), stop); close(done) }()
		before := count(a)
		harness.WaitFor(t, func() bool { return count(a) >= before+100 })
		if fault == "freeze" {
			writer.Signal(syscall.SIGSTOP)
		} else {
			lines[old].Set(harness.WireHeld)
		}
		f.awaitRole(other, "writer")
		if fault == "freeze" {
			writer.Signal(syscall.SIGCONT)
		} else {
			lines[old].Set(harness.WireUp)
		}
		dark := f.servedUntil(old, "replica")
		close(stop)
		<-done
		t.Logf("%s of node %d: no answer of 200 for %v, %d orders acknowledged so far", fault, old,
			dark.Round(time.Millisecond), count(a))
	}
	writer, replica := f.nodes[0], f.nodes[1]
	f.sameState(writer, replica)
	holds(a, t, writer)
	if err := book.Reconnect(context.Background(), client.StreamURL(replica.Public)); err != nil {
		t.Fatal(err)
	}
	if ack := harness.Step(t, book); ack.Type != "subscribed" || ack.Epoch != book.Books["AA_USDT"].Epoch {
		t.Errorf("after six takeovers: %s; the epoch was %s", ack.Raw, book.Books["AA_USDT"].Epoch)
	}
	harness.SameAsREST(t, writer, book, "AA_USDT")
	// A kill of the standby, whose directory is a copy: the same command goes on as a standby.
	writer.Signal(syscall.SIGTERM)
	writer.Wait()
	f.awaitRole(1, "writer")
	f.start(0, through(f.serve(append([]string{"--promote", "--pairs", "none"}, off...)...), 0))
	f.sameState(f.nodes[1], f.nodes[0])
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.start(0, through(f.serve(append([]string{"--promote", "--pairs", "none"}, off...)...), 0))
	f.sameState(f.nodes[1], f.nodes[0])
	holds(a, t, f.nodes[1])
}

// sameState waits until both have executed the same records, and compares them.
func (f *failover) sameState(writer, replica *harness.Instance) {
	f.t.Helper()
	harness.WaitFor(f.t, func() bool {
		if roleOf(writer) != "writer" || roleOf(replica) != "replica" {
			return false
		}
		_, w := position(f.t, writer)
		_, r := position(f.t, replica)
		return w == r && w != "0"
	})
	sameAnswers(f.t, writer, replica)
	w, r := writer.Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
	if w["hash"] == nil || fmt.Sprint(w) != fmt.Sprint(r) {
		f.t.Errorf("state hashes %v and %v", w, r)
	}
}

// holds compares a writer with what was acknowledged.
func holds(a *harness.Acked, t *testing.T, writer *harness.Instance) {
	t.Helper()
	for id, o := range a.Orders {
		got := writer.Do("GET", fmt.Sprintf("%s/orders/%d", writer.Internal, id), "")
		if got.Status != 200 || a.Canceled[id] && !strings.Contains(got.Body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.Status, got.Body)
		}
	}
	a.VerifyStores(t, writer)
}

// A writer without --promote goes on as a replica, and its directory does not start as the writer again. The simulated
// market goes on at the new writer. A request that waits meanwhile is acknowledged only if the new writer has carried
// it out, to which the former one forwards.
func TestADeposedWriterFollowsAsAReplica(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	serve := f.serve("--set", "replica.max_lag=1h")
	f.start(0, serve)
	f.start(1, f.standby(1))
	old := f.nodes[0]
	old.Signal(syscall.SIGSTOP)
	waiting := make(chan harness.Answer)
	go func() { waiting <- tries("POST", old.Internal+"/users", `{"nativeBalance":1}`) }()
	f.awaitRole(1, "writer")
	old.Signal(syscall.SIGCONT)
	f.awaitRole(0, "replica")
	f.nodes[1].WaitLine("ready ")
	if got := <-waiting; got.Status/100 == 2 {
		var user struct{ ID string }
		if err := json.Unmarshal([]byte(got.Body), &user); err != nil || user.ID == "" {
			t.Fatalf("%v: %s", err, got.Body)
		}
		f.nodes[1].Call(200, "GET", "/users/"+user.ID, "")
	}
	_, was := position(t, old)
	harness.WaitFor(t, func() bool {
		_, now := position(t, old)
		return now != was && tries("GET", old.Public+"/api/tickers?currencyPairCode=BTC_USDT", "").Status == 200
	})
	old.Signal(syscall.SIGTERM)
	if code := old.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, old.Stderr.String())
	}
	again := harness.Launch(t, nil, serve...)
	if code := again.Wait(); code != 1 || !strings.Contains(again.Stderr.String(), "the same command with --promote") {
		t.Errorf("exit code %d: %s", code, again.Stderr.String())
	}
	f.start(0, append(serve, "--promote"))
	if role, _ := position(t, f.nodes[0]); role != "replica" {
		t.Errorf("the old writer is a %s", role)
	}
	if _, err := os.Stat(filepath.Join(f.dirs[0], "meta.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the old writer is no copy: %v", err)
	}
}

// --promote is refused where it has no effect.
func TestPromoteNeedsAWriterThatCanBeReplaced(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"serve", "--promote"},
		{"serve", "--promote", "--journal", "embedded", "--ack", "quorum"},
		{"serve", "--promote", "--journal", "nats://127.0.0.1:1"},
	} {
		in := harness.Launch(t, nil, append(args, "--data-dir", filepath.Join(t.TempDir(), "d"))...)
		if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), "--promote: ") {
			t.Errorf("%v: exit code %d: %s", args, code, in.Stderr.String())
		}
	}
}
