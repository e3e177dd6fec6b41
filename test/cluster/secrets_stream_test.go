package cluster

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// A standby of a stream whose secrets are sealed needs the writer's key, and has it outside its directory. It takes
// over then. A replica and stream verify have the same state without the key.
func TestNodesNeedTheKeyOfTheStream(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	file := filepath.Join(t.TempDir(), "secret")
	key := []string{"--set", "auth.secret_key_file=" + file}
	off := []string{"--set", "sim.enabled=false"}
	f.start(0, f.serve(append(key, "--pairs", "none", "--sim", "off")...))
	a := harness.NewAcked()
	a.Begin(f.nodes[0])
	user := f.nodes[0].Trader()
	a.Deposited["USDT"] += 10_000
	for want, args := range map[string][]string{
		"name the file that has this key": off,
		"put the file with this key back": append(off, "--set", "auth.secret_key_file="+file+"2"),
		"is in the data directory": append(off, "--set", "auth.secret_key_file="+
			filepath.Join(f.dirs[1], "secret")),
	} {
		in := harness.Launch(t, nil, f.standby(1, args...)...)
		if code := in.Wait(); code != 2 || !strings.Contains(in.Stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, code, in.Stderr.String())
		}
	}
	f.start(1, f.standby(1, append(off, key...)...))
	replica := harness.StartReplica(t, f.at, key...)
	f.loaded(a, 50)()
	f.sameState(f.nodes[0], f.nodes[1])
	f.sameState(f.nodes[0], replica)
	keyless := harness.StartReplica(t, f.at)
	f.sameState(f.nodes[0], keyless)
	code, out, text := streamCommand(t, f.at, "verify")
	if code != 0 || !strings.Contains(out, "\naccounts ") || !strings.Contains(out, "\nhash ") {
		t.Errorf("stream verify: exit code %d, %s%s", code, out, text)
	}
	f.nodes[0].Signal(syscall.SIGKILL)
	f.nodes[0].Wait()
	f.awaitRole(1, "writer")
	holds(a, t, f.nodes[1])
	if got := f.nodes[1].Opened(user); got != 0 {
		t.Errorf("%d orders", got)
	}
}
