package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/datadir"

	"github.com/tickhive/tickhive/test/harness"
)

// copyOf returns what was acknowledged so far. The deposits that are sent later may be in a backup, too.
func copyOf(a *harness.Acked) *harness.Acked {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	return &harness.Acked{
		Orders: maps.Clone(a.Orders), Trades: maps.Clone(a.Trades), Canceled: maps.Clone(a.Canceled),
		Pairs: a.Pairs, Users: slices.Clone(a.Users), Deposited: maps.Clone(a.Deposited),
		Unknown: map[string]int64{}, Tokens: slices.Clone(a.Tokens), Entries: a.Entries,
	}
}

// docs/contract/storage.md#backups: a backup of an exchange under load has everything that was acknowledged before it
// began, is one point in time, and starts with the state that the journal gives at that place, in
// a new epoch.
func TestABackupUnderLoad(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, policy := range []string{"always", "interval"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			backUpUnderLoad(t, policy)
		})
	}
}

func backUpUnderLoad(t *testing.T, policy string) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dir, files := t.TempDir(), t.TempDir()
	args := []string{
		"--pairs", "none", "--sim", "off", "--journal-sync", policy, "--quiet", "--data-dir",
	}
	small := []string{
		"--set", "journal.keep=all", "--set", "journal.segment_bytes=16384", "--set", "journal.snapshot_bytes=30000",
		"--set", "rate.allow=127.0.0.1",
	}
	in := harness.Start(t, append(append(args, dir), small...)...)
	a := harness.NewAcked()
	a.Begin(in)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.Load(in, seed, stop); close(done) }()
	ended := false
	end := func() {
		if !ended {
			ended = true
			close(stop)
			<-done
		}
	}
	defer end()
	type taken struct {
		file   string
		before *harness.Acked
	}
	var backups []taken
	internal := strings.TrimPrefix(in.Root, "http://")
	for i := range 3 {
		harness.WaitFor(t, func() bool { a.Mu.Lock(); defer a.Mu.Unlock(); return len(a.Orders) >= 500*(i+1) })
		before := copyOf(a)
		file := filepath.Join(files, fmt.Sprint(i))
		code, out, errs := harness.Run(t, "backup", "--internal", internal, file)
		if code != 0 || !strings.Contains(out, "verified: record ") {
			t.Fatalf("backup: exit code %d, %s %s", code, out, errs)
		}
		backups = append(backups, taken{file, before})
	}
	if a.InFlight.Load() == 0 {
		t.Fatal("the load had ended before the backups")
	}
	end()
	epoch := epochOf(t, dir)
	in.Signal(syscall.SIGTERM)
	if code := in.Wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, b := range backups {
		for c, sum := range a.Deposited {
			b.before.Unknown[c] = sum + a.Unknown[c] - b.before.Deposited[c]
		}
		to := filepath.Join(files, filepath.Base(b.file)+".dir")
		var record uint64
		if code, out, errs := harness.Run(t, "restore", b.file, to); code != 0 ||
			!strings.Contains(out, "--data-dir "+to) {
			t.Fatalf("restore: exit code %d, %s %s", code, out, errs)
		} else if _, err := fmt.Sscanf(out[strings.Index(out, "record "):], "record %d", &record); err != nil {
			t.Fatalf("restore says %s: %v", out, err)
		}
		re := harness.Start(t, append(append(args, to), small...)...)
		live := harness.Object(t, re.Do(http.MethodGet, re.Internal+"/state-hash", "").Body)
		code, out, errs := harness.Run(t, "journal", "verify", dir, "--quiet", "--json", "--at",
			live["seq"].(json.Number).String())
		if code != 0 || part(harness.Object(t, out), "market") != part(live, "market") {
			t.Fatalf("the original at the place of the backup: exit code %d, %s %s; the restored one has %v", code, out,
				errs, live)
		}
		if got := epochOf(t, to); got == epoch || got == "" {
			t.Errorf("the restored directory has the epoch %q, the original %q", got, epoch)
		}
		if status := re.Do(http.MethodGet, re.Public+"/api/status", "").Body; !strings.Contains(status,
			"restored from a backup: record ") {
			t.Errorf("no incident: %s", status)
		}
		verify(b.before, t, re, to, record+1, true)
		t.Logf("%s: restored %d acknowledged orders, %d trades, %d users, %d tokens", policy, len(b.before.Orders),
			len(b.before.Trades), len(b.before.Users), len(b.before.Tokens))
		re.Signal(syscall.SIGTERM)
		if code := re.Wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

func epochOf(t *testing.T, dir string) string {
	t.Helper()
	meta, err := datadir.ReadMeta(dir)
	if err != nil {
		t.Fatal(err)
	}
	return meta.Epoch
}

// A backup that was cut or changed is refused with exit code 3, and so is a directory that is not empty with 2; the
// directory stays as it was. A virtual clock goes on where it was set.
func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t, "--data-dir", t.TempDir())
	in.Pair("AA_USDT")
	for range 20 {
		in.Limit("AA_USDT", "buy", "1.00", "1.0")
	}
	in.Call(200, "POST", "/clock", `{"advance":"36h"}`)
	dir := t.TempDir()
	file := filepath.Join(dir, "b.snap")
	internal := strings.TrimPrefix(in.Root, "http://")
	if code, out, errs := harness.Run(t, "backup", "--internal", internal, "--quiet", file); code != 0 ||
		out+errs != "" {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if code, _, errs := harness.Run(t, "backup", "--internal", internal, file); code != 2 || !strings.Contains(errs,
		"exists: name a new file") {
		t.Errorf("an existing file: exit code %d, %s", code, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if found, _ := os.ReadDir(dir); len(found) != 1 {
		t.Errorf("backup leaves %v behind", found)
	}
	bad, to := filepath.Join(dir, "bad.snap"), filepath.Join(dir, "to")
	refused := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := harness.Run(t, "restore", bad, to)
		if code != 3 || out != "" || !strings.Contains(errs, "Use another backup") {
			t.Errorf("%s: exit code %d, %s %s", what, code, out, errs)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: the directory was made", what)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		at := r.IntN(len(raw))
		refused(fmt.Sprint("cut at ", at), raw[:at])
		flipped := bytes.Clone(raw)
		flipped[at] ^= 1 << r.IntN(8)
		refused(fmt.Sprint("flipped at ", at), flipped)
	}
	refused("empty", nil)
	refused("longer", append(bytes.Clone(raw), 0))
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(to, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := harness.Run(t, "restore", file, to); code != 2 || !strings.Contains(errs,
		"is not empty: name another directory") {
		t.Errorf("a used directory: exit code %d, %s", code, errs)
	}
	if err := os.Remove(mine); err != nil {
		t.Errorf("the file in the used directory: %v", err)
	}
	if code, out, errs := harness.Run(t, "restore", file, to); code != 0 || !strings.Contains(out, "copy cluster.key") {
		t.Fatalf("an empty directory: exit code %d, %s %s", code, out, errs)
	}
	now := in.Call(200, "GET", "/clock", "")["now"]
	re := harness.Start(t, "--pairs", "none", "--sim", "off", "--clock", "virtual", "--data-dir", to)
	if got := re.Call(200, "GET", "/clock", "")["now"]; got != now {
		t.Errorf("the clock is at %v, was at %v", got, now)
	}
}

// Without a data directory there is nothing to back up; the token is required.
func TestABackupNeedsDirectoryAndToken(t *testing.T) {
	t.Parallel()
	const token = "secret-of-a-test-with-32-characters"
	in := harness.Start(t, "--set", "data.dir=", "--pairs", "none", "--sim", "off", "--internal-token", token)
	internal := strings.TrimPrefix(in.Root, "http://")
	file := filepath.Join(t.TempDir(), "b.snap")
	if code, _, errs := harness.Run(t, "backup", "--internal", internal, file); code != 1 ||
		!strings.Contains(errs, "401") {
		t.Errorf("without the token: exit code %d, %s", code, errs)
	}
	in.Token = token
	in.Refuse(409, "CONFLICT", "", "GET", "/snapshot", "")
	if found, _ := os.ReadDir(filepath.Dir(file)); len(found) != 0 {
		t.Errorf("a refused backup leaves %v behind", found)
	}
}
