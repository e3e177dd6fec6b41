package replay

import (
	"errors"
	"io"
	"path/filepath"
	"slices"

	"tickhive/engine"
	"tickhive/marketdata"
)

// tradeFile is one file of a trades replay, as the survey found it.
type tradeFile struct {
	path   string
	bars   bool
	length int64 // of a bar, ns
	first  int64
	last   int64
	rows   int

	empty    int // bars without a trade
	sideless int // trades without a side
}

// tradesFeed feeds trades, or bars where there are none: a bar becomes the trades open,
// high, low and close of its start, which share its volume. Coarser bars that were given
// as well are what the candles are compared with.
type tradesFeed struct {
	files []tradeFile
	fed   []tradeFile
	refs  []tradeFile

	digitsPrice, digitsAmount int

	from    int64
	at      int // index in fed
	in      *lines
	reader  *tradeReader
	row     tradeRow
	side    engine.Side // of the last trade, for the tick rule
	last    int64       // ticks of the last trade
	firstNs int64       // of the first row fed
	candles []*candleCheck
	opened  []*lines
	want    []marketdata.Trade // not yet compared
	trades  Check
}

func newTrades(files []string) (feed, error) {
	if len(files) == 0 {
		return nil, errors.New("replay: trades takes at least one file")
	}
	t := &tradesFeed{trades: Check{Kind: "trades"}}
	for _, f := range files {
		t.files = append(t.files, tradeFile{path: f})
	}
	return t, nil
}

func (t *tradesFeed) survey() (survey, error) {
	s, symbol := newSurvey(""), ""
	for i := range t.files {
		f := &t.files[i]
		name := filepath.Base(f.path)
		switch pair := pairInName(name); {
		case s.pair == "":
			s.pair = pair
		case pair != "" && pair != s.pair:
			return s, place{name, 1, 1}.refuse(remedySymbols, "the file's name tells %s, the names before %s", pair, s.pair)
		}
		if err := f.survey(&s, &symbol); err != nil {
			return s, err
		}
	}
	if err := t.choose(); err != nil {
		return s, err
	}
	s.firstNs = t.fed[0].first
	for _, f := range t.fed {
		s.records += f.rows
		s.lastNs, s.startNs = f.last, f.last
	}
	return s, nil
}

// survey reads the file once. symbol is what the files before are about, and those up to
// here from then on.
func (f *tradeFile) survey(s *survey, symbol *string) error {
	in, err := openLines(f.path)
	if err != nil {
		return err
	}
	defer in.close()
	r := newTradeReader(in)
	r.symbol = *symbol
	divisor := dayNs
	for {
		row, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.rows == 0 {
			f.first, f.bars = row.ns, row.bar
		} else if f.bars != row.bar {
			return in.fail("give them in files of their own", "trades and bars in one file")
		}
		divisor = gcd(divisor, row.ns%dayNs)
		f.take(&row)
		s.take(&row, in)
	}
	if f.rows == 0 {
		return in.fail("give a file with rows, or leave it out", "no rows")
	}
	if f.bars && f.empty == f.rows {
		return in.fail(remedyVolume, "no bar has a volume")
	}
	f.length, *symbol = barLength(f.path, divisor), r.symbol
	return nil
}

// take counts a row.
func (f *tradeFile) take(row *tradeRow) {
	f.rows++
	f.last = row.ns
	switch {
	case row.bar && row.amount.mantissa == 0:
		f.empty++
	case !row.bar && !row.hasSide:
		f.sideless++
	}
}

// take follows the values of a row.
func (s *survey) take(row *tradeRow, in *lines) {
	s.amount.take(row.amount, in.here(row.amountAt))
	prices := []number{row.price}
	if row.bar {
		prices = []number{row.open, row.high, row.low, row.close}
		if row.amount.mantissa != 0 {
			s.amount.takeShared(row.amount, row.shares, in.here(row.amountAt))
		}
	}
	for _, p := range prices {
		s.price.take(p, in.here(row.priceAt))
	}
}

// choose splits the files into what is fed and what is compared with: trades are fed, or
// without any the finest bars.
func (t *tradesFeed) choose() error {
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
			return place{filepath.Base(f.path), 1, 1}.refuse("give the files in order of time, and none twice", "begins before the file given before it ends")
		}
		t.fed = append(t.fed, f)
	}
	return nil
}

func (t *tradesFeed) open(fromNs int64, digitsPrice, digitsAmount int) error {
	t.close()
	t.digitsPrice, t.digitsAmount = digitsPrice, digitsAmount
	t.from, t.at, t.last, t.firstNs, t.candles = fromNs, 0, 0, 0, nil
	for _, f := range t.refs {
		if err := t.openReference(f); err != nil {
			return err
		}
	}
	return nil
}

func (t *tradesFeed) close() {
	for _, in := range append(t.opened, t.in) {
		if in != nil {
			in.close()
		}
	}
	t.opened, t.in, t.reader = nil, nil, nil
}

func (t *tradesFeed) next() (int64, error) {
	for {
		if t.reader == nil {
			if t.at == len(t.fed) {
				return 0, io.EOF
			}
			in, err := openLines(t.fed[t.at].path)
			if err != nil {
				return 0, err
			}
			t.at++
			t.in, t.reader = in, newTradeReader(in)
		}
		row, err := t.reader.next()
		if errors.Is(err, io.EOF) {
			t.in.close()
			t.in, t.reader = nil, nil
			continue
		}
		if err != nil {
			return 0, err
		}
		if row.ns < t.from {
			continue
		}
		if t.firstNs == 0 {
			t.firstNs = row.ns
		}
		t.row = row
		return row.ns, nil
	}
}

func (t *tradesFeed) apply(d *desk) error {
	if t.row.bar && t.row.amount.mantissa == 0 {
		return nil // nothing was traded
	}
	amount, err := t.units("amount", t.row.amount, t.digitsAmount)
	if err != nil {
		return err
	}
	if t.row.bar {
		return t.applyBar(d, amount)
	}
	price, err := t.units("price", t.row.price, t.digitsPrice)
	if err != nil {
		return err
	}
	side := t.row.side
	if !t.row.hasSide {
		side = t.tick(price)
	}
	return t.print(d, side, price, amount)
}

func (t *tradesFeed) units(what string, n number, digits int) (int64, error) {
	v, err := n.units(digits)
	if err == nil && v <= 0 {
		err = errors.New("must be above zero")
	}
	if err != nil {
		return 0, t.in.fail(remedyValue, "%s: %v", what, err)
	}
	return v, nil
}

// tick is the tick rule: a trade above the last one was a buyer's, below it a seller's,
// at the same price as the one before.
func (t *tradesFeed) tick(price int64) engine.Side {
	switch {
	case price > t.last:
		t.side = engine.Buy
	case price < t.last:
		t.side = engine.Sell
	}
	return t.side
}

func (t *tradesFeed) print(d *desk, side engine.Side, price, amount int64) error {
	t.last = price
	t.want = append(t.want, marketdata.Trade{TimeNs: d.now, Price: price, Amount: amount, TakerSide: side})
	return d.print(side, price, amount)
}

// applyBar makes the fewest trades that have the bar's open, high, low, close and volume.
func (t *tradesFeed) applyBar(d *desk, volume int64) error {
	b, err := t.bar(t.in, &t.row, volume)
	if err != nil {
		return err
	}
	prices := barPrices(&b)
	n := int64(len(prices))
	if volume < n {
		return t.in.fail(remedyValue, "a volume of %d lots cannot be %d trades", volume, n)
	}
	for i, price := range prices {
		amount := volume / n
		if i == 0 {
			amount += volume % n
		}
		if err := t.print(d, t.tick(price), price, amount); err != nil {
			return err
		}
		d.now += int64(1e6) // a millisecond apart, inside the second
	}
	return nil
}

// barPrices are open, then the extreme that is nearer to it, the other one, close; what
// the neighbours already say is left out.
func barPrices(b *bar) []int64 {
	path := []int64{b.open, b.high, b.low, b.close}
	if b.open-b.low < b.high-b.open {
		path[1], path[2] = b.low, b.high
	}
	return slices.Compact(path)
}
