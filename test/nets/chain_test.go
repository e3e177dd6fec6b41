package nets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/test/nets"
)

// modes are the ways in which the loop releases what it did.
var modes = []struct {
	sync sequencer.SyncPolicy
	name string
}{{sequencer.SyncInterval, "interval"}, {sequencer.SyncAlways, "always"}, {sequencer.SyncOff, "off"}}

// An order that meets many makers, also in several parts, has a message for each of its fills, at the taker and at the
// maker, on both protocols: the chain of the trade ids is the list of deals. The orders and the balances that the
// sockets have come to are those of the lists.
func TestThePrivateSocketsHaveWhatTheListsHave(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			o.Journal.Sync = m.sync
			n := nodeOf(t, exchangetest.Start(t, o))
			for _, pair := range []string{"BTC_USDT", "ETH_USDT"} {
				n.Call("POST", "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":4,`+
					`"makerFee":"0.001","takerFee":"0.002"}`)
			}
			taker, maker := nets.Trader(n, "taker"), nets.Trader(n, "maker")
			chains := map[string]*nets.Chain{"taker": nets.Follow(n, taker), "maker": nets.Follow(n, maker)}
			order := func(u *nets.User, body string) { n.OK(u, "POST", "/api/orders", body) }
			rest := func(pair, side string, count, price int) {
				var commands []string
				for i := range count {
					commands = append(commands, fmt.Sprintf(`{"place":{"currencyPairCode":%q,"side":%q,"price":%d,`+
						`"amount":"0.5"}}`, pair, side, price+i%7))
				}
				n.OK(maker, "POST", "/api/orders/batch", `{"commands":[`+strings.Join(commands, ",")+`]}`)
			}
			const btc, eth = `{"currencyPairCode":"BTC_USDT",`, `{"currencyPairCode":"ETH_USDT",`
			for range 3 {
				rest("BTC_USDT", "sell", 100, 100)
			}
			rest("ETH_USDT", "buy", 40, 50)
			order(taker, eth+`"side":"sell","price":60,"amount":1}`)
			order(taker, btc+`"side":"buy","price":106,"amount":"140.25"}`) // 281 makers, more than a part
			order(taker, eth+`"side":"sell","isMarket":true,"amount":"9.75"}`)
			order(taker, eth+`"side":"buy","price":60,"amount":"0.5","selfTradePrevention":"none"}`) // with itself
			order(taker, btc+`"side":"buy","isMarket":true,"quoteAmount":"300"}`)
			order(taker, eth+`"side":"sell","price":40,"amount":3,"stopPrice":52}`) // a stop that a trade triggers
			n.OK(taker, "POST", "/api/orders/batch", `{"commands":[`+
				`{"place":`+eth+`"side":"sell","price":50,"amount":2}},`+
				`{"place":`+eth+`"side":"sell","price":50,"amount":3}}]}`)
			for name, c := range chains {
				if fills := c.Check("BTC_USDT"); fills < 300 {
					t.Errorf("%s: %d fills are too few for this test", name, fills)
				}
			}
		})
	}
}
