package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
)

// tradesFile returns a recording of n trades, with several of one time.
func tradesFile(t testing.TB, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,%d.5,0.%d,%s\n", 1700000000+i/3, 10+i%7, 1+i%9, [...]string{"buy", "sell"}[i%5%2])
	}
	return file(t, "trades.csv", b.String())
}

// The number of trades in a batch changes nothing but the speed, with orders of another account in the book as well.
func TestTheStateDoesNotDependOnTheBatch(t *testing.T) {
	t.Parallel()
	path := tradesFile(t, 2000)
	for name, rest := range map[string][]engine.Command{
		"alone": nil,
		"with others": {
			{Kind: engine.Place, Side: engine.Sell, Type: engine.Limit, Price: 115, Amount: 40},
			{Kind: engine.Place, Type: engine.Limit, Price: 145, Amount: 10, Flags: engine.FlagPostOnly},
			{Kind: engine.Place, Side: engine.Sell, Type: engine.Limit, Price: 165, Amount: 1000},
		},
	} {
		var want machine.MarketHash
		var wantReport string
		for i, batch := range []int{1, 2, 3, printBatch, 5000} {
			r, err := New(Options{Format: "trades", Files: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			r.batch = batch
			m := newTestMarket(t, r)
			others := sequencer.Batch{Commands: slices.Clone(rest)}
			for k := range others.Commands {
				others.Commands[k].Pair = m.pair
			}
			if err := m.loop.Submit(&others); err != nil {
				t.Fatal(err)
			}
			report, err := r.Run(context.Background(), m.loop, m.pair, nil)
			if err != nil || len(report.Left) > 0 {
				t.Fatal(err, report.Left)
			}
			if report.Records != 2000 || report.Trades < 2000 || len(rest) > 0 && report.Trades == 2000 {
				t.Errorf("%s: %d records, %d trades", name, report.Records, report.Trades)
			}
			hash := machine.HashMarket(m.Core, m.Feed)
			text := fmt.Sprint(report.Placed, report.Trades, report.Refused)
			if i == 0 {
				want, wantReport = hash, text
			} else if hash.Hash != want.Hash || text != wantReport {
				t.Errorf("%s: in batches of %d the state is another: %s, one by one %s", name, batch, text, wantReport)
			}
		}
	}
}
