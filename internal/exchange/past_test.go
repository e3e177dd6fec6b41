package exchange_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/sim"
)

// withPast returns an exchange with a simulated pair that begins with some time of candles.
func withPast(dir string, past, backfill time.Duration) exchange.Options {
	o := exchangetest.Options(dir)
	o.Sim = exchange.SimOptions{
		SimConfig: exchange.SimConfig{
			Enabled: true, Seed: 7, Past: setting.Duration(past), Backfill: setting.Duration(backfill),
		},
		Pairs: []sim.Pair{{Code: "A_USDT", Reference: 650_00, Weight: 1}},
	}
	o.Assets = []*engine.Asset{{Symbol: "USDT", Name: "Tether", Digits: 10}}
	for _, code := range []string{"A", "B"} { // no agents trade the second one
		o.Pairs = append(o.Pairs, &engine.Instrument{
			Code: code + "_USDT", Base: code, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5,
		})
	}
	return o
}

// A year of candles is there at the first start, joins the trades that follow, with and without a backfill, and comes
// back after a restart; the same seed makes the same state.
func TestAPairBeginsWithAYearOfCandles(t *testing.T) {
	for name, backfill := range map[string]time.Duration{"backfill": 10 * time.Minute, "no backfill": 0} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := withPast(dir, 365*24*time.Hour, backfill)
			x := exchangetest.Start(t, o)
			hash, _ := parts(t, x)
			checkYear(t, x, o.Clock.StartNs-int64(backfill))
			twin := exchangetest.Start(t, withPast(t.TempDir(), 365*24*time.Hour, backfill))
			if other, _ := parts(t, twin); other != hash {
				t.Error("the same seed made another state")
			}
			other := exchangetest.Start(t, withPast(t.TempDir(), 0, backfill))
			if n := series(other, "A_USDT", marketdata.Month); n.Len() > 2 {
				t.Errorf("%d months without a past", n.Len())
			}
			x.Stop()
			again := exchangetest.Start(t, withPast(dir, 365*24*time.Hour, backfill))
			if now, _ := parts(t, again); now != hash {
				t.Error("a restart has another state")
			}
			checkYear(t, again, o.Clock.StartNs-int64(backfill))
		})
	}
}

func series(x *exchangetest.Rig, code string, i marketdata.Interval) marketdata.Candles {
	return x.Feed().Board().Load().Lookup(code).Candles(i)
}

// checkYear compares the candles of a pair with each other around the time at which its market opened.
func checkYear(t *testing.T, x *exchangetest.Rig, openNs int64) {
	t.Helper()
	if b := series(x, "B_USDT", marketdata.Day); b.Len() != 0 {
		t.Errorf("a pair that is not simulated has %d candles", b.Len())
	}
	open := openNs / 1_000_000_000
	days, months := series(x, "A_USDT", marketdata.Day), series(x, "A_USDT", marketdata.Month)
	if from := days.At(0).Start; from > open-365*86_400 || days.Len() < 365 || months.Len() < 12 {
		t.Errorf("%d days from %d, %d months", days.Len(), from, months.Len())
	}
	for i := marketdata.Minutes3; i <= marketdata.Day; i++ {
		coarse, fine := series(x, "A_USDT", i), series(x, "A_USDT", i-1)
		compared := 0
		for k := range coarse.Len() {
			c := coarse.At(k)
			if c.Start < fine.At(0).Start {
				continue
			}
			if i == marketdata.Minutes5 { // three minutes do not divide five
				fine = series(x, "A_USDT", marketdata.Minute)
			}
			if sum := fine.Fold(c.Start, i.Next(c.Start)); sum != c {
				t.Fatalf("%s: %+v, the sum of what is in it is %+v", i, c, sum)
			}
			compared++
		}
		if compared == 0 {
			t.Errorf("%s: nothing was compared", i)
		}
	}
	checkSeam(t, x, open)
}

// checkSeam looks for a hole and for a jump in the minutes around the opening.
func checkSeam(t *testing.T, x *exchangetest.Rig, open int64) {
	t.Helper()
	minutes := series(x, "A_USDT", marketdata.Minute)
	for k := 1; k < minutes.Len(); k++ {
		before, c := minutes.At(k-1), minutes.At(k)
		if c.Start != before.Start+60 {
			t.Fatalf("no candle from %d to %d", before.Start+60, c.Start)
		}
		if jump := c.Open - before.Close; c.Start >= open-60 && max(jump, -jump)*200 > c.Open {
			t.Errorf("%+v opens half a per cent away from %+v", c, before)
		}
	}
	ticker := x.Feed().Board().Load().Lookup("A_USDT").Ticker
	now := exchangetest.StartNs / 1_000_000_000 // a minute of the past counts as trades of its last second
	if sum := minutes.Fold(now-86_400-58, now+60); ticker.Last != sum.Close || ticker.Volume != sum.Volume {
		t.Errorf("%+v, the candles of a day are %+v", ticker, sum)
	}
}
