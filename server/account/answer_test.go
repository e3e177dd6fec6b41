package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

func TestBalancesAreSortedByCode(t *testing.T) {
	rows := []accounts.BalanceView{{CurrencyCode: "USDT"}, {CurrencyCode: "BTC"}, {CurrencyCode: "NATIVE"}}
	sortBalances(rows)
	var got []string
	for _, row := range rows {
		got = append(got, row.CurrencyCode)
	}
	if diff := cmp.Diff([]string{"BTC", "NATIVE", "USDT"}, got); diff != "" {
		t.Errorf("the order of balances (-want +got):\n%s", diff)
	}
}

// The members of a fill, with those that only its owner sees (docs/contract/trading.md).
func TestMembersOfAFill(t *testing.T) {
	ins := &engine.Instrument{
		Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 8, BaseDigits: 8, QuoteDigits: 8,
	}
	fill := marketdata.Fill{
		Trade: 7, Order: 4294967297, Account: 3, Side: engine.Sell, TakerSide: engine.Buy, IsMaker: true,
		Price: 6_500_000, Amount: 150_000_000, TimeNs: 1_790_000_000_123_456_700, Fee: fixed.U128{Lo: 9_750_000_000},
	}
	want := `{"id":"6518d674-1f21-5c7a-aae4-ae11f29b7f3f","dealDateUtc":"2026-09-21T14:13:20.1234567Z",` +
		`"currencyPairCode":"BTC_USDT","volume":1.50000000,"price":65000.00,"isBuy":true,"isUserBuyer":false,` +
		`"orderId":"4294967297","tradeId":7,"fee":97.5,"feeCurrencyCode":"USDT","isMaker":true}`
	var w json.Writer
	w.Object()
	writeFill(&w, &fill, ins)
	w.EndObject()
	if got := string(w.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
