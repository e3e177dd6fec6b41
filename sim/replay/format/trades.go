package format

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
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
	in     *input.Lines
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
		t.files = append(t.files, tradeFile{path: f, divisor: input.DayNs})
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
		switch pair := pairs.InName(name); {
		case s.Pair == "":
			s.Pair = pair
		case pair != "" && pair != s.Pair:
			return input.Top(name).Refuse(remedySymbols, "the file's name tells %s, the names before %s",
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
				t.s.Pair = cmp.Or(t.s.Pair, pairs.Split(t.symbol))
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
	*t.file = tradeFile{path: t.file.path, all: t.file.all, divisor: input.DayNs, newest: true, head: t.rows.head}
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
	if t.in, err = input.Open(t.file.path); err != nil {
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
func (f *tradeFile) take(r *Record, in *input.Lines) error {
	bar := r.Kind == Bar
	if f.rows == 0 {
		f.first, f.bars = r.NS, bar
	} else if f.bars != bar {
		return in.Fail("give them in files of their own", "trades and bars in one file")
	}
	f.divisor = gcd(f.divisor, r.NS%input.DayNs)
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
func (f *tradeFile) ended(in *input.Lines) error {
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
			return input.Top(filepath.Base(f.path)).Refuse("give the files in order of time, and none twice",
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
	{"second", input.SecondNs},
	{"minute", int64(time.Minute)},
	{"hour", int64(time.Hour)},
	{"daily", input.DayNs},
	{"day", input.DayNs},
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
