package engine

import "testing"

// Warm reads, in a book that is large enough, the level and the neighbors of each order that a command names, and the
// level and the newest order of each price at which a command places one. Only the first LookAhead commands count.
func TestWarmReads(t *testing.T) {
	c := NewCore(Options{})
	pair := Instrument{Code: "A1_B1", Base: "A1", Quote: "B1"}
	c.Apply(&Command{Kind: AddPair, Pair: ControlPair, Instrument: &pair}, nil)
	b := c.books[0]
	at := func(n uint64) *order { return b.orders.at(b.orders.ids.Get(n)) }
	tail := func(n uint64) int32 { return b.orders.levels.At(at(n).level).tail }
	add := func(i int) {
		c.Apply(&Command{Side: Side(i % 2), Price: int64(100 + 900*(i%2) + i/2%50), Amount: 1}, nil)
	}
	warmed := func(cmds ...*Command) int32 {
		before := c.warmed
		c.Warm(cmds)
		return c.warmed - before
	}
	cancel := func(n uint64) *Command { return &Command{Kind: Cancel, Order: MakeOrderID(0, n)} }
	id := &ClientID{Hash: [2]uint64{7, 8}}
	named := []*Command{{Side: Buy, Price: 30, Client: id}, {Kind: Cancel, Order: 1 << 20, Client: id}}
	if got := warmed(named...); got != 0 {
		t.Fatalf("%d was read of an empty table of client ids", got)
	}
	place := Command{Side: Buy, Price: 100, Amount: 1, Client: id} // as add(0)
	c.Apply(&place, nil)
	if got, want := warmed(named...), b.clients.Find(id.Hash); got != want || want == 0 {
		t.Fatalf("slot %d was read of the table of client ids, want %d", got, want)
	}
	if got := warmed(named[1]); got != 0 {
		t.Fatalf("slot %d was read for a command that uses no client id", got)
	}
	for i := 1; i < warmOrders-1; i++ {
		add(i)
	}
	if got := warmed(cancel(500)); got != 0 {
		t.Fatalf("%d was read of a book of %d orders", got, b.orders.count)
	}
	add(warmOrders - 1)
	first, middle, last := uint64(1), uint64(501), uint64(warmOrders)
	for _, x := range []struct {
		name string
		cmds []*Command
		want int32
	}{
		{"the oldest of a level", []*Command{cancel(first)}, tail(first) + at(first).level},
		{"one between two", []*Command{cancel(middle)}, tail(middle) + 2*at(middle).level},
		{"the newest of a level", []*Command{cancel(last)}, tail(last) + at(last).level},
		{"a place", []*Command{{Side: Buy, Price: 100}}, tail(first) + at(first).level},
		{"a place at a price without a level", []*Command{{Side: Buy, Price: 30}}, 0},
		{"an order that is not open", []*Command{cancel(1 << 20)}, 0},
		{"a pair that does not exist", []*Command{{Kind: Cancel, Pair: 1, Order: 1}}, 0},
		{"two commands", []*Command{{Side: Buy, Price: 100}, cancel(middle)}, tail(first) + at(first).level +
			tail(middle) + 2*at(middle).level},
		{"none", nil, 0},
	} {
		if got := warmed(x.cmds...); got != x.want {
			t.Errorf("%s: read %d, want %d", x.name, got, x.want)
		}
	}
	var many []*Command
	for range LookAhead + 4 {
		many = append(many, cancel(first))
	}
	if got, want := warmed(many...), LookAhead*(tail(first)+at(first).level); got != want {
		t.Errorf("%d commands: read %d, want %d", len(many), got, want)
	}
}
