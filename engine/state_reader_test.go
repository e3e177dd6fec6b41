package engine_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// A stateField is one member of an encoded pair, under a name like "bid 1 order 2 shown".
type stateField struct {
	name  string
	value uint64
	bytes []byte // of a text or a hash, instead of value
	byte  bool   // one byte, whatever the value
}

// stateReader reads an encoded pair by the drawings in state.go and state.go alone: it shares no code with
// them. A test changes members and puts the state together again.
type stateReader struct {
	t      testing.TB
	data   []byte
	fields []stateField
}

// readState returns the members of a state in their order.
func readState(t testing.TB, state []byte) []stateField {
	t.Helper()
	r := &stateReader{t: t, data: state}
	r.number("format")
	r.pair()
	r.numbers("seq", "newest", "trade", "prevented", "last", "oldest")
	if r.byte("has part") != 0 {
		r.part()
	}
	for _, side := range []string{"bid", "ask"} {
		r.list(side, func(level string) {
			r.number(level + " price")
			r.list(level+" order", func(order string) {
				r.number(order + " n")
				r.number(order + " account")
				marks := r.number(order+" bits") >> 3
				r.under(order, "total", "shown", "maker fee", "taker fee", "discount")
				if marks&1 != 0 {
					r.under(order, "display", "hidden")
				}
			})
		})
	}
	for _, side := range []string{"buy stop", "sell stop"} {
		r.list(side, func(stop string) {
			r.number(stop + " n")
			r.stop(stop)
		})
	}
	for _, side := range []string{"trailing buy", "trailing sell"} {
		r.list(side+" group", func(group string) {
			r.number(group + " extreme")
			r.list(group+" order", func(order string) {
				r.number(order + " n")
				r.stop(order)
			})
		})
	}
	r.list("list", func(list string) {
		r.number(list + " n")
		kind := r.byte(list + " kind")
		r.byte(list + " cause")
		r.under(list, "brought hi", "brought lo")
		for i := range [...]int{1: 2, 2: 2, 3: 3, 4: 2, 5: 3}[kind] {
			order := fmt.Sprintf("%s order %d", list, i+1)
			if r.byte(order+" where") == 2 {
				r.stop(order)
			}
		}
	})
	inside, outside := r.number("clients inside"), r.number("clients outside")
	for i := range inside + outside {
		client := fmt.Sprintf("client %d", i+1)
		r.under(client, "n", "account")
		r.byte(client + " open")
		r.byte(client + " of list")
		r.raw(client+" hash", 16)
		r.raw(client+" content", 16)
	}
	if len(r.data) != 0 {
		t.Fatalf("%d bytes are left", len(r.data))
	}
	if !bytes.Equal(writeState(r.fields), state) {
		t.Fatal("the members do not make the state again")
	}
	return r.fields
}

// writeState puts members together.
func writeState(fields []stateField) (state []byte) {
	for _, f := range fields {
		switch {
		case f.bytes != nil:
			state = append(state, f.bytes...)
		case f.byte:
			state = append(state, byte(f.value))
		default:
			state = binary.AppendUvarint(state, f.value)
		}
	}
	return state
}

func (r *stateReader) pair() {
	r.number("id")
	r.text("code")
	r.byte("digits of the price")
	r.byte("digits of the amount")
	r.byte("digits of the base")
	r.byte("digits of the quote")
	limits := r.byte("limits")
	r.numbers("smallest hi", "smallest lo")
	for i, names := range [][]string{
		{"largest hi", "largest lo"}, {"band up"}, {"band down"}, {"most price"}, {"most amount"},
	} {
		if limits&(2<<i) != 0 {
			r.numbers(names...)
		}
	}
	r.byte("state")
	r.numbers("maker fee", "taker fee", "created")
}

func (r *stateReader) stop(stop string) {
	r.number(stop + " account")
	r.byte(stop + " side")
	r.number(stop + " bits")
	r.under(stop, "stop", "price", "hold", "trail", "amount", "display", "quote hi", "quote lo")
	r.byte(stop + " type")
	r.byte(stop + " tif")
	r.number(stop + " flags")
	r.byte(stop + " state")
	r.under(stop, "maker fee", "taker fee", "discount")
}

func (r *stateReader) part() {
	if r.byte("has command") != 0 {
		r.text("command")
		r.number("from")
		r.byte("canceled")
	}
	if r.byte("has taker") != 0 {
		r.under("taker", "n", "account")
		for _, name := range []string{
			"named", "listed", "amends", "due", "side", "market", "type", "tif", "stp", "flags",
		} {
			r.byte("taker " + name)
		}
		r.under("taker", "limit", "left", "filled", "display", "was", "found", "stop", "hold")
		r.byte("taker capped")
		r.under("taker", "money hi", "money lo", "sells", "maker fee", "taker fee", "discount")
	}
	r.under("walk", "need", "cost hi", "cost lo", "sold", "price", "n", "hidden")
	r.number("wave")
	r.list("reached", func(stop string) {
		r.under(stop, "wave", "n")
		r.stop(stop)
	})
}

func (r *stateReader) list(name string, read func(item string)) {
	for i := range r.number(name + "s") {
		read(fmt.Sprintf("%s %d", name, i+1))
	}
}

func (r *stateReader) numbers(names ...string) {
	for _, name := range names {
		r.number(name)
	}
}

func (r *stateReader) under(of string, names ...string) {
	for _, name := range names {
		r.number(of + " " + name)
	}
}

func (r *stateReader) number(name string) uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.t.Fatalf("%s: no number is left", name)
	}
	r.data = r.data[n:]
	r.fields = append(r.fields, stateField{name: name, value: v})
	return v
}

func (r *stateReader) byte(name string) byte {
	b := r.take(name, 1)[0]
	r.fields = append(r.fields, stateField{name: name, value: uint64(b), byte: true})
	return b
}

func (r *stateReader) text(name string) { r.raw(name, int(r.number("length of the "+name))) }

func (r *stateReader) raw(name string, n int) {
	r.fields = append(r.fields, stateField{name: name, bytes: r.take(name, n)})
}

func (r *stateReader) take(name string, n int) []byte {
	if n > len(r.data) {
		r.t.Fatalf("%s: %d bytes, %d are left", name, n, len(r.data))
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// changes are new values of members.
type changes map[string]uint64

// with returns the state with changed members.
func with(t testing.TB, fields []stateField, changed changes) []byte {
	t.Helper()
	fields = slices.Clone(fields)
	for name, v := range changed {
		i := slices.IndexFunc(fields, func(f stateField) bool { return f.name == name })
		if i < 0 || fields[i].bytes != nil {
			t.Fatalf("the state has no number %q", name)
		}
		fields[i].value = v
	}
	return writeState(fields)
}

// restorePair decodes a state into an empty core.
func restorePair(state []byte) (*engine.Core, error) {
	c := engine.NewCore(engine.Options{})
	_, err := c.DecodePair(state)
	return c, err
}
