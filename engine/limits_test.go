package engine_test

import (
	"fmt"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// The limits refuse with too_many_orders, never grow.
func TestTooManyOrders(t *testing.T) {
	m := newMarket(t, engine.Options{
		Limits: engine.Limits{OpenOrders: 4, AccountOrders: 2}, ClientIDs: 3, AccountClientIDs: 2,
	},
		enginetest.Instrument())
	order := func(account engine.AccountID, client string) engine.Command {
		cmd := place(engine.Buy, 100, 1)
		cmd.Account = account
		if client != "" {
			cmd.Client = enginetest.ClientID(account, client, "")
		}
		return cmd
	}
	m.do(order(1, "a"))
	m.do(order(1, "b"))
	m.mustReject(order(1, ""), engine.TooManyOrders)
	ioc := order(1, "")
	ioc.TIF = engine.IOC
	m.do(ioc) // never rests
	m.do(order(2, "c"))
	// All three remembered ids are of open orders: there is no room for a fourth.
	fourth := order(2, "d")
	fourth.TIF = engine.IOC
	m.mustReject(fourth, engine.TooManyOrders)
	m.do(order(0, ""))
	m.mustReject(order(0, ""), engine.TooManyOrders)
}

// An account's newest ids are remembered after their orders ended, older ones only while
// their orders are open.
func TestClientIDsRememberedPerAccount(t *testing.T) {
	m := newMarket(t, engine.Options{AccountClientIDs: 3}, enginetest.Instrument())
	send := func(account engine.AccountID, text string) engine.Event {
		cmd := place(engine.Buy, 100, 1)
		cmd.Account = account
		cmd.Client = enginetest.ClientID(account, text, "")
		return m.do(cmd)[0]
	}
	for i := range 5 { // 1..5 open; 3, 4, 5 in the window
		send(1, fmt.Sprint(i+1))
	}
	for id := engine.OrderID(1); id <= 5; id += 2 {
		m.do(engine.Command{Kind: engine.Cancel, Order: id, Account: 1})
	}
	for text, want := range map[string]engine.OrderID{"2": 2, "3": 3, "4": 4, "5": 5} {
		if e := send(1, text); e.Kind != engine.EventRejected || e.Reason != engine.NotRejected || e.Order != want {
			t.Errorf("id %q: %s", text, describe(&e))
		}
	}
	if e := send(2, "3"); e.Kind != engine.EventAccepted {
		t.Errorf("another account's id: %s", describe(&e))
	}
	if e := send(1, "1"); e.Kind != engine.EventAccepted { // closed and out of the window: new
		t.Errorf("a forgotten id: %s", describe(&e))
	}
}

// At the limit of the pair, the oldest ids go first, of any account.
func TestClientIDsRememberedInAll(t *testing.T) {
	m := newMarket(t, engine.Options{ClientIDs: 100}, enginetest.Instrument())
	m.quick = true
	ids := make([]engine.Command, 150)
	for i := range ids {
		cmd := place(engine.Buy, 100, 1)
		cmd.TIF = engine.IOC
		cmd.Account = engine.AccountID(i % 7)
		cmd.Client = enginetest.ClientID(cmd.Account, fmt.Sprint(i), "")
		ids[i] = cmd
		m.do(cmd)
	}
	m.check()
	for i := len(ids) - 1; i >= 0; i-- {
		known := m.do(ids[i])[0].Kind == engine.EventRejected
		if i >= 50 && !known {
			t.Fatalf("id %d of the newest 100 is forgotten", i)
		}
		if i < 50 && known {
			t.Fatalf("id %d is remembered beyond 100", i)
		}
		if i < 50 {
			break // it was entered again and evicted another one
		}
	}
	m.check()
}

// The defaults of docs/contract/matching.md#client-order-ids hold without being asked for.
func TestDefaultClientIDLimits(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.quick = true
	cmd := place(engine.Buy, 100, 1)
	cmd.TIF, cmd.Account = engine.IOC, 1
	for i := range 10_001 {
		cmd.Client = enginetest.ClientID(1, fmt.Sprint(i), "")
		m.do(cmd)
	}
	cmd.Client = enginetest.ClientID(1, "1", "")
	if e := m.do(cmd)[0]; e.Kind != engine.EventRejected || e.Order != 2 {
		t.Errorf("the 10,000th newest: %s", describe(&e))
	}
	cmd.Client = enginetest.ClientID(1, "0", "")
	if e := m.do(cmd)[0]; e.Kind != engine.EventAccepted {
		t.Errorf("the 10,001st newest: %s", describe(&e))
	}
	m.check()
}

func TestOptionsValidate(t *testing.T) {
	if err := (engine.Options{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, o := range []engine.Options{
		{Limits: engine.Limits{OpenOrders: -1}},
		{Limits: engine.Limits{AccountOrders: 1 << 31}},
		{ClientIDs: -1},
		{AccountClientIDs: -1},
		{IcebergSlices: -1},
		{PairSlices: -1},
		{Pairs: engine.MaxPairs + 1},
		{Assets: -1},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a core with broken options was made")
		}
	}()
	engine.NewCore(engine.Options{Pairs: -1})
}

// The slices of all icebergs of a pair are bounded, those of waiting stops included: one
// command may sweep them all, and each makes two events.
func TestPairSlices(t *testing.T) {
	m := newMarket(t, engine.Options{PairSlices: 20}, enginetest.Instrument())
	ice := place(engine.Sell, 100, 22)
	ice.Display = 2
	m.do(ice) // 10 in reserve
	ice.Amount = 24
	m.mustReject(ice, engine.TooManySlices)
	m.mustReject(engine.Command{
		Kind: engine.Replace, Order: 1, Amount: 44, Flags: engine.FlagHasAmount | engine.FlagAllAccount,
	}, engine.TooManySlices)
	stop := place(engine.Sell, 90, 20)
	stop.Type, stop.Stop, stop.Display = engine.StopLimit, 95, 2
	m.do(stop) // 9 more wait
	ice.Amount = 6
	m.mustReject(ice, engine.TooManySlices)
	ice.Amount = 4
	m.do(ice)
	m.do(place(engine.Buy, 100, 2)) // takes a slice out of the first
	m.do(ice)
	m.mustReject(ice, engine.TooManySlices)
}

// The decrement of an order by amount pays nothing, so it is one step even where its account has no money.
func TestDecrementOfAnOrderByAmountIsOneStep(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.fund().give(7, 1_000_000, 0)
	own := place(engine.Sell, 100, 1_000_000)
	own.Account, own.STP = 7, engine.Decrement
	m.do(own)
	buy := engine.Command{
		Kind: engine.Place, Account: 7, Side: engine.Buy, Type: engine.Market, TIF: engine.IOC, Amount: 2_000_000,
		STP: engine.Decrement,
	}
	events := m.do(buy)
	if n := len(events); n > 7 || events[0].Kind != engine.EventAccepted {
		t.Errorf("%v", kinds(events))
	}
	if n := m.core.OpenOrders(0); n != 0 {
		t.Errorf("%d orders are open", n)
	}
}

// An iceberg of more slices than the limit would make one command endless.
func TestIcebergSlices(t *testing.T) {
	m := newMarket(t, engine.Options{IcebergSlices: 10}, enginetest.Instrument())
	cmd := place(engine.Sell, 100, 20)
	cmd.Display = 2
	m.do(cmd)
	cmd.Amount = 22
	m.mustReject(cmd, engine.AmountOutOfRange)
	m.mustReject(engine.Command{
		Kind: engine.Replace, Order: 1, Amount: 40, Flags: engine.FlagHasAmount | engine.FlagAllAccount,
	}, engine.AmountOutOfRange)
}

// Waiting stops are bounded by account and by pair, the built-in account's by the pair alone.
func TestWaitingStopsAreBounded(t *testing.T) {
	m := newMarket(t, engine.Options{Limits: engine.Limits{AccountStops: 2}, PairStops: 5}, enginetest.Instrument())
	stop := func(account engine.AccountID) engine.Reason {
		e := m.do(engine.Command{
			Kind: engine.Place, Account: account, Side: engine.Sell, Type: engine.StopLimit,
			Stop: 50, Price: 40, Amount: 1,
		})
		return e[0].Reason
	}
	for i, c := range []struct {
		account engine.AccountID
		want    engine.Reason
	}{
		{1, engine.NotRejected},
		{1, engine.NotRejected},
		{1, engine.TooManyStops},
		{0, engine.NotRejected},
		{0, engine.NotRejected},
		{0, engine.NotRejected},
		{0, engine.TooManyStops}, // the pair has five
		{2, engine.TooManyStops},
	} {
		if got := stop(c.account); got != c.want {
			t.Errorf("stop %d: %s, want %s", i+1, got, c.want)
		}
	}
	if e := m.do(engine.Command{
		Kind: engine.Cancel, Account: 1,
		Order: 1,
	}); e[0].Kind != engine.EventCanceled {
		t.Fatal(e[0])
	}
	if got := stop(1); got != engine.NotRejected {
		t.Error(got)
	}
	if got := stop(1); got != engine.TooManyStops { // the account has two, the pair five
		t.Error(got)
	}
	for _, id := range []engine.OrderID{2, 4, 5} {
		m.do(engine.Command{Kind: engine.Cancel, Order: id, Flags: engine.FlagAllAccount})
	}
	if got := stop(1); got != engine.NotRejected {
		t.Error(got)
	}
	m.check()
	if engine.DefaultAccountStops != 200 || engine.DefaultPairStops != 20_000 {
		t.Error("other limits than the documented ones")
	}
}
