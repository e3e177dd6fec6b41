package exchange_test

import (
	"strings"
	"testing"

	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/vfs/vfstest"
)

// A store that fails leaves a record of unknown outcome in its log, so a stop after that is not clean, and the
// next start takes the log with the record.
func TestAStopAfterAFailedStoreIsNotClean(t *testing.T) {
	unknown := 0
	for after := range 6 {
		disk := vfstest.NewMem()
		o := exchangetest.Options("d")
		o.Machine.FS = disk
		x := exchangetest.Start(t, o)
		x.Pair("AA_BB")
		disk.Inject(vfstest.Injection{Class: vfstest.WriteError, Path: "d/accounts/*.wal", After: after, Count: -1})
		a := x.Do("POST", x.Internal+"/users", `{"nickname":"ada"}`)
		disk.Disarm()
		x.Stop()
		o.Machine.FS = disk.Kill()
		again := exchangetest.Start(t, o)
		if a.Status == 504 {
			unknown++
			if again.Incidents() == 0 {
				t.Errorf("after %d writes: no incident says that the end was not clean", after)
			}
		}
		if a := again.Do("POST", again.Internal+"/users", `{"nickname":"bob"}`); a.Status != 200 {
			t.Errorf("after %d writes and the restart: %d %s", after, a.Status, a.Body)
		}
	}
	if unknown == 0 {
		t.Error("no outcome was unknown")
	}
}

// A start that ends because the disk is full does not note the logs as closed when their ends could not be written: the
// next one, with space, starts.
func TestAStartAfterAStartOnAFullDisk(t *testing.T) {
	failed := 0
	for after := range 40 {
		disk := vfstest.NewMem()
		o := exchangetest.Options("d")
		o.Machine.FS = disk
		disk.Inject(vfstest.Injection{Class: vfstest.FullDisk, Path: "d/*/*", After: after, Count: 6})
		if err := refused(t, o); err == nil {
			continue
		}
		failed++
		disk = disk.Kill()
		disk.Disarm()
		o.Machine.FS = disk
		if err := refused(t, o); err != nil {
			t.Errorf("after %d operations: %v", after, err)
		}
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}

// A start that ends with a failed sync is followed by a sound one: a log that has more records than the start noted is
// not taken for one that was closed.
func TestAStartAfterAStartWithAFailedSync(t *testing.T) {
	failed := 0
	for _, store := range []string{"engine", "accounts"} {
		for after := range 3 {
			disk := vfstest.NewMem()
			o := exchangetest.Options("d")
			o.Machine.FS = disk
			disk.Inject(vfstest.Injection{Class: vfstest.SyncError, Path: "d/" + store + "/*", After: after, Count: 1})
			if err := refused(t, o); err == nil {
				continue
			}
			failed++
			o.Machine.FS = disk.Kill()
			if err := refused(t, o); err != nil {
				t.Errorf("%s, after %d syncs: %v", store, after, err)
			}
		}
	}
	if failed == 0 {
		t.Error("no start failed")
	}
}

// A withdrawal whose sync fails makes room that trades fill before the next start, which may not find it: then the
// balance above 10^20 is reported, although no loss was accepted.
func TestAWithdrawalOfUnknownOutcomeMayLeaveABalanceAboveTheBound(t *testing.T) {
	disk := vfstest.NewMem()
	o := exchangetest.Options("d")
	o.Machine.FS = disk
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	id, _ := x.Call("POST", "/users", `{"nickname":"user"}`)["id"].(string)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"USDT","amount":"99999999999999999999"}`)
	x.Call("POST", "/users/"+id+"/deposits", `{"currencyCode":"BTC","amount":1}`)
	disk.Inject(vfstest.Injection{Class: vfstest.SyncErrorOld, Path: "d/accounts/*.wal", Count: 1})
	a := x.Do("POST", x.Internal+"/users/"+id+"/withdrawals", `{"currencyCode":"USDT","amount":100}`)
	if a.Status != 504 {
		t.Fatalf("the withdrawal: %d %s", a.Status, a.Body)
	}
	x.Limit("BTC_USDT", "buy", "2", "1")
	x.Call("POST", "/orders", `{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":2,"amount":1,`+
		`"accountId":"`+id+`"}`)
	x.Stop()
	o.Machine.FS = disk.Kill()
	y := exchangetest.Start(t, o)
	above := y.Accounts().AboveBound()
	status := y.Do("GET", y.Public+"/api/status", "").Body
	if told := strings.Contains(status, `"kind":"above_bound"`); above == "" || !told {
		t.Errorf("above the bound: %q, told %v", above, told)
	}
}
