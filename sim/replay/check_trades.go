package replay

import "tickhive/marketdata"

// tradesPerQuery is the number of trades that one query compares.
const tradesPerQuery = 500

// printed records a trade that was fed: the public trades must contain it.
func (c *checker) printed(t marketdata.Trade) {
	if c.pub != nil && c.s.ComparesTrades() {
		c.expected = append(c.expected, t)
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
	c.trades.Good += common(c.expected, got)
	c.expected = c.expected[:0]
	return nil
}

// common counts the trades of want that are in got in the same order. Both are oldest first. Times are compared
// in ms, as answers print them.
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
