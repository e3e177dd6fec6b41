package entry_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/markettest"
)

// guarded is a rig with a canceler and two pairs.
type guarded struct {
	*rig
	g    *entry.Canceler
	done []string // causes of the cancels that ended
}

func newGuarded(t *testing.T) *guarded {
	r := &guarded{rig: newRig(t)}
	r.pair("ETH_USDT", 2, 4)
	r.g = entry.NewCanceler(r.e)
	r.attach()
	r.g.Done = func(_ engine.AccountID, c entry.Cause, _ int) { r.done = append(r.done, c.String()) }
	return r
}

// attach attaches the canceler as before the loop runs.
func (r *guarded) attach() {
	r.t.Helper()
	if err := r.Query(func() { r.g.Attach(r.state, r.change) }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *guarded) halt(u engine.AccountID, halted bool) {
	r.do(accounts.Command{Kind: accounts.SetHalt, User: uint32(u), Halted: halted})
}

// arm sets the dead man's switch of an account.
func (r *guarded) arm(u engine.AccountID, d time.Duration) {
	r.t.Helper()
	if _, err := r.change(accounts.Command{Kind: accounts.SetSwitch, User: uint32(u), Timeout: d}); err != nil {
		r.t.Fatal(err)
	}
}

// orders places an order in each pair, and a stop.
func (r *guarded) orders(u engine.AccountID) {
	r.t.Helper()
	r.placed(u, limit(engine.Buy, "1", "1"))
	r.placed(u, entry.Place{Pair: []byte("ETH_USDT"), Price: []byte("1"), Amount: []byte("1")})
	r.placed(u, entry.Place{
		Pair: []byte("ETH_USDT"), Type: engine.StopLimit, Price: []byte("2"), Stop: []byte("2"), Amount: []byte("1"),
	})
}

// open checks the number of open orders of an account.
func (r *guarded) open(u engine.AccountID, want int) {
	r.t.Helper()
	got := 0
	if err := r.Query(func() { got = r.Core.OwnOpenOrders(0, u) + r.Core.OwnOpenOrders(1, u) }); err != nil {
		r.t.Fatal(err)
	}
	if got != want {
		r.t.Errorf("account %d has %d open orders, want %d", u, got, want)
	}
}

// step moves the clock and carries out what is due.
func (r *guarded) step(d time.Duration) {
	r.Clock.Set(r.Clock.NowNs() + int64(d))
	for r.g.Step(r.Clock.NowNs()) {
	}
}

// setPair sets the state of the first pair.
func (r *guarded) setPair(s engine.PairState) {
	ins, _ := r.Core.Pair(0)
	next := *ins
	next.State = s
	r.command(engine.Command{Kind: engine.SetPair, Pair: 0, Instrument: &next})
}

func TestAHaltCancelsEverythingAndRefusesEveryOrder(t *testing.T) {
	r := newGuarded(t)
	a, b := r.user("1000", "1"), r.user("1000", "")
	r.orders(a)
	r.orders(b)
	replaced := r.placed(a, limit(engine.Buy, "1", "1"))
	r.halt(a, true)
	for _, caller := range []engine.AccountID{a, 0} {
		if _, refusal := r.one(caller, replace(replaced, "1.5", "")); refusal != "ACCOUNT_HALTED " {
			t.Errorf("a replace by %d of a halted account's order: %q", caller, refusal)
		}
	}
	if n, open := r.g.Halt(a); n != 4 || open != 0 {
		t.Errorf("%d canceled, %d open, want 4 and none", n, open)
	}
	r.open(a, 0)
	r.open(b, 3)
	for _, p := range []entry.Place{
		limit(engine.Buy, "1", "1"), limit(engine.Sell, "9", "0.1"),
		{Pair: []byte("BTC_USDT"), Type: engine.Market, Amount: []byte("1")},
		{Pair: []byte("BTC_USDT"), Type: engine.StopLimit, Price: []byte("2"), Stop: []byte("2"), Amount: []byte("1")},
	} {
		if _, refusal := r.one(a, place(p)); refusal != "ACCOUNT_HALTED " {
			t.Errorf("%+v of a halted account: %q", p, refusal)
		}
	}
	r.placed(b, limit(engine.Buy, "1", "1"))
	r.halt(a, false)
	r.placed(a, limit(engine.Buy, "1", "1"))
	r.step(time.Hour)
	r.open(a, 1)
	if len(r.done) != 1 || r.done[0] != "halt" {
		t.Errorf("ended: %v", r.done)
	}
}

// What an account has on its way to the engine when it is halted is refused there, whatever it is: nothing of it is
// open behind the cancels, and a change leaves no order.
func TestAHaltRefusesWhatIsOnItsWay(t *testing.T) {
	r := newGuarded(t)
	a := r.user("1000", "")
	r.orders(a)
	halt := func() {
		r.halt(a, true)
		if n, open := r.g.Halt(a); n != 3 || open != 0 {
			t.Errorf("%d canceled, %d open, want 3 and none", n, open)
		}
	}
	r.before = halt
	if _, refusal := r.one(a, place(limit(engine.Buy, "1", "1"))); refusal != "ACCOUNT_HALTED " {
		t.Errorf("an order on its way: %q", refusal)
	}
	r.open(a, 0)
	r.halt(a, false)
	r.orders(a)
	r.before = halt
	req := r.e.Acquire(a)
	defer r.e.Release(req)
	req.Commands = append(req.Commands, place(limit(engine.Buy, "1", "1")), place(limit(engine.Buy, "2", "1")))
	if refusal := req.Submit(); refusal != nil {
		t.Fatal(refusal)
	}
	for i := range req.Answers {
		if got := req.Answers[i].Reason; got != engine.AccountHalted {
			t.Errorf("command %d on its way: %q", i, got)
		}
	}
	r.open(a, 0)
	if got := r.balance(a, "USDT"); got != "1000.0 0.0" {
		t.Errorf("balance %s", got)
	}
}

// Orders that several clients of an account send while an operator halts it are open before the halt or refused, so the
// halt leaves none.
func TestAHaltAmongManyOrdersLeavesNone(t *testing.T) {
	r := newGuarded(t)
	a := r.user("1000", "")
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				if _, refusal := r.one(a, place(limit(engine.Buy, "0.01", "1"))); refusal == "ACCOUNT_HALTED " {
					return
				} else if refusal != "" {
					t.Errorf("refused as %s", refusal)
					return
				}
			}
		})
	}
	for r.balance(a, "USDT") == "1000.0 0.0" { // the first one is open
		runtime.Gosched()
	}
	r.halt(a, true)
	if n, open := r.g.Halt(a); n == 0 || open != 0 {
		t.Errorf("%d canceled, %d open", n, open)
	}
	clients.Wait()
	r.open(a, 0)
}

// A halted pair takes no cancels. Its orders are canceled when it does, after a restart too.
func TestOrdersOfAHaltedPairAreCanceledLater(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newGuarded(t)
		a := r.user("1000", "")
		r.orders(a)
		r.setPair(engine.Halted)
		r.halt(a, true)
		if n, open := r.g.Halt(a); n != 2 || open != 1 {
			t.Errorf("%d canceled, %d open, want 2 and 1", n, open)
		}
		seq := r.Core.LastSeq(0)
		r.step(0)
		r.open(a, 1)
		if now := r.Core.LastSeq(0); now != seq {
			t.Errorf("%d commands to a halted pair", now-seq)
		}
		if restart {
			r.g = entry.NewCanceler(r.e)
			r.attach()
		}
		r.setPair(engine.CancelOnly)
		r.step(0)
		r.open(a, 0)
	}
}

func TestASwitchFiresOnceAtItsTime(t *testing.T) {
	r := newGuarded(t)
	a, b := r.user("1000", ""), r.user("1000", "")
	r.orders(a)
	r.orders(b)
	r.arm(a, 10*time.Second)
	r.step(9 * time.Second)
	r.open(a, 3)
	r.arm(a, 10*time.Second) // each call starts it again
	if at := r.g.NextNs(r.Clock.NowNs()); at != markettest.StartNs+19e9 {
		t.Errorf("it fires at %d", at)
	}
	r.step(10*time.Second - 1)
	r.open(a, 3)
	r.step(1)
	r.open(a, 0)
	r.open(b, 3)
	r.orders(a)
	r.step(time.Hour) // it is off
	r.open(a, 3)
	r.arm(a, time.Second)
	r.arm(a, 0)
	r.step(time.Hour)
	r.open(a, 3)
	if len(r.done) != 1 || r.done[0] != "switch" {
		t.Errorf("ended: %v", r.done)
	}
	for _, d := range []time.Duration{time.Second - 1, 24*time.Hour + 1, -time.Second} {
		if _, err := r.change(accounts.Command{Kind: accounts.SetSwitch, User: uint32(a), Timeout: d}); err == nil {
			t.Errorf("a switch of %s", d)
		}
	}
}

// A switch that cannot cancel stays armed, so that a restart does not lose it.
func TestASwitchStaysArmedUntilEverythingIsCanceled(t *testing.T) {
	r := newGuarded(t)
	a := r.user("1000", "")
	r.orders(a)
	r.arm(a, time.Second)
	r.setPair(engine.Halted)
	r.step(time.Second)
	r.open(a, 1)
	r.placed(a, entry.Place{Pair: []byte("ETH_USDT"), Price: []byte("1"), Amount: []byte("1")}) // after it fired
	if r.shown.Accounts.SwitchOf(uint32(a)) == 0 {
		t.Error("it is off and an order is open")
	}
	r.setPair(engine.Online)
	r.step(0)
	r.open(a, 1)
	if r.shown.Accounts.SwitchOf(uint32(a)) != 0 {
		t.Error("it is still armed")
	}
}

func TestTheLastSocketGoneCancelsAfterItsGrace(t *testing.T) {
	r := newGuarded(t)
	a, b := r.user("1000", ""), r.user("1000", "")
	r.orders(a)
	r.orders(b)
	r.g.Join(a)
	r.g.Join(a)
	r.g.Join(b)
	r.g.Leave(a, 0, false)
	r.step(time.Hour) // the other socket is there
	r.open(a, 3)
	r.g.Leave(a, int64(5*time.Second), false)
	r.step(5*time.Second - 1)
	r.open(a, 3)
	r.g.Join(a) // it is back in time
	r.step(time.Hour)
	r.open(a, 3)
	r.g.Leave(a, 0, true) // the socket withdraws its wish
	r.step(time.Hour)
	r.open(a, 3)
	r.g.Join(a)
	r.g.Leave(a, 0, false)
	r.step(0)
	r.open(a, 0)
	r.open(b, 3)
	if len(r.done) != 1 || r.done[0] != "disconnect" {
		t.Errorf("ended: %v", r.done)
	}
}
