package main

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
	"tickhive/internal/stream"
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
	replica := func(args ...string) *instance {
		in := launch(t, nil, append(append([]string{
			"replica", "--from", "nats://" + f.at, "--set", "replica.max_lag=1h",
		}, args...), f.common...)...)
		in.takeAddresses(in.waitLine("ready "))
		return in
	}
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	writer := f.nodes[0]
	a := newAcked()
	a.begin(writer)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.load(writer, 1, stop); close(done) }()
	waitFor(t, func() bool { return a.count() >= 300 })
	first := replica("--snapshot-from", "http://"+streamAddress(t), "--snapshot-from", base(writer))
	if n := strings.Count(first.stderr.String(), "no snapshot of another node"); n != 1 {
		t.Errorf("%d peers gave no snapshot: %s", n, first.stderr.String())
	}
	waitFor(t, func() bool { return a.count() >= 600 })
	cuts := newCutter(t, base(first), 100_000)
	second := replica(append(guarded, "--snapshot-from", cuts.url)...)
	if n := cuts.connections(); len(n) < 4 { // of 100 kB
		t.Errorf("the snapshot has come over connections of %d bytes: %s", n, second.stderr.String())
	}
	third := replica(append(guarded, "--snapshot-from", base(second))...) // its chains begin with those of a snapshot
	f.nodes[1] = launch(t, nil, f.standby(1, append(guarded, "--set", "sim.enabled=false", "--set",
		"cluster.archive_every=0", "--snapshot-from", base(third))...)...)
	second.token, third.token, f.nodes[1].token = nodesToken, nodesToken, nodesToken
	f.nodes[1].takeAddresses(f.nodes[1].waitLine("ready "))
	for _, in := range []*instance{first, second, third, f.nodes[1]} {
		if !strings.Contains(in.stderr.String(), "begins with a snapshot of another node") {
			t.Errorf("it read the whole stream: %s", in.stderr.String())
		}
	}
	close(stop)
	<-done
	for _, in := range []*instance{first, second, third, f.nodes[1]} {
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
	again := start(t, "--data-dir", restored, "--pairs", "none", "--sim", "off", "--quiet", "--set",
		"rate.allow=127.0.0.1")
	want := fmt.Sprint(writer.call(200, "GET", "/state-hash", ""))
	if got := fmt.Sprint(again.call(200, "GET", "/state-hash", "")); got != want {
		t.Errorf("the restored directory has the state hash %s, not %s", got, want)
	}
	a.verifyStores(t, again)
	again.signal(syscall.SIGTERM)
	again.wait()
	third.token = ""
	if got := third.do("GET", third.internal+"/snapshots/latest", ""); got.status != 401 {
		t.Errorf("without the token: %d", got.status)
	}
	writer.signal(syscall.SIGKILL)
	writer.wait()
	f.awaitRole(1, "writer")
	a.holds(t, f.nodes[1])
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
func base(in *instance) string { return strings.TrimSuffix(in.internal, "/internal/v1") }

// A standby begins with a snapshot of a writer with a simulated market, launchpad and hive, and takes over. A replica
// that begins with a snapshot of the new writer has the same bytes of all four logs as one that reads the whole
// stream.
func TestAStandbyBeginsWithASnapshotOfTheWriter(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve())
	f.start(1, f.standby(1, "--set", "cluster.archive_every=0", "--snapshot-from", base(f.nodes[0])))
	begun := func(in *instance) {
		t.Helper()
		if text := in.stderr.String(); !strings.Contains(text, "begins with a snapshot of another node") {
			t.Errorf("it begins otherwise: %s", text)
		}
	}
	begun(f.nodes[1])
	f.nodes[0].signal(syscall.SIGKILL)
	f.nodes[0].wait()
	f.awaitRole(1, "writer")
	first := startReplica(t, f.at, "--set", "replica.max_lag=1h", "--snapshot-from", base(f.nodes[1]))
	begun(first)
	second := startReplica(t, f.at, "--set", "replica.max_lag=1h")
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{1, "lacks the simulated market", []string{"restore", "restored", "--snapshot-from", base(first)}},
		{1, "connection refused", []string{"restore", "restored", "--snapshot-from", "http://" + streamAddress(t)}},
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
	f.nodes[1].signal(syscall.SIGTERM)
	f.nodes[1].endsClean(f.dirs[1])
	waitFor(t, func() bool {
		a, b := snapshotOf(t, first), snapshotOf(t, second)
		if a == nil || b == nil || a.At != b.At {
			return false
		}
		for log := stream.Accounts; log <= stream.Hive; log++ {
			if !bytes.Equal(a.Store(log), b.Store(log)) || len(a.Store(log)) == 0 {
				t.Errorf("log %d differs: %d and %d bytes", log, len(a.Store(log)), len(b.Store(log)))
			}
		}
		if a.Chains != b.Chains || a.Genesis != b.Genesis || a.Reflects != b.Reflects {
			t.Errorf("heads %+v and %+v", a.Head, b.Head)
		}
		if one, other := market(t, a), market(t, b); !bytes.Equal(one, other) {
			t.Errorf("the markets differ: %d and %d bytes", len(one), len(other))
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
	f.nodes[1].waitLog("announced=writer", 1)
	first := launch(t, nil, append([]string{"replica", "--from", "nats://" + f.at}, f.common...)...)
	first.takeAddresses(first.waitLine("ready "))
	first.waitLog("announced=standby", 1)
	second := startReplica(t, f.at)
	second.waitLog("begins with the first message", 1)
	f.nodes[0].signal(syscall.SIGKILL)
	f.nodes[0].wait()
	f.awaitRole(1, "writer")
	third := launch(t, nil, append([]string{"replica", "--from", "nats://" + f.at}, f.common...)...)
	third.takeAddresses(third.waitLine("ready "))
	third.waitLog("announced=writer", 1)
}

// snapshotOf returns a snapshot of a node, nil if it has none now.
func snapshotOf(t *testing.T, in *instance) *node.Snapshot {
	t.Helper()
	got := in.do("GET", in.internal+"/snapshots/latest", "")
	if got.status != 200 {
		return nil
	}
	s, err := node.ReadSnapshot(io.NopCloser(strings.NewReader(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// market returns the market of a snapshot.
func market(t *testing.T, s *node.Snapshot) (body []byte) {
	t.Helper()
	err := s.Market(func(r io.Reader) (err error) {
		body, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}
