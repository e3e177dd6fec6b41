package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	// detectRows bounds the rows of a file that Detect reads.
	detectRows = 1000
	// detectShown bounds the first lines that Detect shows, and detectWide the bytes of each.
	detectShown, detectWide = 3, 100
)

// Fact is one thing that Detect saw in a file, with the text that decided it.
type Fact struct{ Name, Value string }

// Detection says what a file looks like.
type Detection struct {
	File    string
	Format  string // a name in Names(); "": unknown
	Also    string // another format, which takes the file beside others; "": none
	Facts   []Fact
	Problem error // what keeps the sampled rows from being replayed; nil: nothing

	unread bool   // rows of columns that could not be told apart
	given  string // the pair that the user names; "": none
}

// String returns what tickhive replay --detect prints of a file.
func (d *Detection) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", filepath.Base(d.File), cmp.Or(d.Format, "unknown"))
	facts := d.Facts
	if d.Problem != nil {
		for line := range strings.SplitSeq(d.Problem.Error(), "\n") {
			facts = append(facts[:len(facts):len(facts)], Fact{"problem", line})
		}
	}
	for _, f := range facts {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Value)
	}
	return b.String()
}

func (d *Detection) add(name, format string, args ...any) {
	d.Facts = append(d.Facts, Fact{name, fmt.Sprintf(format, args...)})
}

// seen returns what Detect prints, as the end of a refusal.
func (d *Detection) seen() error { return errors.New(strings.TrimSuffix(d.String(), "\n")) }

// Detect looks at the first rows of a file, says which format they have, and why. pair selects the rows of one symbol;
// "" takes the only one. given is the layout of a table, as far as it is known.
func Detect(path, pair string, given Layout) *Detection {
	d := &Detection{File: path, given: pair}
	if d.Problem = d.look(path, pair, given); d.Problem != nil && !errors.As(d.Problem, new(*LineError)) {
		d.Format = "" // nothing could be read
	}
	return d
}

// Together reports whether one format takes all files.
func Together(files []*Detection) bool {
	unknown := !slices.ContainsFunc(files, func(d *Detection) bool { return d.Format != "" })
	return unknown || len(fitting(files)) > 0
}

// fitting returns the formats that take all files: the one that each has by itself, otherwise those that take some
// beside others.
func fitting(files []*Detection) (names []string) {
	first := files[0].Format
	if first != "" && !slices.ContainsFunc(files, func(d *Detection) bool { return d.Format != first }) {
		return []string{first}
	}
	for _, name := range Names() {
		other := func(d *Detection) bool { return d.Format != name && d.Also != name }
		if !slices.ContainsFunc(files, other) {
			names = append(names, name)
		}
	}
	return names
}

// Sure returns the only format that takes all files. The error says what each file looks like.
func Sure(paths []string, pair string, given Layout) (string, error) {
	var files []*Detection
	var seen []string
	unknown := ""
	for _, path := range paths {
		d := Detect(path, pair, given)
		if d.Format == "" {
			unknown += "\n" + d.seen().Error()
		}
		files = append(files, d)
		looks := cmp.Or(d.Format, "unknown")
		if d.Also != "" {
			looks += " or " + d.Also
		}
		seen = append(seen, filepath.Base(path)+": "+looks)
	}
	switch names := fitting(files); len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", fmt.Errorf("no format takes all files (%s): choose one with --format %s; "+
			"--detect says what was seen%s", strings.Join(seen, ", "), strings.Join(Names(), "|"), unknown)
	default:
		return "", fmt.Errorf("several formats take the files (%s): choose one with --format %s",
			strings.Join(seen, ", "), strings.Join(names, "|"))
	}
}

// look finds the format by the first lines and reads rows in it.
func (d *Detection) look(path, pair string, given Layout) error {
	in, err := openLines(path)
	if err != nil {
		return err
	}
	defer in.Close()
	d.add("compression", "%s", in.Source.Packing)
	d.add("encoding", "%s", in.Source.Encoding)
	head, _ := in.R.Peek(64) // a shorter file has less
	head = bytes.Clone(head)
	var first [][]byte
	head, _ = trim(head)
	if whole := bytes.HasPrefix(head, []byte{'['}) || isKraken(head); !whole {
		for len(first) < detectShown {
			line, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
			first = append(first, bytes.Clone(line))
		}
	}
	if len(first) > 0 {
		head = first[0]
	}
	why := ""
	d.Format, why = formatOf(head)
	if d.Format == "" {
		d.add("looked at", "%q", clipTo(head, detectWide))
		return Position{File: in.File, Line: max(in.N-len(first)+1, 1), Column: 1}.Refuse(remedyLayout, "%s", why)
	}
	d.add("format", "%s: %s", d.Format, why)
	if tardisKindOf(head) == tardisTrades {
		d.Also = "tardis"
		d.add("also", "tardis: beside a file of the order book")
	}
	switch d.Format {
	case "trades":
		err = d.tableRows(path, pair, given)
	case "lobster":
		err = d.lobsterRows(path, head)
	case "kraken":
		err = d.krakenAnswers(path)
	default:
		err = d.streamRows(path, pair)
	}
	for i, line := range first {
		d.add(fmt.Sprintf("line %d", i+1), "%s", clipTo(line, detectWide))
	}
	return err
}

// formatOf returns the format of a text by its first line, "" when no reader takes it, and the reason.
func formatOf(line []byte) (name, why string) {
	if len(line) == 0 {
		return "", "the file is empty"
	}
	number, rest, _ := bytes.Cut(line, []byte{' '})
	word, _, _ := bytes.Cut(rest, []byte{' '})
	_, numberErr := ParseDecimal(number)
	_, known := bitstampKinds[string(word)]
	switch {
	case numberErr == nil && known:
		return "bitstamp", fmt.Sprintf("the first line has a time, a blank and the kind %q", word)
	case numberErr == nil && bytes.HasPrefix(rest, []byte{'{'}):
		return "binance", "the first line has a time, a blank and a JSON object"
	case line[0] == '[':
		return "trades", "the text begins with [, a JSON array"
	case isBybit(line):
		return "bybit", `JSON objects of the topic "orderbook"`
	case isKraken(line):
		return "kraken", `a JSON object that begins with "error" or "result"`
	case line[0] == '{' && memberAt(line, "stream") > 0:
		return "binance", `a JSON object with "stream"`
	case bytes.HasPrefix(line, []byte(`{"e":"`)):
		return "binance", `a JSON object that begins with "e", the type of an event`
	case line[0] == '{':
		return "trades", "the first line is a JSON object"
	}
	if isDatabento(line) {
		return "databento", "the header has the columns of Databento's order messages, or of its best prices"
	}
	if kind := tardisKindOf(line); kind > tardisTrades {
		return "tardis", "the header is that of Tardis' " + kind.String()
	}
	if parseLobsterMessage(line, &Record{}) == nil {
		return "lobster", "a message file: six columns, type 1 to 7 in the second and 1 or -1 in the last"
	}
	if _, _, err := readTime(firstCell(line), 0, false); err != nil && parseLobsterRow(line, &Record{}) == nil {
		return "lobster", "an orderbook file: four whole numbers for each level"
	}
	return "trades", "rows of columns"
}

// firstCell returns the first cell of a row.
func firstCell(line []byte) []byte {
	var cells [1]cell
	splitTable(line, tableSeparator(line), cells[:])
	return unquote(cells[0].Text)
}

// tableRows reads rows of trades or bars and says what their columns are.
func (d *Detection) tableRows(path, pair string, given Layout) error {
	t := &trades{pair: pair, layout: given, files: []tradeFile{{path: path, divisor: dayNs}}}
	defer t.Close()
	file := &t.files[0]
	var rec Record
	var rows *table
	var bad problems
	err := t.Open(NewSurvey())
	more := err == nil
	for more && file.rows+bad.n < detectRows {
		err = t.Next(&rec)
		more = err == nil || !errors.Is(err, io.EOF) && bad.take(err)
		if t.rows != nil {
			rows = t.rows
		}
	}
	var first *LineError
	d.unread = file.rows == 0 && rows != nil && bad.n == 1 && errors.As(bad.err(), &first) &&
		!isOwn(first.Remedy) && first.Remedy != remedyRows
	err = cmp.Or(bad.err(), err)
	if near := takeSample(path).nearest(); d.unread && near != "" {
		d.add("nearest form", "%s", near)
	}
	if file.rows == 0 && err != nil && (rows == nil || len(rows.fields.used()) == 0) && file.set != nil {
		d.Format = ""
		for i := range d.Facts {
			if d.Facts[i].Name == "format" {
				d.Facts[i] = Fact{"looked at", "the first line: it names no column, and no value of it is a time"}
			}
		}
		return notEOF(err)
	}
	if rows != nil {
		d.layout(rows, file)
		d.pairOf(filepath.Base(path), rows)
	}
	if file.rows > 0 {
		order := "oldest first: the second time is not before the first"
		if file.newest {
			order = "newest first: the second time is before the first; read from the end"
		}
		d.add("order", "%s", order)
		what := "trades"
		if file.bars {
			what = "bars"
		}
		d.add("rows", "%d %s sampled, %s to %s", file.rows, what, NsText(file.first), NsText(file.last))
	}
	return notEOF(err)
}

// layout says how the rows are written and which value each column has.
func (d *Detection) layout(r *table, f *tradeFile) {
	named, parts := false, []string{}
	for c := range r.fields.first {
		for _, v := range []*field{&r.fields.first[c], &r.fields.second[c]} {
			if v.set {
				named = named || v.name != ""
				parts = append(parts, columnNames[c][0]+" = "+v.where())
			}
		}
	}
	if r.set.form != nil {
		d.add("form", "%s, %s", r.set.form.name, r.set.form.source)
	}
	switch {
	case r.json && r.in.Array:
		d.add("layout", "a JSON array of objects")
	case r.json:
		d.add("layout", "one JSON object a line")
	case r.list:
		d.add("layout", "a JSON array of arrays: %d values each", r.width)
	case named:
		d.add("layout", "separator %q; the first line names %d columns", r.separator, r.width)
	default:
		d.add("layout", "separator %q; no header: the first cell is a time or a number, and %d columns are known by "+
			"their values", r.separator, r.width)
	}
	d.add("columns", "%s", strings.Join(parts, ", "))
	if v := &r.fields.first[colTime]; v.set && r.unit() != timeNone {
		d.add("time", "%s: %q", r.unit(), clipTo(v.text, detectWide))
	}
	if f.rows > 0 {
		taken := r.taken(f)
		d.add("taken", "time: %s; amount: %s; side: %s", taken.Time, taken.Amount, taken.Side)
		if len(taken.Unused) > 0 {
			d.add("not used", "%s", strings.Join(taken.Unused, ", "))
		}
		d.add("flags", "%s", taken.Flags)
	}
}

// pairOf says which pair the rows have.
func (d *Detection) pairOf(name string, r *table) {
	switch code := pairInName(name); {
	case code != "":
		d.pair(code, "the file's name")
	case r.pairOf(r.symbol) != "" || d.given != "":
		d.pair(r.pairOf(r.symbol), fmt.Sprintf("the symbol %q", r.symbol))
	default:
		d.add("pair", "unknown: neither the file's name nor a symbol column tells it; give --pair")
	}
}

// pair says which pair a file has by something in it, "" for none, and that the user's word comes before it.
func (d *Detection) pair(code, by string) {
	switch {
	case d.given == "" || symbolIs(d.given, code):
		d.add("pair", "%s: %s", code, by)
	case code == "":
		d.add("pair", "%s: --pair", d.given)
	default:
		d.add("pair", "%s: --pair, which comes before %s (%s)", d.given, by, code)
	}
}

// lobsterRows reads rows of a message file or of an orderbook file.
func (d *Detection) lobsterRows(path string, head []byte) error {
	parse := parseLobsterRow
	if parseLobsterMessage(head, &Record{}) == nil {
		parse = parseLobsterMessage
	}
	in, err := openLines(path)
	if err != nil {
		return err
	}
	defer in.Close()
	n, rec := 0, Record{}
	for ; err == nil && n < detectRows; n++ {
		var line []byte
		if line, err = in.Next(); err != nil {
			break
		}
		rec.reset()
		if err = in.Refuse(parse(line, &rec)); err != nil {
			break
		}
	}
	day, _ := dayOf(in.File)
	d.add("time", "seconds after midnight UTC of %s", NsText(day)[:len("2006-01-02")])
	if m := tickerInName.FindStringSubmatch(in.File); m != nil {
		d.pair(pairOf(m[1], "USD"), "the file's name")
	}
	d.add("rows", "%d sampled", n)
	return notEOF(err)
}

// isKraken reports whether a text begins as an answer of Kraken, on one line or on several.
func isKraken(head []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(head))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	name, err := dec.Token()
	return err == nil && (name == "error" || name == "result")
}

// krakenAnswers reads the whole document, which has no rows to sample, and says what it answers.
func (d *Detection) krakenAnswers(path string) error {
	name, doc, err := readDocument(path)
	if err != nil {
		return err
	}
	var bad problems
	files, err := parseKraken(name, doc, &bad)
	if err = cmp.Or(err, bad.err()); err != nil {
		return err
	}
	trades, candles, tickers, rules, books := 0, 0, 0, 0, 0
	for _, f := range files {
		trades += len(f.trades)
		candles += len(f.candles)
		switch {
		case f.ticker != nil:
			tickers++
		case f.pair != nil:
			rules++
		case len(f.trades)+len(f.candles) == 0:
			books++
		}
	}
	if len(files) == 1 {
		d.pair(pairOfKraken(files[0].symbol), fmt.Sprintf("the member %q of the result", files[0].symbol))
	}
	d.add("rows", "the whole document: %d trades, %d candles, %d tickers, %d pairs' rules, %d books or empty answers",
		trades, candles, tickers, rules, books)
	return nil
}

// streamRows reads lines of a recorded stream.
func (d *Detection) streamRows(path, pair string) error {
	r, err := New(d.Format, []string{path})
	if err != nil {
		return err
	}
	defer r.Close()
	Select(r, pair)
	s, rec, n := NewSurvey(), Record{}, 0
	err = r.Open(s)
	for ; err == nil && n < detectRows; n++ {
		if err = r.Next(&rec); err != nil {
			break
		}
	}
	switch t := r.(type) {
	case *binance:
		d.pair(splitPair(t.symbol), fmt.Sprintf("the symbol %q", t.symbol))
	case *bybit:
		d.pair(splitPair(t.symbol), fmt.Sprintf("the symbol %q", t.symbol))
	case *databento:
		d.pair(dollarPair(t.symbol), fmt.Sprintf("the symbol %q", t.symbol))
	default:
		d.add("pair", "%s", s.Pair)
	}
	d.add("rows", "%d sampled", n)
	return notEOF(err)
}

// notEOF returns err, nil for io.EOF.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// clipTo returns the first n bytes of a text without control characters, which would act on a terminal.
func clipTo(s []byte, n int) string {
	end := ""
	if len(s) > n {
		s, end = s[:n], "..."
	}
	return strings.Map(func(c rune) rune {
		if c != '\t' && !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, string(s)) + end
}
