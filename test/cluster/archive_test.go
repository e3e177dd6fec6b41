package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tickhive/internal/stream/jet"

	"tickhive/test/harness"
)

// trimmed reports whether the first message of the only stream at an address was removed.
func trimmed(t *testing.T, at string) bool {
	t.Helper()
	c, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	epochs, err := c.Epochs(t.Context())
	if err != nil || len(epochs) != 1 {
		t.Fatal(epochs, err)
	}
	l, err := c.Log(t.Context(), epochs[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Read(t.Context(), 1)
	return errors.Is(err, jet.ErrTrimmed)
}

// Nodes begin with an archived snapshot once the first messages of the stream are gone: a replica, a standby that takes
// over, the writer at its next start, and a directory that is restored from the stream.
func TestNodesBeginWithAnArchivedSnapshot(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	a := f.startWriter()
	f.start(1, f.standby(1, "--set", "sim.enabled=false", "--set", "cluster.archive_every=1s",
		"--set", "cluster.trim=true"))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(f.nodes[0], 1, stop); close(done) }()
	harness.WaitFor(t, func() bool { return count(a) >= 300 && trimmed(t, f.at) })
	before := count(a)
	harness.WaitFor(t, func() bool { return count(a) >= before+100 })
	close(stop)
	<-done

	replica := harness.StartReplica(t, f.at)
	replica.WaitLog("begins with an archived snapshot", 1)
	level := func(in *harness.Instance) {
		t.Helper()
		harness.WaitFor(t, func() bool {
			_, w := position(t, f.nodes[0])
			_, r := position(t, in)
			return w == r && w != "0"
		})
		sameAnswers(t, f.nodes[0], in)
	}
	level(replica)
	want := fmt.Sprint(f.nodes[0].Call(200, "GET", "/state-hash", ""))
	for _, in := range []*harness.Instance{replica, f.nodes[1]} {
		if got := fmt.Sprint(in.Call(200, "GET", "/state-hash", "")); got != want {
			t.Errorf("state hashes %s and %s", got, want)
		}
	}

	f.nodes[0].Signal(syscall.SIGTERM) // its next start reads the stream behind the snapshot, too
	f.nodes[0].EndsClean(f.dirs[0])
	if code, out, text := streamCommand(t, f.at, "verify"); code != 0 || !strings.Contains(out, "behind an archived") ||
		!strings.Contains(out, "digests equal") {
		t.Errorf("stream verify: exit code %d: %s%s", code, out, text)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if code, out, text := streamCommand(t, f.at, "restore", restored); code != 0 {
		t.Fatalf("stream restore: exit code %d: %s%s", code, out, text)
	}
	sound(t, restored)
	again := harness.Start(t, "--data-dir", restored, "--pairs", "none", "--sim", "off", "--quiet",
		"--set", "rate.allow=127.0.0.1", "--set", "engine.account_orders=1000000", "--set",
		"orders.closed_kept=100000000")
	if got := fmt.Sprint(again.Call(200, "GET", "/state-hash", "")); got != want {
		t.Errorf("the restored directory has the state hash %s, not %s", got, want)
	}
	a.VerifyStores(t, again)
	again.Signal(syscall.SIGTERM)
	again.Wait()

	harness.WaitFor(t, func() bool { return roleOf(f.nodes[1]) == "writer" })
	f.start(0, f.standby(0, "--set", "sim.enabled=false")) // its log begins behind the snapshot
	f.nodes[0].WaitLog("begins with an archived snapshot", 1)
	f.nodes[1].Signal(syscall.SIGKILL)
	f.nodes[1].Wait()
	f.awaitRole(0, "writer")
	stop, done = make(chan struct{}), make(chan struct{})
	before = count(a)
	go func() { a.Load(f.nodes[0], 2, stop); close(done) }()
	harness.WaitFor(t, func() bool { return count(a) >= before+100 })
	close(stop)
	<-done
	level(replica)
	for id, o := range a.Orders {
		got := f.nodes[0].Do("GET", fmt.Sprintf("%s/orders/%d", f.nodes[0].Internal, id), "")
		if got.Status != 200 || a.Canceled[id] && !strings.Contains(got.Body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.Status, got.Body)
		}
	}
	a.VerifyStores(t, f.nodes[0])
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	sound(t, f.dirs[0])
}

// A standby that began with an archived snapshot takes over, and a directory is restored from it, without a record
// behind it.
func TestASnapshotWithoutARecordBehindItIsEnough(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	f.nodes[0].TwoPairs()
	f.start(1, f.standby(1, "--set", "sim.enabled=false", "--set", "cluster.archive_every=1s"))
	f.nodes[1].WaitLog("a snapshot is archived", 1)
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	restored := filepath.Join(t.TempDir(), "restored")
	if code, out, text := streamCommand(t, f.at, "restore", restored); code != 0 {
		t.Fatalf("stream restore: exit code %d: %s%s", code, out, text)
	}
	f.start(0, f.standby(0, "--set", "sim.enabled=false"))
	f.nodes[0].WaitLog("begins with an archived snapshot", 1)
	want := fmt.Sprint(f.nodes[1].Call(200, "GET", "/state-hash", ""))
	f.nodes[1].Signal(syscall.SIGKILL)
	f.nodes[1].Wait()
	f.awaitRole(0, "writer")
	again := harness.Start(t, "--data-dir", restored, "--pairs", "none", "--sim", "off", "--quiet")
	for _, in := range []*harness.Instance{f.nodes[0], again} {
		if got := fmt.Sprint(in.Call(200, "GET", "/state-hash", "")); got != want {
			t.Errorf("state hashes %s and %s", got, want)
		}
	}
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	sound(t, f.dirs[0])
	f.start(0, f.serve("--pairs", "none", "--sim", "off")) // starts from its own directory, too
	if got := fmt.Sprint(f.nodes[0].Call(200, "GET", "/state-hash", "")); got != want {
		t.Errorf("after a restart the state hash is %s, not %s", got, want)
	}
}

// sound checks a data directory with journal verify.
func sound(t *testing.T, dir string) {
	t.Helper()
	verify := harness.Launch(t, nil, "journal", "verify", dir)
	for range verify.Lines {
	}
	if code := verify.Wait(); code != 0 {
		t.Errorf("journal verify: exit code %d: %s", code, verify.Stderr.String())
	}
}

// A directory that has removed its first segments begins a stream with a snapshot: replicas and standbys have its
// state, also after the snapshots of standbys have replaced it, and so has a directory that is made from the stream.
func TestAStreamBeginsBehindASnapshot(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	small := []string{
		"--pairs", "none", "--sim", "off", "--set", "engine.account_orders=1000000",
		"--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=30000",
	}
	f.start(0, append(append([]string{"serve", "--data-dir", f.dirs[0]}, small...), f.common[:len(f.common)-2]...))
	a := harness.NewAcked()
	a.Begin(f.nodes[0])
	gone := func() bool {
		_, err := os.Stat(filepath.Join(f.dirs[0], "engine", "000001.wal"))
		return errors.Is(err, fs.ErrNotExist)
	}
	for !gone() {
		f.loaded(a, 500)()
	}
	f.nodes[0].Signal(syscall.SIGTERM)
	f.nodes[0].EndsClean(f.dirs[0])
	serve := f.serve(small...)
	f.start(0, serve)
	holds(a, t, f.nodes[0])
	replica := harness.StartReplica(t, f.at)
	f.loaded(a, 100)()
	f.sameState(f.nodes[0], replica)
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.start(0, serve)
	for _, name := range []string{"status", "verify"} {
		if code, _, text := streamCommand(t, f.at, name); code != 0 {
			t.Errorf("stream %s: exit code %d: %s", name, code, text)
		}
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if code, _, text := streamCommand(t, f.at, "restore", dir); code != 0 {
		t.Errorf("stream restore: exit code %d: %s", code, text)
	}
	sound(t, dir)
	f.start(1, f.standby(1, "--set", "sim.enabled=false", "--set", "cluster.archive_every=1s", "--set",
		"cluster.trim=true"))
	for begun := false; !begun; begun = trimmed(t, f.at) {
		f.loaded(a, 100)()
	}
	f.sameState(f.nodes[0], f.nodes[1])
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	holds(a, t, f.nodes[1])
	f.sameState(f.nodes[1], harness.StartReplica(t, f.at))
}
