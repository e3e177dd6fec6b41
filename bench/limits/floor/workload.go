package floor

import (
	"github.com/tickhive/tickhive/bench/limits/floor/limit"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
)

// Names lists the workloads: w1 changes orders near the touch, w2 has a deep book, w3 only matches.
var Names = []string{"w1", "w2", "w3"}

// Expected holds the fills and the hash that every engine must produce for a workload, preload included.
var Expected = map[string]wl.Stats{
	"w1": {Fills: 174256, Qty: 4448973, Hash: 0x072c1f800d4ff12a},
	"w2": {Fills: 299549, Qty: 12606795, Hash: 0x8c16c276f771bb72},
	"w3": {Fills: 500000, Qty: 25226098, Hash: 0xfe73a5be6d5f46c3},
}

// Generate returns a workload of a million operations, nil for an unknown name.
func Generate(name string) *wl.Workload {
	const n = 1_000_000
	var g *gen
	switch name {
	case "w1":
		g = churn(n)
	case "w2":
		g = deep(n)
	case "w3":
		g = match(n)
	default:
		return nil
	}
	w := &g.w
	w.MinP = 1 << 62
	for _, part := range [][]wl.Op{w.Preload, w.Ops} {
		for i := range part {
			o := &part[i]
			if o.Type != wl.Cancel {
				w.MinP, w.MaxP = min(w.MinP, o.Price), max(w.MaxP, o.Price)
			}
			w.MaxID = max(w.MaxID, o.ID, o.NewID)
		}
	}
	return w
}

// NewBook returns an empty reference book for a workload.
func NewBook(name string, w *wl.Workload) *limit.Book {
	maxLive := 20000
	if name == "w2" {
		maxLive = 400000
	}
	return limit.New(w.MinP, w.MaxP, maxLive, w.MaxID, false)
}

// Run applies operations to the reference book.
func Run(b *limit.Book, ops []wl.Op) {
	for i := range ops {
		o := &ops[i]
		switch o.Type {
		case wl.Limit:
			b.Add(o.Side, o.ID, o.Price, o.Qty)
		case wl.Cancel:
			b.Cancel(o.ID)
		default:
			b.Cancel(o.ID)
			b.Add(o.Side, o.NewID, o.Price, o.Qty)
		}
	}
}
