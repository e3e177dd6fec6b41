package replay

import (
	"fmt"

	"tickhive/marketdata"
)

// feed turns the files of one format into commands. One goroutine calls it: survey once,
// then open, and next and apply in turn until io.EOF, then finish; open again to start
// over.
type feed interface {
	// survey reads everything once and reports all that cannot be replayed.
	survey() (survey, error)
	// open starts at the first record; what is older than fromNs (Unix ns) is used for
	// the opening state and not fed. Prices and amounts come out in the given digits.
	open(fromNs int64, digitsPrice, digitsAmount int) error
	// next reads the next record and tells its time; io.EOF after the last.
	next() (ns int64, err error)
	// apply feeds the record that next read.
	apply(d *desk) error
	// check compares with what the files recorded for this record.
	check(d *desk, pub Public) error
	// finish compares what can only be compared at the end of the files.
	finish(d *desk, pub Public) error
	// results are the comparisons so far.
	results() []Check
	// notes tell what of the files was tolerated or left out, and how often.
	notes() []string
	close()
}

// Check is one kind of comparison with what the files recorded.
type Check struct {
	Kind string // "book rows"
	Good int    // how many agree
	All  int    // how many were compared
	// Note holds further remarks for the log.
	Note string
}

// Public is the pair's published market data, as the checks ask for it. Prices are
// ticks, amounts lots.
type Public interface {
	// Book appends up to depth levels a side, best first, and returns the two slices.
	Book(depth int, bids, asks []marketdata.Level) (b, a []marketdata.Level, err error)
	// Candles are those with fromSec <= Start <= toSec (Unix seconds), ascending, only
	// intervals with trades; Trades may be 0 where the source does not tell it.
	Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error)
	// Trades are the newest n trades, oldest first.
	Trades(n int) ([]marketdata.Trade, error)
	// Last is the last trade's price, 0 when there was none.
	Last() (int64, error)
}

// noted appends a sentence with a count, unless that is 0.
func noted(notes []string, n int, format string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, n))
}
