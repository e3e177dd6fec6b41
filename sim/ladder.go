package sim

import "tickhive/engine"

// ladderRoom is the capacity of a side in quotes; a power of two. Agents stay far below it.
const ladderRoom = 256

// quote is a resting order of the market makers.
type quote struct {
	id    engine.OrderID
	price int64 // ticks
	open  int64 // lots
}

// ladder holds one side of the makers' quotes, from the worst (0) to the best (n-1), in a ring,
// because both ends move. It belongs to its pair.
type ladder struct {
	ring [ladderRoom]quote
	head int
	n    int
}

func (l *ladder) at(i int) *quote { return &l.ring[(l.head+i)&(ladderRoom-1)] }

// best returns the quote next to the touch; nil when there is none.
func (l *ladder) best() *quote {
	if l.n == 0 {
		return nil
	}
	return l.at(l.n - 1)
}

// find returns the place of an order, -1 when it is not on the ladder. It searches from the best
// quote, because most lookups are for the best ones.
func (l *ladder) find(id engine.OrderID) int {
	for i := l.n - 1; i >= 0; i-- {
		if l.at(i).id == id {
			return i
		}
	}
	return -1
}

// insert puts a quote at the place of its price; it returns false when there is no room.
func (l *ladder) insert(side engine.Side, q quote) bool {
	if l.n == ladderRoom {
		return false
	}
	i := l.n
	if i > 0 && !better(side, q.price, l.at(i-1).price) && !better(side, q.price, l.at(0).price) {
		i = 0 // worse than all: the second most frequent case after the best
		l.head = (l.head - 1) & (ladderRoom - 1)
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

func (l *ladder) remove(i int) {
	if i == 0 {
		l.head = (l.head + 1) & (ladderRoom - 1)
		l.n--
		return
	}
	for ; i < l.n-1; i++ {
		*l.at(i) = *l.at(i + 1)
	}
	l.n--
}

// better reports whether price a is closer to the opposite side than b.
func better(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a > b
	}
	return a < b
}
