package marketdata_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// TestBooksAndOrdersEqualTheEnginesOwn drives the engine and compares, after each batch, the
// folded state with the engine's own.
func TestBooksAndOrdersEqualTheEnginesOwn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 5))
	core, feed := engine.NewCore(engine.Options{}), marketdata.NewFeed(marketdata.Options{})
	now := int64(1_767_225_600_000_000_000)
	var events []engine.Event
	const pairs = 2
	for p := range pairs {
		events = core.Apply(&engine.Command{
			Kind: engine.AddPair, TimeNs: now, Pair: engine.PairID(p), Instrument: &engine.Instrument{
				ID: engine.PairID(p), Code: fmt.Sprintf("C%d_USDT", p), Base: fmt.Sprintf("C%d", p), Quote: "USDT",
				DigitsPrice: 1, DigitsAmount: 3,
			},
		}, events)
	}
	trades := 0
	for range 400 {
		for range 1 + rnd.IntN(100) {
			now += rnd.Int64N(1_000_000_000)
			c := command(rnd, core, engine.PairID(rnd.IntN(pairs)))
			c.TimeNs = now
			c.First = true
			events = core.Apply(&c, events)
		}
		for i := range events {
			if events[i].Kind == engine.EventTrade {
				trades++
			}
		}
		feed.Fold(events)
		feed.Publish(now)
		events = events[:0]
		for p := range engine.PairID(pairs) {
			compareBook(t, core, feed.Board().Load().View(p), p)
			compareOrders(t, core, feed.History(), p, rnd)
			compareSums(t, feed.Board().Load().View(p), now)
		}
	}
	if trades < 1000 {
		t.Fatalf("only %d trades", trades)
	}
}

func command(rnd *rand.Rand, core *engine.Core, pair engine.PairID) engine.Command {
	c := engine.Command{
		Kind: engine.Place, Pair: pair, Account: engine.AccountID(rnd.IntN(4)), Side: engine.Side(rnd.IntN(2)),
		Price: 500 + rnd.Int64N(40) - 20, Amount: 1 + rnd.Int64N(50), STP: engine.SelfTrade(rnd.IntN(5)),
	}
	last := core.LastOrderID(pair)
	switch rnd.IntN(10) {
	case 0:
		c.Type, c.TIF, c.Price = engine.Market, engine.IOC, 0
		if c.Side == engine.Buy {
			c.Flags, c.Amount, c.Quote = engine.FlagQuote, 0, fixed.FromU64(1+rnd.Uint64N(50_000))
		}
	case 1:
		c.Type, c.Stop = engine.StopLimit, 500+rnd.Int64N(40)-20
	case 2:
		c.Display = 1 + rnd.Int64N(c.Amount)
	case 3, 4:
		if last.N() > 0 {
			c = engine.Command{
				Kind: engine.Cancel +
					engine.CommandKind(rnd.IntN(2)), Pair: pair, Flags: engine.FlagAllAccount | engine.FlagHasAmount,
				Order:  engine.MakeOrderID(pair, last.N()-rnd.Uint64N(min(last.N(), 100))),
				Amount: 1 + rnd.Int64N(60),
			}
		}
	}
	return c
}

func compareBook(t *testing.T, core *engine.Core, v *marketdata.View, p engine.PairID) {
	t.Helper()
	if v.Seq != core.LastSeq(p) {
		t.Fatalf("pair %d: seq %d, the engine's is %d", p, v.Seq, core.LastSeq(p))
	}
	for side, s := range []*marketdata.Side{engine.Buy: &v.Bids, engine.Sell: &v.Asks} {
		var got, want []marketdata.Level
		for l := range s.All {
			got = append(got, l)
		}
		for _, d := range core.AppendDepth(nil, p, engine.Side(side), 0) {
			want = append(want, marketdata.Level{Price: d.Price, Amount: d.Shown})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pair %d side %d: book\n%v, the engine's\n%v", p, side, got, want)
		}
	}
	if id, price := core.LastTrade(p); v.Trades.Last() != id || v.Ticker.Last != price {
		t.Fatalf("pair %d: last trade %d at %d, the engine's %d at %d", p, v.Trades.Last(), v.Ticker.Last, id, price)
	}
}

func compareOrders(t *testing.T, core *engine.Core, h *marketdata.History, p engine.PairID, rnd *rand.Rand) {
	t.Helper()
	last := core.LastOrderID(p).N()
	open := 0
	for account := range engine.AccountID(5) {
		own, _ := h.Orders(marketdata.Query{
			Account: account, Pair: p, Status: marketdata.OnlyOpen, SinceNs: math.MinInt64, UntilNs: math.MaxInt64,
			Limit: core.OpenOrders(p) + 1,
		}, func(turn func()) error { turn(); return nil })
		open += len(own)
	}
	if open != core.OpenOrders(p) {
		t.Fatalf("pair %d: %d open orders, the engine has %d", p, open, core.OpenOrders(p))
	}
	for range 50 {
		if last == 0 {
			return
		}
		id := engine.MakeOrderID(p, 1+rnd.Uint64N(last))
		want, isOpen := core.Order(id)
		got, ok := h.Order(id)
		if !ok || got.Status.Open() != isOpen {
			t.Fatalf("order %d: known %v, %s, open in the engine %v", id, ok, got.Status, isOpen)
		}
		if isOpen && (got.Open != want.Open || got.Price != want.Price || got.Side != want.Side ||
			got.Account != want.Account ||
			got.Filled != want.Total-want.Open) {
			t.Fatalf("order %d: %+v, the engine's %+v", id, got, want)
		}
		if !isOpen && (got.EndedNs == 0 || got.Open != 0) {
			t.Fatalf("closed order %d: %+v", id, got)
		}
		sum := int64(0)
		for _, f := range got.Fills {
			sum += f.Amount
		}
		if sum != got.Filled {
			t.Fatalf("order %d: fills sum to %d, filled %d", id, sum, got.Filled)
		}
	}
}

// compareSums checks one view for consistency: the trades of the window's seconds, the candles
// and the ticker must agree.
func compareSums(t *testing.T, v *marketdata.View, now int64) {
	t.Helper()
	from := (now/1_000_000_000 - 86_400 + 1) * 1_000_000_000
	var base, quote fixed.U128
	var high, low int64
	for id := v.Trades.Search(from); id <= v.Trades.Last(); id++ {
		tr := v.Trades.At(id)
		base = base.Add(fixed.FromU64(uint64(tr.Amount)))
		quote = quote.Add(fixed.Mul64(uint64(tr.Price), uint64(tr.Amount)))
		high = max(high, tr.Price)
		if low == 0 || tr.Price < low {
			low = tr.Price
		}
	}
	if k := v.Ticker; k.Volume != base || k.QuoteVolume != quote || k.High != high || k.Low != low {
		t.Fatalf("ticker %+v, trades say %v %v %d %d", k, base, quote, high, low)
	}
	for i := range marketdata.Interval(marketdata.Intervals) {
		var sum fixed.U128
		var n int64
		c := v.Candles(i)
		for k := range c.Len() {
			sum = sum.Add(c.At(k).QuoteVolume)
			n += c.At(k).Trades
		}
		if n != int64(v.Trades.Last()) || (c.Len() > 0 && c.At(c.Len()-1).Close != v.Ticker.Last) {
			t.Fatalf("%s: candles count %d trades of %d", i, n, v.Trades.Last())
		}
		if v.Trades.First() == 1 && n > 0 && sum != quoteOf(v) {
			t.Fatalf("%s: candles sum to %v", i, sum)
		}
	}
}

func quoteOf(v *marketdata.View) (sum fixed.U128) {
	for id := v.Trades.First(); id <= v.Trades.Last(); id++ {
		tr := v.Trades.At(id)
		sum = sum.Add(fixed.Mul64(uint64(tr.Price), uint64(tr.Amount)))
	}
	return sum
}
