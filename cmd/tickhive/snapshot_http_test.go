package main

import (
	"os"
	"path/filepath"
	"strings"
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
	second := replica(append(guarded, "--snapshot-from", base(first))...)
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
