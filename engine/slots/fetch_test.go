package slots_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
)

// A line that is no address of the program is not read.
func TestFetch(t *testing.T) {
	slots.Fetch(nil)
	slots.Fetch([]slots.CacheLine{0, 1, ^slots.CacheLine(0)})
}
