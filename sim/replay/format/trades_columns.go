package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// column is the meaning of a column of a trades file or of a member of NDJSON.
type column int

const (
	colTime column = iota
	colPrice
	colAmount
	colSide
	colMaker
	colOpen
	colHigh
	colLow
	colClose
	colSymbol
	colAction
	colBook
	columnKinds
	noColumn column = -1
)

// columnNames lists the names that a header may use for each column, in order of preference. The first name is
// the documented one.
var columnNames = [columnKinds][]string{
	colTime: {
		"time", "timestamp", "ts", "t", "datetime", "trade_timestamp", "ts_event", "transact_time", "open_time",
		"dealdateutc", "start", "unix", "date", "trade_time", "time_of_day", "time_utc", "hour",
	},
	colPrice:  {"price", "p"},
	colAmount: {"amount", "size", "qty", "quantity", "q", "volume", "base_volume", "volumebase", "vol", "v"},
	colSide:   {"side", "type", "taker_side", "isbuy"},
	colMaker:  {"is_buyer_maker", "isbuyermaker", "m", "taker_side_sell", "sell"}, // true: the taker sold
	colOpen:   {"open", "o"},
	colHigh:   {"high", "max", "h"},
	colLow:    {"low", "min", "l"},
	colClose:  {"close", "c"},
	colSymbol: {
		"symbol", "instrument", "instrument_id", "instrument_name", "instid", "pair", "currency_pair",
		"currencypaircode", "ticker", "ticker_id", "product_id", "market",
	},
	colAction: {"action", "update_action"},
	colBook:   {"is_snapshot", "issnapshot", "update_type", "first_update_id", "last_update_id", "bids", "asks"},
}

// maxRanks bounds the number of names of one column.
const maxRanks = 24

const (
	remedyBook    = "give a file of trades: these rows belong to an order book"
	remedySymbols = "replay one symbol at a time: split the file by its symbols"
	remedyVolume  = `add a column "volume" with the base amount that each bar traded`
	remedyLayout  = "the columns, or members, are time,price,amount[,side] or time,open,high,low,close,volume"
)

// columnNamed returns the column with this name, and the rank of the name among the column's names.
func columnNamed(name string) (c column, rank int) {
	name = strings.ToLower(name)
	for c, names := range columnNames {
		for rank, n := range names {
			if n == name {
				return column(c), rank
			}
		}
	}
	return noColumn, 0
}

// field is one named value of a row.
type field struct {
	set    bool
	name   string // name in the file; "" without a header
	rank   int
	index  int // index of the CSV column
	nameAt int // offset of the name in its line, in bytes
	text   []byte
	at     int // offset of the text in its line, in bytes
}

// fields holds the values of a row by column. second holds a further value of the same column. clock holds a
// time of day under an unknown name.
type fields struct {
	first, second [columnKinds]field
	ranks         [columnKinds]uint // one bit for each rank that occurred, by column
	clock         field
}

// add adds a value. Of several values of a column, the one with the lowest rank becomes the first. It refuses
// two values with the same name (ignoring case), because the file does not show which one is meant.
func (f *fields) add(c column, v field) error {
	bit := uint(1) << v.rank
	if f.ranks[c]&bit != 0 {
		return flawAt(v.nameAt, "keep one of the two", "a second member %q", v.name)
	}
	f.ranks[c] |= bit
	v.set = true
	switch have := &f.first[c]; {
	case !have.set:
		*have = v
	case v.rank < have.rank:
		f.second[c], *have = *have, v
	default:
		f.second[c] = v
	}
	return nil
}

// used returns the fields that have a value.
func (f *fields) used() (out []*field) {
	for c := range f.first {
		for _, v := range []*field{&f.first[c], &f.second[c]} {
			if v.set {
				out = append(out, v)
			}
		}
	}
	return out
}

// bars reports whether a row has the four prices of a bar.
func (f *fields) bars() bool {
	return f.first[colOpen].set && f.first[colHigh].set && f.first[colLow].set && f.first[colClose].set
}

// check returns an error for names that would be misread.
func (f *fields) check() error {
	if book := &f.first[colBook]; book.set {
		return flawAt(book.nameAt, remedyBook, "%q is part of the updates of an order book", book.name)
	}
	if a, b := f.first[colAmount], f.second[colAmount]; b.set {
		if b.nameAt < a.nameAt {
			a, b = b, a
		}
		return flawAt(b.nameAt, "keep the one with the base amount, and remove or rename the other",
			"%q and %q: cannot decide which column is the base amount", a.name, b.name)
	}
	price := &f.first[colPrice]
	switch {
	case price.set && f.bars():
		return flawAt(price.nameAt, "keep either the price of trades or bars",
			"%q beside open, high, low and close", price.name)
	case f.bars() && !f.first[colAmount].set:
		return flawAt(0, remedyVolume, "bars without a volume")
	case !price.set && !f.bars():
		return flawAt(0, remedyLayout,
			"no price, and not all of open, high, low and close: neither a row nor a header")
	case !f.first[colAmount].set:
		return flawAt(0, remedyLayout, "no amount: neither a row nor a header")
	case !f.first[colTime].set:
		return flawAt(0, remedyLayout, "no time: neither a row nor a header")
	}
	return nil
}

// splitTime returns the time that two columns form, a date and a time of day; 0 when one column has the time. It is an
// error when they cannot be joined. kind is the kind of the first value, timeNone when it could not be read.
func (f *fields) splitTime(kind timeKind) (ns int64, err error) {
	first, other := &f.first[colTime], &f.second[colTime]
	if !other.set {
		other = &f.clock
	}
	whole := kind != timeNone && kind != timeDayMs && kind != timeWrittenDay
	if whole || !other.set || bytes.Equal(first.text, other.text) {
		return 0, nil
	}
	day, clock := other, first
	if kind == timeWrittenDay {
		day, clock = first, other
	}
	if ns, ok := joinTime(day.text, clock.text); ok && day.name != "" && clock.name != "" {
		return ns, nil // without a name the column may be another one
	}
	return 0, flawAt(clock.at,
		"join them into one column such as 2026-01-01T10:30:00Z, or remove the one that is no time by itself",
		"the time is split over the columns %s and %s", day.label(), clock.label())
}

func (v *field) label() string {
	if v.name != "" {
		return `"` + v.name + `"`
	}
	return strconv.Itoa(v.index + 1)
}

// dumps lists the layouts of files without a header that exchanges offer for download. flags are the columns of true or
// false by which a layout is known; the other columns of its order are numbers.
var dumps = []struct {
	width int
	flags []int
	order []column
}{
	// Binance, https://github.com/binance/binance-public-data: trades of spot, of futures; aggregated ones of spot, of
	// futures; klines.
	{7, []int{5, 6}, []column{noColumn, colPrice, colAmount, noColumn, colTime, colMaker}},
	{6, []int{5}, []column{noColumn, colPrice, colAmount, noColumn, colTime, colMaker}},
	{8, []int{6, 7}, []column{noColumn, colPrice, colAmount, noColumn, noColumn, colTime, colMaker}},
	{7, []int{6}, []column{noColumn, colPrice, colAmount, noColumn, noColumn, colTime, colMaker}},
	{12, nil, []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}},
	// Kraken's history of OHLCVT: the last column counts the trades.
	{7, nil, []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}},
}

// dump returns the columns of the layout that the first row has, nil when it has none.
func (r *tradeRows) dump() []column {
	for _, d := range dumps {
		if d.width != r.width {
			continue
		}
		fits := true
		for i := range r.cells[:r.width] {
			text := r.cells[i].Text
			_, err := ParseDecimal(text)
			flag := bytes.EqualFold(text, []byte("true")) || bytes.EqualFold(text, []byte("false"))
			fits = fits && (slices.Contains(d.flags, i) && flag || !slices.Contains(d.flags, i) && err == nil)
		}
		if fits {
			return d.order
		}
	}
	return nil
}

// remedyJSON is the remedy for a line that is no JSON object.
const remedyJSON = "write one whole JSON object a line"

// members reads the members of an NDJSON row. Null counts as missing.
func (r *tradeRows) members(line []byte) error {
	r.fields, r.event, r.maker = fields{}, false, false
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil { // skips the opening brace
		return flawJSON(dec, err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return flawJSON(dec, err)
		}
		name := token.(string) // the decoder guarantees a string before a colon
		nameAt := bytes.LastIndexByte(line[:dec.InputOffset()-1], '"')
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return flawJSON(dec, err)
		}
		v := field{name: name, nameAt: nameAt, text: unquote(value), at: int(dec.InputOffset()) - len(value)}
		if err := r.member(v, value[0]); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return flawJSON(dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return flawAt(int(dec.InputOffset())-1, remedyJSON, "JSON: something follows the object")
	}
	if r.event {
		r.events++
		return nil
	}
	return r.fields.check()
}

// coinbaseEvents lists the types of the full channel's messages (Coinbase Exchange) that are no trades.
var coinbaseEvents = []string{
	"received", "open", "done", "change", "activate", "heartbeat", "subscriptions",
}

// member adds one member. start is the first byte of its value.
func (r *tradeRows) member(v field, start byte) error {
	c, rank := columnNamed(v.name)
	v.rank = rank
	switch {
	case v.name == "maker_order_id": // a match of Coinbase: its side is the side of the maker's order
		r.maker = true
	case v.name == "type" && slices.Contains(coinbaseEvents, string(v.text)):
		r.event = true
	case v.name == "type" && (string(v.text) == "match" || string(v.text) == "last_match"):
		return nil
	case v.name == "s": // S is the name of a side, s the name of a symbol
		c = colSymbol
	case c == colBook:
	case start == '{' || start == '[' || string(v.text) == "null":
		return nil
	}
	switch {
	case c != noColumn:
		return r.fields.add(c, v)
	case isTimeOfDay(v.text):
		v.set = true
		r.fields.clock = v
	}
	return nil
}

// flawJSON returns err with the offset at which the decoder stopped.
func flawJSON(dec *json.Decoder, err error) error {
	at := int(dec.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(int(syntax.Offset)-1, 0)
	}
	return flawAt(at, remedyJSON, "JSON: %v", err)
}
