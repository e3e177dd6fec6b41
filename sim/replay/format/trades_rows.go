package format

import (
	"bytes"
	"slices"
	"strings"

	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
)

// maxColumns bounds one CSV row.
const maxColumns = 64

// tradeRows reads CSV or NDJSON rows of trades or bars.
type tradeRows struct {
	s      *Survey
	in     *input.Lines
	day    int64
	hasDay bool

	known     bool // the columns of the CSV file are known
	json      bool // the file is NDJSON
	list      bool // the file is an array of arrays
	width     int  // number of columns that every CSV row must have
	separator byte // of the columns
	cells     [maxColumns]input.Cell
	fields    fields
	used      []*field // the fields of the CSV file's columns

	units  [maxRanks]input.TimeKind // kind of the times, by the rank of their name
	symbol string                   // symbol of the rows before
	last   int64
	rows   int
	first  int64 // time of the first row
	head   int   // number of lines before the first row
	newest bool  // the second time of the file is before the first one

	pair   string // the pair whose rows are taken; "": the rows have one symbol
	others int    // number of rows of other symbols
	other  string // symbol of the first of them
	mixed  bool   // they have several symbols
	events int    // number of messages that are no trades
	event  bool   // the line is such a message
	maker  bool   // the side of the row is the maker's
}

func newTradeRows(in *input.Lines, s *Survey) *tradeRows {
	r := &tradeRows{in: in, s: s}
	r.day, r.hasDay = input.DayOf(in.File)
	return r
}

// next reads the next row into rec. It returns io.EOF after the last row.
func (r *tradeRows) next(rec *Record) error {
	for {
		line, err := r.in.Next()
		if err != nil {
			return err
		}
		if ok, err := r.parse(line, rec); ok || err != nil {
			return r.in.Refuse(err)
		}
	}
}

// parse reads a line. ok is false for a header.
func (r *tradeRows) parse(line []byte, rec *Record) (ok bool, err error) {
	if line[0] == '[' && r.in.Array {
		r.list = true
		line[0], line[len(line)-1] = ' ', ' '
	}
	if r.json = r.json || line[0] == '{' && !r.known; r.json != (line[0] == '{') {
		return false, input.FlawAt(0, "give CSV and JSON in files of their own", "CSV and JSON in one file")
	}
	switch {
	case r.json:
		err = r.members(line)
	case !r.known:
		var header bool
		if header, err = r.header(line); header {
			return false, err
		}
	default:
		err = r.split(line)
	}
	if err != nil || r.event || r.isOther() {
		return err != nil, err
	}
	return true, r.row(rec)
}

// isOther counts a row of another symbol than the pair.
func (r *tradeRows) isOther() bool {
	v := &r.fields.first[colSymbol]
	if r.pair == "" || !v.set || len(v.text) == 0 {
		return false
	}
	symbol := string(v.text)
	if strings.EqualFold(symbol, r.symbol) || pairs.Kraken(symbol) == r.pair {
		return false
	}
	if r.others++; r.others == 1 {
		r.other = symbol
	}
	r.mixed = r.mixed || !strings.EqualFold(symbol, r.other)
	return true
}

// header determines the columns from the first line: from its names, or from the number of its values.
func (r *tradeRows) header(line []byte) (bool, error) {
	if r.in.N == 1 && bytes.HasPrefix(line, []byte("http")) && bytes.IndexByte(line, ',') < 0 {
		return true, nil // a downloaded file may begin with the address of its site
	}
	r.separator = input.SeparatorOf(line)
	r.width = input.Columns(line, r.separator, r.cells[:])
	if r.width > maxColumns {
		return true, input.FlawAt(0, remedyLayout, "%d columns, at most %d", r.width, maxColumns)
	}
	r.known = true
	if looksLikeTime(unquote(r.cells[0].Text)) {
		return false, r.plain(line)
	}
	for i := range r.cells[:r.width] {
		v := field{name: string(unquote(r.cells[i].Text)), index: i, nameAt: r.cells[i].At}
		c, rank := columnNamed(v.name)
		if c == noColumn && !r.fields.first[colAmount].set && isVolumeOf(v.name) {
			c, rank = colAmount, maxRanks-1
		}
		if c == noColumn {
			continue
		}
		v.rank = rank
		if err := r.fields.add(c, v); err != nil {
			return true, err
		}
	}
	return true, r.fields.check()
}

// isVolumeOf reports whether a name is "Volume BTC": the volume in a currency. Of several, the first is in the base.
func isVolumeOf(name string) bool {
	code, ok := strings.CutPrefix(strings.ToLower(name), "volume ")
	return ok && code != "" && !strings.Contains(code, " ")
}

// looksLikeTime reports whether the first cell of a line is a time, so that the line is a row and no header.
func looksLikeTime(s []byte) bool {
	if _, err := decimal.Parse(s); err == nil || input.IsTimeOfDay(s) {
		return true
	}
	_, _, err := input.ReadDate(s)
	return err == nil
}

// plain sets the documented columns, for a file without a header.
func (r *tradeRows) plain(line []byte) error {
	order := []column{colTime, colPrice, colAmount, colSide}
	_, err := decimal.Parse(r.cells[min(3, maxColumns-1)].Text)
	if r.list && r.width == 7 { // freqtrade: timestamp, id, type, side, price, amount, cost
		r.set([]column{colTime, noColumn, noColumn, colSide, colPrice, colAmount})
		return r.split(line)
	}
	if known := r.dump(); known != nil {
		r.set(known)
		return r.split(line)
	}
	clock := func(c input.Cell) bool { return input.IsTimeOfDay(unquote(c.Text)) }
	// A row with a date and a time of day in two columns is taken for no bar: its error names these two columns.
	bars := err == nil && !slices.ContainsFunc(r.cells[:2], clock)
	switch {
	case r.width == 6:
		order = []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}
	case r.width < 3:
		return input.FlawAt(0, remedyLayout, "%d columns", r.width)
	case r.width == 5 && bars:
		return input.FlawAt(0, remedyVolume, "5 columns of numbers: bars without a volume")
	case r.width > 6 && bars:
		return input.FlawAt(0, remedyLayout, "%d columns without a header", r.width)
	}
	r.set(order[:min(len(order), r.width)])
	return r.split(line)
}

// set sets the columns of a file without a header.
func (r *tradeRows) set(order []column) {
	for i, c := range order {
		if c != noColumn {
			r.fields.first[c] = field{set: true, index: i}
		}
	}
}

// split splits a CSV row into cells. It refuses a row with more or fewer columns than the others: it is cut
// off, or has an additional comma, so values would be in the wrong columns.
func (r *tradeRows) split(line []byte) error {
	n := input.Columns(line, r.separator, r.cells[:])
	if r.separator == '\t' { // the line has lost its empty cells at the end
		for ; n < r.width; n++ {
			r.cells[n] = input.Cell{At: len(line)}
		}
	}
	for i := r.width; i < min(n, maxColumns); i++ {
		if len(r.cells[i].Text) > 0 {
			return input.FlawAt(r.cells[i].At, remedyLong,
				"%d columns, the rows before have %d", n, r.width)
		}
	}
	if n < r.width || n > maxColumns {
		return input.FlawAt(len(line)-1, remedyShort, "%d columns, the rows before have %d", n, r.width)
	}
	if r.used == nil {
		r.used = r.fields.used()
	}
	for _, v := range r.used {
		v.text, v.at = unquote(r.cells[v.index].Text), r.cells[v.index].At
	}
	return nil
}

// row fills rec from the values of the row.
func (r *tradeRows) row(rec *Record) (err error) {
	f := &r.fields.first
	if rec.NS, err = r.time(); err != nil {
		return err
	}
	if err := r.oneMarket(); err != nil {
		return err
	}
	switch {
	case f[colPrice].set:
		err = r.trade(rec)
	case r.rows > 0 && rec.NS == r.last:
		err = input.FlawAt(f[colTime].at, "remove one of them", "the same time as the bar before")
	default:
		err = r.bar(rec)
	}
	if r.rows == 0 {
		r.first, r.head = rec.NS, r.in.N-1
	}
	r.last = rec.NS
	r.rows++
	return err
}

// time reads the row's time. It must be a whole number in the unit of the earlier rows, and not before their
// times.
func (r *tradeRows) time() (int64, error) {
	v := &r.fields.first[colTime]
	ns, kind, err := input.ReadTime(v.text, r.day, r.hasDay)
	if kind == input.TimeWrittenDay && r.known {
		r.findClock(v.index)
	}
	switch joined, split := r.fields.splitTime(kind); {
	case split != nil:
		return 0, split
	case joined != 0:
		ns, kind = joined, input.TimeWritten
	case err != nil:
		return 0, v.noTime(err)
	}
	switch unit := r.units[v.rank]; {
	case kind == input.TimeDayMs && unit == input.TimeNone && input.Undashed(v.text) != "":
		return 0, input.FlawAt(v.at, "write "+input.Undashed(v.text)+", or milliseconds of the file's day",
			"time %q: a date without dashes reads as a number", input.Clip(v.text))
	case unit != input.TimeNone && unit != kind.OneUnit():
		return 0, input.FlawAt(v.at, "write all times of the file in one unit",
			"time %q is %s, the rows before have %s", input.Clip(v.text), kind, unit)
	case ns < r.last:
		r.newest = r.last == r.first && !r.in.Array
		return 0, input.FlawAt(v.at, "sort the rows by time", "time goes back: rows must be in order of time")
	}
	r.units[v.rank] = kind.OneUnit()
	return ns, nil
}

// noTime returns the error for a value that is no time.
func (v *field) noTime(err error) error {
	if c, _ := columnNamed(string(v.text)); c != noColumn {
		return input.FlawAt(v.at, "remove the line, or give joined files one by one", "time %q: a second header",
			input.Clip(v.text))
	}
	if input.IsTimeOfDay(v.text) {
		return input.FlawAt(v.at, input.RemedyTime, "time %q is a time of day without its date", input.Clip(v.text))
	}
	return input.Locate(v.at, err)
}

// findClock looks for a time of day in the other columns of a CSV row.
func (r *tradeRows) findClock(day int) {
	r.fields.clock = field{}
	for i := range r.cells[:r.width] {
		if i != day && input.IsTimeOfDay(unquote(r.cells[i].Text)) {
			r.fields.clock = field{set: true, index: i, text: r.cells[i].Text, at: r.cells[i].At}
			return
		}
	}
}

// oneMarket returns an error for a row of another symbol and for a row that is no trade.
func (r *tradeRows) oneMarket() error {
	if v := &r.fields.first[colAction]; v.set {
		switch strings.ToLower(string(v.text)) {
		case "", "t", "f", "trade", "fill", "match":
		default:
			return input.FlawAt(v.at, remedyBook, "%s %q is no trade", v.name, input.Clip(v.text))
		}
	}
	v := &r.fields.first[colSymbol]
	switch {
	case !v.set || len(v.text) == 0 || strings.EqualFold(r.symbol, string(v.text)):
	case r.symbol == "":
		r.symbol = string(v.text)
	default:
		return input.FlawAt(v.at, remedySymbols, "symbol %q, the rows before are of %q",
			input.Clip(v.text), input.Clip([]byte(r.symbol)))
	}
	return nil
}
