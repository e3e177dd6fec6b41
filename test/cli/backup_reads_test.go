package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
	"github.com/tickhive/tickhive/test/nets"
)

// A backup that was restored in another place shows what its origin shows at the position of the backup: the state hash
// and every GET of the OpenAPI documents, also when the same time has passed, and when the restored one was killed and
// begins with the backup and the log behind it. Only the epoch is another one.
func TestARestoredBackupAnswersAsItsOrigin(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	args := []string{"--set", "rate.allow=127.0.0.0/8", "--set", "journal.snapshot_bytes=60000", "--data-dir"}
	origin := harness.StartEmpty(t, append(args, t.TempDir())...)
	nodeOf := func(in *harness.Instance) *nets.Node {
		return &nets.Node{T: t, Public: in.Public, Internal: in.Root}
	}
	stepOf := func(n *nets.Node) func(time.Duration) {
		return func(d time.Duration) { n.Call("POST", "/clock", fmt.Sprintf(`{"advance":%q}`, d)) }
	}
	n := nodeOf(origin)
	w := nets.Build(n, stepOf(n))
	a := harness.NewAcked()
	a.Begin(origin)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(origin, 1, stop); close(done) }()
	harness.WaitFor(t, func() bool { a.Mu.Lock(); defer a.Mu.Unlock(); return len(a.Orders) >= 500 })
	close(stop)
	<-done

	file, dir := filepath.Join(t.TempDir(), "backup.snap"), filepath.Join(t.TempDir(), "restored")
	internal := strings.TrimPrefix(origin.Root, "http://")
	for _, command := range [][]string{{"backup", "--internal", internal, "--quiet", file}, {"restore", file, dir}} {
		if code, out, errs := harness.Run(t, command...); code != 0 {
			t.Fatalf("%v: exit code %d, %s %s", command, code, out, errs)
		}
	}
	restored := harness.StartEmpty(t, append(args, dir)...)
	epochs := strings.NewReplacer(epochOf(t, dir), "EPOCH", shownEpoch(t, origin), "EPOCH")
	reads := func(in *harness.Instance) map[string]nets.Read {
		all := w.Reads(nodeOf(in))
		for name, r := range all {
			r.Body = epochs.Replace(r.Body)
			all[name] = r
		}
		return all
	}
	var want map[string]any
	var before map[string]nets.Read
	same := func(when string) {
		t.Helper()
		if got := restored.Call(200, http.MethodGet, "/state-hash", ""); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: state hash %v, the origin's is %v", when, got, want)
		}
		nets.Equal(t, when, before, reads(restored))
		t.Logf("%s: %d reads are equal", when, len(before))
	}
	for _, d := range []time.Duration{0, time.Minute, 8 * 24 * time.Hour} {
		if d > 0 {
			stepOf(nodeOf(origin))(d)
			stepOf(nodeOf(restored))(d)
		}
		want, before = origin.Call(200, http.MethodGet, "/state-hash", ""), reads(origin)
		same("after " + d.String())
	}
	restored.Signal(syscall.SIGKILL)
	restored.Wait()
	restored = harness.StartEmpty(t, append(args, dir)...)
	same("from the backup and the log behind it")
}

// shownEpoch returns the epoch in /api/status.
func shownEpoch(t *testing.T, in *harness.Instance) string {
	t.Helper()
	epoch, _ := harness.Object(t, in.Do(http.MethodGet, in.Public+"/api/status", "").Body)["epoch"].(string)
	return epoch
}
