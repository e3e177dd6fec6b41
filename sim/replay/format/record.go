package format

import (
	"fmt"
	"slices"

	"tickhive/engine"
)

// Kind is the meaning of a record.
type Kind uint8

// The kinds. Those from Candle on follow the last fed record; they are compared and not fed.
const (
	Other   Kind = iota // changes neither the book nor the trades
	Place               // an order enters with Price and Amount
	Change              // the order has this Price and open Amount now
	Reduce              // the order loses Amount and keeps its place
	Cancel              // the order ends; Amount is what was open, 0 when it was filled
	Execute             // the resting order ID traded Amount with a taker
	Trade               // a public trade
	Report              // a trade that the orders of the recording make by themselves
	Book                // all levels
	Update              // the levels that changed; amount 0: gone
	Touch               // best bid and ask after update Last
	Bar                 // a candle to make trades of
	Candle              // a candle to compare with
	Today               // the values of the day to compare with
)

// Level is one price of a book, in ticks and lots.
type Level struct{ Price, Amount int64 }

// Worse reports whether a is further from the touch than b.
func Worse(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a < b
	}
	return a > b
}

// Prices are the values of a bar or a candle, in ticks and lots.
type Prices struct {
	Open, High, Low, Close, Volume int64

	Trades int64 // number of trades; below 0: not in the file
	Set    int   // of a Candle: index in Survey.Sets
}

// Path appends the prices of the fewest trades that make the bar: open, then the extreme that
// is nearer to it, the other one, close; what the neighbours already say is left out.
func (p *Prices) Path(dst []int64) []int64 {
	near, far := p.High, p.Low
	if p.Open-p.Low < p.High-p.Open {
		near, far = far, near
	}
	return slices.Compact(append(dst, p.Open, near, far, p.Close))
}

// Values are the values of a day as an exchange reported them; -1 never agrees.
type Values struct {
	High, Low, Open, Last int64 // ticks
	Volume                int64 // lots
	VWAP                  int64 // 10^-VWAPDigits, cut
	Trades                int64
}

// VWAPDigits is the number of recorded decimals of the volume-weighted price.
const VWAPDigits = 5

// Record is one row of a recording. The caller owns it and gives it to Next again and again;
// Next overwrites all of it and reuses its slices.
//
// Units: prices are ticks, amounts lots, times Unix ns. During a survey, which learns the
// digits, a price or an amount is only told from zero: it is 0 or 1.
type Record struct {
	Kind  Kind
	Side  engine.Side // of the order; of a Trade the taker's
	Sided bool        // Trade: the file has the side
	NS    int64
	At    Position

	ID            uint64 // of the order, as the file names it
	Price, Amount int64
	First, Last   uint64 // update ids of an Update; Last of a Book and a Touch

	// Levels are bids and asks, best first. Depth is how many levels a side of the file has
	// room for; above 0 beside an order: the book after the record.
	Levels [2][]Level
	Depth  int

	Bar   Prices
	Today Values
}

// reset empties r and keeps its slices.
func (r *Record) reset() {
	bids, asks := r.Levels[0][:0], r.Levels[1][:0]
	*r = Record{Levels: [2][]Level{bids, asks}}
}

// Shape describes the records of a recording as a whole: it decides how they are fed
// and what is compared.
type Shape uint8

// The shapes.
const (
	Trades   Shape = iota // trades or bars
	Answers               // trades, with candles and the day's values to compare
	Messages              // order messages, each with the book after it
	Log                   // order messages, with books now and then
	Levels                // changed levels and trades
)

// ComparesTrades reports whether every public trade is compared with the record it is made of.
func (s *Survey) ComparesTrades() bool { return s.Shape == Trades || s.Shape == Levels }

// Set is a set of candles to compare with.
type Set struct{ LengthNs int64 }

// Survey holds the findings of one pass over the files before anything is fed.
type Survey struct {
	Pair            string // derived from the files; "" when they do not name it
	Shape           Shape
	Price, Amount   Digits
	FixedDigits     bool // the format fixes the digits: no others can be asked for
	FirstNs, LastNs int64
	StartNs         int64  // the latest time that a replay can start from
	Records         int    // that are fed
	Depth           int    // the most levels a side of a book
	Sets            []Set  // of the Candle records
	Today           bool   // a Today record follows them
	Ignored         string // how a note counts the Other records: "%d halts"
}

// count takes the time of a record that is fed.
func (s *Survey) count(ns int64) {
	if s.Records++; s.Records == 1 {
		s.FirstNs = ns
	}
	s.LastNs, s.StartNs = ns, ns
}

// learning reports whether this is the survey's own pass.
func (s *Survey) learning() bool { return s.Price.use == learn }

// Reader turns the text of one recording into records. It knows its format and nothing of the
// exchange. It belongs to one goroutine.
type Reader interface {
	// Open starts at the first record. s is new for the first pass, which fills it; then its
	// digits are chosen and it only reads s.
	Open(s *Survey) error
	// Next fills r with the next record. It returns io.EOF after the last one, and a *LineError
	// for what cannot be replayed or would be read wrongly.
	Next(r *Record) error
	// Notes report what was tolerated or left out of the files, and how often.
	Notes() []string
	Close()
}

// noted appends a sentence with a count, unless that is 0.
func noted(notes []string, n int, format string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, n))
}
