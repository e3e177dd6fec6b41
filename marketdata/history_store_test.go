package marketdata

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/wire"
)

// A ring has the newest values up to its limit, each by its number.
func TestARingHasTheNewestValues(t *testing.T) {
	for _, limit := range []uint64{1, 2, 3, ringChunk - 1, ringChunk, ringChunk + 1, 2*ringChunk + 7} {
		r := ring[uint64]{limit: limit}
		for n := range 3*limit + 5 {
			same(t, n >= limit, r.full())
			*r.push() = n
			first := uint64(0)
			if n+1 > limit {
				first = n + 1 - limit
			}
			if r.first() != first || r.end != n+1 {
				t.Fatalf("limit %d: from %d to %d, want %d to %d", limit, r.first(), r.end, first, n+1)
			}
			for _, m := range []uint64{0, first - 1, first, first + 1, n - 1, n, n + 1, n + 2} {
				if has := m >= first && m <= n; r.has(m) != has {
					t.Fatalf("limit %d, from %d to %d: has(%d) is %v", limit, first, n, m, !has)
				} else if has && *r.at(m) != m {
					t.Fatalf("limit %d: value %d is %d", limit, m, *r.at(m))
				}
			}
		}
		if n := (limit + ringChunk - 1) / ringChunk; uint64(len(r.chunks)) != n {
			t.Errorf("limit %d: %d chunks, want %d", limit, len(r.chunks), n)
		}
	}
}

// An index has the pages of its retained orders, drops empty pages in front once they are half of the list, and uses
// an emptied page for the next one.
func TestAnIndexOfOrders(t *testing.T) {
	id := func(page uint64) engine.OrderID { return engine.MakeOrderID(3, page*idPageOrders+7) }
	check := func(x *orderIndex, base uint64, pages string) {
		t.Helper()
		got := ""
		for k, p := range x.pages {
			switch {
			case p != nil && x.counts[k] > 0:
				got += "x"
			case p == nil && x.counts[k] == 0:
				got += "."
			default:
				got += "?"
			}
		}
		if x.base != base || got != pages || len(x.counts) != len(x.pages) {
			t.Errorf("pages %s from %d and %d counts, want %s from %d", got, x.base, len(x.counts), pages, base)
		}
		for _, p := range x.pages[len(x.pages):cap(x.pages)] {
			if p != nil {
				t.Error("a dropped page stays in memory")
			}
		}
	}
	var x orderIndex
	same(t, location(0), x.get(id(10)))
	same(t, uint64(0), x.first())
	x.add(id(10), 5)
	check(&x, 10, "x")
	x.add(id(15), 6)
	x.add(id(15)+1, 7)
	check(&x, 10, "x....x")
	for page := range uint64(30) {
		want := map[uint64]location{10: 5, 15: 6}[page]
		same(t, want, x.get(id(page)))
	}
	same(t, location(0), x.get(id(15)-1))
	same(t, uint64(11), x.first())
	x.add(id(12), 8)
	x.move(id(12), 9)
	same(t, location(9), x.get(id(12)))
	dropped := x.pages[0]
	x.forget(id(10)) // two of six: too few to move the list
	check(&x, 10, "..x..x")
	same(t, uint64(13), x.first())
	same(t, true, x.spare == dropped)
	x.add(id(13), 10)
	same(t, true, x.pages[3] == dropped && x.spare == nil)
	x.add(id(14), 10)
	same(t, false, x.pages[4] == dropped)
	x.forget(id(15))
	check(&x, 10, "..xxxx")
	x.forget(id(12)) // three of six
	check(&x, 13, "xxx")
	same(t, [3]location{10, 10, 7}, [3]location{x.get(id(13)), x.get(id(14)), x.get(id(15) + 1)})
	x.forget(id(14)) // behind another one
	check(&x, 13, "x.x")
	x.forget(id(13)) // two of three
	check(&x, 15, "x")
	x.forget(id(15) + 1)
	check(&x, 16, "")
	x.add(id(40), 3)
	check(&x, 40, "x")
	one := orderIndex{base: 0, pages: []*idPage{nil, {}, nil}, counts: []uint16{0, 1, 0}}
	one.forget(id(1)) // all of three
	check(&one, 3, "")
}

// A fill has the fee of its order: the maker's or the taker's, in what it receives. The built-in account pays none.
func TestTheFeeOfAFill(t *testing.T) {
	f := wholeFill()
	f.price, f.amount, f.makerFee, f.takerFee = 200, 30, 100_000, 300_000 // 0.1 % and 0.3 %
	f.makerDiscount, f.takerDiscount = 0, 0
	in := &engine.Instrument{DigitsPrice: 1, DigitsAmount: 3, BaseDigits: 8, QuoteDigits: 6} // 0.030 at 20.0
	want := Fill{
		Pair: 2, Order: f.maker, Account: 13, Trade: 1, TimeNs: 5, Price: 200, Amount: 30, Fee: fixed.FromU64(3_000),
		Side: engine.Buy, TakerSide: engine.Sell, IsMaker: true, // 0.1 % of 0.030 of the base: 0.00003000
	}
	same(t, want, f.fill(true, in))
	want.Order, want.Account, want.Side, want.IsMaker = f.taker, 12, engine.Sell, false
	want.Fee = fixed.FromU64(1_800) // 0.3 % of 0.600000 of the quote: 0.001800
	same(t, want, f.fill(false, in))
	same(t, f.maker, f.order(true))
	same(t, f.taker, f.order(false))
	f.makerAccount = 0
	same(t, fixed.U128{}, f.fill(true, in).Fee)
	same(t, fixed.FromU64(1_800), f.fill(false, in).Fee)
	f.makerAccount, f.takerAccount = 13, 0
	same(t, fixed.FromU64(3_000), f.fill(true, in).Fee)
	same(t, fixed.U128{}, f.fill(false, in).Fee)
}

// history encodes a history of some pairs by hand.
type history struct {
	format, accounts         uint64
	bases                    []uint64 // of the pairs
	open, remembered, closed []orderRec
	fills                    []fillRec
	lists                    []listRec
	prevented                []PreventedMatch
}

func (d *history) bytes() []byte {
	w := walker{wire.Writer(nil)}
	w.U64(&d.format)
	w.U64(&d.accounts)
	w.Len(len(d.bases))
	for i := range d.bases {
		w.U64(&d.bases[i])
	}
	h := newHistory(Options{}.WithDefaults())
	for _, list := range [][]orderRec{d.open, d.remembered, d.closed} {
		w.Len(len(list))
		for i := range list {
			h.walkOrder(w, &list[i])
		}
	}
	w.Len(len(d.fills))
	for i := range d.fills {
		w.fill(&d.fills[i])
	}
	w.Len(len(d.lists))
	for i := range d.lists {
		w.list(&d.lists[i])
	}
	w.Len(0) // amendments
	w.Len(len(d.prevented))
	for i := range d.prevented {
		w.prevented(&d.prevented[i])
	}
	return w.Bytes()
}

// threePairs returns a feed without pair 1.
func threePairs() *Feed {
	f := NewFeed(Options{})
	for _, id := range []engine.PairID{0, 2} {
		f.addPair(newPairState(&engine.Event{Pair: id, Instrument: &engine.Instrument{}}, &f.cache))
	}
	return f
}

// A history is refused if it names a pair, an account or a number that is not there, and the error says which.
func TestAHistoryNamesWhatIsThere(t *testing.T) {
	order := func(pair engine.PairID, n uint64, account engine.AccountID) orderRec {
		return orderRec{id: engine.MakeOrderID(pair, n), account: account, price: 1, amount: 1, open: 1}
	}
	trade := func(pair engine.PairID, taker, maker engine.AccountID) fillRec {
		return fillRec{
			trade: 77, taker: engine.MakeOrderID(pair, 5), maker: engine.MakeOrderID(pair, 6), price: 1, amount: 1,
			takerAccount: taker, makerAccount: maker,
		}
	}
	valid := func() *history {
		return &history{
			format: historyFormat, accounts: 4, bases: []uint64{1, 0, 8},
			open: []orderRec{order(2, 7*idPageOrders, 3)},
		}
	}
	for name, c := range map[string]struct {
		change func(d *history)
		want   string
	}{
		"valid": {func(*history) {}, ""},
		"format 4": {
			func(d *history) { d.format = 4 },
			"of format 4 cannot be read by this program, which has 5",
		},
		"format 6": {
			func(d *history) { d.format = 6 },
			"of format 6 cannot be read by this program, which has 5",
		},
		"list of a missing pair": {
			func(d *history) { d.lists = []listRec{{id: engine.MakeOrderID(1, 5), account: 3}} },
			"list 68719476741 belongs to no pair or account",
		},
		"list of pair 3": {
			func(d *history) { d.lists = []listRec{{id: engine.MakeOrderID(3, 5), account: 3}} },
			"belongs to no pair or account",
		},
		"list of account 4": {
			func(d *history) { d.lists = []listRec{{id: 5, account: 4}} }, "list 5 belongs to no pair or account",
		},
		"two lists of a number": {
			func(d *history) { d.lists = []listRec{{id: 5, account: 3}, {id: 5, account: 2}} }, "list 5 is there twice",
		},
		"a list": {func(d *history) { d.lists = []listRec{{id: 5, account: 3}} }, ""},
		"prevented match of a missing pair": {
			func(d *history) { d.prevented = []PreventedMatch{{Number: 7, Pair: 1}} },
			"prevented match 7 belongs to no pair",
		},
		"prevented match of pair 3": {
			func(d *history) { d.prevented = []PreventedMatch{{Number: 7, Pair: 3}} },
			"prevented match 7 belongs to no pair",
		},
		"a gap of prevented matches": {
			func(d *history) { d.prevented = []PreventedMatch{{Number: 7}, {Number: 3, Pair: 2}, {Number: 9}} },
			"prevented match 9 does not follow",
		},
		"prevented matches": {
			func(d *history) { d.prevented = []PreventedMatch{{Number: 7}, {Number: 3, Pair: 2}, {Number: 8}} }, "",
		},
		"accounts":     {func(d *history) { d.accounts = maxAccounts + 1 }, "200000001 accounts"},
		"two pairs":    {func(d *history) { d.bases = d.bases[:2] }, "2 pairs, but 3 were read"},
		"four pairs":   {func(d *history) { d.bases = append(d.bases, 0) }, "4 pairs, but 3 were read"},
		"missing pair": {func(d *history) { d.open[0] = order(1, 7*idPageOrders, 3) }, "belongs to no pair"},
		"pair 3":       {func(d *history) { d.open[0] = order(3, 7*idPageOrders, 3) }, "belongs to no pair"},
		"number too low": {
			func(d *history) { d.open[0] = order(2, 7*idPageOrders-1, 3) },
			"belongs to no pair",
		},
		"account 4": {
			func(d *history) { d.open[0] = order(2, 7*idPageOrders, 4) },
			"belongs to no account",
		},
		"taker's account": {
			func(d *history) { d.fills = []fillRec{trade(2, 4, 3)} },
			"trade 77 belongs to no pair or account",
		},
		"maker's account": {
			func(d *history) { d.fills = []fillRec{trade(2, 3, 4)} },
			"trade 77 belongs to no pair or account",
		},
		"pages of a missing pair": {func(d *history) { d.bases[1] = 5 }, ""},
		"pages far behind": {func(d *history) {
			d.bases[2], d.open = 8, []orderRec{order(2, 7*idPageOrders+idPageOrders-1, 3)}
			d.bases[0], d.closed = 1000, []orderRec{order(0, 999*idPageOrders, 3)}
		}, ""},
		"accounts of a trade": {
			func(d *history) { d.fills = []fillRec{trade(2, 3, 1), trade(2, 1, 3)} }, "",
		},
		"trade of a missing pair": {
			func(d *history) { d.fills = []fillRec{trade(1, 3, 3)} }, "trade 77 belongs to no pair or account",
		},
		"trade of pair 3": {
			func(d *history) { d.fills = []fillRec{trade(3, 3, 3)} }, "trade 77 belongs to no pair or account",
		},
		"trade of two pairs": {func(d *history) {
			d.fills = []fillRec{trade(2, 3, 3)}
			d.fills[0].maker = engine.MakeOrderID(0, 6)
		}, "trade 77 belongs to no pair or account"},
		"closed order of a missing pair": {
			func(d *history) { d.closed = []orderRec{order(1, 9000, 3)} },
			"belongs to no pair",
		},
		"remembered order of a missing pair": {
			func(d *history) { d.remembered = []orderRec{order(1, 9000, 3)} },
			"belongs to no pair",
		},
		"closed order of account 4": {
			func(d *history) { d.closed = []orderRec{order(2, 9000, 4)} },
			"belongs to no account",
		},
		"remembered order of account 4": {
			func(d *history) { d.remembered = []orderRec{order(2, 9000, 4)} },
			"belongs to no account",
		},
		"no account": {func(d *history) {
			d.accounts, d.open = 0,
				[]orderRec{order(2, 7*idPageOrders, 0)}
		}, ""},
	} {
		d, f := valid(), threePairs()
		c.change(d)
		err := f.DecodeHistoryState(d.bytes())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil {
			continue
		}
		h := f.History()
		if n := max(d.accounts, 1); uint64(len(h.accounts)) != n || h.restored != 1 {
			t.Errorf("%s: %d accounts, restored %d times", name, len(h.accounts), h.restored)
		}
		p := f.pairs[2]
		if p.orders.base != 7 || len(p.orders.pages) != 1 || p.orders.counts[0] != 1 {
			t.Errorf("%s: %d pages from %d", name, len(p.orders.pages), p.orders.base)
		}
	}
}
