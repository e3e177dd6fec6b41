package format

import (
	"bytes"
	"cmp"
	"errors"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/fixed"
)

const (
	// sampleRows bounds the first rows that settle what the rows of a file do not say one by one, as the order of day
	// and month. weighedRows bounds those whose values are compared.
	sampleRows, weighedRows = 1000, 64
)

// sample holds the first rows of a table.
type sample struct {
	path  string // with slashes; behind the path of a zip follows the name of the file in it
	file  string
	names []string // names of the columns or members as columnNamed compares them; nil without a header
	texts []string // the names as they are written
	rows  [][]string
	list  bool // the rows are JSON arrays
	// The symbol and the kind of instrument that stand beside the rows of an answer, "" without them.
	symbol, category string

	cells [maxColumns]cell
}

// takeSample reads the first rows of a file. A file that cannot be read has none: the reader says why.
func takeSample(path string) *sample {
	in, err := openLines(path)
	if err != nil {
		return &sample{file: filepath.Base(path), path: filepath.ToSlash(path)}
	}
	defer in.Close()
	s := &sample{file: in.File, path: strings.TrimSuffix(filepath.ToSlash(path)+"/"+in.Source.Inner, "/")}
	if in.SplitJSON() != nil {
		return s
	}
	if s.symbol = in.beside(colSymbol); in.answers != nil {
		s.category = in.answers.beside["category"]
	}
	separator, begun := byte(0), false
	for len(s.rows) < sampleRows {
		line, err := in.Next()
		switch {
		case err != nil:
			return s
		case line[0] == '{':
			if !s.object(line) {
				return s
			}
			continue
		case !begun && isPreamble(line):
			continue
		case line[0] == '[' && in.Array:
			s.list = true
			line = line[1 : len(line)-1]
		}
		if !begun {
			begun, separator = true, tableSeparator(line)
			if s.head(line, separator) {
				continue
			}
		}
		s.row(line, separator)
	}
	return s
}

// isPreamble reports whether a line above a table belongs to no table: a comment, or the address of a site.
func isPreamble(line []byte) bool { return line[0] == '#' || bytes.Contains(line, []byte("://")) }

// head takes the first line of a text. It returns false when the line is a row.
func (s *sample) head(line []byte, separator byte) bool {
	n := min(splitTable(line, separator, s.cells[:]), maxColumns)
	if looksLikeTime(unquote(s.cells[0].Text)) {
		return false
	}
	for _, c := range s.cells[:n] {
		s.name(string(unquote(c.Text)))
	}
	return true
}

// name adds a column and returns its index.
func (s *sample) name(text string) int {
	if i := slices.Index(s.texts, text); i >= 0 && text != "" {
		return i
	}
	s.texts = append(s.texts, text)
	s.names = append(s.names, strings.ToLower(strings.Trim(text, "<>")))
	return len(s.texts) - 1
}

func (s *sample) row(line []byte, separator byte) {
	n := min(splitTable(line, separator, s.cells[:]), maxColumns)
	row := make([]string, n)
	for i, c := range s.cells[:n] {
		row[i] = string(unquote(c.Text))
	}
	s.rows = append(s.rows, row)
}

// object takes a row of JSON. It returns false for a text that is none.
func (s *sample) object(line []byte) bool {
	members := membersOf(line)
	if members == nil {
		return false
	}
	row := make([]string, len(s.texts), len(s.texts)+len(members))
	for _, m := range members {
		i := s.name(m.name)
		for len(row) <= i {
			row = append(row, "")
		}
		if single(m.value) && string(m.value) != "null" {
			row[i] = string(unquote(m.value))
		}
	}
	s.rows = append(s.rows, row)
	return true
}

// at returns a value of a row, "" for a column that the row lacks.
func at(row []string, i int) string {
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

// find returns the index of the column that a plan, or else the name of the file, gives for c; -1 without one.
func (s *sample) find(p *plan, c column) int {
	if p.has(c) {
		if i := p.indexOf(c); i >= 0 && len(s.names) == 0 {
			return i
		}
		return s.named(p.columns[c])
	}
	if p.only {
		return -1
	}
	best, least := -1, maxRanks
	for i, text := range s.texts {
		if k, rank := columnNamed(text); k == c && rank < least {
			best, least = i, rank
		}
	}
	return best
}

// named returns the index of a column: by its exact name, then by its name in other letters, then by its number.
func (s *sample) named(text string) int {
	if i := slices.Index(s.texts, text); i >= 0 {
		return i
	}
	if i := slices.Index(s.names, strings.ToLower(strings.Trim(text, "<>"))); i >= 0 {
		return i
	}
	var p plan
	p.columns[0] = text
	return p.indexOf(0)
}

// barColumns are the prices of a bar, in the order open, high, low, close.
var barColumns = [4]column{colOpen, colHigh, colLow, colClose}

// weighed returns the first rows, whose values are compared.
func (s *sample) weighed() [][]string { return s.rows[:min(len(s.rows), weighedRows)] }

// countRows returns the number of rows for which is holds.
func countRows(rows [][]string, is func(row []string) bool) (n int) {
	for _, row := range rows {
		if is(row) {
			n++
		}
	}
	return n
}

// width returns the number of columns of most of the first rows, the first one of equals; 0 with a header or without
// rows.
func (s *sample) width() (most int) {
	rows := s.weighed()
	if len(s.names) > 0 {
		return 0
	}
	n := 0
	for _, row := range rows {
		same := func(r []string) bool { return len(r) == len(row) }
		if k := countRows(rows, same); k > n {
			most, n = len(row), k
		}
	}
	return most
}

// bars returns how many of the first rows are bars with the columns of the form.
func (s *sample) bars(f *form) int {
	p, err := f.compile()
	if err != nil {
		return 0
	}
	p.only = true
	return countRows(s.weighed(), func(row []string) bool {
		return s.isBar(&p, row)
	})
}

// isBar reports whether a row has the prices of a bar: low <= open, close <= high.
func (s *sample) isBar(p *plan, row []string) bool {
	var b [4]fixed.I128
	for i, c := range barColumns {
		d, err := ParseDecimal([]byte(at(row, s.find(p, c))))
		if err != nil {
			return false
		}
		b[i] = d.V
	}
	return b[2].Cmp(b[0]) <= 0 && b[2].Cmp(b[3]) <= 0 && b[1].Cmp(b[0]) >= 0 && b[1].Cmp(b[3]) >= 0
}

// whole reports whether no price of the first rows has a decimal point.
func (s *sample) whole(f *form) bool {
	p, err := f.compile()
	if err != nil {
		return false
	}
	i := max(s.find(&p, colPrice), s.find(&p, colOpen))
	if len(s.names) == 0 {
		i = 1
	}
	numbers, points := 0, 0
	for _, row := range s.rows {
		if _, err := ParseDecimal([]byte(at(row, i))); err != nil {
			continue // the reader reports a wrong number
		}
		numbers++
		points += strings.Count(at(row, i), ".")
	}
	return numbers > 0 && points == 0
}

// settled is the layout of one file.
type settled struct {
	form   *form // nil: an unknown one
	given  Layout
	layout Layout // the given one over the form's
	plan   plan
	dates  []dateLayout // the layouts of written times
	proof  string       // what the values of the file say about its amounts
	quoted bool         // the other amount is the quote amount
	width  int          // number of columns of most of the first rows of a file without a header; 0: unknown
}

// settle finds the form of a file and fills what the given layout leaves open. It refuses a file that leaves open what
// a replay must know.
func settle(path string, given Layout) (*settled, error) {
	s := takeSample(path)
	out := &settled{given: given, layout: given, dates: dateLayouts, width: s.width()}
	if out.form = formOf(s); out.form != nil {
		out.layout = given.Over(out.form.Layout)
		if err := out.form.allowed(s.file, &given); err != nil {
			return nil, err
		}
	}
	var err error
	if out.plan, err = out.layout.compile(); err != nil {
		return nil, err
	}
	p := &out.plan
	p.only = given.Columns == "" && out.layout.Columns != ""
	for _, step := range []func(*settled, *sample) error{
		(*settled).names, (*settled).order, (*settled).decimals, (*settled).quotes, (*settled).unit,
	} {
		if err := step(out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// allowed refuses a file of a form that is no table, or that leaves open what the given layout does not say.
func (f *form) allowed(file string, given *Layout) error {
	if f.refuse != "" {
		return topOf(file).Refuse(f.refuse, "%s: no trades and no bars", f.name)
	}
	var missing []string
	for _, o := range given.options() {
		if *o.value == "" && slices.Contains(strings.Fields(f.asks), o.name) {
			missing = append(missing, "--"+o.name+askedFor[o.name])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return topOf(file).Refuse("give "+strings.Join(missing, " and "), "the form %s: %s", f.name, f.why)
}

// askedFor maps flags that forms ask for to their values.
var askedFor = map[string]string{
	"amount": " base, quote or contracts", "side": " buy=VALUE,sell=VALUE", "price-scale": " 10000 (or 1)",
	"timezone": " ZONE, such as America/New_York or UTC",
}

// names replaces the columns of the layout by the names of the file. The first column of a table of pandas has none: it
// is the time when no other one is.
func (o *settled) names(s *sample) error {
	p := &o.plan
	if len(s.names) == 0 {
		return nil
	}
	for c := range p.columns {
		if !p.has(column(c)) {
			continue
		}
		i := s.named(p.columns[c])
		if i < 0 || i >= len(s.texts) {
			return topOf(s.file).Refuse("give --columns with names of the file: "+
				clipTo([]byte(strings.Join(s.texts, ", ")), 3*detectWide), "no column %q", p.columns[c])
		}
		if s.texts[i] != "" {
			p.columns[c] = s.texts[i]
		}
	}
	if s.names[0] == "" && s.find(p, colTime) < 0 && len(s.rows) > 0 && looksLikeTime([]byte(at(s.rows[0], 0))) {
		p.columns[colTime] = "1"
	}
	return nil
}

// order finds whether the day or the month is first in dates with slashes.
func (o *settled) order(s *sample) error {
	p := &o.plan
	if p.kind != timeNone {
		return nil
	}
	i := s.find(p, colTime)
	if len(s.names) == 0 && i < 0 {
		i = 0
	}
	first, second, seen := 0, 0, false
	for _, row := range s.rows {
		m := slashed.FindStringSubmatch(at(row, i))
		if m == nil {
			continue
		}
		seen = true
		if len(m[1]) == 2 && m[1] > "12" {
			first++
		}
		if len(m[2]) == 2 && m[2] > "12" {
			second++
		}
	}
	switch {
	case !seen:
	case first > 0 && second == 0:
		o.dates = writtenAs("2/1/2006", "2/1/06")
	case second > 0 && first == 0:
		o.dates = writtenAs("1/2/2006", "1/2/06")
	default:
		o.dates = nil
	}
	return nil
}

// thousands matches a number whose thousands are grouped with commas, or with points when the decimal mark is one.
var thousands = regexp.MustCompile(`^[$-]*\d{1,3}(?:,\d{3})+(?:\.\d+)?$|^[$-]*\d{1,3}(?:\.\d{3})+,\d+$`)

// decimals finds which mark the numbers have before their decimals.
func (o *settled) decimals(s *sample) error {
	if o.layout.Decimal != "" {
		return nil
	}
	point, comma, either := false, false, ""
	for _, c := range []column{colPrice, colOpen, colHigh, colLow, colClose, colAmount} {
		i := s.find(&o.plan, c)
		if i < 0 && len(s.names) == 0 && c == colPrice {
			i = 1
		}
		for _, row := range s.rows {
			text := strings.TrimSpace(at(row, i))
			mark := strings.LastIndexAny(text, ".,")
			switch {
			case !strings.ContainsAny(text, "$,"):
			case mark < 0 || text[mark] == '.' || strings.Count(text, ",") > 1:
				point = true
			case strings.Contains(text, ".") || !thousands.MatchString(text):
				comma = true
			default:
				either = text
			}
		}
	}
	switch {
	case point && comma:
		return topOf(s.file).Refuse("give --decimal point or --decimal comma",
			"some numbers have a point before their decimals, some a comma")
	case point:
		o.layout.Decimal = "point"
	case comma:
		o.layout.Decimal = "comma"
	case either != "":
		return topOf(s.file).Refuse("give --decimal point or --decimal comma",
			"%q: the comma groups thousands, or stands before decimals", clip([]byte(either)))
	default:
		return nil
	}
	return o.plan.setDecimal(o.layout.Decimal)
}

// quotes refuses rows whose amount moves with the price, above it: they are bids and asks.
func (o *settled) quotes(s *sample) error {
	if len(s.names) > 0 || o.layout.Columns != "" || len(s.rows) < 2 || len(s.rows[0]) < 3 || len(s.rows[0]) > 4 {
		return nil
	}
	above := 0
	for _, row := range s.rows {
		bid, err := ParseDecimal([]byte(at(row, 1)))
		ask, err2 := ParseDecimal([]byte(at(row, 2)))
		if err != nil || err2 != nil {
			continue // the reader reports a wrong number
		}
		if bid.V.Sign() <= 0 || ask.V.Cmp(bid.V) < 0 || !near(ratio(ask), ratio(bid), ratio(bid), 5) {
			return nil
		}
		if ask.V.Cmp(bid.V) > 0 {
			above++
		}
	}
	if above*2 < len(s.rows) {
		return nil
	}
	return topOf(s.file).Refuse(remedyQuotes+", or name the columns: --columns time=1,price=2,amount=3",
		"the third column is as large as the second in all of the first %d rows: a bid and an ask", len(s.rows))
}

// ratio returns a number for comparisons.
func ratio(d Decimal) *big.Rat {
	v := d.V.Abs()
	n := new(big.Int).SetUint64(v.Hi)
	n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(v.Lo))
	return new(big.Rat).SetInt(n)
}

// near reports whether x is between low and high, or beyond them by at most percent of them.
func near(x, low, high *big.Rat, percent int64) bool {
	return x.Cmp(new(big.Rat).Mul(low, big.NewRat(100-percent, 100))) >= 0 &&
		x.Cmp(new(big.Rat).Mul(high, big.NewRat(100+percent, 100))) <= 0
}

// contractNames matches symbols of instruments whose amounts some exchanges count in contracts.
var contractNames = regexp.MustCompile(
	`(?i)perp(?:etual)?(?:[^a-z]|$)|[-_]swap|usd_[0-9]{6}(?:[^0-9]|$)|xbtusdt?m|usdtm(?:[^a-z]|$)`)

// contractExchanges lists the exchanges, as Tardis names them, that count contracts.
var contractExchanges = []string{
	"bitmex", "deribit", "okex-swap", "okex-futures", "huobi-dm", "huobi-dm-swap", "huobi-dm-linear-swap",
	"binance-delivery", "gate-io-futures", "kucoin-futures", "cryptofacilities",
}

// unit finds what the amounts count: by the other amount of each row and the price, or by the symbol.
func (o *settled) unit(s *sample) error {
	amount, quote := o.amounts(s)
	if o.plan.unit != unitUnknown {
		o.quoted = o.plan.unit == unitBase
		return nil
	}
	p := &o.plan
	if amount >= 0 && quote >= 0 {
		switch decided, rows := o.weigh(s, amount, quote); {
		case decided:
			return nil
		case rows > 0:
			return topOf(s.file).Refuse("give --amount base, quote or contracts",
				"%s and %s do not fit the price: the file does not show which one is the base amount",
				s.label(amount), s.label(quote))
		}
	}
	symbol := s.symbol
	if s.category == "inverse" { // of Bybit
		return o.askUnit(s, cmp.Or(symbol, s.category))
	}
	if len(s.rows) > 0 {
		symbol = cmp.Or(at(s.rows[0], s.find(p, colSymbol)), symbol)
		exchange := strings.ToLower(at(s.rows[0], s.find(p, colExchange)))
		if slices.Contains(contractExchanges, exchange) || contractNames.MatchString(symbol) {
			return o.askUnit(s, cmp.Or(symbol, exchange))
		}
	}
	if name := filepath.Base(s.path); symbol == "" && (contractNames.MatchString(name) ||
		contractNames.MatchString(s.file)) {
		return o.askUnit(s, name)
	}
	return o.currency(s, amount)
}

// askUnit refuses a file whose amounts may count contracts.
func (o *settled) askUnit(s *sample, name string) error {
	return topOf(s.file).Refuse("give --amount base, or --amount quote where a contract is one unit of the quote "+
		"currency, or --amount contracts --contract-value VALUE", "%s: its amounts may count contracts", name)
}

// amounts returns the indices of the amount and of the other amount, -1 for none.
func (o *settled) amounts(s *sample) (amount, quote int) {
	p := &o.plan
	amount, quote = s.find(p, colAmount), s.find(p, colQuote)
	if base := s.find(p, colBase); base >= 0 {
		amount = base
	}
	if p.only || p.has(colAmount) {
		return amount, quote
	}
	for i, text := range s.texts { // Volume BTC beside Volume USD
		switch currencyOf(text) {
		case "":
		case "CURRENCY":
			quote = i
		default:
			if amount < 0 {
				amount = i
			} else if quote < 0 && currencyOf(s.texts[amount]) != "" {
				quote = i
			}
		}
	}
	if amount >= 0 && currencyOf(s.texts[amount]) != "" {
		p.columns[colAmount] = s.texts[amount]
		if base, _ := o.pair(s); quote >= 0 && currencyOf(s.texts[quote]) == base && base != "" {
			amount, quote = quote, amount
			p.columns[colAmount] = s.texts[amount]
		}
	}
	return amount, quote
}

// pair returns the currencies of the symbol column or of the file's name, "" for unknown ones.
func (o *settled) pair(s *sample) (base, quote string) {
	code := ""
	if len(s.rows) > 0 {
		code = splitPair(at(s.rows[0], s.find(&o.plan, colSymbol)))
	}
	code = cmp.Or(code, splitPair(s.symbol), pairInName(s.file))
	base, quote, _ = strings.Cut(code, "_")
	return base, quote
}

// currency refuses a volume in the quote currency, by its name.
func (o *settled) currency(s *sample, amount int) error {
	if amount < 0 || amount >= len(s.texts) {
		return nil
	}
	base, quote := o.pair(s)
	if c := currencyOf(s.texts[amount]); c != "" && quote != "" && c == quote && c != base {
		return topOf(s.file).Refuse("give --amount quote, or --columns amount=NAME",
			"%q is the volume in the quote currency of %s_%s", s.texts[amount], base, quote)
	}
	return nil
}

// label returns the name of a column for --columns.
func (s *sample) label(i int) string {
	if i < len(s.texts) {
		return s.texts[i]
	}
	return string(new(big.Int).SetInt64(int64(i)+1).Append(nil, 10))
}

// weigh compares two amounts of the first rows with the price, and takes the base amount when they show which one it
// is. It returns the number of rows that have both.
func (o *settled) weigh(s *sample, amount, quote int) (decided bool, rows int) {
	p := &o.plan
	base, swapped, contracts := 0, 0, [7]int{}
	for _, row := range s.weighed() {
		low, high, ok := o.prices(s, row)
		a, err := ParseDecimal([]byte(at(row, amount)))
		q, err2 := ParseDecimal([]byte(at(row, quote)))
		if !ok || err != nil || err2 != nil || a.V.Sign() <= 0 || q.V.Sign() <= 0 {
			continue
		}
		rows++
		if near(new(big.Rat).Quo(ratio(q), ratio(a)), low, high, 2) {
			base++
		}
		x := new(big.Rat).Quo(ratio(a), ratio(q))
		if near(x, low, high, 2) {
			swapped++
		}
		for k := range contracts {
			x.Mul(x, big.NewRat(10, 1))
			if near(x, low, high, 2) {
				contracts[k]++
			}
		}
	}
	most := func(n int) bool { return rows > 0 && n*10 >= rows*9 }
	other := ""
	switch k := slices.IndexFunc(contracts[:], most); {
	case most(base):
		o.proof, o.quoted = "by the price and "+s.label(quote), true
		return true, rows
	case most(swapped):
		other, o.quoted = "is the amount in the quote currency", true
	case k >= 0:
		other = "counts contracts of 1" + strings.Repeat("0", k+1) + " in the quote currency"
	default:
		return false, rows
	}
	o.proof = "by the price: " + s.label(amount) + " " + other
	p.columns[colAmount], p.columns[colQuote] = s.label(quote), s.label(amount)
	return true, rows
}

// prices returns the range of a row's prices, as ratio returns them.
func (o *settled) prices(s *sample, row []string) (low, high *big.Rat, ok bool) {
	p, price := &o.plan, func(c column) (*big.Rat, error) {
		d, err := ParseDecimal([]byte(at(row, s.find(&o.plan, c))))
		scale := new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(1_000_000_000), big.NewInt(1_000_000_000)))
		if o.plan.scale > 0 {
			scale.Mul(scale, new(big.Rat).SetInt(new(big.Int).SetUint64(fixed.Pow10[o.plan.scale])))
		}
		return new(big.Rat).Quo(ratio(d), scale), err
	}
	first, last := colPrice, colPrice
	if s.find(p, colOpen) >= 0 && s.find(p, colHigh) >= 0 {
		if !s.isBar(p, row) {
			return nil, nil, false
		}
		first, last = colLow, colHigh
	}
	low, err := price(first)
	high, err2 := price(last)
	return low, high, errors.Join(err, err2) == nil
}
