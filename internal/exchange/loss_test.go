package exchange_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/launchpad"
)

// stopped returns a directory with 40 orders whose exchange stopped in order, its state and its epoch.
func stopped(t *testing.T) (dir, hash, epoch string) {
	t.Helper()
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	x.Pair("BTC_USDT")
	if a := x.Do("POST", x.Internal+"/users", `{"nickname":"user"}`); a.Status != 200 {
		t.Fatal(a.Body)
	}
	for range 40 {
		x.Limit("BTC_USDT", "buy", "1", "1")
	}
	hash, epoch = x.Hash(), epochOf(t, x)
	x.Stop()
	return x.Kill(), hash, epoch
}

func epochOf(t *testing.T, x *exchangetest.Rig) string {
	t.Helper()
	_, rest, ok := strings.Cut(x.Do("GET", x.Public+"/api/status", "").Body, `"epoch":"`)
	if !ok || len(rest) < 16 {
		t.Fatal(rest)
	}
	return rest[:16]
}

// refused returns the error with which a start ends.
func refused(t *testing.T, o exchange.Options) error {
	t.Helper()
	opened, err := exchange.Open(o)
	if err == nil {
		_, err = opened.Recover(t.Context())
		opened.Stop(t.Context())
	}
	return err
}

// The end of the journal cannot vanish after a clean stop: the start is refused with file
// and remedy, changes nothing, and goes on in a new epoch when the loss is accepted.
func TestALostEndIsRefused(t *testing.T) {
	whole, hash, epoch := stopped(t)
	if x := exchangetest.Start(t, exchangetest.Options(copied(t, whole))); x.Hash() != hash || epochOf(t, x) != epoch {
		t.Fatal("a full copy does not start like the original")
	}
	for what, damage := range map[string]func(name string) error{
		"cut":     func(name string) error { return os.Truncate(name, size(t, name)-5) },
		"flip":    func(name string) error { return flipAt(name, size(t, name)-10) },
		"header":  func(name string) error { return os.Truncate(name, 1536) },
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"removed": os.Remove,
		"all":     func(name string) error { return os.RemoveAll(filepath.Dir(name)) },
	} {
		t.Run(what, func(t *testing.T) {
			o := exchangetest.Options(copied(t, whole))
			name := filepath.Join(o.Dir, "engine", "000001.wal")
			if err := damage(name); err != nil {
				t.Fatal(err)
			}
			var damaged cmdline.DamageError
			for range 2 { // the first refusal leaves no trace
				err := refused(t, o)
				if !errors.As(err, &damaged) || damaged.ExitCode() != 3 || !strings.Contains(err.Error(), name) ||
					!strings.Contains(err.Error(), "--accept-data-loss") {
					t.Fatal(err)
				}
			}
			if what == "all" || what == "removed" {
				return
			}
			o.AcceptDataLoss = true
			x := exchangetest.Start(t, o)
			if epochOf(t, x) == epoch || x.Hash() == hash {
				t.Error("the epoch or the state is the old one")
			}
			status := x.Do("GET", x.Public+"/api/status", "").Body
			if !strings.Contains(status, "--accept-data-loss: ") {
				t.Errorf("no incident: %s", status)
			}
			now := epochOf(t, x)
			x.Stop()
			o.AcceptDataLoss = false
			if again := exchangetest.Start(t, o); epochOf(t, again) != now {
				t.Error("the next start has another epoch")
			}
		})
	}
}

// The files of another directory are refused, the whole journal and single files.
func TestForeignFilesAreRefused(t *testing.T) {
	ours, _, _ := stopped(t)
	theirs, _, _ := stopped(t)
	for _, files := range []string{"engine", "engine/000001.wal", "meta.json"} {
		dir := copied(t, ours)
		b := filepath.Join(theirs, files)
		if err := os.RemoveAll(filepath.Join(dir, files)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(b); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			err = os.CopyFS(filepath.Join(dir, files), os.DirFS(b))
			if err != nil {
				t.Fatal(err)
			}
		} else {
			raw, err := os.ReadFile(b)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, files), raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var damaged cmdline.DamageError
		if err := refused(t, exchangetest.Options(dir)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", files, err)
		}
	}
	dir := copied(t, ours)
	if err := os.Remove(filepath.Join(dir, "meta.json")); err != nil {
		t.Fatal(err)
	}
	err := refused(t, exchangetest.Options(dir))
	if err == nil || !strings.Contains(err.Error(), "meta.json is damaged") {
		t.Errorf("without meta.json: %v", err)
	}
}

// An older log under a newer meta.json is refused, also after a kill.
func TestAnOlderLogIsRefused(t *testing.T) {
	older, _, _ := stopped(t)
	x := exchangetest.Start(t, exchangetest.Options(copied(t, older)))
	x.Limit("BTC_USDT", "buy", "1", "1")
	x.Stop()
	second := exchangetest.Start(t, exchangetest.Options(x.Kill()))
	second.Limit("BTC_USDT", "buy", "1", "1")
	killed := second.Kill()
	second.Stop()
	for what, dir := range map[string]string{"killed": killed, "stopped": second.Kill()} {
		if err := os.RemoveAll(filepath.Join(dir, "engine")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, "engine"), os.DirFS(filepath.Join(older, "engine"))); err != nil {
			t.Fatal(err)
		}
		var damaged cmdline.DamageError
		if err := refused(t, exchangetest.Options(dir)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func flipAt(name string, at int64) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b[at] ^= 1
	return os.WriteFile(name, b, 0o600)
}

// A start whose journal lacks its beginning, which no snapshot replaces, does not offer to accept a loss: no loss of
// the end makes up for it.
func TestALossThatWouldNotHelpIsNotOffered(t *testing.T) {
	o := exchangetest.Options(t.TempDir())
	o.Journal.SnapshotBytes, o.Journal.SegmentBytes = 4096, 4096
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	first := filepath.Join(o.Dir, "engine", "000001.wal")
	for len(exchangetest.Files(t, o.Dir, "engine/*.snap")) < 2 || exists(first) {
		x.Limit("BTC_USDT", "buy", "1", "1")
	}
	x.Stop()
	o.Dir = x.Kill()
	for _, name := range exchangetest.Files(t, o.Dir, "engine/*.snap") {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, o.AcceptDataLoss = range []bool{false, true} {
		var damaged cmdline.DamageError
		if err := refused(t, o); !errors.As(err, &damaged) || strings.Contains(err.Error(), "--accept-data-loss") ||
			!strings.Contains(err.Error(), "restore the directory from a copy") {
			t.Errorf("accepted %t: refused with %v", o.AcceptDataLoss, err)
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// A power cut without syncs takes a suffix of the records of all kinds, and never one that was answered as durable:
// what is left is the state behind one of the records, and so no deposit without the orders before it.
func TestAPowerCutTakesASuffixOfAllKinds(t *testing.T) {
	disk := vfstest.NewMem()
	o := exchangetest.Options("d")
	o.Journal.Sync, o.Machine.FS, o.Machine.Boot = sequencer.SyncOff, disk, "first"
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	x.Call("POST", "/users", "{}")
	states, kinds := map[uint64]string{}, map[uint64]string{} // by position
	did := func(kind string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		at := x.Loop().Position()
		states[at], kinds[at] = ownHash(t, x), kind
	}
	submit := func(rec *engine.ControlRecord) error { return x.Submit(sequencer.OtherBatch(rec, sequencer.Written)) }
	deposit := accounts.Command{Kind: accounts.Deposit, User: 1, Currency: "BTC", Amount: units(1)}
	account := engine.AccountID(1)
	var settled uint64
	for n := range 240 { // a power cut takes whole sectors, so few records have few different ends
		if n == 20 {
			_, err := x.DoAccounts(deposit)
			did("deposit", err)
			settled = x.Loop().Position()
		}
		switch n % 4 {
		case 0:
			did("deposit", x.SubmitAccounts(deposit, sequencer.Written))
		case 1:
			did("order", x.Submit(&sequencer.Batch{Commands: []engine.Command{
				{Kind: engine.Place, Side: engine.Sell, Price: 100, Amount: 1000, Account: account},
			}}))
		case 2:
			did("launchpad", submit(machine.OfLaunchpad(launchpad.Deposit{
				To: launchAddress(n), Amount: launchpad.AmountOf(1),
			})))
		case 3:
			did("hive", submit(machine.OfHive(hive.Act{
				Source: "queen-1", Type: hive.Observation, Payload: "{}", Reason: "R",
			})))
		}
	}
	end, ends, lost := x.Loop().Position(), map[uint64]bool{}, map[string]bool{}
	for seed := range uint64(60) {
		o.Machine.FS, o.Machine.Boot = disk.Crash(seed), "second"
		y := exchangetest.Start(t, o)
		at := y.Loop().Position()
		if want, known := states[at]; !known || ownHash(t, y) != want || at < settled {
			t.Errorf("seed %d: the state behind record %d of %d is none that was, or lacks record %d", seed, at, end,
				settled)
		}
		ends[at] = true
		for pos := at + 1; pos <= end; pos++ {
			lost[kinds[pos]] = true
		}
		y.Stop()
	}
	if len(ends) < 5 || len(lost) != 4 {
		t.Errorf("%d different ends, lost are %v: too few to show anything", len(ends), lost)
	}
}
