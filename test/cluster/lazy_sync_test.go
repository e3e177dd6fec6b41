package cluster

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// A server that acknowledges before it syncs is refused by a writer with quorum and by a standby, unless it is trusted.
// A writer that waits for nothing, and a replica, do not ask.
func TestALazyServerIsRefusedUnlessItIsTrusted(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.server.Signal(syscall.SIGKILL)
	f.server.Wait()
	f.server = harness.LaunchStream(t, f.folder, f.at, harness.LazyServer)
	f.server.WaitLine("stream ready")
	refused := func(code int, want string, args []string) {
		t.Helper()
		in := harness.Launch(t, nil, args...)
		if got := in.Wait(); got != code || !strings.Contains(in.Stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, got, in.Stderr.String())
		}
	}
	serve := f.serve("--sim", "off")
	refused(1, "acknowledges before it syncs", serve)
	f.start(0, append(serve, "--trust-lazy-sync"))
	off := []string{"--set", "sim.enabled=false"}
	refused(1, "acknowledges before it syncs", f.standby(1, off...))
	f.start(1, append(f.standby(1, off...), "--trust-lazy-sync"))
	replica := harness.Launch(t, nil, append([]string{"replica", "--from", "nats://" + f.at}, f.common...)...)
	replica.WaitLine("ready ")
	refused(2, "--trust-lazy-sync", []string{"replica", "--trust-lazy-sync", "--from", "nats://" + f.at})
	for _, args := range [][]string{
		{"serve", "--trust-lazy-sync"},
		{"serve", "--trust-lazy-sync", "--journal", "nats://" + f.at},
		{"serve", "--trust-lazy-sync", "--journal", "embedded", "--ack", "quorum"},
	} {
		refused(2, "--trust-lazy-sync: ", append(args, "--data-dir", t.TempDir()))
	}
	refused(2, "stream.monitor", f.serve("--set", "stream.monitor=127.0.0.1:8222"))
}
