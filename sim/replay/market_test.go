package replay

import (
	"context"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// testMarket is a running market for a replay.
type testMarket struct {
	*markettest.Market
	loop  *markettest.Loop
	pair  engine.PairID
	board publicBoard
}

func newTestMarket(t testing.TB, r *Replay) *testMarket {
	t.Helper()
	m := &testMarket{Market: markettest.New(marketdata.Options{})}
	m.Clock.Set(r.StartNs())
	m.loop = m.Run(t, sequencer.LoopOptions{})
	spec := r.PairSpec()
	r.opts.Taker = 1
	m.pair = m.loop.AddPairs(&spec)[0]
	m.board = publicBoard{Board: m.Feed.Board(), Pair: spec.Code}
	return m
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
