package format

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// Kind is the kind of a record.
type Kind uint8

// The kinds. Records from Candle on come after the last record to feed; they are only compared.
const (
	Other   Kind = iota // changes neither the book nor the trades
	Place               // a new order with Price and Amount
	Change              // an order now has this Price and this open Amount
	Reduce              // an order loses Amount and keeps its place
	Cancel              // an order ends; Amount is the amount that was open, 0 when it was filled
	Execute             // the resting order ID traded Amount with a taker
	Trade               // a public trade
	Report              // a trade that also follows from the orders of the recording
	Book                // a complete book
	Update              // levels that changed; amount 0: the level is gone
	Touch               // best bid and ask after update Last
	Bar                 // a candle to feed as trades
	Candle              // a candle to compare with
	Today               // values of the day to compare with
)

// Level is one price of a book, in ticks and lots.
type Level struct{ Price, Amount int64 }

// Worse reports whether price a is farther from the touch than b.
func Worse(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a < b
	}
	return a > b
}

// Prices holds the values of a bar or a candle, in ticks and lots.
type Prices struct {
	Open, High, Low, Close, Volume int64

	Trades int64 // number of trades; negative: unknown
	Set    int   // index in Survey.Sets
}

// Path appends the prices of the fewest trades that make the bar: open, the nearer extreme, the other extreme,
// close. It leaves out prices that equal a neighbour.
func (p *Prices) Path(dst []int64) []int64 {
	near, far := p.High, p.Low
	if p.Open-p.Low < p.High-p.Open {
		near, far = far, near
	}
	return slices.Compact(append(dst, p.Open, near, far, p.Close))
}

// msNs is a millisecond in ns.
const msNs = int64(time.Millisecond)

// Print is a record at its time, or one of the trades that make a bar.
type Print struct{ NS, Price, Amount int64 }

// Prints appends the trades that make a bar, over its time: the open at its beginning, the close in its last
// millisecond, and at least 1 ms from one to the next. A bar without a volume is one print at its end, any other record
// one of its own values.
func (r *Record) Prints(dst []Print) []Print {
	volume, last := r.Bar.Volume, max(r.LastsNs-msNs, 0)
	switch {
	case r.Kind != Bar:
		return append(dst, Print{r.NS, r.Price, r.Amount})
	case volume == 0:
		return append(dst, Print{NS: r.NS + last})
	}
	var path [4]int64
	prices := r.Bar.Path(path[:0])
	n := int64(len(prices))
	apart := max(last/max(n-1, 1), msNs)
	amount := volume/n + volume%n
	for i, price := range prices {
		after := int64(i) * (apart - apart%msNs)
		if i > 0 && i == len(prices)-1 {
			after = max(after, last)
		}
		dst = append(dst, Print{r.NS + after, price, amount})
		amount = volume / n
	}
	return dst
}

// Values holds the values of a day as the exchange reported them. -1 marks a value that cannot agree.
type Values struct {
	High, Low, Open, Last int64 // ticks
	Volume                int64 // lots
	VWAP                  int64 // units of 10^-VWAPDigits, truncated
	Trades                int64
}

// VWAPDigits is the number of decimals of the recorded volume-weighted average price.
const VWAPDigits = 5

// Record is one row of a recording. The caller owns it and passes it to every call of Next. Next overwrites all
// of it and reuses its slices.
//
// Units: prices are ticks, amounts lots, times Unix ns. During a survey, which determines the digits,
// a price or an amount is only its sign, 0 or 1.
type Record struct {
	Kind  Kind
	Side  engine.Side // the order's side; for a Trade the taker's side
	Sided bool        // Trade: the file states the side

	Hidden bool // Trade: the maker was not displayed

	NS int64
	At Position

	ID            uint64 // id of the order in the file
	Price, Amount int64
	First, Last   uint64 // update ids of an Update; Last also for a Book and a Touch
	Replaces      bool   // Book: it holds also when no update is missing
	More          bool   // Orders: the next record belongs to the same event

	// Levels holds bids and asks, best first. Depth is the largest number of levels of a side in the file. Depth
	// above 0 in an order message means that Levels is the book after it.
	Levels [2][]Level
	Depth  int

	Bar     Prices
	LastsNs int64 // Bar: time over which its trades lie, ns
	Today   Values

	message binanceMessage // binance: the kind of the line
	left    bool           // databento: a row of another symbol, left out
}

// reset clears r but retains the memory of its slices.
func (r *Record) reset() {
	bids, asks := r.Levels[0][:0], r.Levels[1][:0]
	*r = Record{Levels: [2][]Level{bids, asks}}
}

// Shape describes a recording as a whole. It determines how the records are fed and what is compared.
type Shape uint8

// The shapes.
const (
	Trades   Shape = iota // trades or bars
	Answers               // trades, then candles and values of the day to compare with
	Messages              // order messages, each with the book after it
	Log                   // order messages, and a book now and then
	Levels                // changed levels, and trades
	Orders                // order messages; several may be one event
)

// ComparesTrades reports whether each public trade is compared with the record from which it was made.
func (s *Survey) ComparesTrades() bool {
	return s.Shape != Answers && s.Shape != Log
}

// HasBook reports whether the recording has the orders or the levels behind its trades.
func (s *Survey) HasBook() bool { return s.Shape != Trades && s.Shape != Answers }

// Set describes a set of candles to compare with.
type Set struct {
	LengthNs int64
	Fed      bool // they are fed, too: bars of which no finer file has trades
}

// Survey holds the results of the first pass over the files, which feeds nothing.
type Survey struct {
	Pair            string // pair code; "" when the files do not name a pair
	Shape           Shape
	Price, Amount   Digits
	FixedDigits     bool // the format determines the digits; the user cannot choose others
	Rounds          bool // given digits that are fewer than the files' round the values
	FirstNs, LastNs int64
	StartNs         int64  // latest time at which a replay can start, Unix ns
	Records         int    // number of records to feed
	Trades          int    // most trades of all records; those of candles to compare with are among them
	Depth           int    // largest number of levels on a side of a book
	Hidden          int    // number of trades whose maker was not displayed
	Sets            []Set  // sets of the Candle records, and of the Bar records
	Today           bool   // a Today record follows the Candle records
	Ignored         string // format of the note that counts the Other records: "%d halts"
}

// count counts a record to feed and records its time.
func (s *Survey) count(ns int64) {
	if s.Records++; s.Records == 1 {
		s.FirstNs = ns
	}
	s.LastNs, s.StartNs = ns, ns
}

// learning reports whether the survey is still under way.
func (s *Survey) learning() bool { return s.Price.use == learn }

// Reader converts the text of one recording to records. It does not use the exchange. Owner: one goroutine.
type Reader interface {
	// Open starts at the first record. In the first pass s is empty and the reader fills it. In later passes the
	// digits of s are chosen and the reader only reads s.
	Open(s *Survey) error
	// Next fills r with the next record. It returns io.EOF after the last one, and a *LineError for data that
	// cannot be replayed or would be misread.
	Next(r *Record) error
	// Notes reports what was tolerated or left out of the files, and how often.
	Notes() []string
	Close()
}

// noted appends a sentence with the number n, unless n is 0.
func noted(notes []string, n int, format string) []string {
	if n == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf(format, n))
}

// formats maps each name of a format (docs/contract/recordings.md) to the function that makes its
// reader.
var formats = map[string]func(files []string) (Reader, error){
	"lobster": newLobster, "bitstamp": newBitstamp, "kraken": newKraken, "binance": newBinance, "tardis": newTardis,
	"trades": newTrades, "databento": newDatabento, "bybit": newBybit,
}

// Names returns the names of the formats, sorted.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// New returns the reader of a recording, or nil when name is unknown. It opens no file.
func New(name string, files []string) (Reader, error) {
	if f, ok := formats[name]; ok {
		return f(files)
	}
	return nil, nil
}

// Select makes r take the rows of one pair out of files with several symbols, and out of files whose names tell several
// pairs those of this one. It must be called before Learn. A reader of files that hold one symbol ignores it.
func Select(r Reader, pair string) {
	switch t := r.(type) {
	case *trades:
		all := len(t.files)
		other := elsewhere(t.files, pair, func(f tradeFile) string { return f.path })
		t.pair, t.files = pair, slices.DeleteFunc(t.files, other)
		t.elsewhere = all - len(t.files)
	case *databento:
		t.pair = pair
	}
}

// elsewhere returns a function that reports whether the name of a file tells another pair. Where no name tells the
// pair, it is what the user calls them, and no file is another one's.
func elsewhere[F any](files []F, pair string, path func(F) string) func(F) bool {
	named := func(f F) string { return pairInName(filepath.Base(path(f))) }
	if pair == "" || !slices.ContainsFunc(files, func(f F) bool { return named(f) == pair }) {
		return func(F) bool { return false }
	}
	return func(f F) bool { return named(f) != "" && named(f) != pair }
}

// Use makes r read tables by a layout, whose empty fields the files fill. Databento takes its venue, LOBSTER its zone.
// It must be called before Learn.
func Use(r Reader, given Layout) error {
	t, ok := r.(*trades)
	switch other := r.(type) {
	case *databento:
		other.venue, given.Venue = given.Venue, ""
	case *lobster:
		p, err := (&Layout{Timezone: given.Timezone}).compile()
		if err != nil {
			return err
		}
		other.use(p.zone)
		given.Timezone = ""
	}
	if given == (Layout{}) {
		return nil
	}
	if !ok {
		return errors.New("replay: " + strings.Fields(given.Flags())[0] + " is an option of trades")
	}
	t.layout = given
	return given.Check()
}

// UseExchangeTime makes r take the times of the exchange instead of the times of receipt. It must be called before
// Learn.
func UseExchangeTime(r Reader) error {
	switch t := r.(type) {
	case *binance:
		t.exchange = true
	case *tardis:
		t.time = tardisAt
	default:
		return errors.New("replay: the exchange's time is an option of binance and tardis")
	}
	return nil
}

// Learn reads the recording once and returns the survey. It returns an error for a recording that cannot be
// replayed: the first maxProblems problems of lines, and their number.
func Learn(r Reader) (*Survey, error) {
	defer r.Close()
	s := NewSurvey()
	if err := r.Open(s); err != nil {
		return nil, err
	}
	var rec Record
	var bad problems
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) || err != nil && !bad.take(err) {
			if err := bad.err(); err != nil {
				return nil, err
			}
			return s, nil
		}
		if err == nil {
			s.Trades += rec.trades()
		}
	}
}

// trades returns the most trades that a record is.
func (r *Record) trades() int {
	switch {
	case r.Kind == Execute || r.Kind == Trade || r.Kind == Report:
		return 1
	case r.Kind == Bar && r.Bar.Volume > 0:
		return 4 // Prices.Path
	}
	return 0
}

// Problems returns what keeps files from being replayed: err, which Learn returned for all of them, the file that looks
// like another format, and the problems of each file behind the one at which Learn ended. Only files of the trades
// format can be read by themselves.
func Problems(name string, files []string, pair string, given Layout, err error) error {
	err = foreignFile(name, files, pair, given, err)
	if name != "trades" || len(files) < 2 {
		return err
	}
	all := []error{err}
	other := elsewhere(files, pair, func(path string) string { return path })
	for _, f := range slices.DeleteFunc(slices.Clone(files), other) {
		r, e := New(name, []string{f})
		if e != nil {
			return err
		}
		Select(r, pair)
		e = Use(r, given)
		if e == nil {
			_, e = Learn(r)
		}
		if e == nil || errors.Is(e, os.ErrNotExist) {
			continue
		}
		if first, _, _ := strings.Cut(e.Error(), "\n"); !strings.Contains(err.Error(), first) {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}
