package cluster

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// nextVersion is the environment of a node of the next version, needsLater what the present one says to its records.
var nextVersion = []string{harness.AsNext}

const needsLater = "replace this one by the writer's version"

// endUpgrade replaces the nodes of the present version, if the next one has come to a node.
func (c *failing) endUpgrade() {
	if !slices.ContainsFunc(c.later[:], func(env []string) bool { return env != nil }) {
		return
	}
	for n := range c.nodes {
		if c.later[n] == nil {
			c.kill(c.nodes[n].Load())
			c.later[n] = nextVersion
			c.startNode(n)
		}
	}
}

// startAs starts a node of a version.
func (f *failover) startAs(n int, version, args []string) {
	f.t.Helper()
	f.nodes[n] = harness.Launch(f.t, version, args...)
	f.nodes[n].TakeAddresses(f.nodes[n].WaitLine("ready "))
}

// refusedAs checks that a node of the present version does not start, and says what to do.
func refusedAs(t *testing.T, args []string) {
	t.Helper()
	in := harness.Launch(t, nil, args...)
	if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(), needsLater) {
		t.Errorf("%v: exit code %d: %s", args, code, in.Stderr.String())
	}
}

// follows waits until a node has executed what the writer has.
func (f *failover) follows(replica, writer *harness.Instance) {
	f.t.Helper()
	harness.WaitFor(f.t, func() bool {
		_, w := position(f.t, writer)
		role, r := position(f.t, replica)
		return role == "replica" && w == r && w != "0"
	})
}

// A cluster is upgraded under load in the order of docs/operating.md: replicas, standbys, a takeover, the former
// writer. Nothing acknowledged is lost, and all have one state.
func TestAClusterIsUpgradedUnderLoad(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	harness.Prepare(t, nextVersion)
	f := newFailover(t)
	a := f.startWriter()
	off := []string{"--set", "sim.enabled=false"}
	f.start(1, f.standby(1, off...))
	replica := harness.StartReplica(t, f.at)

	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.LoadBy(clusterLoad, f.nodes[0], 1, stop); close(done) }()
	more := func() {
		t.Helper()
		before := count(a)
		harness.WaitFor(t, func() bool { return count(a) >= before+100 })
	}
	more()
	end := func(in *harness.Instance) {
		t.Helper()
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, in.Stderr.String())
		}
	}
	end(replica)
	later := harness.Launch(t, nextVersion, append([]string{
		"replica", "--from", "nats://" + f.at, "--set",
		"replica.max_lag=1h",
	}, f.common...)...)
	later.TakeAddresses(later.WaitLine("ready "))
	more()
	end(f.nodes[1])
	f.startAs(1, nextVersion, f.standby(1, off...))
	more()
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	took := f.awaitRole(1, "writer")
	close(stop)
	<-done
	t.Logf("a takeover %v after the end of the former writer, %d orders acknowledged before", took, count(a))

	stop, done = make(chan struct{}), make(chan struct{})
	go func() { a.LoadBy(clusterLoad, f.nodes[1], 2, stop); close(done) }()
	more()
	f.startAs(0, nextVersion, f.standby(0, off...))
	more()
	close(stop)
	<-done
	f.follows(later, f.nodes[1])
	f.follows(f.nodes[0], f.nodes[1])
	want := fmt.Sprint(f.nodes[1].Call(200, "GET", "/state-hash", ""))
	for _, in := range []*harness.Instance{later, f.nodes[0]} {
		if got := fmt.Sprint(in.Call(200, "GET", "/state-hash", "")); got != want {
			t.Errorf("state hashes %s and %s", got, want)
		}
	}
	for id, o := range a.Orders {
		got := f.nodes[1].Do("GET", fmt.Sprintf("%s/orders/%d", f.nodes[1].Internal, id), "")
		if got.Status != 200 || a.Canceled[id] && !strings.Contains(got.Body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.Status, got.Body)
		}
	}
	a.VerifyStores(t, f.nodes[1])
	end(f.nodes[1])
	f.awaitRole(0, "writer")
}

// Nodes that are older than the writer stop at its term, all at one position: they serve what they have until it is too
// old, say so, and never take over. None of them starts again, until the next version takes its place.
func TestNodesThatAreOlderThanTheWriterStopBeforeItsTerm(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	harness.Prepare(t, nextVersion)
	f := newFailover(t)
	serve := f.serve("--pairs", "none", "--sim", "off")
	f.start(0, serve)
	f.nodes[0].Pair("AA_USDT")
	off := []string{"--set", "sim.enabled=false"}
	f.startAs(1, nextVersion, f.standby(1, off...))
	dir := t.TempDir() + "/third"
	third := append([]string{
		"replica", "--from", "nats://" + f.at, "--promote", "--data-dir", dir, "--set",
		"replica.max_lag=1h", "--set", "cluster.takeover_after=8s",
	}, append(off, f.common...)...)
	older := []*harness.Instance{harness.StartReplica(t, f.at, "--set", "replica.max_lag=3s"), harness.Launch(t, nil,
		third...)}
	older[1].TakeAddresses(older[1].WaitLine("ready "))

	f.nodes[0].Signal(syscall.SIGKILL)
	f.awaitRole(1, "writer")
	f.nodes[1].Limit("AA_USDT", "buy", "1.00", "1.0")
	var at []string
	for _, in := range older {
		harness.WaitFor(t, func() bool {
			s := in.Do("GET", in.Public+"/api/status", "").Body
			return strings.Contains(s, `"failed":true`) &&
				strings.Contains(in.Do("GET", in.Internal+"/incidents", "").Body, needsLater)
		})
		in.WaitLog(needsLater, 1)
		role, pos := position(t, in)
		at = append(at, role+" "+pos)
	}
	if at[0] != at[1] {
		t.Errorf("they have stopped at %v", at)
	}
	read := func(in *harness.Instance) harness.Answer {
		return in.Do("GET", in.Public+"/api/orderbook?currencyPairCode=AA_USDT", "")
	}
	harness.WaitFor(t, func() bool {
		a := read(older[0])
		return a.Status == 503 && strings.Contains(a.Body, `"code":"STALE"`)
	})
	if a := read(older[1]); a.Status != 200 || a.Header.Get("X-Lag-Ms") == "" || strings.Contains(a.Body, "1.0") {
		t.Errorf("a read within the lag: %d %v %s", a.Status, a.Header, a.Body)
	}
	refusedAs(t, serve)
	refusedAs(t, f.standby(0, off...))
	refusedAs(t, append([]string{"replica", "--from", "nats://" + f.at}, f.common...))
	if code, _, text := streamCommand(t, f.at, "verify"); code != 1 || !strings.Contains(text, needsLater) {
		t.Errorf("stream verify: exit code %d: %s", code, text)
	}
	f.nodes[1].Signal(syscall.SIGKILL) // and no older node takes over
	f.nodes[1].Wait()
	f.startAs(0, nextVersion, f.standby(0, off...))
	f.awaitRole(0, "writer")
	for _, in := range older {
		if role := roleOf(in); role != "replica" || in.Ended() {
			t.Errorf("an older node is %q: %s", role, in.Stderr.String())
		}
		in.Signal(syscall.SIGTERM)
		if code := in.Wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, in.Stderr.String())
		}
	}
	if a := read(f.nodes[0]); a.Status != 200 || !strings.Contains(a.Body, "1.0") {
		t.Errorf("the new writer: %d %s", a.Status, a.Body)
	}
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	sound(t, f.dirs[0])
}
