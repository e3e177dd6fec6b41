package body_test

import (
	"testing"

	"tickhive/internal/entry"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/servertest"
)

func TestOrdersAreReadWithoutAllocation(t *testing.T) {
	if servertest.RaceOn {
		t.Skip("the race detector makes sync.Pool drop values: it allocates by itself")
	}
	order, signed, change := []byte(body.GoodOrder), []byte(body.SignedOrder), []byte(`{"price":"1.5"}`)
	many, few := body.BatchOf(body.MaxBatch), body.BatchOf(body.MaxTradingBatch)
	var cmds []entry.Command
	var place entry.Place
	var replace entry.Replace
	for name, read := range map[string]func() *refuse.Refusal{
		"order":        func() *refuse.Refusal { return body.DecodeOrder(order, &place) },
		"signed order": func() *refuse.Refusal { return body.DecodeTradingOrder(signed, &place) },
		"replace":      func() *refuse.Refusal { return body.ReplaceForm.Decode(change, &replace) },
		"batch": func() (err *refuse.Refusal) {
			cmds, err = body.DecodeBatch(many, cmds)
			return err
		},
		"signed batch": func() (err *refuse.Refusal) {
			cmds, err = body.DecodeTradingBatch(few, cmds)
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
