package server

import (
	"testing"

	"tickhive/marketdata"
)

// Decisions 11.2: a snapshot of trades begins at fromTradeId and ids have no gap behind it.
// A client that reads so slowly that retention passes what it is owed next is told a new
// start by a snapshot, at the oldest trade that is still kept.
func TestTradesResumeStartsOverWhenRetentionPasses(t *testing.T) {
	x := newStillHub(t, marketdata.Options{TradesMin: 10, TradesMax: 6000}, "AA_BB")
	x.trade(6000)
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"trades","pairs":["AA_BB"],"fromTradeId":1}`)
	if len(c.hub.pending) == 0 {
		t.Fatal("6,000 trades were queued at once: the client was not held back")
	}
	x.trade(6000)
	x.see()
	x.read(c) // what was queued: from trade 1 on
	first := uint64(x.market.Board().Load().View(0).Trades.First())
	next, starts := uint64(0), 0
	for range 20 {
		x.feed(c)
		messages, _ := x.read(c)
		for _, m := range messages {
			from := m.Trades[0].TradeID
			if m.Type == "snapshot" {
				starts, next = starts+1, from
				if from != first {
					t.Errorf("the new start is at trade %d, the oldest kept is %d", from, first)
				}
			}
			if from != next {
				t.Fatalf("a message of kind %s begins with trade %d, not %d", m.Type, from, next)
			}
			next = m.Trades[len(m.Trades)-1].TradeID + 1
		}
	}
	if starts != 1 || next != 12_001 {
		t.Errorf("%d new starts, the next trade is %d", starts, next)
	}
}
