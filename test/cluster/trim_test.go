package cluster

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"

	"github.com/tickhive/tickhive/test/harness"
)

// kept returns the number of the first message that a stream has.
func kept(t *testing.T, at, epoch string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	conn, err := jet.Connect(harness.StreamSeed.Remote(at))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	log, err := conn.Log(ctx, epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	last, err := log.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(sort.Search(int(last), func(i int) bool {
		_, err := log.Read(ctx, uint64(i))
		if i > 0 && err != nil && !errors.Is(err, jet.ErrTrimmed) {
			t.Fatal(err)
		}
		return i > 0 && err == nil
	}))
}

// continued returns the number of the message behind which the stream continues the newest snapshot of a node, 0 if
// there is none.
func continued(t *testing.T, in *harness.Instance) uint64 {
	t.Helper()
	a := in.Do(http.MethodHead, in.Internal+"/snapshot", "")
	if a.Status == http.StatusConflict {
		return 0
	}
	n, err := strconv.ParseUint(a.Header.Get(node.MessageHeader), 10, 64)
	if a.Status != http.StatusOK || err != nil {
		t.Fatalf("%d %v, %v", a.Status, a.Header, err)
	}
	return n
}

// With cluster.trim the stream loses only messages that two nodes have in their snapshots: nothing while the writer has
// none. Each node starts again then, one without a directory begins with a snapshot, and so do the commands.
func TestAStreamIsTrimmedBehindTwoSnapshots(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	f := newFailover(t)
	a := f.startWriter() // its snapshots are those that are asked for
	standby := f.standby(1, append(oftenSnapshots, "--set", "sim.enabled=false", "--set", "cluster.trim=true")...)
	patient := append(slices.Clone(standby), "--set", "cluster.takeover_after=1h") // while the writer starts again
	f.start(1, patient)
	epoch := shownEpoch(t, f.nodes[0])
	end := f.loaded(a, 300)
	harness.WaitFor(t, func() bool { return len(snapshotFiles(t, f.dirs[1])) == 2 })
	end()
	asked := func() int { // how often the standby has looked
		text := f.nodes[0].Do("GET", f.nodes[0].Root+"/metrics", "").Body
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
			if strings.HasPrefix(name, "tickhive_requests_total{") && strings.Contains(name, `status="4xx"`) &&
				strings.Contains(name, `route="/internal/v1/snapshot"`) {
				n, err := strconv.Atoi(value)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
		return 0
	}
	before := asked()
	harness.WaitFor(t, func() bool { return asked() > before })
	if first := kept(t, f.at, epoch); first != 1 || continued(t, f.nodes[0]) != 0 {
		t.Fatalf("the stream begins with message %d, and the writer has a snapshot behind %d", first,
			continued(t, f.nodes[0]))
	}
	f.loaded(a, 300)()
	f.nodes[0].Do("GET", f.nodes[0].Internal+"/snapshot?fresh=true", "")
	harness.WaitFor(t, func() bool { return kept(t, f.at, epoch) > 1 })
	first, writer, other := kept(t, f.at, epoch), continued(t, f.nodes[0]), continued(t, f.nodes[1])
	if first > writer || first > other {
		t.Errorf("the stream begins with message %d, and the snapshots need %d and %d", first, writer, other)
	}
	if n := len(aside(t, f.dirs[1])); n > 0 || strings.Contains(f.nodes[1].Stderr.String(), "cannot be trimmed") {
		t.Errorf("%d put aside: %s", n, f.nodes[1].Stderr.String())
	}

	replica := harness.StartReplica(t, f.at, "--snapshot-from", f.nodes[0].Root)
	if text := replica.Stderr.String(); !strings.Contains(text, beginsWithSnapshot) {
		t.Errorf("a new replica: %s", text)
	}
	file := filepath.Join(t.TempDir(), "backup.snap")
	if code, out, text := harness.Run(t, "backup", "--internal", strings.TrimPrefix(f.nodes[0].Root, "http://"),
		"--quiet", file); code != 0 {
		t.Fatalf("backup: exit code %d, %s%s", code, out, text)
	}
	ofFile := harness.StartReplica(t, f.at, "--snapshot", file)
	if text := ofFile.Stderr.String(); !strings.Contains(text, "begins with a snapshot file="+file) {
		t.Errorf("a replica of a backup: %s", text)
	}
	if code, out, text := streamCommand(t, f.at, "verify"); code == 0 || !strings.Contains(text, "cluster.trim") {
		t.Errorf("stream verify: exit code %d, %s%s", code, out, text)
	}
	if code, out, text := streamCommand(t, f.at, "verify", "--snapshot-from", f.nodes[0].Root); code != 0 {
		t.Errorf("stream verify with a snapshot: exit code %d, %s%s", code, out, text)
	}
	f.knowsWriter(replica)
	f.nodes[1].Signal(syscall.SIGKILL)
	f.nodes[1].Wait()
	f.start(1, patient)
	f.knowsWriter(f.nodes[1])
	for n, args := range [][]string{f.writer(), standby} {
		f.nodes[n].Signal(syscall.SIGKILL)
		f.nodes[n].Wait()
		f.start(n, args)
	}
	f.loaded(a, 100)()
	f.knowsWriter(f.nodes[1])
	f.knowsWriter(replica)
	f.sameState(f.nodes[0], f.nodes[1])
	f.sameState(f.nodes[0], replica)
	f.sameState(f.nodes[0], ofFile)
	if found := aside(t, f.dirs[1]); len(found) > 0 {
		t.Errorf("%v were put aside", found)
	}
	f.secondTakesOver(a)
}
