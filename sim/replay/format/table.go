package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// maxColumns bounds one CSV row.
const maxColumns = 64

// table reads rows of trades or bars, CSV or JSON, by a layout.
type table struct {
	s     *Survey
	in    *lineReader
	set   *settled
	plan  *plan
	times timeReader

	known     bool // the columns of the CSV file are known
	json      bool // the file is NDJSON
	list      bool // the file is an array of arrays
	width     int  // number of columns that every CSV row must have
	separator byte // of the columns
	skip      int  // number of lines to leave out behind the header
	cells     [maxColumns]cell
	fields    fields
	used      []*field // the fields of the CSV file's columns
	meanings  map[string]meaning
	unused    []string // names of the columns that the reader does not use
	number    []byte   // a number without its decoration
	joint     []byte   // a date and a time of day

	units    [maxRanks]timeKind // kind of the times, by the rank of their name
	symbol   string             // symbol of the rows before
	last     int64              // the latest time that orders the rows
	shown    int64              // the time of the row before
	order    lineOrder          // of trades with a time of receipt
	rows     int
	first    int64 // time of the first row
	head     int   // number of lines before the first row
	newest   bool  // the second time of the file is before the first one
	doubled  int   // number of times that a clock shows twice, taken at the first time
	repeated int   // number of times that a clock shows for the second time
	changes  int   // number of rows whose times have another unit than the row before
	blank    int   // number of bars without prices
	filled   int   // number of bars whose volume the layout gives

	ids     *tradeIDs  // nil until a row has one
	earlier *tradeIDs  // those of the files before this one, nil for none
	shared  bool       // a row is a trade of the files before
	clash   error      // refuses the first row with the id of a trade of the files before, but other values
	twice   int        // number of rows that are an earlier one again
	unequal int        // number of trades whose quote amount is not price x amount
	most    [2]extreme // price and amount of one trade

	decimals int // most decimals of a quote amount

	pair   string // the pair whose rows are taken; "": the rows have one symbol
	others int    // number of rows of other symbols
	away   int    // number of rows of other venues
	venue  string // venue of the bars before
	other  string // symbol of the first of them
	mixed  bool   // they have several symbols
	events int    // number of messages that are no trades
	event  bool   // the line is such a message
	maker  bool   // the side of the row is the maker's
}

// meaning is what the name of a member means.
type meaning struct {
	column column
	rank   int
}

func newTable(in *lineReader, s *Survey, set *settled) *table {
	p := &set.plan
	r := &table{in: in, s: s, set: set, plan: p, meanings: map[string]meaning{}}
	r.times = timeReader{zone: p.zone, kind: p.kind, layout: p.format, dates: set.dates}
	r.times.day, r.times.hasDay = dayOf(in.File)
	if !r.times.hasDay {
		r.times.day, r.times.hasDay = dayOf(in.Source.Inner)
	}
	if set.form != nil {
		r.skip = set.form.skip
	}
	return r
}

// errLeftOut reports a row that is counted and left out.
var errLeftOut = errors.New("left out")

// next reads the next row into rec. It returns io.EOF after the last row.
func (r *table) next(rec *Record) error {
	for {
		line, err := r.in.Next()
		if errors.Is(err, io.EOF) && r.in.answers != nil {
			r.events += r.in.answers.events
		}
		if err != nil {
			return err
		}
		ok, err := r.parse(line, rec)
		if errors.Is(err, errLeftOut) {
			continue
		}
		if ok || err != nil {
			return r.in.Refuse(err)
		}
	}
}

// parse reads a line. ok is false for a header.
func (r *table) parse(line []byte, rec *Record) (ok bool, err error) {
	if line[0] == '[' && r.in.Array {
		r.list = true
		line[0], line[len(line)-1] = ' ', ' '
	}
	if r.json = r.json || line[0] == '{' && !r.known; r.json != (line[0] == '{') {
		return false, flawAt(0, "give CSV and JSON in files of their own", "CSV and JSON in one file")
	}
	switch {
	case r.json:
		err = r.members(line)
	case !r.known:
		var header bool
		if header, err = r.header(line); header {
			return false, err
		}
	case r.skip > 0 && r.rows == 0:
		r.skip--
		return false, nil
	default:
		err = r.split(line)
	}
	if err != nil || r.event || r.isOther() || r.isAway() {
		return err != nil, err
	}
	return true, r.row(rec)
}

// isOther counts a row of another symbol than the pair.
func (r *table) isOther() bool {
	v := &r.fields.first[colSymbol]
	if r.pair == "" || !v.set || len(v.text) == 0 {
		return false
	}
	symbol := string(v.text)
	if strings.EqualFold(symbol, r.symbol) || symbolIs(symbol, r.pair) {
		return false
	}
	if r.others++; r.others == 1 {
		r.other = symbol
	}
	r.mixed = r.mixed || !strings.EqualFold(symbol, r.other)
	return true
}

// isAway counts a row of another venue than the layout's.
func (r *table) isAway() bool {
	v := &r.fields.first[colVenue]
	if r.plan.venue == "" || v.set && string(v.text) == r.plan.venue {
		return false
	}
	r.away++
	return true
}

// header determines the columns from the first line: from its names, or from the number of its values.
func (r *table) header(line []byte) (bool, error) {
	if isPreamble(line) {
		return true, nil // a downloaded file may begin with the address of its site
	}
	if r.separator = tableSeparator(line); r.list {
		r.separator = ','
	}
	r.width = splitTable(line, r.separator, r.cells[:])
	if r.width > maxColumns {
		return true, flawAt(0, remedyLayout, "%d columns, at most %d", r.width, maxColumns)
	}
	r.known = true
	if looksLikeTime(unquote(r.cells[0].Text)) {
		if r.separator != '\t' { // rows with tabs have lost their empty cells at the end
			r.width = cmp.Or(r.set.width, r.width)
		}
		return false, r.plain(line)
	}
	var given [maxColumns]bool // the layout gives the column
	for c := range r.plan.columns {
		if !r.plan.has(column(c)) {
			continue
		}
		i := slices.IndexFunc(r.cells[:r.width], func(x cell) bool {
			return string(unquote(x.Text)) == r.plan.columns[c]
		})
		if i = max(i, r.plan.indexOf(column(c))); i < 0 || i >= r.width {
			return true, flawAt(0, "give --columns with names or numbers of this line", "no column %q",
				r.plan.columns[c])
		}
		given[i] = true
		r.fields.first[c] = field{set: true, name: string(unquote(r.cells[i].Text)), index: i, nameAt: r.cells[i].At}
	}
	for i := range r.cells[:r.width] {
		v := field{name: string(unquote(r.cells[i].Text)), index: i, nameAt: r.cells[i].At}
		if given[i] {
			continue
		}
		c, rank := r.meaningOf(v.name)
		if c == noColumn {
			r.unused = append(r.unused, v.name)
			continue
		}
		v.rank = rank
		if err := r.fields.add(c, v); err != nil {
			return true, err
		}
	}
	r.fields.prefer()
	return true, r.fields.check(r.plan)
}

// meaningOf returns the column of a name that the layout does not give.
func (r *table) meaningOf(name string) (column, int) {
	c, rank := columnNamed(name)
	if r.plan.only || c == colClock || c != noColumn && (r.plan.has(c) || c == colBase && r.plan.has(colAmount)) {
		return noColumn, 0
	}
	if c == colID && r.set.layout.Columns != "" {
		return noColumn, 0 // who names columns, and no id, has none
	}
	return c, rank
}

// looksLikeTime reports whether the first cell of a line is a time, so that the line is a row and no header.
func looksLikeTime(s []byte) bool {
	if _, err := ParseDecimal(s); err == nil || isTimeOfDay(s) || slashed.Match(s) {
		return true
	}
	_, _, err := readDate(s)
	return err == nil
}

// plain sets the columns of a file without a header: those of the layout, or the documented ones.
func (r *table) plain(line []byte) error {
	if r.plan.numbered() {
		for c := range r.plan.columns {
			switch i := r.plan.indexOf(column(c)); {
			case i >= r.width:
				return flawAt(0, "give --columns with numbers up to that", "no column %d, the first line has %d", i+1,
					r.width)
			case i >= 0:
				r.fields.first[c] = field{set: true, index: i}
			}
		}
		if err := r.fields.check(r.plan); err != nil {
			return err
		}
		return r.split(line)
	}
	order := []column{colTime, colPrice, colAmount, colSide}
	_, err := ParseDecimal(unquote(r.cells[min(3, maxColumns-1)].Text))
	clock := func(c cell) bool { return isTimeOfDay(unquote(c.Text)) }
	// A row with a date and a time of day in two columns is taken for no bar: its error names these two columns.
	bars := err == nil && !slices.ContainsFunc(r.cells[:2], clock)
	switch {
	case r.width == 6:
		order = []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}
	case r.width < 3:
		return flawAt(0, remedyLayout, "%d columns", r.width)
	case r.width == 5 && bars && r.plan.hasVolume:
		order = []column{colTime, colOpen, colHigh, colLow, colClose}
	case r.width == 5 && bars:
		return flawAt(0, remedyVolume, "5 columns of numbers: bars without a volume")
	case r.width > 6 && bars:
		return flawAt(0, remedyLayout, "%d columns without a header", r.width)
	}
	for i, c := range order[:min(len(order), r.width)] {
		r.fields.first[c] = field{set: true, index: i}
	}
	return r.split(line)
}

// split splits a CSV row into cells. It refuses a row with more or fewer columns than the others: it is cut
// off, or has an additional comma, so values would be in the wrong columns.
func (r *table) split(line []byte) error {
	n := splitTable(line, r.separator, r.cells[:])
	if r.separator == '\t' { // the line has lost its empty cells at the end
		for ; n < r.width; n++ {
			r.cells[n] = cell{At: len(line)}
		}
	}
	for i := r.width; i < min(n, maxColumns); i++ {
		if len(r.cells[i].Text) > 0 {
			return flawAt(r.cells[i].At, remedyLong,
				"%d columns, the others have %d", n, r.width)
		}
	}
	if n < r.width || n > maxColumns {
		return flawAt(len(line)-1, remedyShort, "%d columns, the others have %d", n, r.width)
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
func (r *table) row(rec *Record) error {
	f := &r.fields.first
	if err := r.oneMarket(); err != nil {
		return err
	}
	at, is, err := r.place()
	if err != nil {
		return err
	}
	if rec.NS, err = r.time(); err != nil {
		return err
	}
	switch {
	case f[colPrice].set:
		err = r.trade(rec)
	case r.rows > 0 && rec.NS == r.shown:
		err = flawAt(f[colTime].at, remedyTwice, "the same time as the bar before")
	default:
		err = r.bar(rec)
	}
	if errors.Is(err, errLeftOut) {
		return err
	}
	if r.rows == 0 {
		r.first, r.head = r.last, r.in.N-1
	}
	r.rows++
	if err != nil {
		return err
	}
	if r.shown = rec.NS; at != nil {
		*at = is
	}
	return nil
}

// time reads the row's time. It must be a whole number in the unit of the earlier rows, or of another one that keeps
// the order, and not before their times.
func (r *table) time() (int64, error) {
	v := &r.fields.first[colTime]
	var ns int64
	kind, err := timeNone, error(nil)
	if r.fields.first[colClock].set {
		kind = timeWrittenDay
	} else if ns, kind, err = r.times.read(v.text); kind == timeWrittenDay && r.known {
		r.findClock(v.index)
	}
	if day, clock := r.fields.splitTime(kind); day != nil {
		if ns, kind, err = r.joined(day, clock); err != nil {
			return 0, err
		}
	} else if err != nil {
		return 0, v.noTime(err)
	}
	unit := r.units[v.rank]
	changed := unit != timeNone && unit != kind.OneUnit()
	switch {
	case kind == timeDayMs && unit == timeNone && undashed(v.text) != "" && r.plan.kind == timeNone:
		return 0, flawAt(v.at, "write "+undashed(v.text)+", or milliseconds of the file's day",
			"time %q: a date without dashes reads as a number", clip(v.text))
	case changed && !(unit.isUnix() && kind.isUnix()):
		return 0, flawAt(v.at, "write all times of the file in one unit",
			"time %q is %s, the rows before have %s", clip(v.text), kind, unit)
	}
	if ns, err = r.ordered(v, ns); err != nil {
		return 0, err
	}
	if changed {
		r.changes++
	}
	r.units[v.rank] = kind.OneUnit()
	return ns, nil
}

// ordered returns the time at which a row is fed. It must not be before the times of the rows before. Of trades with a
// time of receipt that one orders the rows: an exchange's time that goes back is taken at the time before.
func (r *table) ordered(v *field, ns int64) (_ int64, err error) {
	when, back := ns, int64(0)
	if got := &r.fields.first[colReceived]; got.set && len(got.text) > 0 && r.fields.first[colPrice].set {
		if when, _, err = readTime(got.text, 0, false); err != nil {
			return 0, locate(got.at, err)
		}
		if r.rows > 1 {
			back = maxBack // the second row shows whether the newest one is first
		}
	}
	if second, ok := r.times.again(ns); ok {
		// Bars of the hour that a clock repeats have its times twice.
		bar := !r.fields.first[colPrice].set
		if back := when < r.last || bar && r.rows > 0 && when == r.last; back && when == ns && second > r.last {
			ns, when = second, second
			r.repeated++
		} else {
			r.doubled++
		}
	}
	if when < r.last-back {
		r.newest = r.last == r.first
		if r.repeated > 0 {
			return 0, flawAt(v.at, "sort the rows by time; where the newest is first, write the times in UTC",
				"time goes back in the hour that the clock shows twice: rows must be in order of time")
		}
		return 0, flawAt(v.at, "sort the rows by time", "time goes back: rows must be in order of time")
	}
	r.last = max(r.last, when)
	if !r.fields.first[colReceived].set {
		return ns, nil
	}
	r.order.received = when
	ns, err = r.order.take(ns)
	return ns, locate(v.at, err)
}

// joined returns the time of a date and a time of day in two columns.
func (r *table) joined(day, clock *field) (int64, timeKind, error) {
	r.joint = append(append(append(r.joint[:0], day.text...), ' '), clock.text...)
	// Without a name the column may be another one.
	named, known := day.name != "" && clock.name != "" && isTimeOfDay(clock.text), r.plan.has(colClock)
	if named || known {
		ns, kind, err := r.times.written(r.joint)
		switch {
		case err == nil && kind == timeWritten:
			return ns, timeWritten, nil
		case err != nil && known:
			return 0, timeNone, locate(day.at, err)
		}
	}
	return 0, timeNone, flawAt(clock.at,
		"join them into one column such as 2026-01-01T10:30:00Z, or remove the one that is no time by itself, or "+
			"give --columns time=DATE,clock=TIME",
		"the time is split over the columns %s and %s", day.label(), clock.label())
}

// noTime returns the error for a value that is no time.
func (v *field) noTime(err error) error {
	if c, _ := columnNamed(string(v.text)); c != noColumn {
		return flawAt(v.at, "remove the line, or give joined files one by one", "time %q: a second header",
			clip(v.text))
	}
	if isTimeOfDay(v.text) {
		return flawAt(v.at, remedyTime, "time %q is a time of day without its date", clip(v.text))
	}
	return locate(v.at, err)
}

// findClock looks for a time of day in the other columns of a CSV row.
func (r *table) findClock(day int) {
	r.fields.clock = field{}
	for i := range r.cells[:r.width] {
		if i != day && isTimeOfDay(unquote(r.cells[i].Text)) {
			r.fields.clock = field{set: true, index: i, text: r.cells[i].Text, at: r.cells[i].At}
			return
		}
	}
}

// oneMarket returns an error for a row of another symbol and for a row that is no trade.
func (r *table) oneMarket() error {
	if v := &r.fields.first[colAction]; v.set {
		switch strings.ToLower(string(v.text)) {
		case "", "t", "f", "trade", "fill", "match":
		default:
			return flawAt(v.at, remedyBook, "%s %q is no trade", v.name, clip(v.text))
		}
	}
	v := &r.fields.first[colSymbol]
	switch {
	case !v.set && r.symbol == "":
		r.symbol = r.in.beside(colSymbol)
	case !v.set || len(v.text) == 0:
	case r.symbol == "":
		r.symbol = string(v.text)
	case !strings.EqualFold(r.symbol, string(v.text)):
		return flawAt(v.at, remedySymbols, "symbol %q, the rows before are of %q",
			clip(v.text), clip([]byte(r.symbol)))
	}
	// Trades of several venues are one tape. Bars are not: each has the prices of one venue.
	p := &r.fields.first[colVenue]
	if !p.set || r.fields.first[colPrice].set || r.venue == string(p.text) {
		return nil
	}
	if r.venue == "" {
		r.venue = string(p.text)
		return nil
	}
	return flawAt(p.at, fmt.Sprintf("name the one to take: --venue %s, or --venue %s", r.venue, clip(p.text)),
		"a bar of the venue %q, the rows before are of %q", clip(p.text), r.venue)
}

// clean returns a number as ParseDecimal reads it: without grouped thousands and signs of currencies.
func (r *table) clean(s []byte) []byte {
	if !r.plan.decorated {
		return s
	}
	r.number = r.number[:0]
	for _, c := range s {
		switch {
		case c == '$' || c == ' ' || c == ',' && !r.plan.comma || c == '.' && r.plan.comma:
		case c == ',':
			r.number = append(r.number, '.')
		default:
			r.number = append(r.number, c)
		}
	}
	if n := len(r.number); n > 1 {
		if i := bytes.IndexByte([]byte("KMB"), r.number[n-1]&^0x20); i >= 0 {
			r.number = strconv.AppendInt(append(r.number[:n-1], 'e'), int64(3*(i+1)), 10)
		}
	}
	return r.number
}

// price reads a price.
func (r *table) price(what string, s []byte) (Decimal, error) {
	d, err := positive(what, r.clean(s))
	if err != nil || r.plan.scale == 0 {
		return d, err
	}
	return d.scaled(r.plan.scale)
}

// base returns the base amount of an amount as the layout counts it.
func (r *table) base(amount, price Decimal) (Decimal, error) {
	unit := r.plan.unit
	if unit == unitContracts {
		value := r.plan.value
		v, err := value.Units(value.Digits)
		if err != nil {
			return amount, err
		}
		product, ok := amount.V.Abs().MulCheck(uint64(v))
		if !ok {
			return amount, errLarge
		}
		product, _ = product.DivMod64(fixed.Pow10[value.Digits])
		amount = decimalOf(product)
		if r.plan.inBase {
			return amount, nil
		}
		unit = unitQuote
	}
	if unit != unitQuote {
		return amount, nil
	}
	return amount.over(price)
}

// trade reads a row as a trade.
func (r *table) trade(rec *Record) error {
	f := &r.fields.first
	rec.Kind, rec.At = Trade, r.in.Here(f[colPrice].at)
	price, err := r.price("price", f[colPrice].text)
	if err != nil {
		return locate(f[colPrice].at, err)
	}
	text, sold := f[colAmount].text, false
	if r.plan.whose == "sign" {
		text, sold = bytes.CutPrefix(text, []byte{'-'})
	}
	amount, err := positive("amount", r.clean(text))
	if err == nil {
		amount, err = r.base(amount, price)
	}
	if err != nil {
		return locate(f[colAmount].at, err)
	}
	if err = r.sides(rec, sold); err != nil {
		return err
	}
	if r.s.learning() {
		r.weigh(price, amount)
		r.most[0].take(price, rec.At)
		r.most[1].take(amount, r.in.Here(f[colAmount].at))
	}
	if rec.Price, err = r.s.Price.units(price, rec.At); err != nil {
		return err
	}
	rec.Amount, err = r.s.Amount.units(amount, r.in.Here(f[colAmount].at))
	return err
}

// weigh counts a trade whose quote amount is not price x amount: it differs by more than one unit of the last digit
// that such amounts have, and by more than what a float loses.
func (r *table) weigh(price, amount Decimal) {
	v := &r.fields.first[colQuote]
	if !r.set.quoted || !v.set || r.plan.decorated {
		return
	}
	quote, err := ParseDecimal(v.text)
	p, err2 := price.Units(min(price.Digits, fixed.Scale))
	a, err3 := amount.Units(min(amount.Digits, fixed.Scale))
	if err != nil || err2 != nil || err3 != nil {
		return
	}
	product, fits := fixed.Mul64(uint64(p), uint64(a)), true
	if digits := price.Digits + amount.Digits; digits > fixed.Scale {
		product, _ = product.DivMod64(fixed.Pow10[digits-fixed.Scale])
	} else {
		product, fits = product.MulCheck(fixed.Pow10[fixed.Scale-digits])
	}
	if point := bytes.IndexByte(v.text, '.'); point >= 0 {
		r.decimals = max(r.decimals, min(len(v.text)-point-1, fixed.Scale))
	}
	const float = 1_000_000_000
	lost, _ := product.DivMod64(float)
	less, more := quote.V.Abs(), product
	if more.Less(less) {
		less, more = more, less
	}
	off := more.Sub(less)
	if fits && off.Cmp(fixed.FromU64(fixed.Pow10[fixed.Scale-r.decimals])) > 0 && off.Cmp(lost) > 0 {
		r.unequal++
	}
}

// place returns where the id of a trade is remembered, nil without an id, and what to remember there. It leaves out a
// row that is an earlier one again, and refuses another one with the id of an earlier one.
func (r *table) place() (at *tradeID, is tradeID, err error) {
	f := &r.fields.first
	v := &f[colID]
	if !v.set || isMissing(v.text) || !f[colPrice].set {
		return nil, is, nil
	}
	if r.ids == nil {
		r.ids = &tradeIDs{}
	}
	is = idOf(f[colExchange].text, v.text)
	is.values = hashTexts(f[colTime].text, f[colClock].text, f[colPrice].text, f[colAmount].text, f[colSide].text,
		f[colMaker].text)
	at = &r.ids[is.id%maxIDs]
	known := *at
	if before := r.earlier.at(is); !known.set && before == is {
		known, r.shared = is, true
	} else if !known.set && before.set && before.id == is.id && r.clash == nil {
		// Each file may number its rows by itself, unless it shares one with the files before.
		r.clash = r.in.Here(v.at).Refuse("correct or remove one of the two rows",
			"a file before has the trade id %q with another time, price, amount or side", clip(v.text))
	}
	switch {
	case !known.set || known.id != is.id:
		return at, is, nil
	case known.values == is.values:
		r.twice++
		return nil, is, errLeftOut
	}
	return nil, is, flawAt(v.at, remedyID,
		"an earlier row has the trade id %q with another time, price, amount or side", clip(v.text))
}

// sides reads the taker's side of a trade. sold: its amount is below 0.
func (r *table) sides(rec *Record, sold bool) (err error) {
	f := &r.fields.first
	if r.plan.whose == "sign" {
		rec.Side, rec.Sided = engine.Buy, true
		if sold {
			rec.Side = engine.Sell
		}
		return nil
	}
	if rec.Side, rec.Sided, err = r.side(&f[colSide]); err != nil {
		return err
	}
	if rec.Sided && r.makers() {
		rec.Side = rec.Side.Opposite()
	}
	if !f[colMaker].set {
		return nil
	}
	side, ok, err := readMaker(&f[colMaker])
	if err == nil && ok && rec.Sided && side != rec.Side {
		err = flawAt(f[colMaker].at, "remove one of the two, so that the side is the taker's",
			"%s %s and %s %s contradict each other",
			f[colSide].name, f[colSide].text, f[colMaker].name, f[colMaker].text)
	}
	if ok && !rec.Sided {
		rec.Side, rec.Sided = side, true
	}
	return err
}

// makers reports whether the sides of the row are those of the makers.
func (r *table) makers() bool {
	return r.plan.whose == "maker" || r.plan.whose == "" && (r.maker || r.fields.first[colSide].isMakers())
}

// side reads the side as the file names it.
func (r *table) side(v *field) (side engine.Side, ok bool, err error) {
	if r.plan.buys == "" || !v.set {
		return readSide(v)
	}
	switch {
	case len(v.text) == 0:
		return 0, false, nil
	case len(v.text) == len(r.plan.buys) && strings.EqualFold(string(v.text), r.plan.buys):
		return engine.Buy, true, nil
	case len(v.text) == len(r.plan.sells) && strings.EqualFold(string(v.text), r.plan.sells):
		return engine.Sell, true, nil
	}
	return 0, false, flawAt(v.at, remedySide, "side %q is neither %q nor %q", clip(v.text), r.plan.buys, r.plan.sells)
}

// readSide reads the taker's side.
func readSide(v *field) (side engine.Side, ok bool, err error) {
	switch strings.ToLower(string(v.text)) {
	case "", "unknown", "none", "n", "null", "limit", "market":
		return 0, false, nil
	case "buy", "b", "true":
		return engine.Buy, true, nil
	case "sell", "s", "a", "false":
		return engine.Sell, true, nil
	case "bid", "ask":
		return 0, false, flawAt(v.at, "give a file of trades whose side is the taker's, buy or sell, or "+
			"--side buy=bid,sell=ask", "side %q is a side of an order book", clip(v.text))
	}
	return 0, false, flawAt(v.at, remedySide, "side %q is not buy or sell",
		clip(v.text))
}

// readMaker reads whether the buyer was the maker and returns the taker's side.
func readMaker(v *field) (side engine.Side, ok bool, err error) {
	switch strings.ToLower(string(v.text)) {
	case "":
		return 0, false, nil
	case "true", "1":
		return engine.Sell, true, nil
	case "false", "0":
		return engine.Buy, true, nil
	}
	return 0, false, flawAt(v.at, remedyMaker, "is_buyer_maker %q is not true or false",
		clip(v.text))
}

// isMissing reports whether a value is absent, in the notations of programs.
func isMissing(s []byte) bool {
	if len(s) > 4 {
		return false
	}
	switch strings.ToLower(string(s)) {
	case "", "-", "na", "n/a", "nan", "null", "none":
		return true
	}
	return false
}

// bar reads a row as a bar.
func (r *table) bar(rec *Record) error {
	f := &r.fields.first
	at := f[colOpen].at
	rec.Kind, rec.At, rec.Bar.Trades = Bar, r.in.Here(at), -1
	if isMissing(f[colOpen].text) && isMissing(f[colHigh].text) && isMissing(f[colLow].text) &&
		isMissing(f[colClose].text) {
		r.blank++
		return errLeftOut
	}
	var prices [4]Decimal
	var err error
	for i, c := range barColumns {
		if prices[i], err = r.price(columnNames[c][0], f[c].text); err != nil {
			return locate(f[c].at, err)
		}
	}
	volume, err := r.volume(&prices)
	if err != nil {
		return err
	}
	v := &f[colAmount]
	switch open, high, low, last := prices[0].V, prices[1].V, prices[2].V, prices[3].V; {
	case high.Cmp(low) < 0:
		return flawAt(f[colHigh].at, remedyBar, "high %q is below low %q", clip(f[colHigh].text), clip(f[colLow].text))
	case high.Cmp(open) < 0 || high.Cmp(last) < 0:
		return flawAt(f[colHigh].at, remedyBar, "high %q is below open %q or close %q", clip(f[colHigh].text),
			clip(f[colOpen].text), clip(f[colClose].text))
	case low.Cmp(open) > 0 || low.Cmp(last) > 0:
		return flawAt(f[colLow].at, remedyBar, "low %q is above open %q or close %q", clip(f[colLow].text),
			clip(f[colOpen].text), clip(f[colClose].text))
	case volume.V.Sign() == 0 && low != high && f[colTicks].set:
		return flawAt(v.at, "take the changes of the price with --columns amount="+f[colTicks].name+
			", or give --bar-volume N", "a price that moves with a volume 0")
	case volume.V.Sign() == 0 && low != high:
		return flawAt(v.at, remedyMoves, "a price that moves with a volume 0")
	}
	if err := r.s.prices(rec, prices, volume, r.in.Here(v.at)); err != nil {
		return err
	}
	if volume.V.Sign() > 0 && r.s.learning() {
		n := tradesOf(&prices)
		r.s.Amount.takeShared(volume, n, r.in.Here(v.at))
		share, _ := volume.V.Abs().DivMod64(uint64(n))
		r.most[0].take(prices[1], r.in.Here(f[colHigh].at))
		r.most[1].take(decimalOf(share), r.in.Here(v.at))
	}
	return nil
}

const (
	remedyTwice = "remove one of them" // of a second bar of one time
	remedyID    = "remove one of them, or name the columns without the id: --columns time=NAME,price=NAME,amount=NAME"
	remedyMoves = "give the bar's volume, or remove the bar, or give --bar-volume N"
	remedyBar   = "correct the bar or remove it, or check the order of the columns: time,open,high,low,close,volume"
)

// volume reads the volume of a bar with these prices: open, high, low, close.
func (r *table) volume(prices *[4]Decimal) (Decimal, error) {
	v := &r.fields.first[colAmount]
	missing := !v.set || len(v.text) == 0 || isMissing(v.text)
	if missing && !r.plan.hasVolume {
		return Decimal{}, flawAt(v.at, remedyMoves, "a bar without a volume")
	}
	var volume Decimal
	var err error
	if !missing {
		if volume, err = notNegative("volume", r.clean(v.text)); err == nil && volume.V.Sign() > 0 {
			volume, err = r.base(volume, prices[3])
		}
		if err != nil {
			return volume, locate(v.at, err)
		}
	}
	if r.plan.hasVolume && (missing || volume.V.Sign() == 0 && prices[1].V != prices[2].V) {
		r.filled++
		return r.plan.barVolume, nil
	}
	return volume, nil
}

// tradesOf returns the number of trades that Path makes of a bar, for a bar whose digits are not known yet.
func tradesOf(p *[4]Decimal) int64 {
	open, near, far, last := p[0].V, p[1].V, p[2].V, p[3].V
	if open.Sub(far).Cmp(near.Sub(open)) < 0 {
		near, far = far, near
	}
	n := int64(1)
	for _, step := range [][2]fixed.I128{{open, near}, {near, far}, {far, last}} {
		if step[0] != step[1] {
			n++
		}
	}
	return n
}

// remedyJSON is the remedy for a line that is no JSON object.
const remedyJSON = "write one whole JSON object a line"

// members reads the members of an NDJSON row. Null counts as missing.
func (r *table) members(line []byte) error {
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
	r.fields.prefer()
	err := r.fields.check(r.plan)
	var f *flaw
	if r.rows > 0 && errors.As(err, &f) && (f.remedy == remedyLayout || f.remedy == remedyVolume) {
		f.remedy = remedyShort // the rows before are complete
	}
	return err
}

// coinbaseEvents lists the types of the full channel's messages (Coinbase Exchange) that are no trades.
var coinbaseEvents = []string{
	"received", "open", "done", "change", "activate", "heartbeat", "subscriptions",
}

// meant returns the meaning of a member's name. The layout's names come first.
func (r *table) meant(name string) meaning {
	m, ok := r.meanings[name]
	if ok {
		return m
	}
	if c := slices.Index(r.plan.columns[:], name); c >= 0 {
		m = meaning{column(c), 0}
	} else if name == "s" && !r.plan.only { // S is the name of a side, s the name of a symbol
		m = meaning{colSymbol, maxRanks - 1}
	} else {
		m.column, m.rank = r.meaningOf(name)
	}
	if m.column == noColumn && len(r.unused) < maxColumns {
		r.unused = append(r.unused, name)
	}
	if len(r.meanings) < maxNames {
		r.meanings[name] = m
	}
	return m
}

// maxNames bounds the remembered names of members.
const maxNames = 1024

// member adds one member. start is the first byte of its value.
func (r *table) member(v field, start byte) error {
	m := r.meant(v.name)
	c := m.column
	v.rank = m.rank
	switch {
	case v.name == "maker_order_id": // a match of Coinbase: its side is the side of the maker's order
		r.maker = true
	case v.name == "type" && slices.Contains(coinbaseEvents, string(v.text)):
		r.event = true
	case v.name == "type" && (string(v.text) == "match" || string(v.text) == "last_match"):
		return nil
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
