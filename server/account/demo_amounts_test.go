package account_test

import (
	"maps"
	"math/big"
	"testing"

	"github.com/tickhive/tickhive/server/account"
)

func TestDemoAmountsAreWorthAboutTheSame(t *testing.T) {
	t.Parallel()
	prices := map[string]*big.Rat{}
	for code, text := range map[string]string{
		"BTC_USDT": "66874.12", "ETH_USDT": "3400", "ETH_BTC": "0.0508", "SHIB_USDT": "0.0000123", "GEM_BTC": "2",
		"WHOLE_USDT": "800000",
	} {
		prices[code], _ = new(big.Rat).SetString(text)
	}
	prices["CARD_USDT"] = nil // its book is empty
	got := account.DemoAmounts(prices, map[string]int{
		"BTC": 8, "USDT": 6, "ETH": 8, "SHIB": 2, "GEM": 8, "WHOLE": 0, "CARD": 2,
	})
	want := map[string]string{
		"BTC": "1.4", "USDT": "100000", "ETH": "29", "SHIB": "8100000000",
		"GEM":   "0.74",  // by way of BTC
		"WHOLE": "1",     // an eighth is no whole unit
		"CARD":  "10000", // has no price
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for currency, amount := range account.DemoAmounts(map[string]*big.Rat{"BTC_USDT": nil}, map[string]int{"BTC": 8}) {
		if amount != "10000" {
			t.Errorf("%s of %s in a market without prices", amount, currency)
		}
	}
}
