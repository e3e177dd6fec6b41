package client

import (
	"slices"
	"strings"
	"time"
)

// overlap is how far behind a cursor the fills are read again, by the exchange's clock. A long command of one pair is
// published behind the fills of other pairs that happened meanwhile, so a fill that was not sent yet can be older than
// the newest that was.
const overlap = 10 * time.Second

// Cursor is the position of a PrivateStream behind the last fill that it returned. A program that keeps its JSON begins
// behind this fill after its own restart. The zero value is the position before every fill.
type Cursor struct {
	Date  string              `json:"date"` // of the newest fill; empty: before every fill
	Pairs map[string]Position `json:"pairs"`
}

// Position is the newest fill of a pair. A trade of an account with itself is two fills, so it names the orders.
type Position struct {
	Date     string   `json:"date"`
	TradeID  uint64   `json:"tradeId"`
	OrderIDs []string `json:"orderIds"`
}

// passed reports whether f is at or before the cursor. The date decides before the id: an exchange that has lost its
// newest trades, in a power cut for example, gives their ids again, at a later time.
func (c *Cursor) passed(f *Fill) bool {
	at, known := c.Pairs[f.Pair]
	switch {
	case !known:
		return false
	case f.Date != at.Date:
		return f.Date < at.Date
	case f.TradeID != at.TradeID:
		return f.TradeID < at.TradeID
	}
	return slices.Contains(at.OrderIDs, f.OrderID)
}

// advance moves the cursor behind f, which it has not passed.
func (c *Cursor) advance(f *Fill) {
	if c.Pairs == nil {
		c.Pairs = map[string]Position{}
	}
	at := c.Pairs[f.Pair]
	if at.Date != f.Date || at.TradeID != f.TradeID {
		at = Position{Date: f.Date, TradeID: f.TradeID}
	}
	at.OrderIDs = append(at.OrderIDs, f.OrderID)
	c.Pairs[f.Pair] = at
	c.Date = max(c.Date, f.Date)
}

// isAt reports whether f is the newest fill before the cursor, or another one of the same trade.
func (c *Cursor) isAt(f *Fill) bool {
	at := c.Pairs[f.Pair]
	return f.Date == c.Date && f.Date == at.Date && f.TradeID == at.TradeID
}

func (c *Cursor) clone() Cursor {
	out := Cursor{Date: c.Date, Pairs: make(map[string]Position, len(c.Pairs))}
	for pair, at := range c.Pairs {
		at.OrderIDs = slices.Clone(at.OrderIDs)
		out.Pairs[pair] = at
	}
	return out
}

// dateBefore returns the time that lies overlap before a date of a fill or an order; zero for an empty date.
func dateBefore(date string) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(date, "Z"))
	if err != nil {
		return time.Time{}
	}
	return at.Add(-overlap)
}
