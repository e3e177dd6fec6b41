package format

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// tradeFile holds the results of the survey for one file.
type tradeFile struct {
	path   string
	set    *settled
	taken  Taken
	bars   bool
	length int64 // length of its bars, ns; 0 for trades
	first  int64
	last   int64
	rows   int
	day    bool // the times are ms of the file's day, and nothing but their size says so
	midday bool // one of them is behind the first hundredths of the day

	divisor  int64 // greatest common divisor of all its times, ns
	gaps     int64 // greatest common divisor of the times from one row to the next, ns; 0: there is one row
	apart    int64 // shortest time from one row to the next, ns; 0: there is one row
	empty    int   // number of bars without trades
	sideless int   // number of trades without a side

	newest bool // the newest row is first
	head   int  // number of lines before the first row
	all    bool // the pair of the options names the only symbol and selects nothing
	others int  // number of rows of other symbols
	away   int  // number of rows of other venues
	early  int  // number of times of the exchange that go back, in order of receipt
	events int  // number of messages that are no trades

	blank, filled, changes, repeated, doubled, twice, unequal int // as table counts them

	most [2]extreme // price and amount of one trade

	sides [2]int // number of trades by the taker's side

	bad   int     // number of rows that are wrong by themselves
	worst []error // the first of them
}

// again clears what the survey found and keeps how the file is read.
func (f *tradeFile) again() tradeFile {
	return tradeFile{path: f.path, set: f.set, all: f.all, newest: f.newest, head: f.head, divisor: dayNs}
}

// tradePart is the part of a file whose rows are in a time.
type tradePart struct {
	*tradeFile
	from, to int64 // Unix ns; to is behind it
	rows     int
	set      int  // index in Survey.Sets; negative: the part is fed
	fedSet   int  // index in Survey.Sets of the bars of a part that is fed
	outside  bool // the rows outside the time, those of every other part of the file
}

// whole returns a file as one part that is fed.
func (f *tradeFile) whole() tradePart {
	return tradePart{tradeFile: f, from: math.MinInt64, to: math.MaxInt64, rows: f.rows, set: -1}
}

// trades reads files of trades, or of bars. Bars of a time for which further files have trades, or finer bars, become
// candles to compare with.
type trades struct {
	pair string // pair whose rows are taken; "": the files have one symbol

	elsewhere int // number of files whose names tell another pair

	layout Layout
	files  []tradeFile
	parts  []tradePart // of all files, in the order in which they are read: those that are fed first

	s      *Survey
	todo   []tradePart // after the open one
	file   *tradePart
	in     *lineReader
	rows   *table
	symbol string    // symbol of the earlier files, during a survey
	ids    *tradeIDs // trades of the earlier files
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
	t.s, t.symbol, t.ids = s, "", nil
	if !s.learning() {
		t.todo = t.parts
		return nil
	}
	s.Rounds = true
	t.todo = nil
	for i := range t.files {
		t.todo = append(t.todo, t.files[i].whole())
	}
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
		switch {
		case err == nil:
			if taken, err := t.took(r); taken || err != nil {
				return err
			}
			continue
		case t.leave(err):
			continue
		case t.s.learning() && t.reopen(err):
			continue
		case errors.Is(err, io.EOF) && t.s.learning():
			if err = t.file.ended(t.in, t.rows); err == nil {
				t.symbol = t.rows.symbol
				t.s.Pair = cmp.Or(t.s.Pair, t.rows.pairOf(t.symbol))
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return skippable(err)
		}
		t.ids = t.rows.ids.join(t.ids)
		t.Close()
	}
}

// leave reports whether a row is wrong by itself and left out. It counts the row during a survey.
func (t *trades) leave(err error) bool {
	var e *LineError
	if t.file.tradeFile.set.plan.skip == 0 || !errors.As(err, &e) || !isOwn(e.Remedy) {
		return false
	}
	if t.s.learning() {
		if t.file.bad++; len(t.file.worst) < maxForeign {
			t.file.worst = append(t.file.worst, err)
		}
	}
	return true
}

// reopen starts the open file again when its rows must be read in another way. That is so when it holds rows of one
// symbol alone that is not the pair: then the pair is a name for that symbol. It is also so when its first rows show
// that the newest row is first: then it is read from its end.
func (t *trades) reopen(err error) bool {
	f := t.file.tradeFile
	switch ended := errors.Is(err, io.EOF); {
	case ended:
		f.others, f.events = t.rows.others, t.rows.events
		if f.rows > 0 || t.rows.others == 0 || t.rows.mixed {
			return false
		}
		*f = f.again()
		f.all = true
	case t.rows.newest && !f.newest:
		*f = f.again()
		f.newest, f.head = true, t.rows.head
	default:
		return false
	}
	t.todo = append([]tradePart{f.whole()}, t.todo...)
	t.Close()
	return true
}

func (t *trades) openFile() (err error) {
	t.file, t.todo = &t.todo[0], t.todo[1:]
	f := t.file.tradeFile
	if f.set == nil {
		if f.set, err = settle(f.path, t.layout); err != nil {
			return err
		}
	}
	if t.in, err = openLines(f.path); err != nil {
		return err
	}
	if err = t.in.SplitJSON(); err != nil {
		return err
	}
	if f.newest {
		if err = t.in.Turn(f.path, f.head); err != nil {
			return err
		}
	}
	t.rows = newTable(t.in, t.s, f.set)
	t.rows.symbol, t.rows.earlier = t.symbol, t.ids
	if !f.all {
		t.rows.pair = t.pair
	}
	return nil
}

// took counts a row during a survey. Later it reports whether the row belongs to the open part, and turns the rows of
// compared parts into Candle records.
func (t *trades) took(r *Record) (bool, error) {
	if t.s.learning() {
		return true, t.file.take(r, t.in, t.rows)
	}
	if inside := r.NS >= t.file.from && r.NS < t.file.to; inside == t.file.outside {
		return false, nil
	}
	if r.Bar.Set, r.LastsNs = t.file.fedSet, t.file.lasts(); t.file.set >= 0 {
		r.Kind, r.Bar.Set = Candle, t.file.set
	}
	return true, nil
}

// earlyNs is the time after midnight in which all ms of a file's day arouse suspicion: row numbers, seconds of the day
// and times without a colon are that small.
const earlyNs = dayNs / 50

// take counts a row of the file.
func (f *tradeFile) take(r *Record, in *lineReader, rows *table) error {
	bar := r.Kind == Bar
	if f.rows == 0 {
		f.first, f.bars = r.NS, bar
		f.day = rows.units[rows.fields.first[colTime].rank] == timeDayMs && rows.plan.kind == timeNone
	} else if f.bars != bar {
		return in.Fail("give them in files of their own", "trades and bars in one file")
	}
	f.divisor = gcd(f.divisor, r.NS%dayNs)
	f.midday = f.midday || r.NS-rows.times.midnight(0) >= earlyNs
	if f.rows > 0 {
		gap := r.NS - f.last
		if f.rows == 1 || gap < f.apart {
			f.apart = gap
		}
		f.gaps = gcd(f.gaps, gap)
	}
	f.rows++
	f.last = r.NS
	switch {
	case bar && r.Bar.Volume == 0:
		f.empty++
	case !bar && !r.Sided:
		f.sideless++
	case !bar:
		f.sides[r.Side]++
	}
	return nil
}

// ended completes the survey of the file.
func (f *tradeFile) ended(in *lineReader, rows *table) error {
	f.blank, f.filled, f.changes = rows.blank, rows.filled, rows.changes
	f.away, f.early, f.repeated, f.doubled = rows.away, rows.order.early, rows.repeated, rows.doubled
	f.twice, f.unequal, f.most = rows.twice, rows.unequal, rows.most
	switch {
	case rows.shared && rows.clash != nil: // pages of one download, which contradict each other
		return rows.clash
	case f.bad > 0 && f.bad*100_000 > f.set.plan.skip*(f.bad+f.rows):
		return errors.Join(append(f.worst, topOf(in.File).Refuse("correct the rows, or give a larger --skip-bad",
			"%d of %d rows are wrong, more than %s %%", f.bad, f.bad+f.rows,
			strings.TrimSuffix(f.set.layout.SkipBad, "%")))...)
	case f.rows == 0 && f.others > 0:
		return in.Fail("give one of its symbols as --pair", "no rows of the pair, %d of other symbols", f.others)
	case f.rows == 0 && f.away > 0:
		return in.Fail("give one of its venues as --venue", "no rows of the venue %s, %d of others", rows.plan.venue,
			f.away)
	case f.rows == 0 && f.twice > 0:
		return in.Fail("give each file once", "all %d rows are trades of the files before", f.twice)
	case f.rows == 0:
		return in.Fail(remedyRows, "no rows")
	case f.bars && f.empty == f.rows:
		return in.Fail(remedyVolume, "no bar has a volume")
	case f.day && !f.midday && f.rows > 1:
		return in.Fail("give --time-format day-ms if they are, day-s for seconds, 150405 for 093000, or --columns "+
			"with another time", "all times are within %d s after midnight: they may not be ms of the file's day",
			earlyNs/secondNs)
	}
	if f.bars {
		f.length = f.barLength()
	}
	f.taken = rows.taken(f)
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
	for i, p := range t.parts {
		if p.set >= 0 {
			continue
		}
		if i == 0 {
			t.s.FirstNs = max(p.first, p.from)
		}
		t.s.Price.trade.take(p.most[0].Decimal, p.most[0].at)
		t.s.Amount.trade.take(p.most[1].Decimal, p.most[1].at)
		t.s.Records += p.rows
		t.s.StartNs = min(p.last, p.to-1)
		t.s.LastNs = t.s.StartNs + max(p.lasts()-msNs, 0)
	}
	return io.EOF
}

// span is a time, from its first moment to behind its last one, Unix ns.
type span struct{ from, to int64 }

// choose determines which rows are fed and which are compared. Trades are fed, and bars of a time that no finer file
// covers; other bars are compared.
func (t *trades) choose() error {
	levels := []int64(nil)
	for _, f := range t.files {
		levels = append(levels, f.length)
	}
	slices.Sort(levels)
	var covered []span
	var fed, compared []tradePart
	for _, level := range slices.Compact(levels) {
		before, last := covered, (*tradeFile)(nil)
		for i := range t.files {
			f := &t.files[i]
			if f.length != level {
				continue
			}
			free, err := t.divide(f, gaps(before, level))
			if err != nil {
				return err
			}
			for _, p := range free {
				if err := f.follows(last); err != nil {
					return err
				}
				fed = append(fed, p)
			}
			if len(free) > 0 {
				last = f
			}
			covered = append(slices.Clone(covered), span{f.first, f.last + max(level, 1)})
			if c, ok := f.compared(free); ok {
				compared = append(compared, c)
			}
		}
	}
	slices.SortStableFunc(fed, func(a, b tradePart) int {
		return cmp.Compare(max(a.first, a.from), max(b.first, b.from))
	})
	for i := range t.files { // the sets are in the order of the files
		for _, c := range compared {
			if c.tradeFile == &t.files[i] {
				c.set = len(t.s.Sets)
				t.s.Sets = append(t.s.Sets, Set{LengthNs: c.length})
				fed = append(fed, c)
			}
		}
	}
	for i := range fed { // bars of one length are one set
		if p := &fed[i]; p.set < 0 && p.bars {
			bars := Set{p.length, true}
			if p.fedSet = slices.Index(t.s.Sets, bars); p.fedSet < 0 {
				p.fedSet, t.s.Sets = len(t.s.Sets), append(t.s.Sets, bars)
			}
		}
	}
	t.parts = fed
	return nil
}

// follows refuses a file whose rows are not behind those of the file before, nil for none. Trades may have one time, of
// bars each has its own.
func (f *tradeFile) follows(last *tradeFile) error {
	at := topOf(filepath.Base(f.path))
	switch {
	case last == nil || f.first > last.last || !f.bars && f.first == last.last:
		return nil
	case f.first == last.last:
		return at.Refuse("remove the bar from one of the two files", "begins with the bar of %s, with which %s ends",
			NsText(f.first), filepath.Base(last.path))
	case f.doubled > 0 || last.repeated > 0:
		return at.Refuse("give the files in order of time, and none twice; where they are, put them into one file, or "+
			"write their times in UTC", "begins before the file given before it ends, in the hour that the clock "+
			"shows twice")
	}
	return at.Refuse("give the files in order of time, and none twice", "begins before the file given before it ends")
}

// gaps returns the times of bars of a length that no span touches.
func gaps(covered []span, length int64) (out []span) {
	covered = slices.Clone(covered)
	slices.SortFunc(covered, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	from := int64(math.MinInt64)
	for _, c := range covered {
		if to := c.from - length + 1; to > from {
			out = append(out, span{from, to})
		}
		from = max(from, c.to)
	}
	return append(out, span{from, math.MaxInt64})
}

// divide returns the parts of a file that are fed: its rows in the gaps.
func (t *trades) divide(f *tradeFile, free []span) (out []tradePart, err error) {
	for _, g := range free {
		p := f.whole()
		if p.from, p.to = g.from, g.to; f.first >= p.to || f.last < p.from {
			continue
		}
		if f.first < p.from || f.last >= p.to {
			if p.rows, err = t.count(f, g); err != nil {
				return nil, err
			}
		}
		if p.rows > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// count returns the number of rows of a file in a time.
func (t *trades) count(f *tradeFile, g span) (n int, err error) {
	defer t.Close()
	t.todo = []tradePart{f.whole()}
	if err = t.openFile(); err != nil {
		return 0, err
	}
	for rec := (Record{}); ; {
		switch err := t.rows.next(&rec); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil && !t.leave(err):
			return 0, err
		case err == nil && rec.NS >= g.from && rec.NS < g.to:
			n++
		}
	}
}

// compared returns the part of a file that is compared: its rows outside the part that is fed. A file of which several
// parts are fed is compared in the time between the first and the last of them.
func (f *tradeFile) compared(free []tradePart) (tradePart, bool) {
	c := f.whole()
	switch len(free) {
	case 0:
		return c, true
	case 1:
		c.from, c.to, c.outside = free[0].from, free[0].to, true
		return c, free[0].rows < f.rows
	default:
		c.from, c.to = free[0].to, free[len(free)-1].from
		return c, true
	}
}

// count is a number of rows and the format of the note that names them.
type count struct {
	n    int
	text string
}

// counts returns what was tolerated or left out of the file.
func (f *tradeFile) counts() []count {
	return []count{
		{f.others, "%d rows of other symbols: left out"},
		{f.away, "%d rows of other venues: left out"},
		{f.early, "%d times of the exchange that go back: taken at the time before, in order of receipt"},
		{f.events, "%d messages that are no trades: left out"},
		{f.bad, "%d rows that are wrong by themselves: left out (--skip-bad)"},
		{f.twice, "%d rows repeat the trade id of an earlier row, with the same values: left out"},
		{f.unequal, "%d trades whose quote amount is not price x amount: the quote amount is not used"},
		{f.blank, "%d bars without prices: left out"},
		{f.filled, "%d bars without a volume: taken with the one of --bar-volume"},
		{f.changes, "%d times in another unit than the row before"},
		{f.doubled, "%d times of the hour that the clock shows twice: taken at the first"},
		{f.repeated, "%d times of the hour that the clock shows twice: taken at the second"},
		{f.sideless, "%d trades without a side: the tick rule decided"},
		{f.empty, "%d bars without a volume at an unchanged price: nothing was traded"},
	}
}

// Notes implements Reader.Notes.
func (t *trades) Notes() []string {
	sums := (&tradeFile{}).counts()
	newest, coarse := 0, 0
	seen := map[*tradeFile]bool{}
	for _, p := range t.parts {
		if p.set >= 0 {
			continue
		}
		if p.length > t.parts[0].length || p.length > 0 && t.finest() < p.length {
			coarse += p.rows
		}
		f := p.tradeFile
		if seen[f] {
			continue
		}
		seen[f] = true
		for i, c := range f.counts() {
			sums[i].n += c.n
		}
		if f.newest {
			newest++
		}
	}
	notes := noted(nil, t.elsewhere, "%d files whose names tell another pair than --pair: left out")
	notes = noted(notes, newest, "%d files whose newest row is first: read from the end")
	notes = noted(notes, coarse, "%d bars of a time that no finer file covers: fed")
	for _, c := range sums {
		notes = noted(notes, c.n, c.text)
	}
	if t.s != nil && !t.s.learning() {
		notes = noted(notes, t.s.Price.roundings, fmt.Sprintf("%%d prices rounded to %d digits", t.s.Price.use))
		notes = noted(notes, t.s.Amount.roundings, fmt.Sprintf("%%d amounts rounded to %d digits", t.s.Amount.use))
	}
	return notes
}

// finest returns the shortest length of the bars that are fed, 0 with trades.
func (t *trades) finest() int64 {
	least := int64(math.MaxInt64)
	for _, p := range t.parts {
		if p.set < 0 {
			least = min(least, p.length)
		}
	}
	return least
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

// barLength returns the length of the file's bars by the file's name. If the name does not tell, it returns the longest
// length that divides the times from one bar to the next. Days of a clock with summer time may be an hour apart from
// that; for bars of a week or more, such as those of months, it is the shortest time from one to the next. The length
// of a single bar is the longest that divides its start.
func (f *tradeFile) barLength() int64 {
	switch named := f.namedLength(); {
	case named > 0:
		return named
	case f.gaps == 0:
		return f.divisor
	case f.apart >= 7*dayNs:
		return f.apart
	case f.apart >= dayNs-int64(time.Hour):
		return dayNs
	}
	return f.gaps
}

// fewBars is the number of bars up to which the name of their file may tell a shorter length than their times: of more,
// some follow each other.
const fewBars = 5

// namedLength returns the length of the file's bars by the file's name, 0 if the name does not tell. A word counts as a
// whole, without a number beside it (5_minute), and where it fits the times from one bar to the next.
func (f *tradeFile) namedLength() int64 {
	words := strings.FieldsFunc(strings.ToLower(filepath.Base(f.path)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	count := func(i int) bool { // a number of bars, and not a year or a day
		if i < 0 || i >= len(words) || len(words[i]) > 3 {
			return false
		}
		_, err := strconv.Atoi(words[i])
		return err == nil
	}
	for i, word := range words {
		for _, l := range lengthByName {
			if word == l.word && !count(i-1) && !count(i+1) && f.fits(l.ns) {
				return l.ns
			}
		}
	}
	return 0
}

// fits reports whether the file's bars may have a length, by the times from one to the next.
func (f *tradeFile) fits(length int64) bool {
	days := length == dayNs && f.apart >= dayNs-int64(time.Hour) && f.apart < 7*dayNs
	return f.gaps == 0 || days || length == f.gaps || f.rows <= fewBars && f.gaps%length == 0
}

// lasts returns the time over which the trades of one of the file's bars lie: the length, at most until the next bar.
// It is 0 for trades, and for a single bar whose length the name of the file does not tell.
func (f *tradeFile) lasts() int64 {
	switch {
	case !f.bars:
		return 0
	case f.apart == 0:
		return f.namedLength()
	}
	return min(f.length, f.apart)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
