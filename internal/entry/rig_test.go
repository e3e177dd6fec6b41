package entry_test

import (
	"sync"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/audit"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/marketdata"
)

// rig is an Entry with a sequencer, a journal, market data and accounts. It is the entry's Exchange.
type rig struct {
	*markettest.Market
	t     testing.TB
	disk  *vfstest.Mem
	loop  *markettest.Loop
	state *accounts.State
	shown *machine.Shown
	e     *entry.Entry

	mu      sync.Mutex
	before  func() // runs once, ahead of the next batch
	fail    error  // returned instead of submitting
	batches []int  // the sizes of the submitted batches
	sent    []engine.Command
}

func (r *rig) Submit(b *sequencer.Batch) error {
	if f := r.before; f != nil {
		r.before = nil
		f()
	}
	if r.fail != nil {
		return r.fail
	}
	r.mu.Lock()
	r.batches = append(r.batches, len(b.Commands))
	r.sent = append(r.sent, b.Commands...)
	r.mu.Unlock()
	return r.loop.Submit(b)
}

func (r *rig) Query(fn func()) error { return r.loop.Query(fn) }

func (r *rig) QueryPair(p engine.PairID, fn func()) error { return r.loop.QueryPair(p, fn) }

func (r *rig) QueryParts(p engine.PairID, read func(func())) error { return r.loop.QueryParts(p, read) }

// newRig returns a rig with BTC_USDT: prices of 2 digits, amounts of 4, fees of 0.1 and 0.2 %. When the test has ended,
// the accounts must add up, and a replay of the journal must give the same state.
func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{
		Market: markettest.New(marketdata.Options{}), t: t, disk: vfstest.NewMem(),
	}
	whole := machine.New(machine.Options{Core: r.Core, Feed: r.Feed})
	dir := keeper.LogDir{FS: r.disk, Dir: "engine", Options: wal.Options{NoLock: true}}
	log, err := wal.Open(dir.FS, dir.Dir, dir.Options)
	if err != nil {
		t.Fatal(err)
	}
	journal := sequencer.NewWALJournal(log, sequencer.SyncInterval)
	r.state, r.shown = whole.Money, machine.NewShown(whole)
	r.e, err = entry.New(entry.Options{
		Exchange: r, Core: r.Core, History: r.Feed.History(), Board: r.Feed.Board(), Clock: r.Clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.e.Attach(r.shown.Accounts)
	t.Cleanup(func() { // after the loop's end
		if err := r.state.Check(); err != nil {
			t.Errorf("the accounts do not add up: %v", err)
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := replayed(t, dir), whole.Hash(); got.Hash != want.Hash {
			t.Errorf("a replay gives %+v, not %+v", got, want)
		}
	})
	r.loop = r.Run(t, sequencer.LoopOptions{
		Parts: r.shown, Sinks: []sequencer.Sink{r.Feed.Sink()}, Journal: journal,
	})
	r.pair("BTC_USDT", 2, 4)
	return r
}

// replayed returns the hash of the state that the records of a journal give. It checks the money after each record.
func replayed(t testing.TB, dir keeper.LogDir) machine.StateHash {
	t.Helper()
	var audits audit.Auditor
	state, _, err := keeper.Load(machine.Options{
		Sinks: []func([]engine.Event, uint64){audits.Sink},
	}, dir, keeper.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	audits.State = state
	rd, err := wal.OpenReader(dir.FS, dir.Dir, dir.Options, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rd.Close() }()
	if err := keeper.Replay(state, rd, 0, audits.After); err != nil {
		t.Fatal(err)
	}
	return state.Hash()
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
	res, err := r.change(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// change carries out a command of the accounts.
func (r *rig) change(cmd accounts.Command) (accounts.Result, error) {
	if refused := cmd.Check(); refused != nil {
		return accounts.Result{}, refused
	}
	b := sequencer.OtherBatch(machine.OfAccounts(&cmd, nil), sequencer.Written)
	if err := r.loop.Submit(b); err != nil {
		return accounts.Result{}, err
	}
	done := b.Result.(*machine.Result)
	return done.Accounts, done.Refused
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
	b := r.shown.Accounts.Balance(uint32(account), currency)
	text := fixed.AppendShortest192(nil, b.Free, fixed.Scale)
	return string(fixed.AppendShortest192(append(text, ' '), b.Held, fixed.Scale))
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
