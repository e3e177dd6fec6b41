package main

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

	"tickhive/internal/datadir"
)

// subcommand runs a subcommand and returns exit code and output.
func subcommand(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(args, &program{out: &o, err: &e})
	return code, o.String(), e.String()
}

// copyOf returns what was acknowledged so far. The deposits that are sent later may be in a backup, too.
func (a *acked) copyOf() *acked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &acked{
		orders: maps.Clone(a.orders), trades: maps.Clone(a.trades), canceled: maps.Clone(a.canceled),
		pairs: a.pairs, users: slices.Clone(a.users), deposited: maps.Clone(a.deposited),
		unknown: map[string]int64{}, tokens: slices.Clone(a.tokens), entries: a.entries,
	}
}

// docs/contract/storage.md#backups: a backup of an exchange under load has everything that was acknowledged before it
// began, is one point in time over the four logs, and starts with the state that the journal gives at that place, in
// a new epoch.
func TestABackupUnderLoad(t *testing.T) {
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
	in := start(t, append(append(args, dir), small...)...)
	a := newAcked()
	a.begin(in)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { a.load(in, seed, stop); close(done) }()
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
		before *acked
	}
	var backups []taken
	internal := strings.TrimPrefix(in.root, "http://")
	for i := range 3 {
		waitFor(t, func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.orders) >= 500*(i+1) })
		before := a.copyOf()
		file := filepath.Join(files, fmt.Sprint(i))
		code, out, errs := subcommand("backup", "--internal", internal, "--quiet", file)
		if code != 0 || !strings.Contains(out, "verified: engine record ") {
			t.Fatalf("backup: exit code %d, %s %s", code, out, errs)
		}
		backups = append(backups, taken{file, before})
	}
	if a.inFlight.Load() == 0 {
		t.Fatal("the load had ended before the backups")
	}
	end()
	epoch := epochOf(t, dir)
	in.signal(syscall.SIGTERM)
	if code := in.wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, b := range backups {
		for c, sum := range a.deposited {
			b.before.unknown[c] = sum + a.unknown[c] - b.before.deposited[c]
		}
		to := filepath.Join(files, filepath.Base(b.file)+".dir")
		if code, out, errs := subcommand("restore", b.file, to); code != 0 || !strings.Contains(out, "--data-dir "+to) {
			t.Fatalf("restore: exit code %d, %s %s", code, out, errs)
		}
		re := start(t, append(append(args, to), small...)...)
		live := object(t, re.do(http.MethodGet, re.internal+"/state-hash", "").body)
		code, out, errs := subcommand("journal", "verify", dir, "--quiet", "--json", "--at",
			live["seq"].(json.Number).String())
		if code != 0 || object(t, out)["hash"] != live["hash"] {
			t.Fatalf("the original at the place of the backup: exit code %d, %s %s; the restored one has %v", code, out,
				errs, live)
		}
		if got := epochOf(t, to); got == epoch || got == "" {
			t.Errorf("the restored directory has the epoch %q, the original %q", got, epoch)
		}
		if status := re.do(http.MethodGet, re.public+"/api/status", "").body; !strings.Contains(status,
			"restored from a backup: engine record ") {
			t.Errorf("no incident: %s", status)
		}
		b.before.verify(t, re, to, true)
		t.Logf("%s: restored %d acknowledged orders, %d trades, %d users, %d tokens", policy, len(b.before.orders),
			len(b.before.trades), len(b.before.users), len(b.before.tokens))
		re.signal(syscall.SIGTERM)
		if code := re.wait(); code != 0 {
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
	in := startEmpty(t, "--data-dir", t.TempDir())
	in.pair("AA_USDT")
	for range 20 {
		in.limit("AA_USDT", "buy", "1.00", "1.0")
	}
	in.call(200, "POST", "/clock", `{"advance":"36h"}`)
	dir := t.TempDir()
	file := filepath.Join(dir, "b.tar")
	internal := strings.TrimPrefix(in.root, "http://")
	if code, out, errs := subcommand("backup", "--internal", internal, "--quiet", file); code != 0 {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if code, _, errs := subcommand("backup", "--internal", internal, file); code != 2 || !strings.Contains(errs,
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
	bad, to := filepath.Join(dir, "bad.tar"), filepath.Join(dir, "to")
	refused := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := subcommand("restore", bad, to)
		if code != 3 || out != "" || !strings.Contains(errs, "is not a whole backup: ") {
			t.Errorf("%s: exit code %d, %s %s", what, code, out, errs)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: the directory was made", what)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
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
	if code, _, errs := subcommand("restore", file, to); code != 2 || !strings.Contains(errs,
		"is not empty: name a new directory") {
		t.Errorf("a used directory: exit code %d, %s", code, errs)
	}
	if err := os.Remove(mine); err != nil {
		t.Errorf("the file in the used directory: %v", err)
	}
	if code, _, errs := subcommand("restore", file, to); code != 0 {
		t.Fatalf("an empty directory: exit code %d, %s", code, errs)
	}
	now := in.call(200, "GET", "/clock", "")["now"]
	re := start(t, "--pairs", "none", "--sim", "off", "--clock", "virtual", "--data-dir", to)
	if got := re.call(200, "GET", "/clock", "")["now"]; got != now {
		t.Errorf("the clock is at %v, was at %v", got, now)
	}
}

// Without a data directory there is nothing to back up; the token is required.
func TestABackupNeedsDirectoryAndToken(t *testing.T) {
	t.Parallel()
	const token = "secret-of-a-test-with-32-characters"
	in := start(t, "--set", "data.dir=", "--pairs", "none", "--sim", "off", "--internal-token", token)
	internal := strings.TrimPrefix(in.root, "http://")
	file := filepath.Join(t.TempDir(), "b.tar")
	if code, _, errs := subcommand("backup", "--internal", internal, file); code != 1 ||
		!strings.Contains(errs, "401") {
		t.Errorf("without the token: exit code %d, %s", code, errs)
	}
	in.token = token
	in.refuse(409, "CONFLICT", "", "GET", "/backup", "")
	if found, _ := os.ReadDir(filepath.Dir(file)); len(found) != 0 {
		t.Errorf("a refused backup leaves %v behind", found)
	}
}
