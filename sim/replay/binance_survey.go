package replay

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// binanceFirst holds the places at which a stream first has each kind of message, and how
// many there are.
type binanceFirst struct {
	at    [binanceAggregate + 1]place
	n     [binanceAggregate + 1]int
	start place
	early int // depth diffs before the first snapshot
}

func (b *binance) survey() (survey, error) {
	s := newSurvey("")
	in, err := openLines(b.path)
	if err != nil {
		return s, err
	}
	defer in.close()
	b.in, b.order, b.symbol = in, lineOrder{}, ""
	var first binanceFirst
	for {
		err := b.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = first.take(&b.r, in)
		}
		if err != nil {
			return s, err
		}
		s.count(b.r.ns)
		s.takeLevels(b.r.bids, in.here(0))
		s.takeLevels(b.r.asks, in.here(0))
		s.price.take(b.r.price, in.here(0))
		s.amount.take(b.r.amount, in.here(0))
	}
	if s.records == 0 {
		return s, in.fail("give a file with lines", "no records")
	}
	s.pair = splitSymbol(b.symbol)
	return s, first.check(b.symbol)
}

func (f *binanceFirst) take(r *binanceRecord, in *lines) error {
	if f.start.line == 0 {
		f.start = in.here(0)
	}
	if f.n[r.kind]++; f.n[r.kind] == 1 {
		f.at[r.kind] = in.here(0)
	}
	if r.kind != binanceDepth || f.n[binanceSnapshot] > 0 {
		return nil
	}
	if f.early++; f.early > binanceEarly {
		return in.fail("take the depth snapshot when the recording begins, or cut what is before it",
			"more than %d depth updates before the depth snapshot", binanceEarly)
	}
	return nil
}

// check reports a stream that lacks what makes its book or its trades.
func (f *binanceFirst) check(symbol string) error {
	if symbol == "" {
		symbol = "SYMBOL"
	}
	stream := strings.ToLower(symbol)
	switch {
	case f.n[binanceDepth] > 0 && f.n[binanceSnapshot] == 0:
		return f.at[binanceDepth].refuse("after this line add the answer of GET /api/v3/depth?symbol="+symbol+
			`&limit=5000 that was taken then, as a line: local time in ns, a blank, {"lastUpdateId":...}`,
			"depth updates and no depth snapshot in the file: the book would stay empty")
	case f.n[binancePartial] > 0 && f.n[binanceDepth] == 0:
		return f.at[binancePartial].refuse("record "+stream+"@depth@100ms and a depth snapshot", "a stream of the best levels alone: the book would stay empty")
	case f.n[binanceAggregate] > 0 && f.n[binanceTrade] == 0:
		return f.at[binanceAggregate].refuse("record "+stream+"@trade", "a stream of aggregate trades alone: there would be no trade")
	case f.n[binanceTrade]+f.n[binanceSnapshot] == 0:
		return f.start.refuse("record "+stream+"@trade, "+stream+"@depth@100ms and a depth snapshot", "neither trades nor a depth snapshot: nothing to replay")
	}
	return nil
}

// read reads the next line, of the one symbol that the file may have.
func (b *binance) read() error {
	line, err := b.in.next()
	if err != nil {
		return err
	}
	if b.r, err = parseBinance(line); err != nil {
		return b.in.refuse(err)
	}
	switch symbol := b.r.symbol; {
	case symbol == "" || symbol == b.symbol:
	case b.symbol == "":
		b.symbol = symbol
	default:
		at := max(bytes.Index(line, []byte(`"`+symbol+`"`)), 0)
		return b.in.refuse(flawAt(at, remedySymbols, "symbol %q, the lines before are of %q", symbol, b.symbol))
	}
	b.r.ns, err = b.order.take(b.r.ns)
	return b.in.refuse(err)
}
