package marketdata

// queue is a double-ended queue in a ring buffer. The buffer doubles when it is full and never shrinks. Owner:
// the goroutine that owns the containing struct.
type queue[T any] struct {
	buf  []T // its length is 0 or a power of two
	head int
	n    int
}

func (q *queue[T]) len() int { return q.n }

func (q *queue[T]) at(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

func (q *queue[T]) pushBack(v T) {
	q.grow()
	q.n++
	*q.at(q.n - 1) = v
}

func (q *queue[T]) pushFront(v T) {
	q.grow()
	q.head = (q.head - 1) & (len(q.buf) - 1)
	q.n++
	*q.at(0) = v
}

// grow makes room for one more value.
func (q *queue[T]) grow() {
	if q.n < len(q.buf) {
		return
	}
	grown := make([]T, max(2*len(q.buf), 8))
	copy(grown[copy(grown, q.buf[q.head:]):], q.buf[:q.head]) // the buffer is full
	q.buf, q.head = grown, 0
}

func (q *queue[T]) popFront() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

func (q *queue[T]) popBack() { q.n-- }
