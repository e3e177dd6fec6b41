package replay

import (
	"slices"

	"tickhive/marketdata"
)

// tradesPerQuery is the number of trades that one query compares.
const tradesPerQuery = 500

// printed records a trade that was fed: the public trades must contain it.
func (c *checker) printed(t marketdata.Trade) {
	if c.pub != nil && c.s.ComparesTrades() {
		c.expected = append(c.expected, t)
		c.places = append(c.places, c.at)
	}
}

// tradesDue reports whether enough fed trades wait to be compared.
func (c *checker) tradesDue() bool { return len(c.expected) >= tradesPerQuery }

// compareTrades looks for the fed trades among the newest public trades, in the same order. It does nothing
// until atLeast fed trades are waiting. Other accounts may trade meanwhile, so it requests more trades than
// were fed.
func (c *checker) compareTrades(atLeast int) error {
	if len(c.expected) < atLeast {
		return nil
	}
	got, err := c.pub.Trades(len(c.expected) + tradesPerQuery)
	if err != nil {
		return err
	}
	c.trades.All += len(c.expected)
	missed := missing(c.expected, got)
	c.trades.Good += len(c.expected) - len(missed)
	for _, i := range missed[:min(len(missed), maxMisses)] {
		c.miss(c.trades.Kind, c.places[i], "no such trade", c.tradeText(&c.expected[i]))
	}
	c.expected, c.places = c.expected[:0], c.places[:0]
	return nil
}

// missing returns the indexes of the trades of want that are not in got in the same order, ascending. Both are oldest
// first. Times are compared in ms, as answers print them.
func missing(want, got []marketdata.Trade) (missed []int) {
	at := len(got) - 1
	for i := len(want) - 1; i >= 0; i-- {
		k := at
		for k >= 0 && !sameTrade(&want[i], &got[k]) {
			k--
		}
		if k < 0 {
			missed = append(missed, i)
		} else {
			at = k - 1
		}
	}
	slices.Reverse(missed)
	return missed
}

func sameTrade(a, b *marketdata.Trade) bool {
	return a.Price == b.Price && a.Amount == b.Amount && a.TakerSide == b.TakerSide &&
		a.TimeNs/1e6 == b.TimeNs/1e6
}
