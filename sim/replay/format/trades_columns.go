package format

import (
	"bytes"
	"strconv"
	"strings"

	"tickhive/sim/replay/format/input"
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
		return input.FlawAt(v.nameAt, "keep one of the two", "a second member %q", v.name)
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
		return input.FlawAt(book.nameAt, remedyBook, "%q is part of the updates of an order book", book.name)
	}
	if a, b := f.first[colAmount], f.second[colAmount]; b.set {
		if b.nameAt < a.nameAt {
			a, b = b, a
		}
		return input.FlawAt(b.nameAt, "keep the one with the base amount, and remove or rename the other",
			"%q and %q: cannot decide which column is the base amount", a.name, b.name)
	}
	price := &f.first[colPrice]
	switch {
	case price.set && f.bars():
		return input.FlawAt(price.nameAt, "keep either the price of trades or bars",
			"%q beside open, high, low and close", price.name)
	case f.bars() && !f.first[colAmount].set:
		return input.FlawAt(0, remedyVolume, "bars without a volume")
	case !price.set && !f.bars():
		return input.FlawAt(0, remedyLayout,
			"no price, and not all of open, high, low and close: neither a row nor a header")
	case !f.first[colAmount].set:
		return input.FlawAt(0, remedyLayout, "no amount: neither a row nor a header")
	case !f.first[colTime].set:
		return input.FlawAt(0, remedyLayout, "no time: neither a row nor a header")
	}
	return nil
}

// splitTime returns the time that two columns form, a date and a time of day; 0 when one column has the time. It is an
// error when they cannot be joined. kind is the kind of the first value, timeNone when it could not be read.
func (f *fields) splitTime(kind input.TimeKind) (ns int64, err error) {
	first, other := &f.first[colTime], &f.second[colTime]
	if !other.set {
		other = &f.clock
	}
	whole := kind != input.TimeNone && kind != input.TimeDayMs && kind != input.TimeWrittenDay
	if whole || !other.set || bytes.Equal(first.text, other.text) {
		return 0, nil
	}
	day, clock := other, first
	if kind == input.TimeWrittenDay {
		day, clock = first, other
	}
	if ns, ok := input.JoinTime(day.text, clock.text); ok && day.name != "" && clock.name != "" {
		return ns, nil // without a name the column may be another one
	}
	return 0, input.FlawAt(clock.at,
		"join them into one column such as 2026-01-01T10:30:00Z, or remove the one that is no time by itself",
		"the time is split over the columns %s and %s", day.label(), clock.label())
}

func (v *field) label() string {
	if v.name != "" {
		return `"` + v.name + `"`
	}
	return strconv.Itoa(v.index + 1)
}
