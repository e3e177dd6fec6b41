package sim

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// submit sends one command of a client.
func (b *bench) submit(t *testing.T, c engine.Command) (events []engine.Event) {
	t.Helper()
	batch := sequencer.Batch{Commands: []engine.Command{c}}
	batch.Collect = func(_ int, _ *engine.Command, got []engine.Event) { events = append(events, got...) }
	if err := b.loop.Submit(&batch); err != nil {
		t.Fatal(err)
	}
	return events
}

func TestTakersMeetAClientsOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, testPairs()[:4]) // the last one is no major pair
	b.advance(t, time.Minute)
	var clients []engine.OrderID
	for _, id := range b.ids {
		bid, _ := b.Feed.Board().Load().View(id).Bids.Best()
		ask, _ := b.Feed.Board().Load().View(id).Asks.Best()
		clients = append(clients, b.submit(t, engine.Command{
			Kind: engine.Place, Pair: id, Side: engine.Buy, Type: engine.Limit, Price: min(bid.Price+1, ask.Price-1),
			Amount: 1_000_000,
		})[0].Order)
	}
	b.advance(t, 3*time.Minute)
	for i, client := range clients {
		if o, open := b.Core.Order(client); open && o.Open == o.Total {
			t.Errorf("pair %d: two minutes at the best bid, and no agent sold to the client", i)
		}
	}
}

func TestMakersRefillWhatAClientSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, testPairs()[:1])
	b.advance(t, time.Minute)
	before := b.Feed.Board().Load().View(0).Ticker.Last
	stock := b.market.pairs[0].stock
	events := b.submit(t, engine.Command{
		Kind: engine.Place, Pair: b.ids[0], Side: engine.Buy, Type: engine.Market, TIF: engine.IOC, Amount: 1 << 40,
	})
	if n := b.Feed.Board().Load().View(0).Asks.Len(); n != 0 {
		t.Fatalf("%d asks are left after a sweep of everything, %d events", n, len(events))
	}
	if b.market.pairs[0].stock >= stock || b.market.pairs[0].ladders[engine.Sell].n != 0 {
		t.Error("the makers do not know that they sold everything")
	}
	b.advance(t, time.Minute+10*time.Second)
	v := b.Feed.Board().Load().View(0)
	ask, _ := v.Asks.Best()
	if v.Asks.Len() < 50 || ask.Price > before+before/100 {
		t.Errorf("ten seconds later there are %d asks from %d on, the last price before was %d", v.Asks.Len(),
			ask.Price, before)
	}
}

func TestAMassCancelOfEverybodyIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, testPairs()[:1])
	b.advance(t, time.Minute)
	for b.Core.OpenOrders(b.ids[0]) > 0 {
		b.submit(t, engine.Command{
			Kind: engine.CancelAll, Pair: b.ids[0], Flags: engine.FlagAllAccount, Order: b.Core.LastOrderID(b.ids[0]),
		})
	}
	b.advance(t, time.Minute+10*time.Second)
	v := b.Feed.Board().Load().View(0)
	if v.Bids.Len() < 50 || v.Asks.Len() < 50 {
		t.Errorf("ten seconds later there are %d bids and %d asks", v.Bids.Len(), v.Asks.Len())
	}
}

func TestAgentsLeaveAHaltedPairAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, testPairs()[:1])
	b.advance(t, time.Minute)
	ins := *b.Feed.Board().Load().View(0).Instrument
	ins.State = engine.Halted
	b.submit(t, engine.Command{Kind: engine.SetPair, Pair: b.ids[0], Instrument: &ins})
	seq := b.Feed.Board().Load().View(0).Seq
	b.advance(t, 2*time.Minute)
	if got := b.Feed.Board().Load().View(0).Seq; got != seq {
		t.Errorf("%d events in a halted pair", got-seq)
	}
	ins.State = engine.Online
	b.submit(t, engine.Command{Kind: engine.SetPair, Pair: b.ids[0], Instrument: &ins})
	b.advance(t, 2*time.Minute+10*time.Second)
	if got := b.Feed.Board().Load().View(0).Trades.Last(); got == 0 || b.Feed.Board().Load().View(0).Seq < seq+5 {
		t.Error("the market does not go on after the halt")
	}
}

func TestEveryPairTradesEveryFewSeconds(t *testing.T) {
	t.Parallel()
	b := newBench(t, 5, testPairs())
	b.advance(t, 2*time.Hour)
	for i, id := range b.ids {
		tr := &b.Feed.Board().Load().View(id).Trades
		for n := tr.First() + 1; n <= tr.Last(); n++ {
			if gap := tr.At(n).TimeNs - tr.At(n-1).TimeNs; gap > int64(8*time.Second) {
				t.Errorf("pair %d: %v without a trade", i, time.Duration(gap))
				break
			}
		}
	}
}
