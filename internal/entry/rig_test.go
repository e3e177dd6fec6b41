package entry_test

import (
	"math/rand/v2"
	"testing"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/markettest"
	"tickhive/marketdata"
)

// rig is an Entry with a sequencer, market data and accounts. It is the entry's Exchange.
type rig struct {
	*markettest.Market
	t     testing.TB
	loop  *markettest.Loop
	state *accounts.State
	e     *entry.Entry

	before func() // runs once, ahead of the next batch
	fail   error  // returned instead of submitting
	parts  []int  // the sizes of the submitted batches
}

func (r *rig) Submit(b *sequencer.Batch) error {
	if f := r.before; f != nil {
		r.before = nil
		f()
	}
	if r.fail != nil {
		return r.fail
	}
	r.parts = append(r.parts, len(b.Commands))
	return r.loop.Submit(b)
}

func (r *rig) Query(fn func()) error { return r.loop.Query(fn) }

func (r *rig) QueryPair(p engine.PairID, fn func()) error { return r.loop.QueryPair(p, fn) }

func (r *rig) QueryParts(p engine.PairID, read func(func())) error { return r.loop.QueryParts(p, read) }

// newRig returns a rig with BTC_USDT: prices of 2 digits, amounts of 4, fees of 0.1 and 0.2 %.
func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{
		Market: markettest.New(marketdata.Options{}), t: t,
		state: accounts.New(accounts.Options{Random: rand.NewChaCha8([32]byte{1})}),
	}
	var err error
	r.e, err = entry.New(entry.Options{
		Exchange: r, Core: r.Core, History: r.Feed.History(), Board: r.Feed.Board(), Clock: r.Clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.e.Attach(r.state, r.state.Shown())
	t.Cleanup(func() { // after the loop's end
		if err := r.state.Check(); err != nil {
			t.Errorf("the accounts do not add up: %v", err)
		}
	})
	r.loop = r.Run(t, sequencer.LoopOptions{Sinks: []sequencer.Sink{accounts.Sink{State: r.state}, r.Feed.Sink()}})
	r.pair("BTC_USDT", 2, 4)
	return r
}

// pair adds a pair.
func (r *rig) pair(code string, digitsPrice, digitsAmount int) {
	r.t.Helper()
	i := markettest.Instrument(code, digitsPrice, digitsAmount)
	i.MakerFee, i.TakerFee = 100_000, 200_000
	r.loop.AddPairs(i)
}

// command submits one command past the entry and returns the reason of its refusal.
func (r *rig) command(cmd engine.Command) engine.Reason {
	r.t.Helper()
	return r.loop.Do(cmd)[0].Reason
}

func (r *rig) do(cmd accounts.Command) accounts.Result {
	r.t.Helper()
	rec, err := r.state.Plan(markettest.StartNs, cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	defer r.state.Publish()
	return r.state.Apply(&rec)
}

// user returns the account of a new user with these balances.
func (r *rig) user(usdt, btc string) engine.AccountID {
	r.t.Helper()
	n := r.do(accounts.Command{Kind: accounts.CreateUser}).User.Number
	for currency, amount := range map[string]string{"USDT": usdt, "BTC": btc} {
		if amount != "" {
			r.deposit(engine.AccountID(n), currency, amount)
		}
	}
	return engine.AccountID(n)
}

func (r *rig) deposit(account engine.AccountID, currency, amount string) {
	r.t.Helper()
	v, err := fixed.Parse(amount)
	if err != nil {
		r.t.Fatal(err)
	}
	r.do(accounts.Command{Kind: accounts.Deposit, User: uint32(account), Currency: currency, Amount: v})
}

// balance returns "free held" of an account.
func (r *rig) balance(account engine.AccountID, currency string) string {
	b := r.state.Shown().Balance(uint32(account), currency)
	text := fixed.AppendShortest192(nil, b.Free.Wide(), fixed.Scale)
	return string(fixed.AppendShortest192(append(text, ' '), b.Held.Wide(), fixed.Scale))
}

// limit returns a gtc limit order on BTC_USDT.
func limit(side engine.Side, price, amount string) entry.Place {
	return entry.Place{Pair: []byte("BTC_USDT"), Side: side, Price: []byte(price), Amount: []byte(amount)}
}

func place(p entry.Place) entry.Command { return entry.Command{Kind: entry.PlaceOrder, Place: p} }

func replace(order engine.OrderID, price, amount string) entry.Command {
	c := entry.Command{Kind: entry.ReplaceOrder, Order: order}
	if price != "" {
		c.Replace.Price = []byte(price)
	}
	if amount != "" {
		c.Replace.Amount = []byte(amount)
	}
	return c
}

// one submits one command of a caller and returns its answer, and the refusal as "CODE field".
func (r *rig) one(caller engine.AccountID, c entry.Command) (entry.Answer, string) {
	req := r.e.Acquire(caller)
	defer r.e.Release(req)
	*req.One() = c
	if refusal := req.SubmitOne(); refusal != nil {
		return entry.Answer{}, string(refusal.Code) + " " + refusal.Field
	}
	return req.Answers[0], ""
}

// placed submits an order that must be accepted.
func (r *rig) placed(caller engine.AccountID, p entry.Place) engine.OrderID {
	r.t.Helper()
	a, refusal := r.one(caller, place(p))
	if refusal != "" || a.Reason != engine.NotRejected {
		r.t.Fatalf("refused: %s %q", refusal, a.Reason)
	}
	return a.Order
}
