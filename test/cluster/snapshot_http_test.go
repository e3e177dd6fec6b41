package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tickhive/internal/node"

	"tickhive/test/harness"
)

// nodesToken guards the internal listeners of nodes.
const nodesToken = "a-token-of-some-nodes"

// A replica begins with a snapshot that the writer gives over HTTP, others and a standby with one of a replica, and
// have the writer's state; the standby takes over with it. A node that gives none is passed over.
func TestNodesBeginWithASnapshotOfAReplica(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(nodesToken), 0o600); err != nil {
		t.Fatal(err)
	}
	guarded := []string{"--set", "internal.token_file=" + token}
	replica := func(args ...string) *harness.Instance {
		in := harness.Launch(t, nil, append(append([]string{
			"replica", "--from", "nats://" + f.at, "--set", "replica.max_lag=1h",
		}, args...), f.common...)...)
		in.TakeAddresses(in.WaitLine("ready "))
		return in
	}
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	writer := f.nodes[0]
	a := harness.NewAcked()
	a.Begin(writer)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(writer, 1, stop); close(done) }()
	harness.WaitFor(t, func() bool { return count(a) >= 300 })
	first := replica("--snapshot-from", "http://"+harness.StreamAddress(t), "--snapshot-from", base(writer))
	if n := strings.Count(first.Stderr.String(), "no snapshot of another node"); n != 1 {
		t.Errorf("%d peers gave no snapshot: %s", n, first.Stderr.String())
	}
	harness.WaitFor(t, func() bool { return count(a) >= 600 })
	cuts := newCutter(t, base(first), 60_000)
	second := replica(append(guarded, "--snapshot-from", cuts.url)...)
	if n := cuts.connections(); len(n) < 4 { // of 60 kB
		t.Errorf("the snapshot has come over connections of %d bytes: %s", n, second.Stderr.String())
	}
	third := replica(append(guarded, "--snapshot-from", base(second))...) // its chains begin with those of a snapshot
	f.nodes[1] = harness.Launch(t, nil, f.standby(1, append(guarded, "--set", "sim.enabled=false", "--set",
		"cluster.archive_every=0", "--snapshot-from", base(third))...)...)
	second.Token, third.Token, f.nodes[1].Token = nodesToken, nodesToken, nodesToken
	f.nodes[1].TakeAddresses(f.nodes[1].WaitLine("ready "))
	for _, in := range []*harness.Instance{first, second, third, f.nodes[1]} {
		if !strings.Contains(in.Stderr.String(), "begins with a snapshot of another node") {
			t.Errorf("it read the whole stream: %s", in.Stderr.String())
		}
	}
	close(stop)
	<-done
	for _, in := range []*harness.Instance{first, second, third, f.nodes[1]} {
		f.sameState(writer, in)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	command := append([]string{"restore", restored, "--snapshot-from", base(second)}, guarded...)
	if code, out, text := streamCommand(t, f.at, command...); code != 0 {
		t.Fatalf("stream restore: exit code %d: %s%s", code, out, text)
	}
	sound(t, restored)
	if snaps, err := filepath.Glob(filepath.Join(restored, "engine", "*.snap")); len(snaps) != 1 || err != nil {
		t.Errorf("the restored directory begins with %q, %v", snaps, err)
	}
	again := harness.Start(t, "--data-dir", restored, "--pairs", "none", "--sim", "off", "--quiet", "--set",
		"rate.allow=127.0.0.1")
	want := fmt.Sprint(writer.Call(200, "GET", "/state-hash", ""))
	if got := fmt.Sprint(again.Call(200, "GET", "/state-hash", "")); got != want {
		t.Errorf("the restored directory has the state hash %s, not %s", got, want)
	}
	a.VerifyStores(t, again)
	again.Signal(syscall.SIGTERM)
	again.Wait()
	third.Token = ""
	if got := third.Do("GET", third.Internal+"/snapshots/latest", ""); got.Status != 401 {
		t.Errorf("without the token: %d", got.Status)
	}
	writer.Signal(syscall.SIGKILL)
	writer.Wait()
	f.awaitRole(1, "writer")
	holds(a, t, f.nodes[1])
	f.sameState(f.nodes[1], second)
}

// cutter is a proxy that ends each connection behind so many bytes of the answer.
type cutter struct {
	url   string
	mu    sync.Mutex
	conns []int64 // bytes of the answers
}

func newCutter(t *testing.T, to string, behind int64) *cutter {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	c := &cutter{url: "http://" + ln.Addr().String()}
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client) }()
			n, _ := io.CopyN(client, server, behind)
			c.mu.Lock()
			c.conns = append(c.conns, n)
			c.mu.Unlock()
			_, _ = client.Close(), server.Close()
		}
	}()
	return c
}

// connections returns the bytes that each connection has brought.
func (c *cutter) connections() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.conns)
}

// base returns the address of the internal listener of a node.
func base(in *harness.Instance) string { return strings.TrimSuffix(in.Internal, "/internal/v1") }

// A standby begins with a snapshot of a writer with a simulated market, launchpad and hive, and takes over. A replica
// that begins with a snapshot of the new writer has the same bytes of all parts as one that reads the whole
// stream.
func TestAStandbyBeginsWithASnapshotOfTheWriter(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve())
	f.start(1, f.standby(1, "--set", "cluster.archive_every=0", "--snapshot-from", base(f.nodes[0])))
	begun := func(in *harness.Instance) {
		t.Helper()
		if text := in.Stderr.String(); !strings.Contains(text, "begins with a snapshot of another node") {
			t.Errorf("it begins otherwise: %s", text)
		}
	}
	begun(f.nodes[1])
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	first := harness.StartReplica(t, f.at, "--set", "replica.max_lag=1h", "--snapshot-from", base(f.nodes[1]))
	begun(first)
	second := harness.StartReplica(t, f.at, "--set", "replica.max_lag=1h")
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{1, "lacks the simulated market", []string{"restore", "restored", "--snapshot-from", base(first)}},
		{1, "connection refused", []string{"restore", "restored", "--snapshot-from", "http://" +
			harness.StreamAddress(t)}},
		{2, "must have the form http://HOST:PORT", []string{"restore", "restored", "--snapshot-from", "h4:8081"}},
		{2, "unknown flag --snapshot-from", []string{"verify", "--snapshot-from", base(first)}},
	} {
		if c.args[0] == "restore" {
			c.args[1] = filepath.Join(t.TempDir(), c.args[1])
		}
		if code, _, text := streamCommand(t, f.at, c.args...); code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%q: exit code %d: %s", c.args, code, text)
		}
	}
	f.nodes[1].Signal(syscall.SIGTERM)
	f.nodes[1].EndsClean(f.dirs[1])
	harness.WaitFor(t, func() bool {
		a, b := snapshotOf(t, first), snapshotOf(t, second)
		if a == nil || b == nil || a.At != b.At {
			return false
		}
		if a.Chain != b.Chain || a.Genesis != b.Genesis {
			t.Errorf("heads %+v and %+v", a.Head, b.Head)
		}
		if one, other := bodyOf(t, a), bodyOf(t, b); !bytes.Equal(one, other) || len(one) == 0 {
			t.Errorf("the bodies differ: %d and %d bytes", len(one), len(other))
		}
		return true
	})
}

// A standby and a replica find a node that gives a snapshot by themselves: those that advertise an address have
// announced it in the stream, with the key of the cluster. A replica without the key finds none.
func TestNodesFindEachOther(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	advertise := []string{"--advertise", "127.0.0.1:8080", "--set", "cluster.archive_every=0"}
	f.start(0, f.serve(advertise[:2]...))
	f.start(1, f.standby(1, advertise...))
	f.nodes[1].WaitLog("announced=writer", 1)
	first := harness.Launch(t, nil, append([]string{"replica", "--from", "nats://" + f.at}, f.common...)...)
	first.TakeAddresses(first.WaitLine("ready "))
	first.WaitLog("announced=standby", 1)
	second := harness.StartReplica(t, f.at)
	second.WaitLog("begins with the first message", 1)
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	third := harness.Launch(t, nil, append([]string{"replica", "--from", "nats://" + f.at}, f.common...)...)
	third.TakeAddresses(third.WaitLine("ready "))
	third.WaitLog("announced=writer", 1)
}

// snapshotOf returns a snapshot of a node, nil if it has none now.
func snapshotOf(t *testing.T, in *harness.Instance) *node.Snapshot {
	t.Helper()
	got := in.Do("GET", in.Internal+"/snapshots/latest", "")
	if got.Status != 200 {
		return nil
	}
	s, err := node.ReadSnapshot(io.NopCloser(strings.NewReader(got.Body)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bodyOf returns the state of a snapshot.
func bodyOf(t *testing.T, s *node.Snapshot) (body []byte) {
	t.Helper()
	err := s.Body(func(r io.Reader) (err error) {
		body, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}
