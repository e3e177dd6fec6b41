package cluster

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The demo of a cluster shows its nodes, kills the writer by a key, shows the standby as the writer, and takes the
// killed node back. It leaves no directory.
func TestClusterDemo(t *testing.T) {
	t.Parallel()
	var keys io.WriteCloser
	in := harness.LaunchWith(t, func(c *exec.Cmd) {
		var err error
		if keys, err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}, nil, "cluster", "demo")
	dir := strings.Fields(in.WaitLine("a cluster in "))[3]
	shows := func(node, role, term string) {
		t.Helper()
		for deadline := time.Now().Add(harness.Patience); ; {
			f := strings.Fields(in.WaitLine(node + " "))
			if len(f) >= 4 && f[2] == role && f[3] == term || len(f) == 3 && f[2] == role {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is never %s in term %s, but %v", node, role, term, f)
			}
		}
	}
	press := func(key string) {
		t.Helper()
		if _, err := io.WriteString(keys, key+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	shows("node-1", "writer", "1")
	shows("node-2", "replica", "1")
	shows("node-4", "replica", "1")
	press("1")
	shows("node-1", "down", "")
	shows("node-2", "writer", "2")
	press("1")
	shows("node-1", "replica", "2")
	press("x")
	in.WaitLine("there is no key")
	press("q")
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d: %s", code, in.Stderr.String())
	}
	if _, err := os.Stat(strings.TrimSuffix(dir, ":")); err == nil {
		t.Errorf("%s is left", dir)
	}
}
