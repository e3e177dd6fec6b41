package engine

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/tickhive/tickhive/engine/owners"
	slot "github.com/tickhive/tickhive/engine/slots"
)

// Warm fetches, of a large book, the index entry of each order that a command names, then the order, then its level,
// its neighbors and its client id; and the newest orders of the level and the owner that a new order joins. Of any book
// it fetches the place of a new client id. Each step of a window comes one window before the next step.
func TestWarmFetches(t *testing.T) {
	c := NewCore(Options{})
	pair := Instrument{Code: "A1_B1", Base: "A1", Quote: "B1"}
	c.Apply(&Command{Kind: AddPair, Pair: ControlPair, Instrument: &pair}, nil)
	b := c.books[0]
	q := &b.orders
	var fetched [][]slot.CacheLine
	c.warmer.fetch = func(lines []slot.CacheLine) { fetched = append(fetched, slices.Clone(lines)) }
	check := func(name string, cmds []*Command, at int, want ...[]slot.CacheLine) {
		t.Helper()
		fetched = nil
		c.Warm(cmds, at)
		fetched = slices.DeleteFunc(fetched, func(l []slot.CacheLine) bool { return len(l) == 0 })
		if !slices.EqualFunc(fetched, want, slices.Equal) {
			t.Errorf("%s: fetched %x, want %x", name, fetched, want)
		}
	}
	line := func(o *order) slot.CacheLine { return slot.CacheLine(unsafe.Pointer(o)) }
	at := func(n uint64) *order { return q.at(q.ids.Get(n)) }
	level := func(o *order) *level { return q.levels.At(o.level) }
	add := func(i int) {
		c.Apply(&Command{Side: Side(i % 2), Price: int64(100 + 900*(i%2) + i/2%50), Amount: 1, First: true}, nil)
	}
	cancel := func(n uint64) *Command { return &Command{Kind: Cancel, Order: MakeOrderID(0, n)} }
	index := func(n uint64) []slot.CacheLine { return []slot.CacheLine{q.ids.CacheLine(n)} }
	order := func(n uint64) (lines []slot.CacheLine) {
		if lines = append(lines, line(at(n))); b.clients.Open() > 0 {
			lines = append(lines, q.cold.CacheLine(q.ids.Get(n)))
		}
		return lines
	}
	links := func(n uint64) []slot.CacheLine {
		o := at(n)
		lines := []slot.CacheLine{slot.CacheLine(unsafe.Pointer(level(o))), line(q.at(o.prev)), line(q.at(o.next))}
		if o.owner != owners.Builtin {
			lines = append(lines, line(q.at(o.ownPrev)), line(q.at(o.ownNext)))
		}
		if o.marks&markClient != 0 {
			lines = append(lines, b.clients.EntryCacheLine(q.cold.At(q.ids.Get(n)).client))
		}
		return lines
	}

	id := &ClientID{Text: "x", Hash: [2]uint64{7, 8}}
	place := Command{Side: Buy, Price: 100, Amount: 1, Client: id} // as add(0)
	c.Apply(&place, nil)
	entry := []slot.CacheLine{b.clients.CacheLine(id.Hash)}
	check("a client id", []*Command{&place}, 0, entry)
	check("a command that uses no client id", []*Command{{Kind: Cancel, Order: 1, Client: id}}, 0)
	for i := 1; i < warmOrders-1; i++ {
		add(i)
	}
	check("a book with one order less", []*Command{cancel(500)}, 0)
	add(warmOrders - 1)
	first, middle, last := uint64(1), uint64(501), uint64(warmOrders)
	if at(first).prev != 0 || at(last).next != 0 || at(middle).prev == 0 || at(middle).next == 0 {
		t.Fatal("the orders are not the first, one between two, and the last of their levels")
	}
	for _, n := range []uint64{first, middle, last} {
		check("a cancel", []*Command{cancel(n)}, 0, index(n), order(n), links(n))
	}
	tail := []slot.CacheLine{line(q.at(level(at(first)).tail))}
	check("a place", []*Command{{Side: Buy, Price: 100}}, 0, tail)
	check("a place with a client id", []*Command{&place}, 0, entry, tail)
	none := []slot.CacheLine{line(q.at(0))}
	check("a place at a price without a level", []*Command{{Side: Buy, Price: 30}}, 0, none)
	check("an order that is not open", []*Command{cancel(1 << 20)}, 0, []slot.CacheLine{0},
		append(none, q.cold.CacheLine(0)))
	check("a pair that does not exist", []*Command{{Kind: Cancel, Pair: 1, Order: 1}}, 0)
	check("no command", nil, 0)

	for i := range 3 {
		c.Apply(&Command{Account: 7, Side: Sell, Price: int64(1_020 + i), Amount: 1}, nil)
	}
	own := b.lastN - 1 // the second of three
	if o := at(own); at(own-1).ownNext != q.ids.Get(own) || o.ownNext == 0 {
		t.Fatal("the orders of an account are not linked")
	}
	check("a cancel of an account", []*Command{cancel(own)}, 0, index(own), order(own), links(own))
	check("a place of an account", []*Command{{Account: 7, Side: Buy, Price: 100}}, 0, append(tail, line(at(own+1))))
	check("a place of an account without orders", []*Command{{Account: 8, Side: Buy, Price: 100}}, 0,
		append(tail, none...))
	c.Apply(&Command{Kind: Cancel, Order: MakeOrderID(0, first)}, nil)
	if b.clients.Open() != 0 || len(order(own)) != 1 {
		t.Fatal("an order with a client id is still open")
	}

	check("a pair behind one that does not exist", []*Command{{Kind: Cancel, Pair: 1, Order: 1}, cancel(middle)}, 0,
		index(middle), order(middle), links(middle))
	var cmds []*Command
	for i := range 4 * LookAhead {
		cmds = append(cmds, cancel(uint64(500+10*i)))
	}
	window := func(of func(uint64) []slot.CacheLine, n int) (all []slot.CacheLine) {
		for i := range LookAhead {
			all = append(all, of(uint64(500+10*(n*LookAhead+i)))...)
		}
		return all
	}
	check("the first of many", cmds, 0, window(index, 0), window(index, 1), window(order, 0),
		window(index, 2), window(order, 1), window(links, 0))
	check("the next window", cmds, LookAhead, window(index, 3), window(order, 2), window(links, 1))
	check("the third", cmds, 2*LookAhead, window(order, 3), window(links, 2))
	check("the last", cmds, 3*LookAhead, window(links, 3))
}

// A book that becomes large between two steps has no order of an earlier window, whose slot may be beyond its own.
func TestWarmOfABookThatBecomesLarge(t *testing.T) {
	c := NewCore(Options{})
	for i, base := range []string{"A1", "A2"} {
		pair := Instrument{Code: base + "_B1", Base: base, Quote: "B1"}
		c.Apply(&Command{Kind: AddPair, Pair: PairID(i), Instrument: &pair}, nil)
	}
	add := func(pair PairID, orders int) {
		for range orders {
			c.Apply(&Command{Pair: pair, Side: Buy, Price: 100, Amount: 1, First: true}, nil)
		}
	}
	add(0, 3*warmOrders)
	add(1, warmOrders-1)
	var cmds []*Command
	for i := range 3 * LookAhead {
		pair, n := PairID(0), uint64(3*warmOrders-i)
		if i/LookAhead == 2 && i%LookAhead != 0 {
			pair, n = 1, uint64(1+i)
		}
		cmds = append(cmds, &Command{Kind: Cancel, Pair: pair, Order: MakeOrderID(pair, n)})
	}
	c.Warm(cmds, 0)
	c.Warm(cmds, LookAhead)
	add(1, 1)
	var links []slot.CacheLine
	c.warmer.fetch = func(lines []slot.CacheLine) { links = slices.Clone(lines) }
	c.Warm(cmds, 2*LookAhead)
	if len(links) != 3 {
		t.Errorf("%d lines of one order, want its level and two neighbors", len(links))
	}
}
