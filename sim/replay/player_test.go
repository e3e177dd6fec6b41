package replay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/player"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/replay/sample"
	"github.com/tickhive/tickhive/test/harness"
)

// played is a replay under a player, on a market of its own.
type played struct {
	*player.Player
	m    *testMarket
	r    *Replay
	done chan struct{} // closed when the run has ended
	err  error         // of the run
}

// begin begins a replay that waits before its first record.
func begin(t *testing.T, o Options) *played {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{Player: player.New(r.Recording(), player.Max, false, nil), r: r}
	r.Play(p.Player)
	p.run(t)
	return p
}

// run runs the recording on an empty market.
func (p *played) run(t *testing.T) {
	t.Helper()
	p.m, p.done = newTestMarket(t, p.r), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	m, done := p.m, p.done
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		_, p.err = p.r.Run(ctx, m.loop, m.pair, nil)
	}()
}

// seek goes to a time, back on another market, and waits until it is there.
func (p *played) seek(t *testing.T, ns int64) {
	t.Helper()
	back := ns < p.State().TimeNs
	if err := p.SeekTo(ns); err != nil {
		t.Fatal(err)
	}
	if back {
		<-p.done
		if p.err == nil { // at the end
			p.err = p.AwaitBack(t.Context())
		}
		if !errors.Is(p.err, player.ErrBack) {
			t.Fatalf("the run ends with %v", p.err)
		}
		p.run(t)
	}
	for p.State().Status == player.Seeking {
		select {
		case <-p.done:
			if p.err != nil {
				t.Fatal(p.err)
			}
		case <-time.After(time.Millisecond):
		}
	}
}

// market is what a market shows and holds.
func (p *played) market(t *testing.T) string {
	t.Helper()
	var hash machine.MarketHash
	if err := p.m.loop.Query(func() { hash = machine.HashMarket(p.m.Core, p.m.Feed) }); err != nil {
		t.Fatal(err)
	}
	view := p.m.Feed.Board().Load()
	trades, err := p.m.board.Trades(1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	now := p.m.Clock.NowNs()
	candles, err := p.m.board.Candles(marketdata.Minute, (now-86_400e9)/1e9, now/1e9)
	if err != nil {
		t.Fatal(err)
	}
	counts := p.State().Counts
	return fmt.Sprintf("at %d %d: hash %+v, %d trades, candles %+v, counts %+v", now, view.NowNs, hash, len(trades),
		candles, counts)
}

// However a replay gets to a time, its market is there that of a replay that goes straight to it.
func TestAMarketDoesNotDependOnTheWayToATime(t *testing.T) {
	t.Parallel()
	files, err := sample.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"levels": {Format: sample.Format, Files: files},
		"orders of a queue": {Format: "lobster", Files: []string{
			harness.Recorded(t, "lobster/AAPL_2012-06-21_first999_message_10.csv.gz"),
			harness.Recorded(t, "lobster/AAPL_2012-06-21_first999_orderbook_10.csv.gz"),
		}},
		"log of orders": {Format: "bitstamp", Files: []string{
			harness.Recorded(t, "bitstamp/btcusd_2015-05-01_0000-0219_l3.log.gz"),
		}},
		"trades": {Format: "trades", Files: []string{file(t, "a1b1.csv", manyTrades(5000))}},
		"bars":   {Format: "trades", Files: []string{file(t, "bars.csv", manyBars(100))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, o)
			check := func(way string) {
				t.Helper()
				straight := begin(t, o)
				straight.seek(t, p.State().TimeNs)
				if got, want := p.market(t), straight.market(t); got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", way, got, want)
				}
			}
			r := p.State().Recording
			lasts := r.EndNs - r.BeginNs
			p.seek(t, r.BeginNs+lasts/3)
			check("forward")
			before := p.State().Records
			p.command(t, p.Step(7))
			if s := p.State(); s.Status != player.Paused || s.Records != before+7 {
				t.Errorf("seven records after %d: %+v", before, s)
			}
			p.command(t, p.StepTo(p.State().TimeNs)) // the others of the same time
			check("seven records")
			p.command(t, p.SetSpeed(10_000))
			p.command(t, p.Play())
			p.command(t, p.Pause())
			p.command(t, p.StepTo(p.State().TimeNs))
			check("played and paused")
			p.command(t, p.SetSpeed(player.Max))
			p.command(t, p.Play())
			<-p.done
			check("to the end")
			p.command(t, p.Pause())
			p.seek(t, r.BeginNs+lasts/5)
			check("back from the end")
			p.seek(t, r.BeginNs+lasts/10)
			check("back")
			if s := p.State(); s.Backs != 2 || s.TimeNs != r.BeginNs+lasts/10 || s.Status != player.Paused {
				t.Errorf("%+v", s)
			}
		})
	}
}

// command fails the test when a command was refused.
func (p *played) command(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// manyBars returns a table of bars of a minute.
func manyBars(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("%d,10,%d,8,%d,%d\n", 1_700_000_040+60*i, 12+i%3, 9+i%4, 8+i%5)
	}
	return text
}

// manyTrades returns a table of trades, several of them at the same time.
func manyTrades(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("%d,%d,%d,buy\n", 1_700_000_000+i/3, 10+i%7, 1+i%5)
	}
	return text
}
