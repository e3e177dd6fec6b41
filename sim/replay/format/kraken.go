package format

import (
	"errors"
	"io"
	"time"

	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
)

// kraken reads recorded answers of Kraken's public REST API: trades, and the candles and values of the day that
// were recorded with them. Files may come in any order; their content determines which answer they are. The
// survey keeps all values, because each file is one document, and it retains only candles whose trades are
// complete.
type kraken struct {
	paths []string

	s       *Survey
	trades  []krakenTrade
	candles []krakenCandle
	ticker  *krakenTicker
	pair    *krakenPair
	others  int // number of answers about other pairs
	books   int // number of answers with an order book, or with nothing
	at      int // index of the next record: trades first, then candles, then the ticker
}

func newKraken(files []string) (Reader, error) {
	if len(files) == 0 {
		return nil, errors.New("replay: kraken takes the Trades answer, " +
			"and to check it OHLC, Ticker and AssetPairs answers")
	}
	return &kraken{paths: files}, nil
}

func (k *kraken) Open(s *Survey) error {
	k.s, k.at = s, 0
	if !s.learning() {
		return nil
	}
	files, symbol, err := k.readAll()
	if err != nil {
		return err
	}
	s.Shape, s.Pair = Answers, pairs.Kraken(symbol)
	if err := k.takeAll(files, symbol); err != nil {
		return err
	}
	if k.pair != nil && k.pair.DigitsPrice != nil && k.pair.DigitsAmount != nil {
		s.Price.most = max(s.Price.most, *k.pair.DigitsPrice)
		s.Amount.most = max(s.Amount.most, *k.pair.DigitsAmount)
	}
	s.Sets, s.Today = []Set{{k.length() * input.SecondNs}}, k.ticker != nil
	return nil
}

func (k *kraken) Close() {}

func (k *kraken) Notes() []string {
	notes := noted(nil, k.others, "%d answers about other pairs: left out")
	return noted(notes, k.books, "%d answers with an order book, or with nothing: left out")
}

func (k *kraken) Next(r *Record) error {
	r.reset()
	n := k.at
	k.at++
	switch {
	case n < len(k.trades):
		t := &k.trades[n]
		if k.s.learning() {
			k.s.count(t.ns)
		}
		r.Kind, r.At, r.NS, r.Side, r.Sided = Trade, t.at, t.ns, t.side, true
		return k.s.trade(r, t.price, t.amount)
	case n < len(k.trades)+len(k.candles):
		c := &k.candles[n-len(k.trades)]
		r.Kind, r.At, r.NS, r.Bar.Trades = Candle, c.at, c.startSec*input.SecondNs, c.count
		return k.s.prices(r, c.prices, c.volume, c.at)
	case n == len(k.trades)+len(k.candles) && k.ticker != nil:
		r.Kind = Today
		k.today(&r.Today)
		return nil
	case k.s.learning():
		k.candles = k.covered()
	}
	return io.EOF
}

// today copies the figures of the current day, from the newest ticker message, to v.
func (k *kraken) today(v *Values) {
	t := k.ticker
	vwap := Digits{use: VWAPDigits}
	*v = Values{
		High: k.s.Price.exact(t.high), Low: k.s.Price.exact(t.low),
		Open: k.s.Price.exact(t.open), Last: k.s.Price.exact(t.last),
		Volume: k.s.Amount.exact(t.volume), VWAP: vwap.exact(t.vwap), Trades: t.count,
	}
}

// takeAll adds the files' values for the pair symbol. A file may also have values of other pairs. A file with
// only other pairs is refused, because it would not be compared.
func (k *kraken) takeAll(files []*krakenFile, symbol string) error {
	k.trades, k.candles, k.ticker, k.pair, k.others, k.books = nil, nil, nil, nil, 0, 0
	mine := map[string]bool{}
	for _, f := range files {
		mine[f.name] = mine[f.name] || f.symbol == symbol
	}
	for _, f := range files {
		if !mine[f.name] {
			return input.Top(f.name).Refuse(remedySymbols, "the answer is about %s, the trades are of %s",
				f.symbol, symbol)
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

// readAll reads all answers. The trades determine the pair to replay.
func (k *kraken) readAll() (all []*krakenFile, symbol string, err error) {
	var bad problems
	for _, path := range k.paths {
		name, doc, err := input.ReadDocument(path)
		var files []*krakenFile
		if err == nil {
			files, err = parseKraken(name, doc, &bad)
		}
		if err != nil {
			if !errors.As(err, new(*input.LineError)) {
				return nil, "", err
			}
			bad.take(err)
		}
		for _, f := range files {
			if len(f.trades) == 0 {
				continue
			}
			if symbol != "" && symbol != f.symbol {
				return nil, "", input.Top(name).Refuse(remedySymbols, "trades of more than one pair: "+
					"%s and %s", symbol, f.symbol)
			}
			symbol = f.symbol
		}
		all = append(all, files...)
	}
	if err := bad.err(); err != nil {
		return nil, "", err
	}
	if symbol == "" {
		return nil, "", errors.New("replay: kraken: none of the files is a Trades answer with trades")
	}
	return all, symbol, nil
}

// take adds a file. A second file of trades continues the first one.
func (k *kraken) take(f *krakenFile) error {
	switch {
	case len(f.trades) > 0:
		if n := len(k.trades); n > 0 && f.trades[0].ns < k.trades[n-1].ns {
			return f.trades[0].at.Refuse("give the files in order of time, and none twice",
				"begins before the trades given before it end")
		}
		k.trades = append(k.trades, f.trades...)
	case len(f.candles) > 0:
		if len(k.candles) > 0 {
			return f.candles[0].at.Refuse("give one OHLC answer", "a second file of candles")
		}
		k.candles = f.candles
	case f.ticker != nil:
		if k.ticker != nil {
			return input.Top(f.name).Refuse("give one Ticker answer", "a second ticker")
		}
		k.ticker = f.ticker
	case f.pair != nil:
		k.pair = f.pair
	default:
		k.books++
	}
	return nil
}

// length returns the length of the candles in seconds: the smallest difference of two starts. Without candles,
// or when that is no interval, it returns a minute.
func (k *kraken) length() int64 {
	smallest := int64(0)
	for i := 1; i < len(k.candles); i++ {
		d := k.candles[i].startSec - k.candles[i-1].startSec
		if d > 0 && (smallest == 0 || d < smallest) {
			smallest = d
		}
	}
	if smallest == 0 {
		return int64(time.Minute / time.Second)
	}
	return smallest
}

// covered returns the candles whose trades are complete. It leaves out three kinds: candles after the last
// trade's, the last trade's own if later candles show that trades are missing, and the newest candle. The
// newest was still open when it was recorded; it is included if its number of trades agrees.
func (k *kraken) covered() (out []krakenCandle) {
	if len(k.candles) == 0 {
		return nil
	}
	length, lastSec := k.length(), k.trades[len(k.trades)-1].ns/input.SecondNs
	newest := k.candles[len(k.candles)-1].startSec
	more := false
	for _, c := range k.candles {
		more = more || c.startSec > lastSec && c.count > 0
	}
	for _, c := range k.candles {
		whole := c.startSec < newest || c.count == k.tradesFrom(newest)
		if whole && (!more || c.startSec+length <= lastSec) {
			out = append(out, c)
		}
	}
	return out
}

// tradesFrom returns the number of trades at or after startSec.
func (k *kraken) tradesFrom(startSec int64) (n int64) {
	for i := len(k.trades) - 1; i >= 0 && k.trades[i].ns >= startSec*input.SecondNs; i-- {
		n++
	}
	return n
}
