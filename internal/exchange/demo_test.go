package exchange_test

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/sim"
)

// The demo users trade in one moment, when the market is ready. Each pair's tape shows one purchase of one of them,
// so that the head of a new tape looks like a market's, and all of them but the first two have bought something.
func TestADemoTapeBeginsWithNoRowOfEqualTrades(t *testing.T) {
	for name, backfill := range map[string]time.Duration{"backfill": 20 * time.Minute, "no backfill": 0} {
		t.Run(name, func(t *testing.T) {
			o := exchangetest.Options(t.TempDir())
			o.Assets = []*engine.Asset{{Symbol: "USDT", Name: "Tether", Digits: 10}}
			o.Sim = exchange.SimOptions{SimConfig: exchange.SimConfig{
				Enabled: true, Seed: 7, Backfill: setting.Duration(backfill),
			}}
			for i := range 10 {
				base := string(rune('A'+i)) + "A"
				o.Assets = append(o.Assets, &engine.Asset{Symbol: base, Name: base, Digits: 8})
				o.Pairs = append(o.Pairs, &engine.Instrument{
					Code: base + "_USDT", Base: base, Quote: "USDT", DigitsPrice: 2, DigitsAmount: 5,
				})
				o.Sim.Pairs = append(o.Sim.Pairs, sim.Pair{Code: base + "_USDT", Reference: 650_00, Weight: 1})
			}
			x := exchangetest.Start(t, o)
			root := x.Feed().Board().Load()
			buyers := map[engine.AccountID]bool{}
			for _, p := range o.Pairs {
				trades, own := &root.Lookup(p.Code).Trades, 0
				for id := trades.First(); id <= trades.Last() && trades.Len() > 0; id++ {
					if trade := trades.At(id); trade.Buyer != 0 || trade.Seller != 0 {
						own++
						buyers[trade.Buyer] = true
					}
				}
				if last := trades.Last(); own != 1 || trades.At(last).Buyer == 0 {
					t.Errorf("%s: %d trades of demo users, the last one is %+v", p.Code, own, trades.At(last))
				}
			}
			if len(buyers) != exchange.DemoUsers-2 || buyers[0] || buyers[1] || buyers[2] {
				t.Errorf("buyers %v", buyers)
			}
		})
	}
}
