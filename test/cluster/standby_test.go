package cluster

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// failover is a cluster of nodes that may all become the writer, and of the stream's server.
type failover struct {
	t      *testing.T
	at     string
	folder string // of the stream's server
	server *harness.Instance
	common []string
	dirs   [2]string
	nodes  [2]*harness.Instance
}

func newFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{t: t, at: harness.StreamAddress(t), folder: t.TempDir()}
	f.startServer()
	f.common = []string{
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet", "--set", "rate.allow=127.0.0.1",
		"--set", "cluster.key_file=" + harness.StreamSeed.Key,
	}
	for n := range f.dirs {
		f.dirs[n] = filepath.Join(t.TempDir(), "node")
	}
	return f
}

// startWriter starts the first node as the writer of the pairs and users of an acked.
func (f *failover) startWriter(args ...string) *harness.Acked {
	f.t.Helper()
	f.start(0, f.writer(args...))
	a := harness.NewAcked()
	a.Begin(f.nodes[0])
	return a
}

// secondTakesOver kills the first node when both have one state. The second one takes over, has what was
// acknowledged, and ends.
func (f *failover) secondTakesOver(a *harness.Acked) {
	f.t.Helper()
	f.sameState(f.nodes[0], f.nodes[1])
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	holds(a, f.t, f.nodes[1])
	f.nodes[1].Signal(syscall.SIGTERM)
	f.nodes[1].EndsClean(f.dirs[1])
}

func (f *failover) startServer() {
	f.t.Helper()
	f.server = harness.LaunchStream(f.t, f.folder, f.at)
	f.server.WaitLine("stream ready")
}

// writer returns the arguments of startWriter.
func (f *failover) writer(args ...string) []string {
	// Every acknowledged order is asked for at the end, so none may be forgotten.
	return f.serve(append([]string{
		"--pairs", "none", "--sim", "off", "--set", "engine.account_orders=1000000", "--set",
		"orders.closed_kept=100000000",
	}, args...)...)
}

// serve starts the node 0 as an ordinary writer.
func (f *failover) serve(args ...string) []string {
	return append(append([]string{
		"serve", "--journal", "nats://" + f.at, "--ack", "quorum", "--data-dir", f.dirs[0],
	}, args...), f.common...)
}

// standby returns the arguments of a node that may become the writer.
func (f *failover) standby(n int, args ...string) []string {
	return append(append([]string{
		"replica", "--from", "nats://" + f.at, "--promote", "--data-dir", f.dirs[n], "--set", "replica.max_lag=1h",
	}, args...), f.common...)
}

func (f *failover) start(n int, args []string) {
	f.t.Helper()
	f.nodes[n] = harness.Launch(f.t, nil, args...)
	f.nodes[n].TakeAddresses(f.nodes[n].WaitLine("ready "))
}

// awaitRole waits until a node has a role, and as a writer serves, and returns how long it took.
func (f *failover) awaitRole(n int, want string) time.Duration {
	f.t.Helper()
	begun := time.Now()
	in := f.nodes[n]
	harness.WaitFor(f.t, func() bool {
		if in.Ended() {
			f.t.Fatalf("node %d has ended: %s", n, in.Stderr.String())
		}
		if roleOf(in) != want {
			return false
		}
		ready, _ := ask(in, "/readyz")
		return want != "writer" || ready == http.StatusOK
	})
	return time.Since(begun)
}

// count returns the number of acknowledged orders.
func count(a *harness.Acked) int {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	return len(a.Orders)
}

// Whichever of two nodes is the writer, and however it ends, the other one takes over: nothing acknowledged is lost,
// both have one state, and a node that comes back follows.
func TestAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	a := f.startWriter()
	off := []string{"--set", "sim.enabled=false"}
	f.start(1, f.standby(1, off...))
	faults := []string{"kill", "freeze", "kill with the stream's server"}
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		for range 10 {
			faults = append(faults, faults[:3]...)
		}
	}
	for round, fault := range faults {
		old, other := round%2, 1-round%2
		writer := f.nodes[old]
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { a.Load(writer, uint64(round), stop); close(done) }()
		before := count(a)
		harness.WaitFor(t, func() bool { return count(a) >= before+300 })
		switch fault {
		case "freeze":
			writer.Signal(syscall.SIGSTOP)
		case "kill":
			writer.Signal(syscall.SIGKILL)
		default:
			f.server.Signal(syscall.SIGKILL)
			f.server.Wait()
			writer.Signal(syscall.SIGKILL)
			f.startServer()
		}
		took := f.awaitRole(other, "writer")
		if fault == "freeze" {
			writer.Signal(syscall.SIGCONT)
			f.awaitRole(old, "replica")
		} else {
			writer.Wait()
			f.start(old, f.standby(old, off...))
		}
		close(stop)
		<-done
		t.Logf("%s: takeover %v after the fault, %d orders acknowledged so far", fault, took.Round(time.Millisecond),
			count(a))
	}
	writer, replica := f.nodes[len(faults)%2], f.nodes[1-len(faults)%2]
	harness.WaitFor(t, func() bool {
		_, w := position(t, writer)
		_, r := position(t, replica)
		return w == r && w != "0"
	})
	sameAnswers(t, writer, replica)
	w, r := writer.Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
	if w["hash"] == nil || fmt.Sprint(w) != fmt.Sprint(r) {
		t.Errorf("state hashes %v and %v", w, r)
	}
	for id, o := range a.Orders {
		got := writer.Do("GET", fmt.Sprintf("%s/orders/%d", writer.Internal, id), "")
		if got.Status != 200 || a.Canceled[id] && !strings.Contains(got.Body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.Status, got.Body)
		}
	}
	a.VerifyStores(t, writer)
	writer.Signal(syscall.SIGTERM)
	writer.EndsClean(f.dirs[len(faults)%2])
}

// A standby says at its start why it could not take over.
func TestAStandbyRefusesAWriterThatItCannotReplace(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--sim", "off"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{f.standby(1), "the writer's simulated market is off, this node's has intensity 100, scenario none: " +
			"start this node with --set sim.enabled=false"},
		{[]string{"replica", "--from", "nats://" + f.at, "--promote"}, "--promote: a standby needs a directory"},
		{append(f.standby(1), "--events"), "--events"},
		{f.standby(0, "--set", "sim.enabled=false"), "in use"},
		{append(f.standby(1), "--set", "cluster.takeover_after=10ms"), "must be from 1s to 1h"},
	} {
		in := harness.Launch(t, nil, c.args...)
		if code := in.Wait(); code == 0 || !strings.Contains(in.Stderr.String(), c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, in.Stderr.String())
		}
	}
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	local := append(f.serve("--sim", "off"), "--set", "journal.ack=local")
	local[4] = "local"
	f.start(0, local)
	in := harness.Launch(t, nil, f.standby(1, "--set", "sim.enabled=false")...)
	if code := in.Wait(); code != 1 || !strings.Contains(in.Stderr.String(), "start the writer with --ack quorum") {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
}
