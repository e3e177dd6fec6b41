package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/internal/clock"
	"tickhive/marketdata"
)

// testMarket is a loop with market data on a virtual clock, as serve wires it.
type testMarket struct {
	loop  *sequencer.Loop
	feed  *marketdata.Feed
	core  *engine.Core
	pair  engine.PairID
	board publicBoard
	clock *clock.Manual
}

// feedSink is marketdata.Feed as a sink of the loop.
type feedSink struct{ *marketdata.Feed }

func (f feedSink) Fold(events []engine.Event, _ uint64) { f.Feed.Fold(events) }

func newTestMarket(t testing.TB, r *Replay) *testMarket {
	t.Helper()
	m := &testMarket{core: engine.NewCore(engine.Options{}), feed: marketdata.NewFeed(marketdata.Options{})}
	m.clock = clock.NewManual(r.StartNs())
	m.loop = sequencer.NewLoop(sequencer.LoopOptions{
		Core: m.core, Clock: m.clock, Sinks: []sequencer.Sink{feedSink{m.feed}},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.loop.Run()
	}()
	t.Cleanup(func() {
		m.loop.Stop()
		<-done
	})
	r.UseTaker(m.openAccount(t, r.StartNs()))
	spec := r.PairSpec()
	b := sequencer.Batch{Stamped: true, Commands: []engine.Command{{
		Kind: engine.AddPair, Pair: engine.ControlPair, TimeNs: r.StartNs(), Instrument: &spec,
	}}}
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) { m.pair = events[0].Pair }
	if err := m.loop.Submit(&b); err != nil {
		t.Fatal(err)
	}
	m.board = publicBoard{Board: m.feed.Board(), Pair: spec.Code}
	return m
}

// openAccount opens an account for the takers.
func (m *testMarket) openAccount(t testing.TB, ns int64) (id engine.AccountID) {
	t.Helper()
	b := sequencer.Batch{Stamped: true, Commands: []engine.Command{{
		Kind: engine.OpenAccount, Pair: engine.ControlPair, TimeNs: ns, UUID: &[16]byte{1},
	}}}
	b.Collect = func(_ int, _ *engine.Command, events []engine.Event) { id = events[0].Account }
	if err := m.loop.Submit(&b); err != nil {
		t.Fatal(err)
	}
	return id
}

// run makes a replay, feeds it and prints its checks.
func run(t testing.TB, o Options) (Report, *testMarket) {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := newTestMarket(t, r)
	report, err := r.Run(context.Background(), m.loop, m.pair, &m.board)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range report.Lines() {
		t.Log(line)
	}
	for _, note := range report.Notes() {
		t.Log(note)
	}
	t.Logf("%d records, %d orders, %d trades, %d refused %v", report.Records, report.Placed, report.Trades,
		report.Refused, report.Reasons)
	return report, m
}

// recorded returns the path of a recorded market. Where the folder is missing the test is
// skipped, or fails with TICKHIVE_STRICT=1.
func recorded(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatalf("recorded market is missing: %v", err)
		}
		t.Skipf("recorded market is missing: %v", err)
	}
	return path
}
