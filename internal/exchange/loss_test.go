package exchange_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tickhive/internal/cmdline"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
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

// The end of a log cannot vanish after a clean stop, in any of the logs: the start is refused with file
// and remedy, changes nothing, and goes on in a new epoch when the loss is accepted.
func TestALostEndIsRefused(t *testing.T) {
	whole, hash, epoch := stopped(t)
	if x := exchangetest.Start(t, exchangetest.Options(copied(t, whole))); x.Hash() != hash || epochOf(t, x) != epoch {
		t.Fatal("a full copy does not start like the original")
	}
	for _, log := range []string{"engine", "accounts"} {
		for what, damage := range map[string]func(name string) error{
			"cut":     func(name string) error { return os.Truncate(name, size(t, name)-5) },
			"flip":    func(name string) error { return flipAt(name, size(t, name)-10) },
			"header":  func(name string) error { return os.Truncate(name, 1536) },
			"empty":   func(name string) error { return os.Truncate(name, 0) },
			"removed": os.Remove,
			"all":     func(name string) error { return os.RemoveAll(filepath.Dir(name)) },
		} {
			t.Run(log+" "+what, func(t *testing.T) {
				o := exchangetest.Options(copied(t, whole))
				name := filepath.Join(o.Dir, log, "000001.wal")
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
				if log != "engine" || what == "all" || what == "removed" {
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
}

// A user withdraws what a trade has brought, and the journal with the trade is lost: the balance below zero is an
// incident.
func TestAnOverdrawnAccountIsReported(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	x.Pair("BTC_USDT")
	id, _ := x.Call("POST", "/users", `{"nickname":"user"}`)["id"].(string)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":10}`)
	x.Limit("BTC_USDT", "sell", "2", "1")
	x.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":2,"amount":1,`+
		`"accountId":"`+id+`"}`)
	x.Call("POST", "/users/"+id+"/withdrawals", `{"currencyCode":"BTC","amount":0.5}`)
	x.Stop()
	o := exchangetest.Options(x.Kill())
	journal := filepath.Join(o.Dir, "engine", "000001.wal")
	for _, snapshot := range exchangetest.Files(t, o.Dir, "*/*.snap") {
		if err := os.Remove(snapshot); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(journal, 1536); err != nil {
		t.Fatal(err)
	}
	o.AcceptDataLoss = true
	y := exchangetest.Start(t, o)
	status := y.Do("GET", y.Public+"/api/status", "").Body
	if !strings.Contains(status, `"kind":"overdrawn"`) || strings.Contains(status, id) {
		t.Errorf("no incident of the balance, or one that names the user to everybody: %s", status)
	}
	if own := y.Do("GET", y.Internal+"/incidents", "").Body; !strings.Contains(own, "BTC of user "+id) {
		t.Errorf("the operator does not see whose balance: %s", own)
	}
	// A snapshot of such accounts is as good as any other.
	y.Stop()
	o = exchangetest.Options(y.Kill())
	y = exchangetest.Start(t, o)
	snapshots := exchangetest.Files(t, o.Dir, "accounts/*.snap")
	if strings.Contains(y.Log.String(), "damaged snapshot") || len(snapshots) == 0 {
		t.Errorf("the snapshots are not used: %s", y.Log)
	}
	y.Pair("BTC_USDT") // the journal had it
	balances := y.Do("GET", y.Internal+"/users/"+id, "").Body
	if !strings.Contains(balances, `"free":-0.5`) || !strings.Contains(balances, `"free":10.0`) {
		t.Errorf("balances %s", balances)
	}
	y.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"BTC","amount":0.5}`)
	if err := y.Accounts().Check(); err != nil {
		t.Errorf("after the deposit of the difference: %v", err)
	}
}

// Lost withdrawals leave a balance above 10^20 when the market has paid into the room that they had made. The start
// says so, and a withdrawal of the difference mends it.
func TestABalanceAboveTheBoundIsReported(t *testing.T) {
	x := exchangetest.Start(t, exchangetest.Options(t.TempDir()))
	x.Pair("BTC_USDT")
	id, _ := x.Call("POST", "/users", `{"nickname":"user"}`)["id"].(string)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":"99999999999999999999"}`)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"BTC","amount":1}`)
	x.Call("POST", "/users/"+id+"/withdrawals", `{"currencyCode":"USDT","amount":100}`)
	x.Limit("BTC_USDT", "buy", "2", "1")
	x.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":2,"amount":1,`+
		`"accountId":"`+id+`"}`)
	o := exchangetest.Options(x.Kill())
	log := filepath.Join(o.Dir, "accounts", "000001.wal")
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(bytes.TrimRight(raw, "\x00"))-1] ^= 1 // in the last record, the withdrawal
	if err := os.WriteFile(log, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	o.AcceptDataLoss = true
	y := exchangetest.Start(t, o)
	status := y.Do("GET", y.Public+"/api/status", "").Body
	if !strings.Contains(status, `"kind":"above_bound"`) || strings.Contains(status, id) {
		t.Errorf("no incident of the balance, or one that names the user to everybody: %s", status)
	}
	if own := y.Do("GET", y.Internal+"/incidents", "").Body; !strings.Contains(own, "USDT of user "+id) {
		t.Errorf("the operator does not see whose balance: %s", own)
	}
	y.Call("POST", "/users/"+id+"/withdrawals", `{"currencyCode":"USDT","amount":2}`)
	if above := y.Accounts().AboveBound(); above != "" {
		t.Errorf("after the withdrawal of the difference: %s", above)
	}
}

// The files of another directory are refused, whole logs and single files.
func TestForeignFilesAreRefused(t *testing.T) {
	ours, _, _ := stopped(t)
	theirs, _, _ := stopped(t)
	for _, files := range []string{"engine", "accounts", "engine/000001.wal", "accounts/000001.wal", "meta.json"} {
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

// A start that accepts a loss and is refused all the same, because a log needs records on both sides of the
// damage, does not offer to accept it.
func TestAnAcceptedLossIsNotOfferedAgain(t *testing.T) {
	o := exchangetest.Options(t.TempDir())
	o.Journal.SnapshotBytes, o.Journal.SegmentBytes, o.Journal.KeepAll = 4096, 4096, true
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	for range 600 {
		x.Limit("BTC_USDT", "buy", "1", "1")
	}
	for len(exchangetest.Files(t, o.Dir, "engine/*.snap")) < 2 {
		x.Limit("BTC_USDT", "buy", "1", "1")
	}
	o.Dir = x.Kill()
	// Without snapshots the accounts fold the market from its beginning.
	for _, name := range exchangetest.Files(t, o.Dir, "accounts/*.snap") {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, filepath.Join(o.Dir, "engine", "000001.wal"))
	var damaged cmdline.DamageError
	if err := refused(t, o); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "accept-data-loss") {
		t.Errorf("refused with %v", err)
	}
	o.AcceptDataLoss = true
	if err := refused(t, o); !errors.As(err, &damaged) || strings.Contains(err.Error(), "--accept-data-loss") ||
		!strings.Contains(err.Error(), "restore the directory from a copy") {
		t.Errorf("refused again with %v", err)
	}
}
