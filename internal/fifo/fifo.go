package fifo

import (
	"slices"
	"sync/atomic"
)

// chunkLen is the number of values in a full chunk. A queue of 2^22 values has a table of 2^14 chunks.
const chunkLen = 256

// spareChunks is the part of the table, one of so many chunks, for which Pop keeps chunks that have no value left: to
// make a shorter table each time would cost more.
const spareChunks = 8

// Queue holds values in the order of Push. The zero value is empty.
//
// A copy shares the chunks. It stays valid because Push and Pop change no value that a copy has: Push writes behind the
// copy's last value, and into another array when the one of the chunk is full.
type Queue[T any] struct {
	chunks []*chunk[T]
	gone   int // number of values at the front of the first chunk that Pop has returned
	n      int
	popped int // chunks without a value that the table still has in front of the first one
}

// chunk holds up to chunkLen values. Its array is replaced by a longer one until it has room for all.
type chunk[T any] struct{ values atomic.Pointer[[]T] }

// Len returns the number of values.
func (q *Queue[T]) Len() int { return q.n }

// At returns value i, counted from 0 at the front. The address is valid until the next Push.
func (q *Queue[T]) At(i int) *T {
	i += q.gone
	return &(*q.chunks[i/chunkLen].values.Load())[i%chunkLen]
}

// Copy returns a queue that later calls of q do not change, at no cost. Another goroutine may read it meanwhile. Push
// and Pop of the copy are not allowed.
func (q *Queue[T]) Copy() Queue[T] { return *q }

// Push appends a value.
func (q *Queue[T]) Push(v T) {
	end := q.gone + q.n
	if end == len(q.chunks)*chunkLen {
		q.chunks = append(q.chunks, &chunk[T]{})
	}
	c, i := q.chunks[len(q.chunks)-1], end%chunkLen
	values := c.values.Load()
	if values == nil || i == len(*values) {
		longer := make([]T, min(max(1, 2*i), chunkLen))
		if values != nil {
			copy(longer, *values)
		}
		c.values.Store(&longer)
		values = &longer
	}
	(*values)[i] = v
	q.n++
}

// Pop removes the value at the front and returns it. It panics when there is none.
func (q *Queue[T]) Pop() T {
	v := *q.At(0)
	q.n--
	if q.gone++; q.gone == chunkLen {
		q.chunks, q.gone = q.chunks[1:], 0
		if q.popped++; q.popped > len(q.chunks)/spareChunks { // a copy may have the table
			q.chunks, q.popped = slices.Clone(q.chunks), 0
		}
	}
	return v
}
