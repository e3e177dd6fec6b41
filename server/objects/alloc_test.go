//go:build !race

package objects

import (
	"testing"

	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
)

// Not under the race detector: it makes sync.Pool drop values, so a reader allocates.
func TestOrdersAreReadWithoutAllocation(t *testing.T) {
	order, signed, change := []byte(goodOrder), []byte(signedOrder), []byte(`{"price":"1.5"}`)
	many, few := batchBody(MaxBatch), batchBody(MaxTradingBatch)
	var cmds []entry.Command
	var place entry.Place
	var replace entry.Replace
	for name, read := range map[string]func() *refuse.Refusal{
		"order":        func() *refuse.Refusal { return DecodeOrder(order, &place) },
		"signed order": func() *refuse.Refusal { return DecodeTradingOrder(signed, &place) },
		"replace":      func() *refuse.Refusal { return ReplaceForm.Decode(change, &replace) },
		"batch": func() (err *refuse.Refusal) {
			cmds, err = DecodeBatch(many, cmds)
			return err
		},
		"signed batch": func() (err *refuse.Refusal) {
			cmds, err = DecodeTradingBatch(few, cmds)
			return err
		},
	} {
		try := func() {
			if err := read(); err != nil {
				t.Fatal(name, err)
			}
		}
		try()
		if n := testing.AllocsPerRun(100, try); n > 0 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}
