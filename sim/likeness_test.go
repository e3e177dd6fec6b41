package sim

import (
	"os"
	"testing"
	"time"

	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim/stats"
)

// figures runs a market of that seed for 24 hours and computes its figures. The first hour is a
// warm-up: candles start with the second.
func figures(t testing.TB, seed uint64) []stats.Figures {
	b := newBench(t, seed, testPairs())
	const hours = 24
	series := make([]stats.Series, len(b.ids))
	start := testStart + int64(time.Hour)
	for at := start; at <= start+hours*int64(time.Hour); at += int64(time.Minute) {
		if err := b.loop.AdvanceQuietly(at); err != nil {
			t.Fatal(err)
		}
		root := b.Feed.Board().Load()
		for i, id := range b.ids {
			v := root.View(id)
			bid, _ := v.Bids.Best()
			ask, ok := v.Asks.Best()
			if v.Bids.Len() < 50 || v.Asks.Len() < 50 || !ok || ask.Price <= bid.Price {
				t.Fatalf("%s at %d: %d bids, %d asks, spread %d", v.Instrument.Code, at, v.Bids.Len(), v.Asks.Len(),
					ask.Price-bid.Price)
			}
			series[i].Spreads = append(series[i].Spreads, 1e4*float64(ask.Price-bid.Price)/float64(ask.Price))
		}
	}
	var out []stats.Figures
	for i, id := range b.ids {
		v := b.Feed.Board().Load().View(id)
		s := &series[i]
		s.Code, s.Last = v.Instrument.Code, float64(v.Ticker.Last)/pow10(v.Instrument.DigitsPrice)
		c := v.Candles(marketdata.Minute)
		at := start / int64(time.Second)
		k := c.Search(at)
		last := float64(c.At(k - 1).Close)
		for ; at < start/int64(time.Second)+hours*3600; at += 60 {
			if k < c.Len() && c.At(k).Start == at {
				last = float64(c.At(k).Close)
				q := c.At(k).QuoteVolume
				s.Volume += (float64(q.Hi)*(1<<64) + float64(q.Lo)) / pow10(v.Instrument.DigitsTotal())
				s.Traded++
				k++
			}
			s.Closes = append(s.Closes, last)
		}
		out = append(out, stats.Compute(s))
	}
	return out
}

func pow10(n int) float64 {
	p := 1.0
	for range n {
		p *= 10
	}
	return p
}

func TestADayLooksLikeAMarket(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1}
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		seeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	}
	for _, seed := range seeds {
		all := figures(t, seed)
		for i := range all {
			f := &all[i]
			t.Logf("seed %d %-9s traded %.1f %% spread %.2f bp kurtosis %.1f |r| %.3f r %.3f sd %.1f bp volume %.0f",
				seed, f.Code, 100*f.TradedShare(), f.SpreadBp, f.Kurtosis, f.AbsAutocorr, f.Autocorr, f.Volatility,
				f.Volume)
			most, least := 20.0, 1.0
			if testPairs()[i].Weight >= majorWeight { // 1 tick to 1 bp
				most, least = 1, 0
			}
			if f.SpreadBp < least || f.SpreadBp > most {
				t.Errorf("seed %d: %s: a spread of %.2f bp, want %.0f to %.0f", seed, f.Code, f.SpreadBp, least, most)
			}
			if fault := f.Fault(); fault != "" {
				t.Errorf("seed %d: %s: %s", seed, f.Code, fault)
			}
		}
		if ratio := stats.VolumeRatio(all); !(ratio >= 10) {
			t.Errorf("seed %d: the largest pair has %.1f times the volume of the smallest, want at least 10", seed,
				ratio)
		} else {
			t.Logf("seed %d: volume ratio %.1f", seed, ratio)
		}
	}
}
