package fifo

import "slices"

// chunkLen is the number of values in a full chunk. A queue of 2^22 values has a table of 2^14 chunks.
const chunkLen = 256

// Queue holds values in the order of Push. The zero value is empty.
type Queue[T any] struct {
	chunks [][]T // all but the last have chunkLen values
	gone   int   // number of values at the front of the first chunk that Pop has returned
	n      int
}

// Len returns the number of values.
func (q *Queue[T]) Len() int { return q.n }

// At returns value i, counted from 0 at the front. The address is valid until the next Push.
func (q *Queue[T]) At(i int) *T {
	i += q.gone
	return &q.chunks[i/chunkLen][i%chunkLen]
}

// Copy returns a queue that later calls of q do not change. Another goroutine may read it meanwhile: Push and Pop change
// no value. The copy takes a few words for each chunk.
func (q *Queue[T]) Copy() Queue[T] {
	c := *q
	c.chunks = slices.Clone(q.chunks)
	return c
}

// Push appends a value.
func (q *Queue[T]) Push(v T) {
	last := len(q.chunks) - 1
	if last < 0 || len(q.chunks[last]) == chunkLen {
		q.chunks = append(q.chunks, nil)
		last++
	}
	q.chunks[last] = append(q.chunks[last], v)
	q.n++
}

// Pop removes the value at the front and returns it. It panics when there is none.
func (q *Queue[T]) Pop() T {
	v := *q.At(0)
	q.n--
	if q.gone++; q.gone == chunkLen {
		q.chunks[0] = nil
		q.chunks, q.gone = q.chunks[1:], 0
	}
	return v
}
