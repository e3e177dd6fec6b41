package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// An order whose record could not be made durable gets status 504, and nothing moves its money until the restart.
// Repeated after the restart it exists once, whether its record was written (the process
// ended) or not (the power failed).
func TestAnOrderOfUnknownOutcomeIsThereOnceAfterItsRepeat(t *testing.T) {
	for _, end := range []struct {
		what  string
		after func(*vfstest.Mem) *vfstest.Mem
		found bool // by the next start
	}{
		{"the process ended", (*vfstest.Mem).Kill, true},
		{"the power failed", func(disk *vfstest.Mem) *vfstest.Mem { return disk.Crash(1) }, false},
	} {
		dir, disk := t.TempDir(), vfstest.NewMem()
		o := exchangetest.Options(dir)
		o.Journal.Sync, o.Journal.FS = sequencer.SyncAlways, disk
		o.Assets = []*engine.Asset{
			{Symbol: "BTC", Name: "Bitcoin", Digits: 8, CanDeposit: true},
			{Symbol: "USDT", Name: "Tether", Digits: 10, CanDeposit: true, CanWithdraw: true},
		}
		o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
		x := exchangetest.Start(t, o)
		user := x.Call("POST", "/users", `{"nickname":"ada"}`)["id"].(string)
		x.Call("POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":231}`)
		order := func(x *exchangetest.Rig, id string) exchangetest.Answer {
			return x.Do("POST", x.Internal+"/orders", fmt.Sprintf(
				`{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":2,`+
					`"clientOrderId":%q}`, user, id))
		}

		disk.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpSync {
				return vfstest.Fault{Err: vfstest.ErrInjected}
			}
			return vfstest.Fault{}
		})
		if a := order(x, "ghost"); a.Status != 504 || !strings.Contains(a.Body, `"code":"OUTCOME_UNKNOWN"`) ||
			!strings.Contains(a.Body, "the same clientOrderId") {
			t.Errorf("fsync fails: %d %s", a.Status, a.Body)
		}
		disk.Before(nil)
		if a := order(x, "next"); a.Status != 503 || !strings.Contains(a.Body, "nothing was applied") {
			t.Errorf("after the log has stopped: %d %s", a.Status, a.Body)
		}
		if a := x.Do("GET", x.Internal+"/book/BTC_USDT", ""); a.Status != 503 {
			t.Errorf("a book with an order that may be lost: %d %s", a.Status, a.Body)
		}
		if a := x.Do("POST", x.Internal+"/users/"+user+"/withdrawals",
			`{"currencyCode":"USDT","amount":231}`); a.Status != 503 {
			t.Errorf("the money of an order that may be in the journal: %d %s", a.Status, a.Body)
		}
		x.Stop()

		o.Journal.FS = end.after(disk)
		x = exchangetest.Start(t, o)
		book := func() string {
			b := x.Call("GET", "/book/BTC_USDT", "")
			return fmt.Sprint(b["bids"])
		}
		if before := book(); strings.Contains(before, "orderId") != end.found {
			t.Errorf("%s: the bids are %s", end.what, before)
		}
		for range 2 {
			if a := order(x, "ghost"); a.Status != 200 || !strings.Contains(a.Body, `"status":"Created"`) {
				t.Errorf("%s, repeat: %d %s", end.what, a.Status, a.Body)
			}
			if now := book(); strings.Count(now, "orderId") != 1 {
				t.Errorf("%s: after the repeat the bids are %s", end.what, now)
			}
		}
		x.Stop()
		if err := x.Accounts().Check(); err != nil {
			t.Error(err)
		}
	}
}

// The book stays readable while the journal has stopped, if everything in it is durable.
func TestADurableBookIsReadableAfterTheJournalHasStopped(t *testing.T) {
	disk := vfstest.NewMem()
	o := exchangetest.Options(t.TempDir())
	o.Journal.Sync, o.Journal.FS, o.Journal.SnapshotBytes = sequencer.SyncAlways, disk, 4096
	o.Assets = []*engine.Asset{{Symbol: "BTC", Name: "Bitcoin", Digits: 8}, {
		Symbol: "USDT", Name: "Tether",
		Digits: 10,
	}}
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
	x := exchangetest.Start(t, o)
	disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSyncDir && strings.HasSuffix(op.Path, "engine") { // the snapshot's
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	order := `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":2}`
	x.Call("POST", "/orders/batch", `{"commands":[`+strings.Repeat(`{"place":`+order+`},`, 149)+`{"place":`+order+`}]}`)
	for n := 0; !strings.Contains(x.Do("GET", x.Public+"/api/status", "").Body, `"kind":"snapshot"`); n++ {
		if n > 100_000 {
			t.Fatal("no snapshot fails")
		}
	}
	for range 2 {
		if a := x.Do("GET", x.Internal+"/book/BTC_USDT", ""); a.Status != 200 ||
			strings.Count(a.Body, "orderId") != 150 {
			t.Errorf("a durable book: %d %.200s", a.Status, a.Body)
		}
		if a := x.Do("POST", x.Internal+"/orders", order); a.Status != 503 ||
			!strings.Contains(a.Body, "nothing was applied") {
			t.Errorf("an order after the journal has stopped: %d %s", a.Status, a.Body)
		}
	}
}
