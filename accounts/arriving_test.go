package accounts

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/vfs/vfstest"
	"tickhive/internal/wal"
)

// Money from outside counts once its record is durable: while the disk works no view shows it, and
// no order and no withdrawal can use it. After a failed sync it never counts, and the next start
// finds it or not. The fold of trades does not wait for it.
func TestMoneyFromOutsideCountsOnceItIsDurable(t *testing.T) {
	x := &exchange{t: t, fs: vfstest.NewMem(), clock: clock.NewManual(t0)}
	x.open()
	x.do(Command{Kind: CreateUser})
	x.do(Command{Kind: CreateUser})
	x.fold(engine.Event{
		Kind: engine.EventPair, Seq: 1,
		Instrument: &engine.Instrument{Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 6},
	})
	v := x.s.Shown()
	var seen []string
	v.Listen(&told{changed: func(account uint32, currencyCode string) {
		seen = append(seen, text(v.Balance(account, currencyCode).Free))
	}})
	order := OrderParams{Account: 2, Side: engine.Buy, Type: engine.Limit, Price: 10_000, Amount: 1_000_000}
	checked := 0
	inSync := func(check func()) {
		once := sync.OnceFunc(check)
		x.fs.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpSync {
				once()
			}
			return vfstest.Fault{}
		})
	}
	hidden := func(what, free string) func() {
		return func() {
			checked++
			if b := v.Balance(2, "USDT"); text(b.Free) != free || text(b.Total) != free {
				t.Errorf("%s: free %s of %s shown while the disk works, want %s",
					what, text(b.Free), text(b.Total), free)
			}
			total := v.Totals()
			if len(total) > 0 && total[len(total)-1].CurrencyCode == "USDT" {
				u := total[len(total)-1]
				if sum := u.Free.Add(u.Held).Add(u.Fees); sum != u.Deposited.Sub(u.Withdrawn) || text(u.Free) != free {
					t.Errorf("%s: totals %+v", what, u)
				}
			}
			if err := x.s.Check(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			p := order
			p.Amount = 1_100_000
			if _, reason := x.s.Reserve(p); reason != engine.InsufficientFunds {
				t.Errorf("%s: an order rests on it: %v", what, reason)
			}
			x.fold(engine.Event{Kind: engine.EventNothing, Seq: engine.Seq(len(x.batches) + 1)})
			if b := v.Balance(2, "USDT"); text(b.Free) != free {
				t.Errorf("%s: the loop shows %s while the disk works, want %s", what, text(b.Free), free)
			}
		}
	}
	inSync(hidden("a deposit", "0.0"))
	res := x.do(Command{Kind: Deposit, User: 2, Currency: "USDT", Amount: dec("100")})
	x.fs.Before(nil)
	if text(res.Balance.Free) != "100.0" || text(v.Balance(2, "USDT").Free) != "100.0" {
		t.Errorf("once it is durable: %s, in the answer %s", text(v.Balance(2, "USDT").Free), text(res.Balance.Free))
	}
	if r, reason := x.s.Reserve(order); reason != engine.NotRejected {
		t.Errorf("an order on it: %v", reason)
	} else {
		x.s.Release(r)
	}
	inSync(hidden("a profit", "100.0"))
	x.do(Command{Kind: AddProfit, User: 2, Currency: "USDT", Amount: dec("10"), Profit: accrual.StakeAccrual})
	x.fs.Before(nil)
	if got := text(v.Balance(2, "USDT").Free); got != "110.0" {
		t.Errorf("after the profit %s, want 110.0", got)
	}
	if seen = slices.Compact(seen); !slices.Equal(seen, []string{"0.0", "100.0", "110.0"}) {
		t.Errorf("the listener saw %q: each arrival, and the balance before", seen)
	}
	if checked != 2 {
		t.Errorf("%d of 2 checks within a sync", checked)
	}

	synced := text(v.Balance(2, "USDT").Free)
	x.fs.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpSync {
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	_, err := x.store.Do(Command{Kind: Deposit, User: 2, Currency: "USDT", Amount: dec("1")})
	if !errors.Is(err, wal.ErrOutcomeUnknown) || text(v.Balance(2, "USDT").Free) != synced {
		t.Errorf("after a failed sync: %v, %s shown", err, text(v.Balance(2, "USDT").Free))
	}
	x.fs.Before(nil)
	_ = x.store.Close()
	for _, c := range []struct {
		what string
		disk *vfstest.Mem
		free string
	}{{"the process ended", x.fs.Kill(), "111.0"}, {"the power failed", x.fs.Crash(1), "110.0"}} {
		y := &exchange{t: t, fs: c.disk, clock: x.clock, batches: x.batches}
		y.open()
		if got := text(y.s.Shown().Balance(2, "USDT").Free); got != c.free {
			t.Errorf("%s: %s, want %s", c.what, got, c.free)
		}
		if err := y.store.Close(); err != nil {
			t.Error(err)
		}
	}
}
