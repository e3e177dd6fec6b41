package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/vfs"

	"github.com/tickhive/tickhive/test/harness"
)

// loaded starts a writer, loads it until it has acknowledged n more orders, and returns what ends the load.
func (f *failover) loaded(a *harness.Acked, n int) (end func()) {
	f.t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	writer, before := f.nodes[0], count(a)
	go func() { a.LoadBy(clusterLoad, writer, uint64(before), stop); close(done) }()
	harness.WaitFor(f.t, func() bool { return count(a) >= before+n })
	return func() { close(stop); <-done }
}

// copyState returns the state of the copy in a directory.
func copyState(t *testing.T, dir string) (s node.CopyState) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "COPY"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// aside returns the copies that were put aside for a directory.
func aside(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(dir + ".aside-*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// oftenSnapshots are the arguments of a node that takes snapshots under the load of a test.
var oftenSnapshots = []string{
	"--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=6000",
}

// snapshotFiles returns the snapshots in the directory of a node.
func snapshotFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "engine", "*.snap"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const beginsWithSnapshot = "begins with a snapshot of another node"

// knowsWriter checks that a node forwards to the first one, also if it has begun behind its term record.
func (f *failover) knowsWriter(in *harness.Instance) {
	f.t.Helper()
	a := in.Do("POST", in.Public+"/api/orders", "{}")
	if served := a.Header.Get("X-Served-By"); "http://"+served != f.nodes[0].Public {
		f.t.Errorf("the node forwards to %q: %d %s", served, a.Status, a.Body)
	}
}

// A standby that starts again continues its copy, whether it has begun with the first message or with the writer's
// snapshot, and its directory has every record when it takes over.
func TestAStandbyContinuesItsCopy(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, more := range map[string][]string{"from the first message": nil, "from a snapshot": oftenSnapshots} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			a := f.startWriter(more...)
			end := f.loaded(a, 200)
			harness.WaitFor(t, func() bool { return more == nil || len(snapshotFiles(t, f.dirs[0])) > 0 })
			end()
			standby := f.standby(1, append([]string{"--set", "sim.enabled=false"}, more...)...)
			f.start(1, standby)
			if got := strings.Contains(f.nodes[1].Stderr.String(), beginsWithSnapshot); got != (more != nil) {
				t.Errorf("with a snapshot %t: %s", got, f.nodes[1].Stderr.String())
			}
			f.knowsWriter(f.nodes[1])
			harness.WaitFor(t, func() bool { return copyState(t, f.dirs[1]).At.Seq > 0 })
			began := copyState(t, f.dirs[1])
			for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
				f.nodes[1].Signal(signal)
				f.nodes[1].Wait()
				f.loaded(a, 200)()
				f.start(1, standby)
				if text := f.nodes[1].Stderr.String(); strings.Contains(text, beginsWithSnapshot) {
					t.Errorf("it does not continue its copy: %s", text)
				}
				f.knowsWriter(f.nodes[1])
			}
			f.secondTakesOver(a)
			if found := aside(t, f.dirs[1]); len(found) > 0 {
				t.Errorf("%v were put aside", found)
			}
			text, err := os.ReadFile(filepath.Join(f.dirs[1], "meta.json"))
			if err != nil || !strings.Contains(string(text), began.Identity.Directory.String()) {
				t.Errorf("the directory is another one than %s: %v %s", began.Identity.Directory, err, text)
			}
			sound(t, f.dirs[1])
		})
	}
}

// A copy of a stream that is lost is put aside, not removed, and becomes a data directory with everything.
func TestACopyOfALostStreamIsPutAside(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	a := f.startWriter()
	standby := f.standby(1, "--set", "sim.enabled=false")
	f.start(1, standby)
	f.loaded(a, 300)()
	f.sameState(f.nodes[0], f.nodes[1])
	epoch := shownEpoch(t, f.nodes[0])
	for _, in := range []*harness.Instance{f.nodes[0], f.nodes[1], f.server} {
		in.Signal(syscall.SIGKILL)
		in.Wait()
	}
	for _, dir := range []string{f.dirs[0], f.folder} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	f.startServer()
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	f.start(1, standby)
	found := aside(t, f.dirs[1])
	if len(found) != 1 || !strings.Contains(f.nodes[1].Stderr.String(), found[0]) ||
		!strings.Contains(f.nodes[1].Stderr.String(), epoch) {
		t.Fatalf("%v were put aside: %s", found, f.nodes[1].Stderr.String())
	}
	for _, in := range []*harness.Instance{f.nodes[0], f.nodes[1]} {
		in.Signal(syscall.SIGKILL)
		in.Wait()
	}
	f.restored(a, found[0], epoch)
}

// restored makes a data directory from one of a node, starts a writer and a standby with it, and checks that everything
// acknowledged is there, in a new epoch and a new stream.
func (f *failover) restored(a *harness.Acked, from, epoch string) {
	t := f.t
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	in := harness.Launch(t, nil, "stream", "restore", dir, "--from-dir", from)
	out := ""
	for line := range in.Lines {
		out += line + "\n"
	}
	if code := in.Wait(); code != 0 || !strings.Contains(out, "restored: record ") {
		t.Fatalf("restore from %s: exit code %d: %s%s", from, code, out, in.Stderr.String())
	}
	sound(t, dir)
	// The log, COPY or meta.json, LOCK.
	if left, err := filepath.Glob(filepath.Join(from, "*")); err != nil || len(left) < 3 {
		t.Errorf("the node's directory has %v, %v", left, err)
	}
	f.dirs[0], f.dirs[1] = dir, filepath.Join(t.TempDir(), "follower")
	f.start(0, f.serve("--pairs", "none", "--sim", "off", "--set", "engine.account_orders=1000000"))
	holds(a, t, f.nodes[0])
	now := shownEpoch(t, f.nodes[0])
	if now == epoch {
		t.Errorf("it goes on in the epoch %s", epoch)
	}
	f.start(1, f.standby(1, "--set", "sim.enabled=false", "--set", "replica.epoch="+now))
	f.nodes[0].Call(200, "POST", "/pairs", `{"code":"CC_USDT","digitsPrice":2,"digitsAmount":2}`)
	f.secondTakesOver(a)
}

// After the files of the only server of a stream were damaged or lost, each node's own directory has everything that
// was acknowledged.
func TestAnyNodeRestoresALostStream(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, damage := range map[string]func(dir string) error{
		"deleted": os.RemoveAll,
		"a flipped byte": func(dir string) error {
			blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
			if err != nil || len(blocks) == 0 {
				return err
			}
			text, err := os.ReadFile(blocks[0])
			if err != nil {
				return err
			}
			text[len(text)/2] ^= 4
			return os.WriteFile(blocks[0], text, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFailover(t)
			a := f.startWriter()
			off := []string{"--set", "sim.enabled=false"}
			f.start(1, f.standby(1, off...))
			kept := filepath.Join(t.TempDir(), "replica")
			replica := harness.StartReplica(t, f.at, append(off, "--data-dir", kept)...)
			f.loaded(a, 300)()
			f.sameState(f.nodes[0], f.nodes[1])
			f.sameState(f.nodes[0], replica)
			epoch, dirs := shownEpoch(t, f.nodes[0]), f.dirs
			for _, in := range []*harness.Instance{f.nodes[0], f.nodes[1], replica, f.server} {
				in.Signal(syscall.SIGKILL)
				in.Wait()
			}
			if err := damage(f.folder); err != nil {
				t.Fatal(err)
			}
			f.startServer()
			for _, from := range []string{dirs[0], dirs[1], kept} {
				f.restored(a, from, epoch)
			}
		})
	}
}

// A directory of a node that is in use, damaged, empty or named beside a stream is refused, and nothing is left over.
func TestADirectoryThatCannotBeRestored(t *testing.T) {
	t.Parallel()
	f := newFailover(t)
	f.start(0, f.serve("--pairs", "none", "--sim", "off"))
	harness.NewAcked().Begin(f.nodes[0])
	f.start(1, f.standby(1, "--set", "sim.enabled=false"))
	f.sameState(f.nodes[0], f.nodes[1])
	harness.WaitFor(t, func() bool { return copyState(t, f.dirs[1]).End.Seq > 0 })
	refused := func(code int, want string, args ...string) {
		t.Helper()
		in := harness.Launch(t, nil, append([]string{"stream", "restore", filepath.Join(t.TempDir(), "new")},
			args...)...)
		for range in.Lines {
		}
		if got := in.Wait(); got != code || !strings.Contains(in.Stderr.String(), want) {
			t.Errorf("%v: exit code %d: %s", args, got, in.Stderr.String())
		}
	}
	refused(1, "in use", "--from-dir", f.dirs[0])
	refused(1, "in use", "--from-dir", f.dirs[1])
	refused(1, "no meta.json", "--from-dir", t.TempDir())
	refused(2, "leave one out", "--from-dir", f.dirs[0], "--from", "nats://"+f.at)
	for n, in := range f.nodes {
		in.Signal(syscall.SIGKILL)
		in.Wait()
		blocks, err := filepath.Glob(filepath.Join(f.dirs[n], "engine", "*.wal"))
		if err != nil || len(blocks) == 0 {
			t.Fatalf("%v, %v", blocks, err)
		}
		text, err := os.ReadFile(blocks[0])
		if err == nil {
			text[3*vfs.SectorBytes+40] ^= 1 // in the first record
			err = os.WriteFile(blocks[0], text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		refused(3, "restore from the directory of another node", "--from-dir", f.dirs[n])
	}
}

// sound checks a data directory with journal verify.
func sound(t *testing.T, dir string) {
	t.Helper()
	verify := harness.Launch(t, nil, "journal", "verify", dir)
	for range verify.Lines {
	}
	if code := verify.Wait(); code != 0 {
		t.Errorf("journal verify: exit code %d: %s", code, verify.Stderr.String())
	}
}
