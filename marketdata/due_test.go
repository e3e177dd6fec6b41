package marketdata

import (
	"math"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// The next change by time alone is the first second at which a trade of any pair leaves its window, and a publication
// at that time shows it.
func TestTheNextChangeIsThatOfTheFirstPair(t *testing.T) {
	rnd := newRand(t)
	const pairs = 60
	r := newRig(Options{}, pairs)
	trades := [pairs]engine.TradeID{}
	r.publish()
	f := r.feed
	trade := func(pair int) {
		p := f.pairs[pair]
		trades[pair]++
		p.foldTrade(&engine.Event{
			Kind: engine.EventTrade, TimeNs: r.now, Trade: trades[pair], Seq: p.seq + 1, Price: 5, Amount: 7,
		}, &f.opts)
		p.seq++
		f.markChanged(p)
	}
	for range 1500 {
		switch rnd.IntN(4) {
		case 0:
			r.now += rnd.Int64N(9000 * nanosecond)
		case 1: // all that is due by then
			if next := f.NextNs(); next != math.MaxInt64 {
				r.now = max(r.now, next+rnd.Int64N(2)*rnd.Int64N(20_000*nanosecond))
			}
		default:
			hot := pairs
			if rnd.IntN(2) == 0 {
				hot = 4
			}
			for range rnd.IntN(6) {
				trade(rnd.IntN(hot))
			}
		}
		for range rnd.IntN(8) {
			f.markChanged(f.pairs[rnd.IntN(pairs)]) // by an event that is no trade
		}
		f.Publish(r.now)
		checkDue(t, f, r.now)
	}
	r.now += 2 * secondsOfDay * nanosecond
	f.Publish(r.now)
	checkDue(t, f, r.now)
	if f.NextNs() != math.MaxInt64 {
		t.Errorf("every window is empty, the next change is at %d", f.NextNs())
	}
}

// checkDue compares the order of the pairs with their windows.
func checkDue(t *testing.T, f *Feed, now int64) {
	t.Helper()
	first, counting := int64(math.MaxInt64), 0
	for _, p := range f.pairs {
		sec, ok := p.window.nextSec()
		if ok != (p.dueAt > 0) || ok && (p.dueSec != sec || f.due.heap[p.dueAt-1] != p) {
			t.Fatalf("pair %d: a trade leaves at %d (%v), its place is %d by %d", p.id, sec, ok, p.dueAt, p.dueSec)
		}
		if ok {
			counting++
			first = min(first, sec*nanosecond)
			if sec <= floorSec(now) {
				t.Fatalf("pair %d: a trade has left at %d, it is %d", p.id, sec, floorSec(now))
			}
		}
	}
	if f.NextNs() != first || len(f.due.heap) != counting {
		t.Fatalf("the next change is at %d, want %d; %d pairs, want %d", f.NextNs(), first, len(f.due.heap), counting)
	}
	for _, p := range f.due.heap[counting:cap(f.due.heap)] {
		if p != nil {
			t.Fatalf("pair %d stays in memory", p.id)
		}
	}
}

// The pairs are in a heap by the second at which a trade leaves, each at the place that it knows, whichever second
// changes.
func TestDuePairsAreAHeap(t *testing.T) {
	rnd := newRand(t)
	for _, pairs := range []int{1, 2, 3, 7, 40} {
		var d due
		all := make([]*pairState, pairs)
		for i := range all {
			all[i] = &pairState{id: engine.PairID(i)}
		}
		for range 60 * pairs {
			p := all[rnd.IntN(pairs)]
			p.window = window{}
			if rnd.IntN(4) > 0 {
				p.window.buckets.pushBack(bucket{sec: rnd.Int64N(30)})
			}
			d.fix(p)
			counting := 0
			for _, p := range all {
				sec, ok := p.window.nextSec()
				if ok {
					counting++
				}
				if ok != (p.dueAt > 0) || ok && (p.dueSec != sec || d.heap[p.dueAt-1] != p) {
					t.Fatalf("pair %d: its trade leaves at %d (%v), its place is %d by %d", p.id, sec, ok, p.dueAt,
						p.dueSec)
				}
			}
			if len(d.heap) != counting {
				t.Fatalf("%d pairs, want %d", len(d.heap), counting)
			}
			for i := 1; i < len(d.heap); i++ {
				if up := (i - 1) / 2; d.heap[up].dueSec > d.heap[i].dueSec {
					t.Fatalf("%d pairs: %d s is in front of %d s", len(d.heap), d.heap[up].dueSec, d.heap[i].dueSec)
				}
			}
			if sec, ok := d.next(); ok != (counting > 0) || ok && sec != d.heap[0].dueSec {
				t.Fatalf("the next is %d (%v)", sec, ok)
			}
		}
	}
}

// Each limit is the last number that is taken, and the text of a refusal names it.
func TestOptionsAreTakenUpToTheirLimits(t *testing.T) {
	candles := func(n int) (c [Intervals]int) {
		for i := range c {
			c[i] = n
		}
		return c
	}
	for _, o := range []Options{
		{Retention: Retention{TradesMin: 1, TradesMax: 1}},
		{Retention: Retention{TradesMax: 100_000_000}},
		{Retention: Retention{TradesMin: 100_000_000, TradesMax: 100_000_000}},
		{Retention: Retention{Candles: candles(1)}},
		{Retention: Retention{Candles: candles(10_000_000)}},
		{Retention: Retention{ClosedOrders: 1}},
		{Retention: Retention{ClosedOrders: 500_000_000}},
		{Retention: Retention{ClientIDs: 1}},
		{Retention: Retention{ClientIDs: 500_000_000}},
		{Retention: Retention{Fills: 2}},
		{Retention: Retention{Fills: 500_000_000}},
		{Retention: Retention{Lists: 1}},
		{Retention: Retention{Lists: 10_000_000}},
		{ChunkText: 64 << 30},
		{ChunkText: 1},
	} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for want, r := range map[string]Retention{
		"want 1 <= trades_min (-1) <= trades_max (2000000) <= 100000000":      {TradesMin: -1},
		"want 1 <= trades_min (10000) <= trades_max (100000001) <= 100000000": {TradesMax: 100_000_001},
		"want 1 <= trades_min (8) <= trades_max (7) <= 100000000":             {TradesMin: 8, TradesMax: 7},
		"candles kept of minute: -1 is not in 1..10000000":                    {Candles: candles(-1)},
		"candles kept of minute: 10000001 is not in 1..10000000":              {Candles: candles(10_000_001)},
		"closed orders kept: -1 is not in 1..500000000":                       {ClosedOrders: -1},
		"closed orders kept: 500000001 is not in 1..500000000":                {ClosedOrders: 500_000_001},
		"client ids kept: -1 is not in 1..500000000":                          {ClientIDs: -1},
		"client ids kept: 500000001 is not in 1..500000000":                   {ClientIDs: 500_000_001},
		"order lists kept: -1 is not in 1..10000000":                          {Lists: -1},
		"order lists kept: 10000001 is not in 1..10000000":                    {Lists: 10_000_001},
		"fills kept: 1 is not in 2..500000000":                                {Fills: 1},
		"fills kept: 500000001 is not in 2..500000000":                        {Fills: 500_000_001},
	} {
		o := Options{Retention: r}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
		if !panics(func() { NewFeed(o) }) || !panics(func() { NewFeed(Options{}).SetRetention(r) }) {
			t.Errorf("a feed retains by %+v", r)
		}
	}
	o := Options{ChunkText: 64<<30 + 1}
	if err := o.Validate(); err == nil || err.Error() != "kept text of trades: out of range" ||
		!panics(func() { NewFeed(o) }) {
		t.Errorf("%+v: %v", o, err)
	}
	same(t, Options{ChunkText: 64 << 20, Retention: Retention{
		TradesMin: 10_000, TradesMax: 2_000_000, ClosedOrders: 100_000, Fills: 1_000_000, ClientIDs: 1_000_000,
		Lists:   10_000,
		Candles: [Intervals]int{20_160, 10_080, 8_640, 8_640, 8_640, 8_760, 6_570, 7_300, 1_200, 1_000},
	}}, Options{}.WithDefaults())
	set := Options{ChunkText: 1, Retention: Retention{
		TradesMin: 2, TradesMax: 3, ClosedOrders: 4, Fills: 5, ClientIDs: 6, Lists: 7, Candles: candles(8),
	}}
	same(t, set, set.WithDefaults())
}
