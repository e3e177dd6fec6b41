package format

import (
	"strings"

	"tickhive/sim/replay/format/input"
)

// maxEarly bounds the level updates that are stored until the first book: 1 3/4 hours at one update every 100
// ms.
const maxEarly = 65_536

// binanceFirst holds, for each kind of message, the place of the first one and the number of them.
type binanceFirst struct {
	at    [binanceMessages]input.Position
	n     [binanceMessages]int
	start input.Position
	early int // depth updates before the first snapshot
}

func (f *binanceFirst) take(m binanceMessage, at input.Position) error {
	if f.start.Line == 0 {
		f.start = at
	}
	if f.n[m]++; f.n[m] == 1 {
		f.at[m] = at
	}
	if m != binanceDepth || f.n[binanceSnapshot] > 0 {
		return nil
	}
	if f.early++; f.early > maxEarly {
		return at.Refuse("take the depth snapshot when the recording begins, or cut what is before it",
			"more than %d depth updates before the depth snapshot", maxEarly)
	}
	return nil
}

// check returns an error when the stream lacks the messages that make its book or its trades.
func (f *binanceFirst) check(symbol string) error {
	if symbol == "" {
		symbol = "SYMBOL"
	}
	stream := strings.ToLower(symbol)
	switch {
	case f.n[binanceDepth] > 0 && f.n[binanceSnapshot] == 0:
		return f.at[binanceDepth].Refuse("after this line add the answer of GET /api/v3/depth?symbol="+symbol+
			`&limit=5000 that was taken then, as a line: local time in ns, a blank, {"lastUpdateId":...}`,
			"depth updates and no depth snapshot in the file: the book would stay empty")
	case f.n[binancePartial] > 0 && f.n[binanceDepth] == 0:
		return f.at[binancePartial].Refuse("record "+stream+"@depth@100ms and a depth snapshot",
			"a stream of the best levels alone: the book would stay empty")
	case f.n[binanceAggregate] > 0 && f.n[binanceTrade] == 0:
		return f.at[binanceAggregate].Refuse("record "+stream+"@trade",
			"a stream of aggregate trades alone: there would be no trade")
	case f.n[binanceTrade]+f.n[binanceSnapshot] == 0:
		return f.start.Refuse("record "+stream+"@trade, "+stream+"@depth@100ms and a depth snapshot",
			"neither trades nor a depth snapshot: nothing to replay")
	}
	return nil
}
