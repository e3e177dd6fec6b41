package format

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// tradeFile holds the results of the survey for one file.
type tradeFile struct {
	path   string
	bars   bool
	length int64 // length of its bars, ns
	first  int64
	last   int64
	rows   int

	divisor  int64 // greatest common divisor of all its times, ns
	empty    int   // number of bars without trades
	sideless int   // number of trades without a side

	newest bool // the newest row is first
	head   int  // number of lines before the first row
	all    bool // the pair of the options names the only symbol and selects nothing
	others int  // number of rows of other symbols
	events int  // number of messages that are no trades
}

// trades reads files of trades, or of bars when there are no trades. Coarser bars in further files become the
// candles to compare with.
type trades struct {
	pair  string // pair whose rows are taken; "": the files have one symbol
	files []tradeFile
	fed   []tradeFile
	refs  []tradeFile

	s      *Survey
	todo   []tradeFile // files after the open one
	file   *tradeFile
	in     *lineReader
	rows   *tradeRows
	set    int    // index in Survey.Sets of the open file; negative: the file is fed
	symbol string // symbol of the earlier files, during a survey
}

func newTrades(files []string) (Reader, error) {
	if len(files) == 0 {
		return nil, errors.New("replay: trades takes at least one file")
	}
	t := &trades{}
	for _, f := range files {
		t.files = append(t.files, tradeFile{path: f, divisor: dayNs})
	}
	return t, nil
}

func (t *trades) Open(s *Survey) error {
	t.Close()
	t.s, t.symbol = s, ""
	if !s.learning() {
		t.todo = append(append([]tradeFile(nil), t.fed...), t.refs...)
		return nil
	}
	t.todo = t.files
	for _, f := range t.files {
		name := filepath.Base(f.path)
		switch pair := pairInName(name); {
		case s.Pair == "":
			s.Pair = pair
		case pair != "" && pair != s.Pair:
			return topOf(name).Refuse(remedySymbols, "the file's name tells %s, the names before %s",
				pair, s.Pair)
		}
	}
	return nil
}

func (t *trades) Close() {
	t.in.Close()
	t.in, t.rows = nil, nil
}

func (t *trades) Next(r *Record) error {
	r.reset()
	for {
		if t.rows == nil {
			if len(t.todo) == 0 {
				return t.ended()
			}
			if err := t.openFile(); err != nil {
				return err
			}
		}
		err := t.rows.next(r)
		if err == nil {
			return t.took(r)
		}
		if errors.Is(err, io.EOF) && t.s.learning() {
			if t.rename() {
				continue
			}
			if err = t.file.ended(t.in); err == nil {
				t.symbol = t.rows.symbol
				t.s.Pair = cmp.Or(t.s.Pair, splitPair(t.symbol))
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			if t.turn() {
				continue
			}
			return err
		}
		t.Close()
	}
}

// rename starts the open file again when it holds rows of one symbol alone that is not the pair: then the pair is a
// name for that symbol.
func (t *trades) rename() bool {
	t.file.others, t.file.events = t.rows.others, t.rows.events
	if t.file.rows > 0 || t.rows.others == 0 || t.rows.mixed {
		return false
	}
	t.file.all, t.file.others = true, 0
	t.again()
	return true
}

// turn starts the open file again, from its end, when its first rows show that the newest row is first.
func (t *trades) turn() bool {
	if !t.s.learning() || !t.rows.newest || t.file.newest {
		return false
	}
	*t.file = tradeFile{path: t.file.path, all: t.file.all, divisor: dayNs, newest: true, head: t.rows.head}
	t.again()
	return true
}

// again makes the open file the next one, during a survey.
func (t *trades) again() {
	t.todo = t.files[len(t.files)-len(t.todo)-1:]
	t.Close()
}

func (t *trades) openFile() (err error) {
	t.file, t.todo = &t.todo[0], t.todo[1:]
	if t.in, err = openLines(t.file.path); err != nil {
		return err
	}
	if err = t.in.SplitArray(); err != nil {
		return err
	}
	if t.file.newest {
		if err = t.in.Turn(t.file.path, t.file.head); err != nil {
			return err
		}
	}
	t.set = len(t.refs) - len(t.todo) - 1
	t.rows = newTradeRows(t.in, t.s)
	t.rows.symbol = t.symbol
	if !t.file.all {
		t.rows.pair = t.pair
	}
	return nil
}

// took counts a row during a survey. Later it turns the rows of compared files into Candle records.
func (t *trades) took(r *Record) error {
	if t.s.learning() {
		return t.file.take(r, t.in)
	}
	if t.set >= 0 {
		r.Kind, r.Bar.Set = Candle, t.set
	}
	return nil
}

// take counts a row of the file.
func (f *tradeFile) take(r *Record, in *lineReader) error {
	bar := r.Kind == Bar
	if f.rows == 0 {
		f.first, f.bars = r.NS, bar
	} else if f.bars != bar {
		return in.Fail("give them in files of their own", "trades and bars in one file")
	}
	f.divisor = gcd(f.divisor, r.NS%dayNs)
	f.rows++
	f.last = r.NS
	switch {
	case bar && r.Bar.Volume == 0:
		f.empty++
	case !bar && !r.Sided:
		f.sideless++
	}
	return nil
}

// ended completes the survey of the file.
func (f *tradeFile) ended(in *lineReader) error {
	if f.rows == 0 && f.others > 0 {
		return in.Fail("give one of its symbols as --pair", "no rows of the pair, %d of other symbols", f.others)
	}
	if f.rows == 0 {
		return in.Fail(remedyRows, "no rows")
	}
	if f.bars && f.empty == f.rows {
		return in.Fail(remedyVolume, "no bar has a volume")
	}
	f.length = barLength(f.path, f.divisor)
	return nil
}

// ended completes the survey of all files.
func (t *trades) ended() error {
	if !t.s.learning() {
		return io.EOF
	}
	if err := t.choose(); err != nil {
		return err
	}
	t.s.FirstNs = t.fed[0].first
	for _, f := range t.fed {
		t.s.Records += f.rows
		t.s.LastNs, t.s.StartNs = f.last, f.last
	}
	for _, f := range t.refs {
		t.s.Sets = append(t.s.Sets, Set{f.length})
	}
	return io.EOF
}

// choose determines which files are fed and which are compared: trades are fed, or without trades the finest
// bars.
func (t *trades) choose() error {
	finest := int64(0)
	for _, f := range t.files {
		if f.bars && (finest == 0 || f.length < finest) {
			finest = f.length
		}
		if !f.bars {
			finest = -1
			break
		}
	}
	for _, f := range t.files {
		if f.bars && f.length != finest {
			t.refs = append(t.refs, f)
			continue
		}
		if n := len(t.fed); n > 0 && f.first < t.fed[n-1].last {
			return topOf(filepath.Base(f.path)).Refuse("give the files in order of time, and none twice",
				"begins before the file given before it ends")
		}
		t.fed = append(t.fed, f)
	}
	return nil
}

func (t *trades) Notes() []string {
	sideless, empty, others, events, newest := 0, 0, 0, 0, 0
	for _, f := range t.fed {
		sideless += f.sideless
		empty += f.empty
		others += f.others
		events += f.events
		if f.newest {
			newest++
		}
	}
	notes := noted(nil, newest, "%d files whose newest row is first: read from the end")
	notes = noted(notes, others, "%d rows of other symbols: left out")
	notes = noted(notes, events, "%d messages that are no trades: left out")
	notes = noted(notes, sideless, "%d trades without a side: the tick rule decided")
	return noted(notes, empty, "%d bars without a volume at an unchanged price: nothing was traded")
}

// lengthByName maps words in file names to the length of the file's bars, in ns.
var lengthByName = []struct {
	word string
	ns   int64
}{
	{"second", secondNs},
	{"minute", int64(time.Minute)},
	{"hour", int64(time.Hour)},
	{"daily", dayNs},
	{"day", dayNs},
}

// barLength returns the length of a file's bars by the file's name. If the name does not tell, it returns the
// longest length that divides all starts.
func barLength(file string, divisor int64) int64 {
	name := strings.ToLower(filepath.Base(file))
	for _, l := range lengthByName {
		if strings.Contains(name, l.word) {
			return l.ns
		}
	}
	return divisor
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// maxColumns bounds one CSV row.
const maxColumns = 64

// tradeRows reads CSV or NDJSON rows of trades or bars.
type tradeRows struct {
	s      *Survey
	in     *lineReader
	day    int64
	hasDay bool

	known     bool // the columns of the CSV file are known
	json      bool // the file is NDJSON
	list      bool // the file is an array of arrays
	width     int  // number of columns that every CSV row must have
	separator byte // of the columns
	cells     [maxColumns]cell
	fields    fields
	used      []*field // the fields of the CSV file's columns

	units  [maxRanks]timeKind // kind of the times, by the rank of their name
	symbol string             // symbol of the rows before
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

func newTradeRows(in *lineReader, s *Survey) *tradeRows {
	r := &tradeRows{in: in, s: s}
	r.day, r.hasDay = dayOf(in.File)
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
	if strings.EqualFold(symbol, r.symbol) || pairOfKraken(symbol) == r.pair {
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
	r.separator = separatorOf(line)
	r.width = splitRow(line, r.separator, r.cells[:])
	if r.width > maxColumns {
		return true, flawAt(0, remedyLayout, "%d columns, at most %d", r.width, maxColumns)
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
	if _, err := ParseDecimal(s); err == nil || isTimeOfDay(s) {
		return true
	}
	_, _, err := readDate(s)
	return err == nil
}

// plain sets the documented columns, for a file without a header.
func (r *tradeRows) plain(line []byte) error {
	order := []column{colTime, colPrice, colAmount, colSide}
	_, err := ParseDecimal(r.cells[min(3, maxColumns-1)].Text)
	if r.list && r.width == 7 { // freqtrade: timestamp, id, type, side, price, amount, cost
		r.set([]column{colTime, noColumn, noColumn, colSide, colPrice, colAmount})
		return r.split(line)
	}
	if known := r.dump(); known != nil {
		r.set(known)
		return r.split(line)
	}
	clock := func(c cell) bool { return isTimeOfDay(unquote(c.Text)) }
	// A row with a date and a time of day in two columns is taken for no bar: its error names these two columns.
	bars := err == nil && !slices.ContainsFunc(r.cells[:2], clock)
	switch {
	case r.width == 6:
		order = []column{colTime, colOpen, colHigh, colLow, colClose, colAmount}
	case r.width < 3:
		return flawAt(0, remedyLayout, "%d columns", r.width)
	case r.width == 5 && bars:
		return flawAt(0, remedyVolume, "5 columns of numbers: bars without a volume")
	case r.width > 6 && bars:
		return flawAt(0, remedyLayout, "%d columns without a header", r.width)
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
	n := splitRow(line, r.separator, r.cells[:])
	if r.separator == '\t' { // the line has lost its empty cells at the end
		for ; n < r.width; n++ {
			r.cells[n] = cell{At: len(line)}
		}
	}
	for i := r.width; i < min(n, maxColumns); i++ {
		if len(r.cells[i].Text) > 0 {
			return flawAt(r.cells[i].At, remedyLong,
				"%d columns, the rows before have %d", n, r.width)
		}
	}
	if n < r.width || n > maxColumns {
		return flawAt(len(line)-1, remedyShort, "%d columns, the rows before have %d", n, r.width)
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
		err = flawAt(f[colTime].at, "remove one of them", "the same time as the bar before")
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
	ns, kind, err := readTime(v.text, r.day, r.hasDay)
	if kind == timeWrittenDay && r.known {
		r.findClock(v.index)
	}
	switch joined, split := r.fields.splitTime(kind); {
	case split != nil:
		return 0, split
	case joined != 0:
		ns, kind = joined, timeWritten
	case err != nil:
		return 0, v.noTime(err)
	}
	switch unit := r.units[v.rank]; {
	case kind == timeDayMs && unit == timeNone && undashed(v.text) != "":
		return 0, flawAt(v.at, "write "+undashed(v.text)+", or milliseconds of the file's day",
			"time %q: a date without dashes reads as a number", clip(v.text))
	case unit != timeNone && unit != kind.OneUnit():
		return 0, flawAt(v.at, "write all times of the file in one unit",
			"time %q is %s, the rows before have %s", clip(v.text), kind, unit)
	case ns < r.last:
		r.newest = r.last == r.first && !r.in.Array
		return 0, flawAt(v.at, "sort the rows by time", "time goes back: rows must be in order of time")
	}
	r.units[v.rank] = kind.OneUnit()
	return ns, nil
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
func (r *tradeRows) findClock(day int) {
	r.fields.clock = field{}
	for i := range r.cells[:r.width] {
		if i != day && isTimeOfDay(unquote(r.cells[i].Text)) {
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
			return flawAt(v.at, remedyBook, "%s %q is no trade", v.name, clip(v.text))
		}
	}
	v := &r.fields.first[colSymbol]
	switch {
	case !v.set || len(v.text) == 0 || strings.EqualFold(r.symbol, string(v.text)):
	case r.symbol == "":
		r.symbol = string(v.text)
	default:
		return flawAt(v.at, remedySymbols, "symbol %q, the rows before are of %q",
			clip(v.text), clip([]byte(r.symbol)))
	}
	return nil
}

// trade reads a row as a trade.
func (r *tradeRows) trade(rec *Record) error {
	f := &r.fields.first
	rec.Kind, rec.At = Trade, r.in.Here(f[colPrice].at)
	price, err := positive("price", f[colPrice].text)
	if err != nil {
		return locate(f[colPrice].at, err)
	}
	amount, err := positive("amount", f[colAmount].text)
	if err != nil {
		return locate(f[colAmount].at, err)
	}
	if rec.Price, err = r.s.Price.units(price, rec.At); err != nil {
		return err
	}
	if rec.Amount, err = r.s.Amount.units(amount, r.in.Here(f[colAmount].at)); err != nil {
		return err
	}
	if rec.Side, rec.Sided, err = readSide(&f[colSide]); err != nil {
		return err
	}
	if r.maker && rec.Sided {
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
		return 0, false, flawAt(v.at, "give a file of trades whose side is the taker's, buy or sell",
			"side %q is a side of an order book", clip(v.text))
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

// bar reads a row as a bar.
func (r *tradeRows) bar(rec *Record) error {
	f := &r.fields.first
	at := f[colOpen].at
	rec.Kind, rec.At, rec.Bar.Trades = Bar, r.in.Here(at), -1
	var prices [4]Decimal
	var err error
	for i, c := range []column{colOpen, colHigh, colLow, colClose} {
		if prices[i], err = positive(columnNames[c][0], f[c].text); err != nil {
			return locate(f[c].at, err)
		}
	}
	v := &f[colAmount]
	if len(v.text) == 0 {
		return flawAt(v.at, remedyVolume, "bars without a volume: it is empty here")
	}
	volume, err := notNegative("volume", v.text)
	if err != nil {
		return locate(v.at, err)
	}
	if err := r.s.prices(rec, prices, volume, r.in.Here(v.at)); err != nil {
		return err
	}
	switch open, high, low, last := prices[0].V, prices[1].V, prices[2].V, prices[3].V; {
	case low.Cmp(open) > 0 || low.Cmp(last) > 0 || high.Cmp(open) < 0 || high.Cmp(last) < 0:
		return flawAt(at, "check the order of the columns: time,open,high,low,close,volume",
			"open and close are not between low and high")
	case volume.V.Sign() == 0 && low != high:
		return flawAt(v.at, "give the bar's volume, or remove the bar", "a price that moves with a volume 0")
	}
	if volume.V.Sign() > 0 {
		r.s.Amount.takeShared(volume, tradesOf(&prices), r.in.Here(v.at))
	}
	return nil
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
