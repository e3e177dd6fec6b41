package sim

import "tickhive/engine"

// Capacities of a ladder in quotes; powers of two. The makers place far fewer than ladderMost.
const (
	ladderFirst = 256
	ladderMost  = 4096
)

// quote is a resting order of the market makers.
type quote struct {
	id    engine.OrderID
	price int64 // ticks
	open  int64 // lots
}

// ladder holds the makers' quotes on one side of a pair, from the worst (0) to the best (n-1). It is a ring,
// because quotes are added and removed at both ends. The ring grows up to ladderMost.
type ladder struct {
	ring []quote
	head int
	n    int
}

func (l *ladder) at(i int) *quote { return &l.ring[(l.head+i)&(len(l.ring)-1)] }

// best returns the quote nearest to the other side, nil when there is none.
func (l *ladder) best() *quote {
	if l.n == 0 {
		return nil
	}
	return l.at(l.n - 1)
}

// find returns the index of an order, -1 when it is not on the ladder. No price of the order is worse than price. It
// searches from the best quote, because most lookups are for quotes near it.
func (l *ladder) find(side engine.Side, id engine.OrderID, price int64) int {
	for i := l.n - 1; i >= 0; i-- {
		q := l.at(i)
		if q.id == id {
			return i
		}
		if better(side, price, q.price) {
			break
		}
	}
	return -1
}

// insert inserts a quote by its price. It returns false when the ladder is full.
func (l *ladder) insert(side engine.Side, q quote) bool {
	if l.n == len(l.ring) && !l.grow() {
		return false
	}
	i := l.n
	if i > 0 && !better(side, q.price, l.at(i-1).price) && !better(side, q.price, l.at(0).price) {
		i = 0 // worse than all others: the second most frequent case after a new best quote
		l.head = (l.head - 1) & (len(l.ring) - 1)
		l.n++
		*l.at(0) = q
		return true
	}
	for i > 0 && better(side, l.at(i-1).price, q.price) {
		i--
	}
	l.n++
	for k := l.n - 1; k > i; k-- {
		*l.at(k) = *l.at(k - 1)
	}
	*l.at(i) = q
	return true
}

// grow doubles the ring. It returns false when the ring has its largest size.
func (l *ladder) grow() bool {
	if len(l.ring) == ladderMost {
		return false
	}
	ring := make([]quote, max(ladderFirst, 2*len(l.ring)))
	for i := range l.n {
		ring[i] = *l.at(i)
	}
	l.ring, l.head = ring, 0
	return true
}

func (l *ladder) remove(i int) {
	if i == 0 {
		l.head = (l.head + 1) & (len(l.ring) - 1)
		l.n--
		return
	}
	for ; i < l.n-1; i++ {
		*l.at(i) = *l.at(i + 1)
	}
	l.n--
}

// better reports whether price a is nearer to the other side than price b.
func better(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a > b
	}
	return a < b
}
