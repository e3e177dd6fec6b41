package differ

import (
	"fmt"
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// everything lets go-cmp look into members that are not exported.
var everything = cmp.Exporter(func(reflect.Type) bool { return true })

// Diff returns where got differs from want, empty when they are equal.
func Diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	if d := cmp.Diff(want, got, everything); d != "" {
		return "- want, + got\n" + d
	}
	return fmt.Sprintf("want %#v\ngot  %#v", want, got) // a method Equal takes them as equal
}
