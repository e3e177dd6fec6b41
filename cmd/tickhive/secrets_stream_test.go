package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The nodes of a stream whose secrets are sealed need the writer's key, and have it outside their directories: a
// replica answers like the writer then, and a standby takes over.
func TestNodesNeedTheKeyOfTheStream(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	file := filepath.Join(t.TempDir(), "secret")
	key := []string{"--set", "auth.secret_key_file=" + file}
	off := []string{"--set", "sim.enabled=false"}
	f.start(0, f.serve(append(key, "--pairs", "none", "--sim", "off")...))
	a := newAcked()
	a.begin(f.nodes[0])
	user := f.nodes[0].trader()
	a.deposited["USDT"] += 10_000
	for want, args := range map[string][]string{
		"set auth.secret_key_file to a file that has this key": off,
		"copy the writer's file":                               append(off, "--set", "auth.secret_key_file="+file+"2"),
		"is in the data directory": append(off, "--set", "auth.secret_key_file="+
			filepath.Join(f.dirs[1], "secret")),
	} {
		in := launch(t, nil, f.standby(1, args...)...)
		if code := in.wait(); code != 2 || !strings.Contains(in.stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, in.stderr.String())
		}
	}
	f.start(1, f.standby(1, append(off, key...)...))
	replica := startReplica(t, f.at, append(key, "--set", "cluster.key_file="+f.common[len(f.common)-1][17:])...)
	f.loaded(a, 50)()
	f.sameState(f.nodes[0], f.nodes[1])
	f.sameState(f.nodes[0], replica)
	f.nodes[0].signal(syscall.SIGKILL)
	f.nodes[0].wait()
	f.awaitRole(1, "writer")
	a.holds(t, f.nodes[1])
	if got := f.nodes[1].opened(user); got != 0 {
		t.Errorf("%d orders", got)
	}
}
