package events

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// Lists, releases, activations and prevented matches are events of their pair.
func TestTheEventsOfLists(t *testing.T) {
	w := NewWriter("e", func(engine.AccountID) string { return "acc" })
	w.Fold([]engine.Event{
		{Kind: engine.EventPair, Seq: 1, Instrument: &engine.Instrument{Code: "A_B", DigitsPrice: 1, DigitsAmount: 2}},
		{
			Kind: engine.EventList, Seq: 2, Order: 7, Account: 1, List: engine.OTO, Amount: 2,
			Client: &engine.ClientID{Text: "l"},
		},
		{
			Kind: engine.EventAccepted, Seq: 3, Order: 8, Maker: 7, Type: engine.StopMarket, Status: engine.Pending,
			Trail: 50, Amount: 100, OpenAmount: 100,
		},
		{Kind: engine.EventReleased, Seq: 4, Order: 8, Maker: 7, Type: engine.StopMarket, Amount: 90},
		{Kind: engine.EventActivated, Seq: 5, Order: 8, Price: 15},
		{
			Kind: engine.EventPrevented, Seq: 6, Order: 8, Maker: 9, Trade: 3, Side: engine.Sell, Price: 15, Amount: 90,
			STP: engine.CancelTaker,
		},
		{Kind: engine.EventListEnded, Seq: 7, Order: 7},
	})
	got := w.Take()
	for i, want := range []string{
		`A_B.list "event":"began","listId":7,"accountId":"acc","kind":"oto","clientOrderId":"l","orderIds":[7,8]`,
		`A_B.order "event":"accepted","orderId":8 "status":"Pending","reason":null,"trailingDelta":50,"listId":7`,
		`A_B.order "event":"released","orderId":8 "orderType":"stop_market" "amount":0.90 ` +
			`"status":"Created" "listId":7`,
		`A_B.order "event":"activated","orderId":8 "price":1.5 "status":null "listId":null`,
		`A_B.prevented "preventedMatchId":3 "takerOrderId":8,"makerOrderId":9,"takerSide":"sell","price":1.5,` +
			`"takerAmount":0.90,"makerAmount":0.00,"selfTradePrevention":"cancel_taker"`,
		`A_B.list "event":"ended","listId":7,"accountId":"acc","kind":null,"clientOrderId":null,"orderIds":null`,
	} {
		for j, part := range strings.Split(want, " ") {
			if j == 0 && part != got[i].Subject || j > 0 && !strings.Contains(string(got[i].Data), part) {
				t.Errorf("message %d: %s %s, want %s", i, got[i].Subject, got[i].Data, part)
			}
		}
	}
	if len(got) != 6 {
		t.Errorf("%d messages", len(got))
	}
}
