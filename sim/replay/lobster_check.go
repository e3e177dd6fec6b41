package replay

import (
	"fmt"

	"tickhive/marketdata"
)

// check compares every level of the book row with the published book. The first row is
// the opening state and proves nothing.
func (l *lobster) check(_ *desk, pub Public) (err error) {
	if l.opening {
		return nil
	}
	l.bids, l.asks, err = pub.Book(l.row.depth, l.bids[:0], l.asks[:0])
	if err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	l.rows.All++
	if sameLevels(l.row.sides[0], l.bids) && sameLevels(l.row.sides[1], l.asks) {
		l.rows.Good++
	}
	return nil
}

func sameLevels(want []lobsterLevel, got []marketdata.Level) bool {
	if len(want) != len(got) {
		return false
	}
	for i, w := range want {
		if w.price != got[i].Price || w.size != got[i].Amount {
			return false
		}
	}
	return true
}

func (l *lobster) finish(*desk, Public) error { return nil }

func (l *lobster) notes() []string {
	notes := noted(nil, l.unfed, "%d hidden executions, crosses and halts: not fed")
	return noted(notes, l.missing, "%d messages name an order at a price without one: left out")
}

// results: how many changes of a side the file gave is not an agreement, but tells how
// much of the agreement is prediction.
func (l *lobster) results() []Check {
	given := l.given
	if l.known > 0 {
		given.Note = fmt.Sprintf("%d more came into view as we had them", l.known)
	}
	return []Check{l.rows, l.executions, l.named, given}
}
