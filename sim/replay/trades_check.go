package replay

import (
	"errors"
	"fmt"
	"io"

	"tickhive/marketdata"
)

// bar reads a row as ticks and lots.
func (t *tradesFeed) bar(in *lines, row *tradeRow, volume int64) (bar, error) {
	b := bar{startSec: row.ns / secondNs, volume: volume}
	for _, p := range []struct {
		n    number
		into *int64
	}{{row.open, &b.open}, {row.high, &b.high}, {row.low, &b.low}, {row.close, &b.close}} {
		v, err := p.n.units(t.digitsPrice)
		if err != nil {
			return b, in.fail(remedyValue, "price: %v", err)
		}
		*p.into = v
	}
	return b, nil
}

func (t *tradesFeed) openReference(f tradeFile) error {
	interval, ok := intervalOf(f.length)
	if !ok {
		return nil // no candles of that length to compare with
	}
	in, err := openLines(f.path)
	if err != nil {
		return err
	}
	t.opened = append(t.opened, in)
	r := newTradeReader(in)
	t.candles = append(t.candles, newCandleCheck(interval, func() (bar, error) {
		row, err := r.next()
		if err != nil {
			return bar{}, err
		}
		volume, err := row.amount.units(t.digitsAmount)
		if err != nil {
			return bar{}, in.fail(remedyValue, "volume: %v", err)
		}
		return t.bar(in, &row, volume)
	}))
	return nil
}

// tradesPerQuery is the number of trades that one query compares.
const tradesPerQuery = 500

func (t *tradesFeed) check(_ *desk, pub Public) error {
	if len(t.want) < tradesPerQuery {
		return nil
	}
	return t.compareTrades(pub)
}

// compareTrades looks for what was fed among the newest public trades, in order. Others
// may have traded in between, so more is asked for than was fed.
func (t *tradesFeed) compareTrades(pub Public) error {
	if len(t.want) == 0 {
		return nil
	}
	got, err := pub.Trades(len(t.want) + tradesPerQuery)
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	t.trades.All += len(t.want)
	t.trades.Good += common(t.want, got)
	t.want = t.want[:0]
	return nil
}

// common counts the trades of want that are in got in the same order; both are oldest
// first, and times compare in the milliseconds that are printed.
func common(want, got []marketdata.Trade) (n int) {
	at := len(got) - 1
	for i := len(want) - 1; i >= 0; i-- {
		for k := at; k >= 0; k-- {
			if sameTrade(&want[i], &got[k]) {
				n++
				at = k - 1
				break
			}
		}
	}
	return n
}

func sameTrade(a, b *marketdata.Trade) bool {
	return a.Price == b.Price && a.Amount == b.Amount && a.TakerSide == b.TakerSide &&
		a.TimeNs/1e6 == b.TimeNs/1e6
}

// finish compares the candles. Of trades the first interval may lack what was before the
// file, so it is left out; bars are whole.
func (t *tradesFeed) finish(d *desk, pub Public) error {
	if err := t.compareTrades(pub); err != nil {
		return err
	}
	for _, c := range t.candles {
		for {
			b, err := c.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if t.covers(c.interval, b.startSec, d.now/secondNs) {
				c.pending = append(c.pending, b)
			}
			if len(c.pending) == candlesPerQuery {
				if err := c.flush(pub); err != nil {
					return err
				}
			}
		}
		if err := c.flush(pub); err != nil {
			return err
		}
	}
	return nil
}

// covers reports whether what was fed holds the whole bar that starts at start.
func (t *tradesFeed) covers(i marketdata.Interval, start, now int64) bool {
	if start > now {
		return false
	}
	first := t.firstNs / secondNs
	if t.fed[0].bars && t.from <= t.fed[0].first {
		return start+intervalSeconds[i] > first
	}
	return start > first
}

func (t *tradesFeed) notes() (notes []string) {
	sideless, empty, unused := 0, 0, 0
	for _, f := range t.fed {
		sideless += f.sideless
		empty += f.empty
	}
	for _, f := range t.refs {
		if _, ok := intervalOf(f.length); !ok {
			unused++
		}
	}
	notes = noted(notes, sideless, "%d trades without a side: the tick rule decided")
	notes = noted(notes, empty, "%d bars without a volume at an unchanged price: nothing was traded")
	return noted(notes, unused, "%d files of bars whose length is no candle's: not compared")
}

func (t *tradesFeed) results() []Check {
	out := []Check{t.trades}
	for _, c := range t.candles {
		out = append(out, c.counts)
	}
	return out
}
