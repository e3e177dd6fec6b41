package marketdata

import (
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// churnEvents returns the events of n commands on one pair: limit orders around a mid, half of
// them canceled again, a tenth trading.
func churnEvents(n int) (add, events []engine.Event) {
	r := newRig(Options{}, 1)
	add = append(add, r.events...)
	rnd := rand.New(rand.NewPCG(1, 1))
	var live []engine.OrderID
	for range n {
		r.now += 100_000
		switch k := rnd.IntN(10); {
		case k < 4 && len(live) > 1000:
			i := rnd.IntN(len(live))
			r.apply(engine.Command{Kind: engine.Cancel, Order: live[i]})
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		case k == 9:
			r.place(0, 0, engine.Side(rnd.IntN(2)), 10_000+rnd.Int64N(3)-1, 1+rnd.Int64N(100))
		default:
			side := engine.Side(rnd.IntN(2))
			live = append(live, r.place(0, 0, side, 10_000+(2*int64(side)-1)*(1+rnd.Int64N(50)), 1+rnd.Int64N(100)))
		}
	}
	return add, r.events[len(add):]
}

// BenchmarkFold folds one event; with orders, it folds the order history too.
func BenchmarkFold(b *testing.B) {
	add, events := churnEvents(200_000)
	for name, o := range map[string]Options{"market": {NoOrders: true}, "orders": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			f := NewFeed(o)
			f.Fold(add)
			k := 0
			for range b.N {
				if k == len(events) {
					b.StopTimer()
					f = NewFeed(o)
					f.Fold(add)
					k = 0
					b.StartTimer()
				}
				f.Fold(events[k : k+1])
				k++
			}
		})
	}
}

// book40 returns a feed of n pairs with 40 levels a side.
func book40(n int) *rig {
	r := newRig(Options{}, n)
	for p := range engine.PairID(engine.PairID(n)) {
		for i := range int64(40) {
			r.place(p, 0, engine.Buy, 1000-i, 5)
			r.place(p, 0, engine.Sell, 1001+i, 5)
		}
		r.trade(p, engine.Buy, 1001, 1)
	}
	r.publish()
	return r
}

// BenchmarkPublish publishes one change of one pair, among 1 and 1,000 pairs.
func BenchmarkPublish(b *testing.B) {
	for name, pairs := range map[string]int{"1 pair": 1, "1000 pairs": 1000} {
		b.Run(name, func(b *testing.B) {
			r := book40(pairs)
			b.ReportAllocs()
			e := engine.Event{Kind: engine.EventLevel, Pair: 0, Price: 990, Side: engine.Buy, TimeNs: r.now}
			for i := range b.N {
				e.Seq, e.Amount = r.feed.pairs[0].seq+1, int64(1+i%2)
				r.feed.Fold([]engine.Event{e})
				r.feed.Publish(r.now)
			}
		})
	}
}

// BenchmarkBookText writes a book of 40x40 from the cached texts of its pages after one level
// has changed: the share of the market data in a document after one change.
func BenchmarkBookText(b *testing.B) {
	r := book40(1)
	b.ReportAllocs()
	e := engine.Event{Kind: engine.EventLevel, Pair: 0, Price: 990, Side: engine.Buy, TimeNs: r.now}
	dst := make([]byte, 0, 8192)
	for i := range b.N {
		e.Seq, e.Amount = r.feed.pairs[0].seq+1, int64(1+i%2)
		r.feed.Fold([]engine.Event{e})
		r.feed.Publish(r.now)
		v := r.feed.Board().Load().View(0)
		dst = dst[:0]
		for _, s := range []*Side{&v.Bids, &v.Asks} {
			for p := range s.Pages {
				dst = append(dst, p.pageText(PageBase, renderLevels).text...)
			}
		}
	}
	b.SetBytes(int64(len(dst)))
}

// BenchmarkCopyPage copies a page, the extra cost of a publish for the first change of a page.
func BenchmarkCopyPage(b *testing.B) {
	b.ReportAllocs()
	var pool pagePool
	p := pool.page(1)
	p.n = 12
	for i := range b.N {
		p = pool.copyOf(p, uint64(i))
	}
}

// BenchmarkSetRetention lowers each limit of an order history that is full at the default limits.
func BenchmarkSetRetention(b *testing.B) {
	f := NewFeed(Options{})
	f.Fold([]engine.Event{addPair(0, "AA_BB")})
	h, p := f.history, f.pairs[0]
	h.account(2)
	for n := range uint64(DefaultClosedOrders + DefaultClientIDs) {
		o := orderRec{
			id: engine.MakeOrderID(0, n+1), account: engine.AccountID(1 + n%2),
			price: 10_000, amount: 1000, filled: 1000,
			status: engine.Completed, createdNs: rigStartNs, changedNs: rigStartNs, extra: h.extras.Alloc(),
		}
		*h.extras.At(o.extra) = orderExtra{client: &engine.ClientID{Text: "0123456789abcdef", Hash: [2]uint64{n, n}}}
		p.orders.add(o.id, inClosed|location(h.closed.next))
		h.pushClosed(&o)
	}
	for n := range uint64(DefaultFills / 2) {
		h.pushFill(&fillRec{
			trade: engine.TradeID(n + 1),
			taker: engine.MakeOrderID(0, 2*n+100_001), maker: engine.MakeOrderID(0, 2*n+100_002),
			takerAccount: 1, makerAccount: 2, timeNs: rigStartNs, price: 10_000, amount: 1000,
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		f.SetRetention(Retention{
			ClosedOrders: DefaultClosedOrders - i - 1, Fills: DefaultFills - 2*(i+1),
			ClientIDs: DefaultClientIDs - i - 1,
		})
	}
}
