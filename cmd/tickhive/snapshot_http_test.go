package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// nodesToken guards the internal listeners of nodes.
const nodesToken = "a-token-of-some-nodes"

// A replica and a standby begin with a snapshot that a replica gives over HTTP, and have the writer's state; the
// standby takes over with it. A writer gives none, and a node that finds none reads the stream.
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
	first := replica("--snapshot-from", base(writer), "--snapshot-from", "http://"+streamAddress(t))
	if n := strings.Count(first.stderr.String(), "no snapshot of another node"); n != 2 {
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
	for _, in := range []*instance{second, third, f.nodes[1]} {
		if !strings.Contains(in.stderr.String(), "begins with a snapshot of another node") {
			t.Errorf("it read the whole stream: %s", in.stderr.String())
		}
	}
	close(stop)
	<-done
	for _, in := range []*instance{first, second, third, f.nodes[1]} {
		f.sameState(writer, in)
	}
	if got := writer.do("GET", writer.internal+"/snapshots/latest", ""); got.status != 409 {
		t.Errorf("the writer answers %d %s", got.status, got.body)
	}
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

// A writer gives the newest archived snapshot, with which a replica begins.
func TestAWriterGivesTheArchivedSnapshot(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	newAcked().begin(f.nodes[0])
	f.start(1, f.standby(1, "--set", "sim.enabled=false", "--set", "cluster.archive_every=1s"))
	f.nodes[1].waitLog("a snapshot is archived", 1)
	replica := startReplica(t, f.at, "--snapshot-from", base(f.nodes[0]))
	if text := replica.stderr.String(); !strings.Contains(text, "begins with a snapshot of another node") {
		t.Errorf("it begins otherwise: %s", text)
	}
	f.sameState(f.nodes[0], replica)
}
