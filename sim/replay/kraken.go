package replay

import (
	"errors"
	"fmt"
	"io"

	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// kraken feeds recorded trades and compares the candles and today's ticker that were
// recorded beside them. Files may come in any order: their content tells what they are.
type kraken struct {
	paths                     []string
	digitsPrice, digitsAmount int
	from                      int64

	trades  []krakenTrade
	candles []krakenCandle
	ticker  *krakenTicker
	pair    *krakenPair
	others  int // answers about other pairs
	books   int // answers that hold an order book, or nothing

	at     int
	fed    int
	first  int64 // Unix ns of the first trade fed
	counts struct{ candles, empty, values Check }
}

func newKraken(files []string) (feed, error) {
	if len(files) == 0 {
		return nil, errors.New("replay: kraken takes the Trades answer, and to check it OHLC, Ticker and AssetPairs answers")
	}
	return &kraken{paths: files}, nil
}

func (k *kraken) survey() (survey, error) {
	files, symbol, err := k.readAll()
	if err != nil {
		return survey{}, err
	}
	s := newSurvey(krakenCode(symbol))
	if err := k.takeAll(files, symbol); err != nil {
		return s, err
	}
	for _, t := range k.trades {
		s.count(t.ns)
		s.price.take(t.price, t.at)
		s.amount.take(t.amount, t.at)
	}
	for _, c := range k.candles {
		for _, p := range []number{c.open, c.high, c.low, c.close} {
			s.price.take(p, c.at)
		}
		s.amount.take(c.volume, c.at)
	}
	if k.pair != nil && k.pair.DigitsPrice != nil && k.pair.DigitsAmount != nil {
		s.price.digits = max(s.price.digits, *k.pair.DigitsPrice)
		s.amount.digits = max(s.amount.digits, *k.pair.DigitsAmount)
	}
	return s, nil
}

// takeAll adds what the files tell of the pair. An answer about many pairs may tell of
// others too; a file that tells of others alone would not be compared.
func (k *kraken) takeAll(files []*krakenFile, symbol string) error {
	k.trades, k.candles, k.ticker, k.pair, k.others, k.books = nil, nil, nil, nil, 0, 0
	mine := map[string]bool{}
	for _, f := range files {
		mine[f.name] = mine[f.name] || f.symbol == symbol
	}
	for _, f := range files {
		if !mine[f.name] {
			return place{f.name, 1, 1}.refuse(remedySymbols, "the answer is about %s, the trades are of %s", f.symbol, symbol)
		}
		if f.symbol != symbol {
			k.others++
			continue
		}
		if err := k.take(f); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads every answer; the trades tell which pair is replayed.
func (k *kraken) readAll() (all []*krakenFile, symbol string, err error) {
	for _, path := range k.paths {
		name, doc, err := readDocument(path)
		if err != nil {
			return nil, "", err
		}
		files, err := parseKraken(name, doc)
		if err != nil {
			return nil, "", err
		}
		for _, f := range files {
			if len(f.trades) == 0 {
				continue
			}
			if symbol != "" && symbol != f.symbol {
				return nil, "", place{name, 1, 1}.refuse(remedySymbols, "trades of more than one pair: %s and %s", symbol, f.symbol)
			}
			symbol = f.symbol
		}
		all = append(all, files...)
	}
	if symbol == "" {
		return nil, "", errors.New("replay: kraken: none of the files is a Trades answer with trades")
	}
	return all, symbol, nil
}

// take adds a file. Several trade files follow one another.
func (k *kraken) take(f *krakenFile) error {
	switch {
	case len(f.trades) > 0:
		if n := len(k.trades); n > 0 && f.trades[0].ns < k.trades[n-1].ns {
			return f.trades[0].at.refuse("give the files in order of time, and none twice", "begins before the trades given before it end")
		}
		k.trades = append(k.trades, f.trades...)
	case len(f.candles) > 0:
		if len(k.candles) > 0 {
			return f.candles[0].at.refuse("give one OHLC answer", "a second file of candles")
		}
		k.candles = f.candles
	case f.ticker != nil:
		if k.ticker != nil {
			return place{f.name, 1, 1}.refuse("give one Ticker answer", "a second ticker")
		}
		k.ticker = f.ticker
	case f.pair != nil:
		k.pair = f.pair
	default:
		k.books++
	}
	return nil
}

func (k *kraken) open(fromNs int64, digitsPrice, digitsAmount int) error {
	k.from, k.digitsPrice, k.digitsAmount = fromNs, digitsPrice, digitsAmount
	k.at, k.fed, k.first = 0, 0, 0
	k.counts.candles = Check{Kind: k.interval().String() + " candles"}
	k.counts.empty = Check{Kind: "empty " + k.interval().String() + "s"}
	k.counts.values = Check{Kind: "ticker values"}
	return nil
}

func (k *kraken) close() {}

func (k *kraken) next() (int64, error) {
	for k.at < len(k.trades) {
		t := &k.trades[k.at]
		k.at++
		if t.ns < k.from {
			continue
		}
		if k.fed++; k.fed == 1 {
			k.first = t.ns
		}
		return t.ns, nil
	}
	return 0, io.EOF
}

func (k *kraken) apply(d *desk) error {
	t := &k.trades[k.at-1]
	price, err := t.price.units(k.digitsPrice)
	if err != nil {
		return t.at.refuse(remedyValue, "price: %v", err)
	}
	amount, err := t.amount.units(k.digitsAmount)
	if err != nil {
		return t.at.refuse(remedyValue, "volume: %v", err)
	}
	return d.print(t.side, price, amount)
}

func (k *kraken) check(*desk, Public) error { return nil }

// interval is the candles' length: the smallest distance of two starts.
func (k *kraken) interval() marketdata.Interval {
	smallest := int64(0)
	for i := 1; i < len(k.candles); i++ {
		d := k.candles[i].startSec - k.candles[i-1].startSec
		if d > 0 && (smallest == 0 || d < smallest) {
			smallest = d
		}
	}
	if i, ok := intervalOf(smallest * secondNs); ok {
		return i
	}
	return marketdata.Minute
}

// covered are the candles that the trades hold whole: none before the one after the
// first trade's, none after the last trade's, not the last trade's own where later
// candles show that trades are missing, and not the newest, which was not over when it
// was recorded, unless it knew of as many trades.
func (k *kraken) covered() []krakenCandle {
	length := intervalSeconds[k.interval()]
	lastSec := k.trades[len(k.trades)-1].ns / secondNs
	newest := k.candles[len(k.candles)-1].startSec
	more := false
	for _, c := range k.candles {
		more = more || c.startSec > lastSec && c.count > 0
	}
	var out []krakenCandle
	for _, c := range k.candles {
		ends := c.startSec + length
		if c.startSec*secondNs > k.first && (c.startSec < newest || c.count == k.tradesIn(newest)) && (!more || ends <= lastSec) {
			out = append(out, c)
		}
	}
	return out
}

// tradesIn counts the trades from startSec on.
func (k *kraken) tradesIn(startSec int64) (n int64) {
	for i := len(k.trades) - 1; i >= 0 && k.trades[i].ns >= startSec*secondNs; i-- {
		n++
	}
	return n
}

func (k *kraken) finish(d *desk, pub Public) error {
	if k.first == 0 {
		return nil
	}
	if len(k.candles) > 0 {
		if err := k.compareCandles(pub); err != nil {
			return err
		}
	}
	if k.ticker != nil {
		return k.compareTicker(d, pub)
	}
	return nil
}

// compareCandles compares traded minutes with the public candles. A minute without
// trades must have none, and be flat at the close before it in the recording.
func (k *kraken) compareCandles(pub Public) error {
	want := k.covered()
	if len(want) == 0 {
		return nil
	}
	got, err := pub.Candles(k.interval(), want[0].startSec, want[len(want)-1].startSec)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	at, last := 0, int64(0)
	for _, c := range want {
		for at < len(got) && got[at].Start < c.startSec {
			last = got[at].Close
			at++
		}
		has := at < len(got) && got[at].Start == c.startSec
		b, err := k.bar(&c)
		if err != nil {
			return err
		}
		if c.count > 0 {
			k.counts.candles.All++
			if has && b.equals(&got[at]) {
				k.counts.candles.Good++
			}
			continue
		}
		k.counts.empty.All++
		if !has && (last == 0 || b.open == last && b.high == last && b.low == last && b.close == last && b.volume == 0) {
			k.counts.empty.Good++
		}
	}
	return nil
}

func (k *kraken) bar(c *krakenCandle) (b bar, err error) {
	b.startSec = c.startSec
	for _, p := range []struct {
		n      number
		into   *int64
		digits int
	}{
		{c.open, &b.open, k.digitsPrice},
		{c.high, &b.high, k.digitsPrice},
		{c.low, &b.low, k.digitsPrice},
		{c.close, &b.close, k.digitsPrice},
		{c.volume, &b.volume, k.digitsAmount},
	} {
		if *p.into, err = p.n.units(p.digits); err != nil {
			return b, c.at.refuse(remedyValue, "%v", err)
		}
	}
	return b, nil
}

// vwapDigits is how many decimals of the volume-weighted price the ticker has, cut and
// not rounded.
const vwapDigits = 5

// compareTicker compares the seven values of today: volume, vwap, number of trades, high,
// low, open and last.
func (k *kraken) compareTicker(d *desk, pub Public) error {
	day := d.now / secondNs
	day -= day % 86_400
	if k.first > day*secondNs {
		return nil // the trades do not reach back to 00:00
	}
	candles, err := pub.Candles(marketdata.Day, day, day)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	last, err := pub.Last()
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	trades, err := pub.Trades(k.fed)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	if len(candles) != 1 {
		k.counts.values.All += 7
		return nil
	}
	count := int64(0)
	for i := range trades {
		if trades[i].TimeNs/secondNs >= day {
			count++
		}
	}
	c, t := &candles[0], k.ticker
	for _, v := range []struct {
		recorded number
		digits   int
		got      fixed.U128
	}{
		{t.volume, k.digitsAmount, c.Volume},
		{t.vwap, vwapDigits, k.vwap(c)},
		{t.high, k.digitsPrice, fixed.FromU64(uint64(c.High))},
		{t.low, k.digitsPrice, fixed.FromU64(uint64(c.Low))},
		{t.open, k.digitsPrice, fixed.FromU64(uint64(c.Open))},
		{t.last, k.digitsPrice, fixed.FromU64(uint64(last))},
		{number{mantissa: uint64(t.count)}, 0, fixed.FromU64(uint64(count))},
	} {
		k.counts.values.All++
		if want, err := v.recorded.units(v.digits); err == nil && fixed.FromU64(uint64(want)) == v.got {
			k.counts.values.Good++
		}
	}
	return nil
}

// vwap is sum(price x volume) / sum(volume), cut to vwapDigits decimals.
func (k *kraken) vwap(c *marketdata.Candle) fixed.U128 {
	sum := c.QuoteVolume
	for i := k.digitsPrice; i < vwapDigits; i++ {
		sum, _ = sum.MulCheck(10)
	}
	q, _ := sum.DivMod(c.Volume)
	for i := k.digitsPrice; i > vwapDigits; i-- {
		q, _ = q.DivMod64(10)
	}
	return q
}

func (k *kraken) notes() []string {
	notes := noted(nil, k.others, "%d answers about other pairs: left out")
	return noted(notes, k.books, "%d answers with an order book, or with nothing: left out")
}

func (k *kraken) results() []Check {
	out := []Check{k.counts.candles, k.counts.empty}
	if k.ticker != nil {
		out = append(out, k.counts.values)
	}
	return out
}
