package replay

import (
	"fmt"

	"tickhive/marketdata"
	"tickhive/sim/replay/format"
)

// Check is one kind of comparison with what the files recorded.
type Check struct {
	Kind string // "book rows"
	Good int    // how many agree
	All  int    // how many were compared
	// Note holds further remarks for the log.
	Note string
}

func (c *Check) add(good bool) {
	c.All++
	if good {
		c.Good++
	}
}

// Public is the pair's published market data, as the checks ask for it. Prices are
// ticks, amounts lots.
type Public interface {
	// Book appends up to depth levels a side, best first, and returns the two slices.
	Book(depth int, bids, asks []marketdata.Level) (b, a []marketdata.Level, err error)
	// Candles are those with fromSec <= Start <= toSec (Unix seconds), ascending, only
	// intervals with trades; Trades may be 0 where the source does not contain it.
	Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error)
	// Trades are the newest n trades, oldest first.
	Trades(n int) ([]marketdata.Trade, error)
	// Last is the last trade's price, 0 when there was none.
	Last() (int64, error)
}

// checker compares the public market data with the recording. It counts also what the feeder
// took from the files instead of predicted. One is made for each pass over the files.
type checker struct {
	s   *format.Survey
	pub Public // nil: only count

	fed        int   // records
	firstNs    int64 // of the first one
	firstIsBar bool
	whole      bool // the first one is the recording's first

	books, trades, executions, named, given, touch, empty, values Check

	candles    []*candleCheck // by the recording's sets; nil: no interval has that length
	known      int            // sides that came into view as we had them
	ours       int            // public trades of a log
	seen       uint64         // our trades that were compared
	bids, asks []marketdata.Level

	books1s  lateBooks
	tally    map[format.Level]int // recorded trades of a log, minus ours
	expected []marketdata.Trade   // not yet compared

	touches, ourTouches recent
	applied             uint64 // update id of the book
	changed             bool   // by the record just fed
}

func newChecker(s *format.Survey, pub Public, from int64) *checker {
	c := &checker{
		s: s, pub: pub, whole: from <= s.FirstNs, tally: map[format.Level]int{},
		books: Check{Kind: "book rows"}, trades: Check{Kind: "trades"}, executions: Check{Kind: "executions"},
		named: Check{Kind: "named orders"}, given: Check{Kind: "sides given by the file"},
		touch: Check{Kind: "best bid and ask"}, values: Check{Kind: "ticker values"},
	}
	if s.Shape == format.Log {
		c.given.Kind = "sizes given by the file"
	}
	c.openCandles()
	return c
}

// executed counts an execution: whether the engine filled one order with its amount, and
// whether that was the order which the file names.
func (c *checker) executed(one, named bool) {
	c.executions.add(one)
	c.named.add(named)
}

// sideChanged counts a changed side of the levels in view. How many changes the file gave is
// no agreement, but measures how much of the agreement is prediction.
func (c *checker) sideChanged(given, known bool) {
	c.given.add(given)
	if known && !given {
		c.known++
	}
}

// after compares what is public after a record was fed.
func (c *checker) after(r *format.Record, e *orderEntry) (err error) {
	if c.fed++; c.fed == 1 {
		c.firstNs, c.firstIsBar = r.NS, r.Kind == format.Bar
	}
	if c.pub == nil {
		return nil
	}
	switch c.s.Shape {
	case format.Messages:
		err = c.rowAfter(r)
	case format.Log:
		err = c.logAfter(r, e)
	case format.Levels:
		if err = c.compareTrades(tradesPerQuery); err == nil {
			err = c.touchAfter(r)
		}
	case format.Trades:
		err = c.compareTrades(tradesPerQuery)
	case format.Answers: // compared at the end
	}
	return failed(err)
}

// failed names a comparison that could not be made.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("replay: check: %w", err)
}

// results returns the comparisons in the order in which they are printed.
func (c *checker) results() []Check {
	switch c.s.Shape {
	case format.Messages:
		if c.known > 0 {
			c.given.Note = fmt.Sprintf("%d more came into view as we had them", c.known)
		}
		return []Check{c.books, c.executions, c.named, c.given}
	case format.Log:
		c.trades.Note = fmt.Sprintf("%d made", c.ours)
		return []Check{c.books, c.trades, c.given}
	case format.Levels:
		return []Check{c.touch, c.trades}
	case format.Answers:
		out := []Check{c.candles[0].counts, c.empty}
		if c.s.Today {
			out = append(out, c.values)
		}
		return out
	default:
		out := []Check{c.trades}
		for _, candles := range c.candles {
			if candles != nil {
				out = append(out, candles.counts)
			}
		}
		return out
	}
}

// notes reports which parts of the recording were not compared.
func (c *checker) notes() []string {
	unused := 0
	for _, candles := range c.candles {
		if candles == nil {
			unused++
		}
	}
	return noted(nil, unused, "%d files of bars whose length is no candle's: not compared")
}
