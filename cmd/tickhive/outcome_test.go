package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"tickhive/internal/vfs"
)

// openInside starts the program within the test, with its journal on this file system.
func openInside(t *testing.T, dir string, fs vfs.FS, set ...string) (*exchange, *instance, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	p := &program{out: io.Discard, err: log}
	f := serveFlags{Listen: "127.0.0.1:0", InternalListen: "127.0.0.1:0", DataDir: dir, Sim: "off", Quiet: true, Set: set}
	cfg, err := f.config(p)
	if err != nil {
		t.Fatal(err)
	}
	x, err := newExchange(p, cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	x.fs = fs
	if up, err := x.startBefore(nil); !up || err != nil {
		t.Fatal(err)
	}
	in := &instance{t: t}
	in.takeAddresses("ready " + x.addresses())
	return x, in, log
}

// An order whose record could not be made durable gets status 504, and its funds stay held.
// Repeated after the restart it exists once, whether its record was written (the process
// ended) or not (the power failed).
func TestAnOrderOfUnknownOutcomeIsThereOnceAfterItsRepeat(t *testing.T) {
	for _, end := range []struct {
		what  string
		after func(*vfs.Mem) *vfs.Mem
		found bool // by the next start
	}{
		{"the process ended", (*vfs.Mem).Kill, true},
		{"the power failed", func(disk *vfs.Mem) *vfs.Mem { return disk.Crash(1) }, false},
	} {
		dir, disk := t.TempDir(), vfs.NewMem()
		x, in, _ := openInside(t, dir, disk, "journal.sync=always", "market.pairs=builtin")
		user := in.call(200, "POST", "/users", `{"nickname":"ada"}`)["id"].(string)
		in.call(200, "POST", "/users/"+user+"/deposits", `{"currencyCode":"USDT","amount":231}`)
		order := func(in *instance, id string) answer {
			return in.do("POST", in.internal+"/orders", fmt.Sprintf(
				`{"accountId":%q,"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":2,"clientOrderId":%q}`, user, id))
		}

		disk.Before(func(op vfs.Op) vfs.Fault {
			if op.Kind == vfs.OpSync {
				return vfs.Fault{Err: vfs.ErrInjected}
			}
			return vfs.Fault{}
		})
		if a := order(in, "ghost"); a.status != 504 || !strings.Contains(a.body, `"code":"OUTCOME_UNKNOWN"`) || !strings.Contains(a.body, "the same clientOrderId") {
			t.Errorf("fsync fails: %d %s", a.status, a.body)
		}
		disk.Before(nil)
		if a := order(in, "next"); a.status != 503 || !strings.Contains(a.body, "nothing was applied") {
			t.Errorf("after the log has stopped: %d %s", a.status, a.body)
		}
		if a := in.do("POST", in.internal+"/users/"+user+"/withdrawals", `{"currencyCode":"USDT","amount":231}`); a.status != 400 {
			t.Errorf("the money of an order that may be in the journal: %d %s", a.status, a.body)
		}
		x.stop(context.Background())

		x, in, _ = openInside(t, dir, end.after(disk), "journal.sync=always", "market.pairs=builtin")
		book := func() string {
			b := in.call(200, "GET", "/book/BTC_USDT", "")
			return fmt.Sprint(b["bids"])
		}
		if before := book(); strings.Contains(before, "orderId") != end.found {
			t.Errorf("%s: the bids are %s", end.what, before)
		}
		for range 2 {
			if a := order(in, "ghost"); a.status != 200 || !strings.Contains(a.body, `"status":"Created"`) {
				t.Errorf("%s, repeat: %d %s", end.what, a.status, a.body)
			}
			if now := book(); strings.Count(now, "orderId") != 1 {
				t.Errorf("%s: after the repeat the bids are %s", end.what, now)
			}
		}
		if err := x.accounts.state.View().Check(); err != nil {
			t.Error(err)
		}
		x.stop(context.Background())
	}
}
