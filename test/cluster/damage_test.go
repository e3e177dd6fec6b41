package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/node"

	"github.com/tickhive/tickhive/test/harness"
)

// The only server of a stream loses its files, or the end of its messages. The replica ends and says so, the writer
// acknowledges nothing more, and its next start sends again what its journal has: nothing acknowledged is lost. A
// replica and a standby with copies start too, and go on with them: up to where they were, the stream has the same
// records, however its messages are numbered now. With snapshots it begins behind the older one of the writer.
func TestTheOnlyServerLosesItsFiles(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	theEnd := func(dir string) error {
		blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "TICKHIVE_*", "msgs", "*.blk"))
		if err != nil || len(blocks) == 0 {
			return fmt.Errorf("no messages in %s: %v", dir, err)
		}
		info, err := os.Stat(blocks[0])
		if err != nil {
			return err
		}
		return os.Truncate(blocks[0], info.Size()/2)
	}
	for name, c := range map[string]struct {
		damage func(dir string) error
		more   []string
	}{
		"all of them":                 {os.RemoveAll, nil},
		"all of them, with snapshots": {os.RemoveAll, oftenSnapshots},
		"the end of the messages":     {theEnd, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			a := f.startWriter(c.more...)
			replica := harness.StartReplica(t, f.at)
			dir := filepath.Join(t.TempDir(), "copy")
			off := append([]string{"--set", "sim.enabled=false"}, c.more...)
			withCopy := append(off, "--data-dir", dir)
			copied := harness.StartReplica(t, f.at, withCopy...)
			f.start(1, f.standby(1, off...))
			end := f.loaded(a, 300)
			harness.WaitFor(t, func() bool { return c.more == nil || len(snapshotFiles(t, f.dirs[0])) == 2 })
			end()
			f.sameState(f.nodes[0], copied)
			f.sameState(f.nodes[0], f.nodes[1])
			for _, in := range []*harness.Instance{copied, f.nodes[1]} {
				in.Signal(syscall.SIGTERM)
				if code := in.Wait(); code != 0 {
					t.Errorf("a node with a copy: exit code %d: %s", code, in.Stderr.String())
				}
			}
			began := []node.CopyState{copyState(t, dir), copyState(t, f.dirs[1])}
			f.server.Signal(syscall.SIGKILL)
			f.server.Wait()
			if err := c.damage(f.folder); err != nil {
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
			f.start(0, f.writer(c.more...))
			copied = harness.StartReplica(t, f.at, withCopy...)
			f.start(1, f.standby(1, off...))
			f.loaded(a, 100)()
			for _, replica := range []*harness.Instance{harness.StartReplica(t, f.at), copied, f.nodes[1]} {
				f.follows(replica, f.nodes[0])
				w, r := f.nodes[0].Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
				if w["hash"] == nil || fmt.Sprint(w) != fmt.Sprint(r) {
					t.Errorf("state hashes %v and %v", w, r)
				}
			}
			for i, dir := range []string{dir, f.dirs[1]} {
				if found := aside(t, dir); len(found) > 0 || copyState(t, dir).Identity != began[i].Identity {
					t.Errorf("%s does not go on; %v were put aside", dir, found)
				}
			}
			f.secondTakesOver(a)
		})
	}
}
