package floor

import "testing"

// The streams are the anchor's: the same fills, in the same order.
func TestWorkloadsAreTheAnchors(t *testing.T) {
	for _, name := range Names {
		w := Generate(name)
		b := NewBook(name, w)
		Run(b, w.Preload)
		Run(b, w.Ops)
		got, want := b.St, Expected[name]
		got.Notional = 0
		if got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	if Generate("w4") != nil {
		t.Error("there is no fourth workload")
	}
}
