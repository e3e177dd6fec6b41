package replay

import (
	"fmt"
	"slices"

	"tickhive/marketdata"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/input"
)

// Check holds the result of one kind of comparison with the recording.
type Check struct {
	Kind string // what is compared: "book rows"
	Good int    // number of comparisons that agree
	All  int    // number of comparisons
	// Given marks a count of what was taken from the file: it is no comparison.
	Given bool
	// Note holds further remarks for the log.
	Note string
}

func (c *Check) add(good bool) {
	c.All++
	if good {
		c.Good++
	}
}

// Public returns the pair's published market data to the checks. Prices are ticks, amounts lots.
type Public interface {
	// Book appends up to depth levels a side, best first, and returns the two slices.
	Book(depth int, bids, asks []marketdata.Level) (b, a []marketdata.Level, err error)
	// Candles returns the candles with fromSec <= Start <= toSec (Unix seconds), ascending, without intervals
	// that have no trades. Trades of a candle is 0 when the source does not have it.
	Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error)
	// Trades returns the newest n trades, oldest first.
	Trades(n int) ([]marketdata.Trade, error)
	// Last returns the price of the last trade, 0 when there was none.
	Last() (int64, error)
}

// checker compares the public market data with the recording. It also counts what the feeder took from the
// files instead of letting the engine predict it. Each pass over the files has its own checker.
type checker struct {
	s   *format.Survey
	pub Public // nil: count the fed records, compare nothing

	fed        int   // number of records fed
	firstNs    int64 // time of the first record fed, Unix ns
	firstIsBar bool
	whole      bool // the first record fed is the first record of the recording

	books, trades, executions, named, given, touch, empty, values Check

	partial    int            // recorded candles that were not compared
	candles    []*candleCheck // by index in Survey.Sets; nil for a set whose length is no interval
	known      int            // sides that came into view with the levels that our book already had
	ours       int            // public trades that were compared with a log
	seen       uint64         // number of our trades that were compared
	bids, asks []marketdata.Level

	books1s  lateBooks
	tally    map[format.Level]int              // for each price and amount: recorded trades minus public trades
	logged   map[format.Level][]input.Position // places of the recorded trades of tally, oldest first
	misses   []Miss
	at       input.Position     // place of the record being fed
	places   []input.Position   // places of expected
	expected []marketdata.Trade // fed trades that were not found in the public trades yet

	touches, ourTouches recent
	applied             uint64 // update id that the book has
	changed             bool   // the record just fed changed the book
}

func newChecker(s *format.Survey, pub Public, from int64) *checker {
	c := &checker{
		s: s, pub: pub, whole: from <= s.FirstNs, tally: map[format.Level]int{},
		logged: map[format.Level][]input.Position{},
		books:  Check{Kind: "book rows"}, trades: Check{Kind: "trades"}, executions: Check{Kind: "executions"},
		named: Check{Kind: "named orders"}, given: Check{Kind: "sides given by the file", Given: true},
		touch: Check{Kind: "best bid and ask"}, values: Check{Kind: "ticker values"},
	}
	if s.Shape == format.Log {
		c.given.Kind = "sizes given by the file"
	}
	c.openCandles()
	return c
}

// executed counts an execution of the recording. one reports that the engine filled exactly one order with its
// amount; named reports that this was the order that the file names.
func (c *checker) executed(one, named bool) {
	c.executions.add(one)
	c.named.add(named)
}

// sideChanged counts a side whose visible levels changed. given reports that levels were taken from the file.
// Their number does not count as agreement: it shows how much of the agreement was predicted.
func (c *checker) sideChanged(given, known bool) {
	c.given.add(given)
	if known && !given {
		c.known++
	}
}

// after compares the public data with the recording after a record was fed.
func (c *checker) after(r *format.Record, e *orderEntry) (err error) {
	if c.fed++; c.fed == 1 {
		c.firstNs, c.firstIsBar = r.NS, r.Kind == format.Bar
	}
	if c.pub == nil {
		return nil
	}
	switch c.s.Shape {
	case format.Messages:
		if err = c.compareTrades(tradesPerQuery); err == nil {
			err = c.rowAfter(r)
		}
	case format.Log:
		err = c.logAfter(r, e)
	case format.Levels:
		if err = c.compareTrades(tradesPerQuery); err == nil {
			err = c.touchAfter(r)
		}
		if err == nil && r.Kind == format.Book && r.Depth > 0 {
			err = c.rowAfter(r)
		}
	case format.Orders:
		if err = c.compareTrades(tradesPerQuery); err == nil && r.Depth > 0 {
			err = c.rowAfter(r)
		}
	case format.Trades:
		err = c.compareTrades(tradesPerQuery)
	case format.Answers: // compared at the end
	}
	return failed(err)
}

// failed wraps the error of a comparison that could not be made.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("replay: check: %w", err)
}

// results returns the results in the order in which they are printed.
func (c *checker) results() []Check {
	switch c.s.Shape {
	case format.Messages:
		if c.known > 0 {
			c.given.Note = fmt.Sprintf("%d more came into view as we had them", c.known)
		}
		return []Check{c.books, c.trades, c.executions, c.named, c.given}
	case format.Log:
		c.endLog()
		c.trades.Note = fmt.Sprintf("%d made", c.ours)
		return []Check{c.books, c.trades, c.given}
	case format.Levels:
		out := []Check{c.touch, c.trades}
		if c.books.All > 0 {
			out = slices.Insert(out, 0, c.books)
		}
		return c.withCandles(out)
	case format.Orders:
		return []Check{c.books, c.trades, c.executions, c.named}
	case format.Answers:
		out := []Check{c.candles[0].counts, c.empty}
		if c.s.Today {
			out = append(out, c.values)
		}
		return out
	default:
		return c.withCandles([]Check{c.trades})
	}
}

// withCandles appends the comparisons of candles.
func (c *checker) withCandles(out []Check) []Check {
	for _, candles := range c.candles {
		if candles != nil {
			out = append(out, candles.counts)
		}
	}
	return out
}

// notes reports the parts of the recording that were not compared.
func (c *checker) notes() []string {
	unused := 0
	for _, candles := range c.candles {
		if candles == nil {
			unused++
		}
	}
	notes := noted(nil, unused, "%d files of bars whose length is no candle's: not compared")
	return noted(notes, c.partial, "%d recorded candles may have trades outside the files: not compared")
}
