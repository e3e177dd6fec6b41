package slots

// A stack grows by chunks of 2^stackBits values. Its directory is the only memory that is ever copied: 8 bytes
// for every chunk.
const (
	stackBits = 7
	stackMask = 1<<stackBits - 1
)

// Stack holds values; the value pushed last is popped first. A push allocates one chunk at most and copies no values,
// so none takes long, however many there are.
type Stack[T any] struct {
	chunks []*[1 << stackBits]T
	n      int
}

// Len returns the number of values.
func (s *Stack[T]) Len() int { return s.n }

// Push adds a value.
func (s *Stack[T]) Push(v T) {
	if s.n>>stackBits == len(s.chunks) {
		s.chunks = append(s.chunks, new([1 << stackBits]T))
	}
	s.chunks[s.n>>stackBits][s.n&stackMask] = v
	s.n++
}

// Pop removes the newest value and returns it. There must be one.
func (s *Stack[T]) Pop() T {
	s.n--
	return s.chunks[s.n>>stackBits][s.n&stackMask]
}
