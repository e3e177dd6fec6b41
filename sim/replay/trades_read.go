package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tickhive/engine"
)

// The columns of a trades file by the names a header may give them. The first name is
// the documented one. In NDJSON the same names are members.
var columnNames = [columnKinds][]string{
	colTime:   {"time", "timestamp", "ts", "t", "date", "datetime", "trade_timestamp", "dealdateutc", "start"},
	colPrice:  {"price", "p"},
	colAmount: {"amount", "size", "qty", "quantity", "q", "volume", "base_volume", "vol", "v"},
	colSide:   {"side", "type", "taker_side", "isbuy"},
	colMaker:  {"is_buyer_maker", "isbuyermaker", "m"},
	colOpen:   {"open", "o"},
	colHigh:   {"high", "max", "h"},
	colLow:    {"low", "min", "l"},
	colClose:  {"close", "c"},
}

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
	columnKinds
	noColumn column = -1
)

// maxColumns bounds one CSV row.
const maxColumns = 64

// tradeRow is one row of a trades file, still in decimals: a trade, or a bar when bar is
// set. A bar's amount is its volume.
type tradeRow struct {
	ns                     int64
	price, amount          number
	bar                    bool
	open, high, low, close number
	side                   engine.Side
	hasSide                bool
}

// tradeLayout says what the columns of a CSV file mean.
type tradeLayout [columnKinds]int

var (
	plainTrades = tradeLayout{colTime: 0, colPrice: 1, colAmount: 2, colSide: 3, colMaker: -1, colOpen: -1, colHigh: -1, colLow: -1, colClose: -1}
	plainBars   = tradeLayout{colTime: 0, colOpen: 1, colHigh: 2, colLow: 3, colClose: 4, colAmount: 5, colPrice: -1, colSide: -1, colMaker: -1}
)

// tradeReader reads CSV or NDJSON rows of trades or bars.
type tradeReader struct {
	in     *lines
	day    int64
	hasDay bool
	layout tradeLayout
	known  bool // the layout is
	last   int64
}

func newTradeReader(in *lines) *tradeReader {
	r := &tradeReader{in: in}
	r.day, r.hasDay = dayOf(in.file)
	return r
}

// next reads the next row; io.EOF after the last.
func (r *tradeReader) next() (tradeRow, error) {
	for {
		line, err := r.in.next()
		if err != nil {
			return tradeRow{}, err
		}
		if line[0] != '{' && !r.known {
			header, err := r.header(line)
			if err != nil {
				return tradeRow{}, r.in.fail("%v", err)
			}
			if header {
				continue
			}
		}
		row, err := r.parse(line)
		if err != nil {
			return tradeRow{}, r.in.fail("%v", err)
		}
		if row.ns < r.last {
			return tradeRow{}, r.in.fail("time goes back: rows must be in order of time")
		}
		r.last = row.ns
		return row, nil
	}
}

// header learns the columns from the first line: from their names, or from how many
// there are.
func (r *tradeReader) header(line []byte) (bool, error) {
	var col [maxColumns][]byte
	n := columns(line, col[:])
	if n > maxColumns {
		return false, fmt.Errorf("%d columns, at most %d", n, maxColumns)
	}
	r.known = true
	if _, err := parseTime(col[0], r.day, r.hasDay); err == nil {
		if n == 6 {
			r.layout = plainBars
			return false, nil
		}
		r.layout = plainTrades
		return false, nil
	}
	for i := range r.layout {
		r.layout[i] = -1
	}
	for i, name := range col[:n] {
		if c := columnNamed(string(bytes.Trim(name, `" `))); c != noColumn && r.layout[c] < 0 {
			r.layout[c] = i
		}
	}
	if r.layout[colTime] < 0 || r.layout[colAmount] < 0 || r.layout[colPrice] < 0 && !r.layout.bars() {
		return false, errors.New("neither a row nor a header: want time,price,amount[,side] or time,open,high,low,close,volume")
	}
	return true, nil
}

func (l *tradeLayout) bars() bool {
	return l[colOpen] >= 0 && l[colHigh] >= 0 && l[colLow] >= 0 && l[colClose] >= 0
}

func columnNamed(name string) column {
	name = strings.ToLower(name)
	for c, names := range columnNames {
		for _, n := range names {
			if n == name {
				return column(c)
			}
		}
	}
	return noColumn
}

func (r *tradeReader) parse(line []byte) (tradeRow, error) {
	if line[0] == '{' {
		return r.parseJSON(line)
	}
	var col [maxColumns][]byte
	n := columns(line, col[:])
	var cells [columnKinds][]byte
	for c, at := range r.layout {
		switch {
		case at < 0:
		case at < min(n, maxColumns):
			cells[c] = bytes.Trim(col[at], `"`)
		case column(c) != colSide && column(c) != colMaker:
			return tradeRow{}, fmt.Errorf("%d columns, the row needs %s in column %d", n, columnNames[c][0], at+1)
		}
	}
	return r.row(&cells)
}

// parseJSON reads the members in their order. Of two members with names of one column the
// one that stands first in the list of names is meant; of two with one name (the case aside)
// nobody can say which.
func (r *tradeReader) parseJSON(line []byte) (tradeRow, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil { // the brace
		return tradeRow{}, fmt.Errorf("JSON: %w", err)
	}
	var cells [columnKinds][]byte
	var ranks [columnKinds]uint // a bit for each name that was there; the lowest is in cells
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return tradeRow{}, fmt.Errorf("JSON: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return tradeRow{}, fmt.Errorf("JSON: %w", err)
		}
		name := token.(string) // a decoder takes nothing else before a colon
		c := columnNamed(name)
		if c == noColumn || value[0] == '{' || value[0] == '[' || string(value) == "null" {
			continue
		}
		bit := uint(1) << indexOf(columnNames[c], strings.ToLower(name))
		if ranks[c]&bit != 0 {
			return tradeRow{}, fmt.Errorf("a second member %q", name)
		}
		if ranks[c]&(bit-1) == 0 {
			cells[c] = bytes.Trim(value, `"`)
		}
		ranks[c] |= bit
	}
	if _, err := dec.Token(); err != nil {
		return tradeRow{}, fmt.Errorf("JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return tradeRow{}, errors.New("JSON: something follows the object")
	}
	return r.row(&cells)
}

func indexOf(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return len(list)
}

// row makes a row of its cells.
func (r *tradeReader) row(cells *[columnKinds][]byte) (row tradeRow, err error) {
	if row.ns, err = parseTime(cells[colTime], r.day, r.hasDay); err != nil {
		return row, fmt.Errorf("time: %w", err)
	}
	if cells[colPrice] == nil {
		row.bar = true
		if row.amount, err = text(cells[colAmount]).number("volume"); err != nil {
			return row, err
		}
		return row, row.readBar(cells)
	}
	if row.amount, err = positiveNumber("amount", cells[colAmount]); err != nil {
		return row, err
	}
	if row.price, err = positiveNumber("price", cells[colPrice]); err != nil {
		return row, err
	}
	switch {
	case len(cells[colSide]) > 0:
		row.hasSide = true
		switch strings.ToLower(string(cells[colSide])) {
		case "buy", "b", "bid", "true":
			row.side = engine.Buy
		case "sell", "s", "ask", "false":
			row.side = engine.Sell
		default:
			return row, fmt.Errorf("side %q is not buy or sell", clip(cells[colSide]))
		}
	case len(cells[colMaker]) > 0:
		row.hasSide = true
		switch strings.ToLower(string(cells[colMaker])) {
		case "true", "1":
			row.side = engine.Sell // the buyer was the maker
		case "false", "0":
			row.side = engine.Buy
		default:
			return row, fmt.Errorf("is_buyer_maker %q is not true or false", clip(cells[colMaker]))
		}
	}
	return row, nil
}

func (row *tradeRow) readBar(cells *[columnKinds][]byte) (err error) {
	for _, p := range []struct {
		c    column
		into *number
	}{{colOpen, &row.open}, {colHigh, &row.high}, {colLow, &row.low}, {colClose, &row.close}} {
		if *p.into, err = positiveNumber(columnNames[p.c][0], cells[p.c]); err != nil {
			return err
		}
	}
	return nil
}

func positiveNumber(what string, s []byte) (number, error) {
	n, err := parseNumber(s)
	if err == nil && (n.mantissa == 0 || n.neg) {
		err = errors.New("must be above zero")
	}
	if err != nil {
		return n, fmt.Errorf("%s %q: %w", what, clip(s), err)
	}
	return n, nil
}
