package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tickhive/tickhive/marketdata"
)

// nightFigures holds the mean spreads of a pair over time, in ticks, and the number of its trades at night.
type nightFigures struct{ night, morning, trades float64 }

// measureNight runs all pairs and measures them from 22:10 to 05:50 and from 06:10 to 06:50. On a virtual clock all
// books are lean.
func measureNight(t *testing.T, s Scenario, seed uint64, virtual bool) []nightFigures {
	t.Helper()
	b := newBench(t, seed, testPairs())
	b.market.world.scenario = s
	if virtual {
		b.market.full = math.MaxInt64
	}
	b.advance(t, 10*time.Second)
	evening := 21*time.Hour + 50*time.Minute
	if err := b.loop.Query(func() { b.market.Skip(testStart + int64(evening)) }); err != nil {
		t.Fatal(err)
	}
	out := make([]nightFigures, len(b.ids))
	// sample calls add with the view and the spread of each pair, every 10 seconds.
	sample := func(from, to time.Duration, add func(f *nightFigures, v *marketdata.View, mean float64)) {
		for at := from; at < to; at += 10 * time.Second {
			if err := b.loop.AdvanceQuietly(testStart + int64(at)); err != nil {
				t.Fatal(err)
			}
			for i, id := range b.ids {
				v := b.Feed.Board().Load().View(id)
				bid, _ := v.Bids.Best()
				ask, _ := v.Asks.Best()
				if v.Bids.Len() < 50 || v.Asks.Len() < 50 || ask.Price <= bid.Price {
					t.Fatalf("%s at %s: %d bids, %d asks, spread %d", v.Instrument.Code, at, v.Bids.Len(), v.Asks.Len(),
						ask.Price-bid.Price)
				}
				add(&out[i], v, float64(ask.Price-bid.Price)/float64((to-from)/(10*time.Second)))
			}
		}
	}
	ten, six := 10*time.Minute, 30*time.Hour
	sample(evening+ten, evening+2*ten, func(f *nightFigures, v *marketdata.View, _ float64) {
		f.trades = -float64(v.Trades.Last())
	})
	sample(evening+2*ten, six-ten, func(f *nightFigures, _ *marketdata.View, mean float64) { f.night += mean })
	for i, id := range b.ids {
		out[i].trades += float64(b.Feed.Board().Load().View(id).Trades.Last())
	}
	sample(six+ten, six+5*ten, func(f *nightFigures, _ *marketdata.View, mean float64) { f.morning += mean })
	if n := b.loop.Stats().Rejected.Load(); n != 0 {
		t.Errorf("%d commands were refused", n)
	}
	return out
}

func TestANightHasWideSpreadsAndFewTrades(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3} {
		for _, virtual := range []bool{true, false} {
			t.Run(fmt.Sprintf("seed %d, virtual clock %t", seed, virtual), func(t *testing.T) {
				t.Parallel()
				usual, thin := measureNight(t, Ordinary, seed, virtual), measureNight(t, ThinNight, seed, virtual)
				for i, p := range testPairs() {
					wider, rarer := thin[i].night/usual[i].night, usual[i].trades/thin[i].trades
					t.Logf("%-9s spread %.1f -> %.1f, x%.2f; trades %.0f -> %.0f, 1/%.2f", p.Code, usual[i].night,
						thin[i].night, wider, usual[i].trades, thin[i].trades, rarer)
					most := 7.0
					if !virtual && p.Weight >= majorWeight {
						most = math.Inf(1) // the deep book of a day quotes one tick
					}
					if wider < 3 || wider > most {
						t.Errorf("%s: spreads are %.2f times wider, want 3 to %.0f", p.Code, wider, most)
					}
					if rarer < 5 || rarer > 7 {
						t.Errorf("%s: trades are %.2f times rarer, want 5 to 7", p.Code, rarer)
					}
					if thin[i].morning > thin[i].night/2 {
						t.Errorf("%s: a spread of %.1f ticks at night, %.1f after it", p.Code, thin[i].night,
							thin[i].morning)
					}
				}
			})
		}
	}
}
