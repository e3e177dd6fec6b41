package engine

import (
	"reflect"
	"testing"

	"github.com/tickhive/tickhive/internal/fixed"
)

// A change of any member of an event changes its digest.
func TestTheDigestOfAnEventHasEveryMember(t *testing.T) {
	full := Event{
		Seq: 1, TimeNs: 2, Pair: 3, Kind: EventTrade, Quote: fixed.U128{Lo: 4}, Client: &ClientID{Hash: [2]uint64{
			1,
			2,
		}},
		Instrument: &Instrument{Code: "A_B"}, Control: &ControlRecord{Asset: &Asset{Symbol: "A"}},
	}
	was := full.digest()
	seen := map[uint64]string{was: "nothing"}
	note := func(name string, e *Event) {
		t.Helper()
		now := e.digest()
		if other, twice := seen[now]; twice {
			t.Errorf("a change of %s gives the digest of %s", name, other)
		}
		seen[now] = name
	}
	typ := reflect.TypeFor[Event]()
	for i := range typ.NumField() {
		e := full
		switch v := reflect.ValueOf(&e).Elem().Field(i); v.Kind() {
		case reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Struct:
			e.Quote.Hi++
		case reflect.Pointer:
			v.SetZero()
		default:
			t.Fatalf("%s has a kind that the test does not know", typ.Field(i).Name)
		}
		note(typ.Field(i).Name, &e)
	}
	for name, change := range map[string]func(e *Event){
		"Quote.Lo":            func(e *Event) { e.Quote.Lo++ },
		"Client.Hash":         func(e *Event) { e.Client = &ClientID{Hash: [2]uint64{1, 3}} },
		"Instrument.MakerFee": func(e *Event) { e.Instrument = &Instrument{Code: "A_B", MakerFee: 1} },
		"Asset.Fiat":          func(e *Event) { e.Control = &ControlRecord{Asset: &Asset{Symbol: "A", Fiat: true}} },
	} {
		e := full
		change(&e)
		note(name, &e)
	}
}
