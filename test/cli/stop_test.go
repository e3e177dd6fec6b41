package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
)

// launchAt launches the program on a data directory and returns when it listens.
func launchAt(t testing.TB, dir string, args ...string) *harness.Instance {
	t.Helper()
	in := harness.Launch(t, nil, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--data-dir", dir, "--set",
		"rate.allow=127.0.0.1",
	}, args...)...)
	in.TakeAddresses(in.WaitLine("listening "))
	return in
}

// endsWithinItsStart sends SIGHUP and two SIGTERM, and checks that the program ends without
// having been ready.
func endsWithinItsStart(in *harness.Instance) {
	in.T.Helper()
	in.Signal(syscall.SIGHUP)
	in.WaitLog("nothing to reload", 1)
	in.Signal(syscall.SIGTERM)
	in.Signal(syscall.SIGTERM)
	code, said := in.Wait(), in.Stderr.String()
	if code != 0 || !strings.Contains(said, "msg=stopped") {
		in.T.Errorf("exit code %d: %s", code, said)
	}
	for _, wrong := range []string{"panic", "DATA RACE", "level=ERROR", "done in"} {
		if strings.Contains(said, wrong) {
			in.T.Errorf("%q in: %s", wrong, said)
		}
	}
	for line := range in.Lines {
		in.T.Errorf("said %q", line)
	}
}

func TestATermWithinABackfillEndsInOrderAndTheNextStartIsWhole(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		in := launchAt(t, dir, "--backfill", "60d")
		in.WaitUnderWay()
		endsWithinItsStart(in)
		if meta, err := datadir.ReadMeta(dir); err != nil || !meta.Clean || !meta.Filling {
			t.Errorf("%v, clean %t, filling %t", err, meta.Clean, meta.Filling)
		}
	}
	in := harness.Start(t, "--data-dir", dir, "--backfill", "10m")
	if a := in.Do("GET", in.Public+"/api/status", ""); !strings.Contains(a.Body, `"status":"ok"`) ||
		!strings.Contains(a.Body, `"incidents":[]`) {
		t.Errorf("%.300s", a.Body)
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Filling {
		t.Errorf("%v, filling %t", err, meta.Filling)
	}
	if a := in.Do("GET", in.Public+"/api/summary", ""); strings.Count(a.Body, `"trading_pairs"`) < 10 {
		t.Errorf("%d %.300s", a.Status, a.Body)
	}
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code, out, errs := harness.Run(t, "journal", "verify", dir); code != 0 {
		t.Errorf("journal verify: %d: %s%s", code, out, errs)
	}
}

func TestATermWithinARecoveryEndsInOrderAndLosesNothing(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	dir := t.TempDir()
	clock := []string{
		"--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z", "--backfill", "6h", "--data-dir",
		dir,
	}
	first := harness.Start(t, clock...)
	hash := first.Do("GET", first.Internal+"/state-hash", "").Body
	first.Signal(syscall.SIGKILL)
	<-first.Exited
	// The backfill ended with snapshots. Without them the recovery reads the journal from its first record, and lasts.
	files, err := filepath.Glob(filepath.Join(dir, "engine/*.snap"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 {
		in := launchAt(t, dir, clock...)
		in.WaitUnderWay()
		endsWithinItsStart(in)
	}
	if meta, err := datadir.ReadMeta(dir); err != nil || meta.Clean {
		t.Errorf("%v, clean %t: the kill must still be reported", err, meta.Clean)
	}
	in := harness.Start(t, clock...)
	if again := in.Do("GET", in.Internal+"/state-hash", "").Body; again != hash {
		t.Errorf("the hash is %.300s, before %.300s", again, hash)
	}
	if a := in.Do("GET", in.Public+"/api/status", ""); !strings.Contains(a.Body, "was not shut down cleanly") {
		t.Errorf("%.300s", a.Body)
	}
}

// A start that finds its port in use does not change the market of the directory.
func TestAStartThatCannotListenLeavesTheDirectoryClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := harness.StartEmpty(t, "--data-dir", dir)
	first.Pair("BTC_USDT")
	first.Signal(syscall.SIGTERM)
	if code := first.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	used := strings.TrimPrefix(harness.StartEmpty(t).Public, "http://")
	second := harness.Launch(t, nil, "serve", "--listen", used, "--internal-listen", "127.0.0.1:0", "--data-dir", dir,
		"--clock", "virtual")
	if code := second.Wait(); code != 1 || !strings.Contains(second.Stderr.String(), "server.listen") {
		t.Errorf("exit code %d: %s", code, second.Stderr.String())
	}
	third := harness.StartEmpty(t, "--data-dir", dir)
	if a := third.Do("GET", third.Public+"/api/status", ""); !strings.Contains(a.Body, `"incidents":[]`) {
		t.Errorf("%.500s", a.Body)
	}
}
