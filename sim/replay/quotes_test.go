package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/machine"
)

// Orders of users against a recording of trades alone: with quotes they trade at the market, without them a market
// order meets nobody and a limit order trades at its own price. The recorded trades are the same in both.
func TestQuotesGiveARecordingOfTradesAMarket(t *testing.T) {
	t.Parallel()
	path := file(t, "trades.csv", "1700000000,10.5,1,buy\n1700000001,10.4,1,sell\n1700000002,10.6,0.5,buy\n"+
		"1700000003,10.3,1,sell\n1700000004,10.2,1,sell\n")
	const user = engine.AccountID(9)
	limit := func(side engine.Side, price, amount int64) engine.Command {
		return engine.Command{
			Kind: engine.Place, Side: side, Type: engine.Limit, Account: user, Price: price, Amount: amount,
		}
	}
	market := func(side engine.Side, amount int64) engine.Command {
		return engine.Command{
			Kind: engine.Place, Side: side, Type: engine.Market, TIF: engine.IOC, Account: user, Amount: amount,
		}
	}
	for name, c := range map[string]struct {
		before        int // the user's order comes before this record
		order         engine.Command
		with, without string // all trades, AMOUNT@PRICE in lots and ticks
	}{
		"buy at the market after a buy": {
			1, market(engine.Buy, 15),
			"10@105 15@105 10@104 5@106 10@103 10@102", "10@105 10@104 5@106 10@103 10@102",
		},
		"buy at the market after a sell": {
			2, market(engine.Buy, 15),
			"10@105 10@104 15@105 5@106 10@103 10@102", "10@105 10@104 5@106 10@103 10@102",
		},
		"sell at the market after a sell": {
			2, market(engine.Sell, 15),
			"10@105 10@104 15@104 5@106 10@103 10@102", "10@105 10@104 5@106 10@103 10@102",
		},
		"more than the quotes": {
			2, market(engine.Buy, 25),
			"10@105 10@104 20@105 5@106 10@103 10@102", "10@105 10@104 5@106 10@103 10@102",
		},
		"a limit far beyond the market": {
			2, limit(engine.Buy, 900, 5),
			"10@105 10@104 5@105 5@106 10@103 10@102", "10@105 10@104 5@900 10@103 10@102",
		},
		"a limit that the market passes later": {
			3, limit(engine.Buy, 104, 5),
			"10@105 10@104 5@106 5@104 5@103 10@102", "10@105 10@104 5@106 5@104 5@103 10@102",
		},
		"a limit that the market never meets": {
			1, limit(engine.Sell, 110, 5),
			"10@105 10@104 5@106 10@103 10@102", "10@105 10@104 5@106 10@103 10@102",
		},
	} {
		for _, quotes := range []string{"2", ""} {
			var m *testMarket
			n := 0
			r, err := New(Options{Format: "trades", Files: []string{path}, Quotes: quotes, Due: func(int64) error {
				if n++; n-1 != c.before {
					return nil
				}
				c.order.Pair = m.pair
				return m.loop.Submit(&sequencer.Batch{Commands: []engine.Command{c.order}})
			}})
			if err != nil {
				t.Fatal(err)
			}
			m = newTestMarket(t, r)
			report, err := r.Run(context.Background(), m.loop, m.pair, &m.board)
			if err != nil || report.Records != 5 {
				t.Fatal(err, report)
			}
			want := c.without
			if quotes != "" {
				want = c.with
			}
			if report.Refused != report.Reasons[engine.OrderClosed] { // of orders that the user has taken
				t.Errorf("%s, quotes %q: refused %v", name, quotes, report.Reasons)
			}
			if got := tradesText(t, m); got != want {
				t.Errorf("%s, quotes %q: trades %q, want %q", name, quotes, got, want)
			}
		}
	}
}

// tradesText returns the published trades, the oldest first.
func tradesText(t *testing.T, m *testMarket) string {
	t.Helper()
	trades, err := m.board.Trades(1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, one := range trades {
		out = append(out, fmt.Sprint(one.Amount, "@", one.Price))
	}
	return strings.Join(out, " ")
}

// What the quotes leave does not depend on the pace, and they stand at the last trade.
func TestQuotesDoNotDependOnThePace(t *testing.T) {
	t.Parallel()
	path := tradesFile(t, 500)
	var want machine.MarketHash
	for i, due := range []func(int64) error{nil, func(int64) error { return nil }} {
		report, m := run(t, Options{Format: "trades", Files: []string{path}, Quotes: "3", Check: true, Due: due})
		if report.Trades != 500 || !report.Agrees(Whole) {
			t.Errorf("%d trades, %v", report.Trades, report.Lines())
		}
		if hash := machine.HashMarket(m.Core, m.Feed); i == 0 {
			want = hash
		} else if hash.Hash != want.Hash {
			t.Error("paced, the state is another")
		}
	}
}

func TestQuotesAreChecked(t *testing.T) {
	t.Parallel()
	path := tradesFile(t, 10)
	for quotes, reason := range map[string]string{
		"0": "above 0", "-1": "above 0", "0.001": "at most 1 fractional digits", "much": "want an amount",
		"1e99": "want an amount", "9999999999999": "want an amount",
	} {
		_, err := New(Options{Format: "trades", Files: []string{path}, Quotes: quotes})
		if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", quotes, err)
		}
	}
	log := `1430438400000 order_book {"bids": [["99", "9"]], "asks": []}` + "\n" +
		`1430438400001 order_created {"price": "98", "amount": "1", "id": 1, "order_type": 0}` + "\n"
	_, err := New(Options{Format: "bitstamp", Files: []string{file(t, "x.log", log)}, Quotes: "1"})
	if !errors.As(err, new(*OptionError)) || !strings.Contains(fmt.Sprint(err), "has a book") {
		t.Error(err)
	}
}
