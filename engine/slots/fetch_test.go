package slots_test

import (
	"testing"

	"tickhive/engine/slots"
)

// A line that is no address of the program is not read.
func TestFetch(t *testing.T) {
	slots.Fetch(nil)
	slots.Fetch([]slots.Line{0, 1, ^slots.Line(0)})
}
