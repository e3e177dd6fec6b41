package engine

import (
	"reflect"
	"testing"

	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/internal/fixed"
)

// fieldsCore holds one of everything: two bids at one price, an iceberg, stops of both
// kinds, client ids inside and outside the window.
func fieldsCore(t *testing.T) (*Core, *book) {
	c := NewCore(Options{AccountClientIDs: 2})
	now := int64(1_700_000_000_000_000_000)
	do := func(cmd Command) {
		now++
		cmd.TimeNs = now
		for _, e := range c.Apply(&cmd, nil) {
			if e.Kind == EventRejected {
				t.Fatalf("%+v is refused: %s", cmd, e.Reason)
			}
		}
	}
	name := func(x uint64) *ClientID {
		return &ClientID{Text: "x", Hash: [2]uint64{x, x + 1}, Content: [2]uint64{x + 2, x + 3}}
	}
	do(Command{Kind: SetAsset, Control: &ControlRecord{Asset: &Asset{Symbol: "BTC", Digits: 8}}})
	do(Command{Kind: AddPair, Pair: ControlPair, Instrument: &Instrument{
		Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 2, DigitsAmount: 2,
	}})
	do(Command{
		Account: 1, Price: 100, Amount: 5, Client: name(10), STP: CancelMaker,
	})
	do(Command{Account: 2, Price: 100, Amount: 6, Flags: FlagPostOnly})
	do(Command{Account: 1, Price: 99, Amount: 7, Client: name(20)})
	do(Command{Account: 1, Side: Sell, Price: 101, Amount: 9, Display: 2})
	do(Command{Account: 2, Price: 101, Amount: 3})
	do(Command{
		Account: 1, Side: Sell, Type: StopLimit, Stop: 90, Price: 89, Amount: 4, Display: 2,
		Client: name(30),
	})
	do(Command{Account: 2, Type: StopMarket, TIF: IOC, Stop: 120, Flags: FlagQuote, Quote: fixed.FromU64(5000)})
	do(Command{Account: 2, Type: StopMarket, TIF: IOC, Stop: 120, Amount: 5})
	do(Command{Account: 2, Type: TakeMarket, TIF: IOC, Amount: 5, Trail: 1500})
	do(Command{Account: 2, Side: Sell, Type: StopLimit, Price: 60, Amount: 5, Trail: 1500})
	do(Command{Account: 1, Side: Sell, Type: TakeLimit, Price: 60, Amount: 6, Trail: 1700})
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	return c, c.books[0]
}

// flip changes any value a little.
func flip(v reflect.Value) {
	v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() ^ 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Array:
		flip(v.Index(v.Len() - 1))
	case reflect.Struct:
		flip(v.Field(v.NumField() - 1))
	default:
		panic("a field of kind " + v.Kind().String())
	}
}

// eachField flips every field of what p points to and asks for another hash, but for the
// fields named: they follow from the others, or say where things lie in memory.
func eachField(t *testing.T, what string, p any, hash func() [32]byte, derived ...string) {
	t.Helper()
	v := reflect.ValueOf(p).Elem()
	skip := map[string]bool{}
	for _, d := range derived {
		if !v.FieldByName(d).IsValid() {
			t.Fatalf("%s has no field %s", what, d)
		}
		skip[d] = true
	}
	was := hash()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if skip[f.Name] {
			continue
		}
		keep := reflect.New(v.Type()).Elem()
		keep.Set(v)
		flip(v.Field(i))
		if hash() == was {
			t.Errorf("%s.%s is changed and the hash is not", what, f.Name)
		}
		v.Set(keep)
	}
	if hash() != was {
		t.Fatalf("%s: the fields were not put back", what)
	}
}

// The hash of a state changes with each field of it.
func TestStateHashSeesEveryField(t *testing.T) {
	c, b := fieldsCore(t)
	hash := func() [32]byte { return c.HashPair(0, nil) }
	links := []string{"prev", "next", "level", "owner", "ownPrev", "ownNext", "side"}
	bid := b.orders.levels.At(b.sides[Buy].best).head
	ask := b.orders.levels.At(b.sides[Sell].best).head
	eachField(t, "order", b.orders.at(bid), hash, links...)
	eachField(t, "cold", b.orders.cold.At(ask), hash, "client", "stop") // slots
	_, ls := b.stops.ways[fall].Max()
	stop := b.orders.levels.At(ls).head
	place := []string{"list", "joined", "slot", "child", "next", "prev"} // slots, and its place among the others
	eachField(t, "stop", b.stops.parked.At(b.orders.cold.At(stop).stop), hash, place...)
	// its side is written
	eachField(t, "waiting order", b.orders.at(stop), hash, append(links[:len(links)-1], "total")...)
	group := &b.stops.trails[Sell].groups[0]
	eachField(t, "group", group, hash, "from", "first")
	first := b.stops.parked.At(group.first)
	eachField(t, "trailing order", first, hash, place...)
	other := b.stops.parked.At(first.child)
	eachField(t, "second trailing order", other, hash, place...)
	eachField(t, "level", b.orders.levels.At(b.sides[Buy].best), hash,
		"shown", "hidden", "count", "tail", "side", "head") // sums and links; head: the swap below
	eachField(t, "owner", b.orders.owners.At(b.orders.at(bid).owner), hash,
		"Open", "Stops", "Lists", "Head", "Tail", "window", "clientHead", "clientTail")
	eachField(t, "client id in the window", newest(b), hash,
		"Owner", "prev", "next", "older", "newer")
	inst := *b.inst
	b.inst = &inst
	eachField(t, "instrument", b.inst, hash, "Base", "Quote") // parts of the code
	for name, change := range map[string]func(){
		"seq":                func() { b.stream.seq++ },
		"newest order":       func() { b.lastN++ },
		"newest trade":       func() { b.trade++ },
		"prevented matches":  func() { b.prevented++ },
		"last price":         func() { b.last++ },
		"order of the queue": func() { swapHead(b) },
		"client id closed":   func() { flip(reflect.ValueOf(newest(b)).Elem().FieldByName("order")) },
	} {
		was, keep := hash(), *b
		change()
		if hash() == was {
			t.Errorf("%s is changed and the hash is not", name)
		}
		if name != "order of the queue" {
			*b = keep
		}
	}
}

// newest returns the newest client id of fieldsCore.
func newest(b *book) *owners.Client { return b.clients.At(b.clients.Find([2]uint64{30, 31})) }

// swapHead exchanges the first two orders of the best bid.
func swapHead(b *book) {
	lv := b.orders.levels.At(b.sides[Buy].best)
	first := lv.head
	o := b.orders.at(first)
	ls := o.level
	b.orders.dequeue(o, lv)
	b.orders.enqueue(first, o, ls, lv)
}

// The registers' hash changes with each field of an asset, and with the seq.
func TestControlHashSeesEveryField(t *testing.T) {
	c, _ := fieldsCore(t)
	eachField(t, "asset", c.control.assets["BTC"], c.HashControl)
	was := c.HashControl()
	if c.control.seq++; c.HashControl() == was {
		t.Error("the seq is changed and the hash is not")
	}
}

// A client id that has left the window while its order is open is part of the state.
func TestStateHashSeesClientIDsOutsideTheWindow(t *testing.T) {
	c, b := fieldsCore(t)
	outside := b.clients.Outside()
	if len(outside) != 1 {
		t.Fatalf("%d client ids are outside, not 1", len(outside))
	}
	eachField(t, "client id outside", b.clients.At(outside[0]), func() [32]byte { return c.HashPair(0, nil) },
		"Owner", "prev", "next", "older", "newer", "order")
}
