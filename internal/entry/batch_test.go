package entry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// The commands of a batch are judged one by one where they are applied: each sees what the earlier ones have brought,
// freed or taken. The batch is submitted whole.
func TestABatchSpendsWhatItsEarlierCommandsLeave(t *testing.T) {
	const sell, buy = engine.Sell, engine.Buy
	market := func(side engine.Side, amount string) entry.Place {
		p := limit(side, "", amount)
		p.Type, p.TIF, p.Price = engine.Market, engine.IOC, nil
		return p
	}
	cancel := func(n uint64) entry.Command {
		return entry.Command{Kind: entry.CancelOrder, Order: engine.MakeOrderID(0, n)}
	}
	const none, lacking = engine.NotRejected, engine.InsufficientFunds
	for _, c := range []struct {
		name      string
		usdt, btc string // of the user before
		commands  []entry.Command
		reasons   []engine.Reason
		balances  string // USDT; BTC afterwards
	}{
		{"independent orders", "100", "2", []entry.Command{
			place(limit(sell, "200", "1")), place(limit(buy, "10", "1")),
		}, []engine.Reason{none, none}, "90.0 10.0; 1.0 1.0"},
		{"a sale pays for the buy behind it", "", "2", []entry.Command{ // 100 without 0.2 %
			place(limit(sell, "100", "1")), place(limit(buy, "50", "1")),
		}, []engine.Reason{none, none}, "49.8 50.0; 1.0 0.0"},
		{"a sale brings no more than its proceeds without the fee", "", "2", []entry.Command{
			place(limit(sell, "100", "1")), place(limit(buy, "99.81", "1")), place(limit(buy, "99.8", "1")),
		}, []engine.Reason{none, lacking, none}, "0.0 99.8; 1.0 0.0"},
		{"an order that rests brings nothing", "", "2", []entry.Command{
			place(limit(sell, "200", "1")), place(limit(buy, "50", "1")),
		}, []engine.Reason{none, lacking}, "0.0 0.0; 1.0 1.0"},
		{"the first order lacks money", "", "2", []entry.Command{
			place(limit(buy, "50", "1")), place(limit(sell, "100", "1")),
		}, []engine.Reason{lacking, none}, "99.8 0.0; 1.0 0.0"},
		{"the first order takes what the second needs", "100", "", []entry.Command{
			place(limit(buy, "60", "1")), place(limit(buy, "60", "1")), place(limit(buy, "40", "1")),
		}, []engine.Reason{none, lacking, none}, "0.0 100.0; 0.0 0.0"},
		{"a market buy by amount takes what it costs", "", "2", []entry.Command{ // 99.8 - 0.1 x 202; 0.1 without 0.2 %
			place(limit(sell, "100", "1")), place(market(buy, "0.1")), place(limit(buy, "10", "1")),
		}, []engine.Reason{none, none, none}, "69.6 10.0; 1.0998 0.0"},
		{"a purchase is sold again without its fee", "202", "", []entry.Command{ // 99.8 without 0.2 %
			place(market(buy, "1")), place(market(sell, "1")), place(market(sell, "0.998")),
		}, []engine.Reason{none, lacking, none}, "99.6004 0.0; 0.0 0.0"},
		{"a cancel frees the money of its order", "100", "", []entry.Command{
			place(limit(buy, "90", "1")), cancel(4), place(limit(buy, "95", "1")),
		}, []engine.Reason{none, none, none}, "5.0 95.0; 0.0 0.0"},
		{"a replace of an order of the batch", "1000", "", []entry.Command{
			place(limit(buy, "10", "1")), replace(engine.MakeOrderID(0, 4), "20", "2"),
		}, []engine.Reason{none, none}, "960.0 40.0; 0.0 0.0"},
		{"two replaces of one order", "1000", "", []entry.Command{
			place(limit(buy, "10", "1")),
			replace(engine.MakeOrderID(0, 4), "20", ""), replace(engine.MakeOrderID(0, 4), "30", ""),
		}, []engine.Reason{none, none, none}, "970.0 30.0; 0.0 0.0"},
		{"a replace frees and takes", "100", "", []entry.Command{
			place(limit(buy, "90", "1")), replace(engine.MakeOrderID(0, 4), "40", ""), place(limit(buy, "60", "1")),
			replace(engine.MakeOrderID(0, 4), "40.01", ""),
		}, []engine.Reason{none, none, none, lacking}, "0.0 100.0; 0.0 0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			u := r.user(c.usdt, c.btc)
			r.placed(0, limit(buy, "100", "1"))   // the bid of the market
			r.placed(0, limit(sell, "202", "1"))  // and its asks
			r.placed(0, limit(sell, "203", "10")) // order 3
			r.batches = nil
			if reasons := r.batch(u, c.commands...); !slices.Equal(reasons, c.reasons) {
				t.Errorf("refused for %q, want %q", reasons, c.reasons)
			}
			if !slices.Equal(r.batches, []int{len(c.commands)}) {
				t.Errorf("submitted in %v", r.batches)
			}
			if got := r.balance(u, "USDT") + "; " + r.balance(u, "BTC"); got != c.balances {
				t.Errorf("balances %s, want %s", got, c.balances)
			}
		})
	}
}

// batch submits commands of an account as an operator does, and returns the reasons of the refused ones.
func (r *rig) batch(account engine.AccountID, commands ...entry.Command) (reasons []engine.Reason) {
	r.t.Helper()
	req := r.e.Acquire(0)
	defer r.e.Release(req)
	for _, cmd := range commands {
		cmd.Place.Account = accounts.UserID(uint32(account))
		req.Commands = append(req.Commands, cmd)
	}
	if refusal := req.Submit(); refusal != nil {
		r.t.Fatal(refusal)
	}
	for i := range req.Answers {
		reasons = append(reasons, req.Answers[i].Reason)
	}
	return reasons
}

// A batch of several slices is one batch, too: each of its orders spends the whole balance that the cancel before it
// has freed.
func TestABatchOfManySlicesSpendsItsMoneyAgainAndAgain(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	var commands []entry.Command
	for n := range uint64(2 * sequencer.SliceCommands) {
		commands = append(commands, place(limit(engine.Buy, "100", "1")),
			entry.Command{Kind: entry.CancelOrder, Order: engine.MakeOrderID(0, n+1)})
	}
	for i, reason := range r.batch(u, commands...) {
		if reason != engine.NotRejected {
			t.Fatalf("command %d: %q", i, reason)
		}
	}
	if got := r.balance(u, "USDT"); got != "100.0 0.0" {
		t.Errorf("balance %s", got)
	}
}

// A batch whose journal refuses a slice says how many commands are applied. They stay, the others need not be looked
// up.
func TestARefusedSliceSaysWhatIsApplied(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	req := r.e.Acquire(u)
	defer r.e.Release(req)
	for range sequencer.SliceCommands + 1 {
		req.Commands = append(req.Commands, place(limit(engine.Buy, "1", "1")))
	}
	r.disk.Before(func(op vfstest.Op) vfstest.Fault {
		if op.Kind == vfstest.OpWrite && op.Off > 4096 && op.Len < 200 { // the record of the last command
			return vfstest.Fault{Err: vfstest.ErrInjected}
		}
		return vfstest.Fault{}
	})
	refusal := req.Submit()
	r.disk.Before(nil)
	if refusal == nil || refusal.Code != refuse.Unavailable ||
		!strings.HasPrefix(refusal.Message, "The first 256 commands were applied, the others were not: ") {
		t.Fatalf("%+v", refusal)
	}
	if got := r.balance(u, "USDT"); got != "744.0 256.0" {
		t.Errorf("balance %s", got)
	}
	r.placed(u, limit(engine.Buy, "744", "1"))
}

// Many clients of one account place orders of its whole balance at once. Exactly one is accepted.
func TestABalanceIsSpentOnce(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	var clients sync.WaitGroup
	var accepted, refused atomic.Int32
	for n := range 64 {
		clients.Go(func() {
			order := limit(engine.Buy, "100", "1")
			if n%2 == 0 {
				order.Client = fmt.Appendf(nil, "client %d", n)
			}
			switch _, refusal := r.one(u, place(order)); refusal {
			case "":
				accepted.Add(1)
			case "INSUFFICIENT_FUNDS ":
				refused.Add(1)
			default:
				t.Errorf("refused as %s", refusal)
			}
		})
	}
	clients.Wait()
	if accepted.Load() != 1 || refused.Load() != 63 {
		t.Errorf("%d orders are accepted, %d refused", accepted.Load(), refused.Load())
	}
	if got := r.balance(u, "USDT"); got != "0.0 100.0" {
		t.Errorf("balance %s", got)
	}
}

// Two clients send the same order with the same client order id at once: one order, one hold, two answers.
func TestTheSameClientIDAtOnceIsOneOrder(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	order := limit(engine.Buy, "60", "1") // the money is there once
	order.Client = []byte("mine")
	for range 20 {
		var clients sync.WaitGroup
		var ids [2]engine.OrderID
		for i := range ids {
			clients.Go(func() {
				a, refusal := r.one(u, place(order))
				if ids[i] = a.Order; refusal != "" {
					t.Errorf("refused as %s", refusal)
				}
			})
		}
		clients.Wait()
		if ids[0] == 0 || ids[0] != ids[1] || r.balance(u, "USDT") != "40.0 60.0" {
			t.Fatalf("orders %v, balance %s", ids, r.balance(u, "USDT"))
		}
	}
}

// A request that was not confirmed holds nothing, whatever its outcome: there is nothing beside the state. Its refusal
// says what is known.
func TestAnUnconfirmedRequestHoldsNothing(t *testing.T) {
	for _, c := range []struct {
		err  error
		code refuse.Code
	}{
		{sequencer.ErrBusy, refuse.Unavailable},
		{sequencer.ErrStopping, refuse.Unavailable},
		{errors.New("disk full"), refuse.Unavailable},
		{fmt.Errorf("%w: sync", sequencer.ErrOutcomeUnknown), refuse.OutcomeUnknown},
	} {
		r := newRig(t)
		u := r.user("100", "")
		r.fail = c.err
		if _, refusal := r.one(u, place(limit(engine.Buy, "10", "1"))); refusal != string(c.code)+" " {
			t.Errorf("%v: %s", c.err, refusal)
		}
		r.fail = nil
		r.placed(u, limit(engine.Buy, "100", "1"))
	}
}

// An order that lacks money is refused in sequence, whoever sends it.
func TestAnOrderThatLacksMoneyIsSequenced(t *testing.T) {
	r := newRig(t)
	u := r.user("", "")
	order := limit(engine.Buy, "10", "1")
	seq := r.Core.LastSeq(0)
	if _, refusal := r.one(u, place(order)); refusal != "INSUFFICIENT_FUNDS " {
		t.Errorf("%s", refusal)
	}
	order.Account = accounts.UserID(uint32(u))
	a, refusal := r.one(0, place(order))
	if refusal != "" || a.Reason != engine.InsufficientFunds || a.Seq != seq+2 {
		t.Errorf("by an operator: %s %q at seq %d, want %d", refusal, a.Reason, a.Seq, seq+2)
	}
}

// A repeated client order id is answered with the first order and holds nothing.
func TestARepeatedOrderHoldsNothing(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	order := limit(engine.Buy, "10", "1")
	order.Client = []byte("mine")
	first := r.placed(u, order)
	if again := r.placed(u, order); again != first || r.balance(u, "USDT") != "90.0 10.0" {
		t.Errorf("order %d, want %d; balance %s", again, first, r.balance(u, "USDT"))
	}
	order.Price = []byte("11")
	if _, refusal := r.one(u, place(order)); refusal != "DUPLICATE_CLIENT_ORDER_ID clientOrderId" {
		t.Errorf("another order with its id: %s", refusal)
	}
}
