package objects_test

import (
	"testing"

	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/objects"
	"github.com/tickhive/tickhive/server/servertest"
)

func TestOrdersAreReadWithoutAllocation(t *testing.T) {
	if servertest.RaceOn {
		t.Skip("the race detector makes sync.Pool drop values: it allocates by itself")
	}
	order, signed, change := []byte(objects.GoodOrder), []byte(objects.SignedOrder), []byte(`{"price":"1.5"}`)
	many, few := objects.BatchOf(objects.MaxBatch), objects.BatchOf(objects.MaxTradingBatch)
	var cmds []entry.Command
	var place entry.Place
	var replace entry.Replace
	for name, read := range map[string]func() *refuse.Refusal{
		"order":        func() *refuse.Refusal { return objects.DecodeOrder(order, &place) },
		"signed order": func() *refuse.Refusal { return objects.DecodeTradingOrder(signed, &place) },
		"replace":      func() *refuse.Refusal { return objects.ReplaceForm.Decode(change, &replace) },
		"batch": func() (err *refuse.Refusal) {
			cmds, err = objects.DecodeBatch(many, cmds)
			return err
		},
		"signed batch": func() (err *refuse.Refusal) {
			cmds, err = objects.DecodeTradingBatch(few, cmds)
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
