package exchange_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/sim"
)

// simulated returns an exchange with a simulated pair and a backfill.
func simulated(t *testing.T) exchange.Options {
	o := exchangetest.Options(t.TempDir())
	o.Assets = []*engine.Asset{{Symbol: "BTC", Name: "Bitcoin", Digits: 8}, {
		Symbol: "USDT", Name: "Tether",
		Digits: 10,
	}}
	o.Pairs = []*engine.Instrument{{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8}}
	o.Sim = exchange.SimOptions{
		SimConfig: exchange.SimConfig{Enabled: true, Seed: 1, Backfill: setting.Duration(10 * time.Minute)},
		Pairs:     []sim.Pair{{Code: "BTC_USDT", Reference: 65_000_00, Weight: 1}},
	}
	return o
}

// A start that panics is a failed start. It admits no client, never runs, and reports the panic.
func TestAStartThatPanicsIsNeverReady(t *testing.T) {
	o := simulated(t)
	o.Progress = func(name string) exchange.Progress {
		if name == "backfill" { // halfway
			var none *struct{ exchange.Progress }
			return none.Progress
		}
		return quiet{}
	}
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Abandon() })
	launch := opened.Launch()
	x, err := launch.Running()
	if x != nil || err == nil || !strings.Contains(err.Error(), "nil pointer") ||
		!strings.Contains(err.Error(), "(*Recovered).Start") {
		t.Errorf("%v: %v", x, err)
	}
	launch.Stop(context.Background()) // stops nothing
	if opened.Ready() || opened.Filling() != true {
		t.Error("clients are admitted, or the directory counts as whole")
	}
}

type quiet struct{}

func (quiet) Set(int64, int64) {}
func (quiet) Leave()           {}
func (quiet) Done()            {}

// A start that is canceled stops the phase that it has reached. The next start begins over.
func TestACanceledStartLeavesNoPhaseBehind(t *testing.T) {
	o := simulated(t)
	begun, release := make(chan struct{}), make(chan struct{})
	o.Progress = func(name string) exchange.Progress {
		if name == "backfill" {
			close(begun)
			<-release
		}
		return quiet{}
	}
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	launch := opened.Launch()
	<-begun
	ended := make(chan struct{})
	go func() {
		launch.Stop(context.Background())
		close(ended)
	}()
	<-launch.Canceled()
	close(release)
	<-ended
	if x, err := launch.Running(); x != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v: %v", x, err)
	}
	o.Progress = nil
	if n := exchangetest.Start(t, o).Accounts().Shown().UserCount(); n != exchange.DemoUsers {
		t.Errorf("%d users", n)
	}
}

// A directory is complete only with the demo users, which follow the backfill. After a kill
// before that, the next start begins over; no client was admitted before.
func TestADirectoryIsWholeWithItsDemoUsers(t *testing.T) {
	o, ctx := simulated(t), context.Background()
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := opened.Recover(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Backfill(ctx); err != nil {
		t.Fatal(err)
	}
	if !killed.Filling() || killed.Users() != 0 {
		t.Error("whole without its users")
	}
	killed.Stop(ctx)
	next := exchangetest.Start(t, o)
	if n := next.Accounts().Shown().UserCount(); next.Filling() || n != exchange.DemoUsers {
		t.Errorf("filling %t, %d users", next.Filling(), n)
	}
}

// A killed process leaves trades and no state of the simulated market. The next start goes on at the price of the last
// trade, and not at the configured one.
func TestAfterAKillTheSimulatedPriceGoesOn(t *testing.T) {
	o := simulated(t)
	o.Clock, o.Sim.Backfill, o.Sim.Pairs[0].Weight = exchange.ClockOptions{}, setting.Duration(7*time.Hour), 100
	o.Sim.Intensity = 10
	x := exchangetest.Start(t, o)
	o.Dir, o.Sim.Intensity = x.Kill(), 100
	for _, file := range exchangetest.Files(t, o.Dir, "engine/*.snap") { // it has the state of the simulated market
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	x.Stop()
	killed := exchangetest.Start(t, o)
	board := killed.Feed().Board()
	first := board.Load().View(0)
	reference := o.Sim.Pairs[0].Reference
	if d := first.Ticker.Last - reference; d*100 < reference && -d*100 < reference {
		t.Fatalf("the price %d is hardly another than the configured one", first.Ticker.Last)
	}
	now := first
	for now.Trades.Last() < first.Trades.Last()+2 {
		now = board.Load().View(0)
	}
	if d := now.Ticker.Last - first.Ticker.Last; d*400 > reference || -d*400 > reference {
		t.Errorf("the price went from %d to %d", first.Ticker.Last, now.Ticker.Last)
	}
}

// A backfill leaves a snapshot of the market, taken while no loop ran, and one of the accounts that has reached it: the
// running market needs no second one at once, and a start after a kill begins with it.
func TestABackfillLeavesASnapshot(t *testing.T) {
	o := simulated(t)
	o.Sim.Backfill, o.Sim.Pairs[0].Weight = setting.Duration(3*time.Hour), 100
	x := exchangetest.Start(t, o)
	covered := x.Covered()
	if covered == 0 || len(exchangetest.Files(t, o.Dir, "engine/*.snap")) != 1 {
		t.Fatalf("a snapshot at %d", covered)
	}
	want := x.Hash()
	o.Dir = x.Kill()
	x.Stop()
	next := exchangetest.Start(t, o)
	if next.Covered() != covered || next.Hash() != want {
		t.Errorf("the next start began with the snapshot at %d, not at %d; state %s, want %s", next.Covered(), covered,
			next.Hash(), want)
	}
}

// The snapshot of a backfill covers nearly all of its segment. A record that the loop writes at once makes no further
// one due, for which the keeper would build a second state: only what is behind the snapshot counts.
func TestNoSnapshotIsDueBehindABackfill(t *testing.T) {
	o := simulated(t)
	o.Sim.Backfill, o.Sim.Pairs[0].Weight, o.Journal.SnapshotBytes = setting.Duration(3*time.Hour), 100, 1<<20
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	recovered, err := opened.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer recovered.Stop(t.Context())
	if due, err := recovered.DueBehindBackfill(t.Context()); due || err != nil {
		t.Errorf("a snapshot is due at the first record behind the backfill's: %t, %v; want none before %d bytes", due,
			err, o.Journal.SnapshotBytes)
	}
}
