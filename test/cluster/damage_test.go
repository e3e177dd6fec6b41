package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tickhive/test/harness"
)

// The only server of a stream loses its files, or the end of its messages. The replica ends and says so, the writer
// acknowledges nothing more, and its next start sends again what its journal has: nothing acknowledged is lost. A
// replica with a copy starts too: the stream, whose messages are fewer now, ends before the last one of the copy, or
// has another one there, so the copy is put aside.
func TestTheOnlyServerLosesItsFiles(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(dir string) error{
		"all of them": os.RemoveAll,
		"the end of the messages": func(dir string) error {
			blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "TICKHIVE_*", "msgs", "*.blk"))
			if err != nil || len(blocks) == 0 {
				return fmt.Errorf("no messages in %s: %v", dir, err)
			}
			info, err := os.Stat(blocks[0])
			if err != nil {
				return err
			}
			return os.Truncate(blocks[0], info.Size()/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			serve := f.serve("--pairs", "none", "--sim", "off", "--set", "engine.account_orders=1000000")
			f.start(0, serve)
			a := harness.NewAcked()
			a.Begin(f.nodes[0])
			replica := harness.StartReplica(t, f.at)
			dir := filepath.Join(t.TempDir(), "copy")
			copied := harness.StartReplica(t, f.at, "--data-dir", dir, "--set", "sim.enabled=false")
			stop, done := make(chan struct{}), make(chan struct{})
			go func() { a.LoadBy(clusterLoad, f.nodes[0], 1, stop); close(done) }()
			harness.WaitFor(t, func() bool { return count(a) >= 300 })
			close(stop)
			<-done
			f.sameState(f.nodes[0], copied)
			copied.Signal(syscall.SIGTERM)
			if code := copied.Wait(); code != 0 {
				t.Errorf("the replica with a copy: exit code %d", code)
			}
			f.server.Signal(syscall.SIGKILL)
			f.server.Wait()
			if err := damage(f.folder); err != nil {
				t.Fatal(err)
			}
			f.startServer()
			if code := replica.Wait(); code != 1 ||
				!strings.Contains(replica.Stderr.String(), "the stream cannot be read any more") {
				t.Errorf("the replica: exit code %d: %s", code, replica.Stderr.String())
			}
			harness.WaitFor(t, func() bool {
				s := f.nodes[0].Do("GET", f.nodes[0].Public+"/api/status", "").Body
				return strings.Contains(s, `"failed":true`) && strings.Contains(s, `"kind":"stream"`)
			})
			f.nodes[0].Signal(syscall.SIGKILL)
			f.nodes[0].Wait()
			f.start(0, serve)
			copied = harness.StartReplica(t, f.at, "--data-dir", dir, "--set", "sim.enabled=false")
			if found := aside(t, dir); len(found) != 1 || copyState(t, found[0]).At.Seq == 0 {
				t.Errorf("put aside: %v: %s", found, copied.Stderr.String())
			}
			for _, replica := range []*harness.Instance{harness.StartReplica(t, f.at), copied} {
				f.follows(replica, f.nodes[0])
				w, r := f.nodes[0].Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
				if w["hash"] == nil || fmt.Sprint(w) != fmt.Sprint(r) {
					t.Errorf("state hashes %v and %v", w, r)
				}
			}
			for id, o := range a.Orders {
				got := f.nodes[0].Do("GET", fmt.Sprintf("%s/orders/%d", f.nodes[0].Internal, id), "")
				if got.Status != 200 || a.Canceled[id] && !strings.Contains(got.Body, "Canceled") {
					t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, got.Status, got.Body)
				}
			}
			a.VerifyStores(t, f.nodes[0])
		})
	}
}
