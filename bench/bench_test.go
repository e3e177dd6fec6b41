package bench

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/bench/limits/floor"
	"github.com/tickhive/tickhive/bench/limits/floor/wl"
	"github.com/tickhive/tickhive/engine/sequencer"
)

// checked accepts the core's run, which did the floor's work, and rejects any other.
func TestEqualWorkIsChecked(t *testing.T) {
	const name = "w3"
	w := floor.Generate(name)
	book := floor.NewBook(name, w)
	floor.Run(book, w.Preload)
	floor.Run(book, w.Ops)
	c := newFolded()
	c.run(w.Preload)
	c.run(w.Ops)
	if err := checked(name, c.stats, book.St); err != nil {
		t.Error(err)
	}
	c.run([]wl.Op{{Type: wl.Limit, Side: wl.Buy, Qty: 1, ID: w.MaxID + 1, Price: w.MaxP}})
	if checked(name, c.stats, book.St) == nil {
		t.Error("another fill was not noticed")
	}
	if checked(name, wl.Stats{}, wl.Stats{}) == nil {
		t.Error("two books that both did nothing were not noticed")
	}
}

// A journal made without a loop recovers to the book that made it, and a damaged
// expectation is noticed.
func TestLogWriterRecovers(t *testing.T) {
	l, err := newLogWriter(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := floor.Generate("w1")
	if err := l.ops(w.Preload); err != nil {
		t.Fatal(err)
	}
	if err := l.ops(w.Ops[:20_000]); err != nil {
		t.Fatal(err)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if err := snapshotOf(l.dir); err != nil {
		t.Fatal(err)
	}
	r, err := recoverDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pos != l.count || r.Core.HashPair(0, nil) != l.core.HashPair(0, nil) {
		t.Errorf("record %d of %d, equal: %v", r.Pos, l.count, r.Core.HashPair(0, nil) == l.core.HashPair(0, nil))
	}
}

// Traders through loop and journal: every command has a record, trades happen.
func TestLoopRig(t *testing.T) {
	for _, policy := range []sequencer.SyncPolicy{sequencer.SyncInterval, sequencer.SyncAlways} {
		g, err := newRig(t.TempDir(), policy, 2)
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.submit(8, 4, 2, 100*time.Millisecond)
		if err != nil || s.rate < 1 || s.bytes < 16 {
			t.Errorf("%+v, %v", s, err)
		}
		stats := g.loop.Stats()
		if n := stats.Commands.Load(); n != g.log.LastSeq() || stats.Trades.Load() == 0 {
			t.Errorf("%d commands, %d records, %d trades", n, g.log.LastSeq(), stats.Trades.Load())
		}
		if refused := stats.Rejected.Load(); refused > stats.Commands.Load()/3 {
			t.Errorf("%d of %d commands were refused: the mix measures refusals", refused, stats.Commands.Load())
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
}
