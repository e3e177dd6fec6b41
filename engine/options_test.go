package engine

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Each option is valid from 0 to its limit; the message names it and the limit.
func TestOptionsHaveBounds(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if f.Anonymous {
			continue
		}
		name := f.Name
		most := int64(1 << 30)
		if name == "Pairs" {
			most = MaxPairs
		}
		for v, ok := range map[int64]bool{-1: false, 0: true, most: true, most + 1: false} {
			var o Options
			reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).SetInt(v)
			err := o.Validate()
			if (err == nil) != ok {
				t.Errorf("%s = %d: %v", name, v, err)
			}
			if says := fmt.Sprintf("option %s is %d, not 0 (default) to %d", name, v, most); err != nil &&
				!strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
		}
	}
	// A part must hold what follows between two checks.
	if err := (Options{PartEvents: MinPartEvents}).Validate(); err != nil {
		t.Error(err)
	}
	err := (Options{PartEvents: MinPartEvents - 1}).Validate()
	if err == nil || !strings.Contains(err.Error(), "is 21, not 0 (default) or at least 22") {
		t.Error(err)
	}
}

// The defaults have the values of docs/contract/limits.md, and each counts as if it was set.
func TestDefaultsOfOptions(t *testing.T) {
	want := Options{
		Limits:    Limits{OpenOrders: 8 << 20, AccountOrders: 1 << 20, AccountStops: 200, AccountLists: 20},
		PairStops: 20_000, ClientIDs: 1_000_000, AccountClientIDs: 10_000,
		IcebergSlices: 10_000, PairSlices: 1 << 18, Pairs: 10_000, Assets: 10_000,
		PartEvents: 600,
	}
	if got := NewCore(Options{}).opts; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if l := (Options{}).EffectiveLimits(); l != want.Limits || l != (Limits{8 << 20, 1 << 20, 200, 20}) {
		t.Errorf("limits %+v", l)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if f.Anonymous {
			continue
		}
		other := want
		v := reflect.ValueOf(&other).Elem().FieldByIndex(f.Index)
		v.SetInt(v.Int() + 1)
		if got := NewCore(other).opts; got != other {
			t.Errorf("%+v, want %+v", got, other)
		}
	}
}
