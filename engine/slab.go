package engine

// Slabs grow by chunks of 2^chunkBits, never by copying: growth costs one allocation and
// no pause, however many entries there are. Small ones, because a quiet pair has one of
// each kind: a thousand pairs with a few orders each take 46 MB.
const (
	chunkBits = 8
	chunkMask = 1<<chunkBits - 1
)

// slab holds values of one kind under int32 slot numbers. Slot 0 is never given out, so
// a zero link means none. Freed slots are given out again, the last freed first: it is
// the one most likely still in cache.
type slab[T any] struct {
	chunks []*[1 << chunkBits]T
	free   []int32
	used   int32 // slots ever given out
}

// at returns the value of slot i; it stays at its address until it is released.
func (s *slab[T]) at(i int32) *T { return &s.chunks[uint32(i)>>chunkBits][i&chunkMask] }

// alloc gives out a slot; the value is what its last holder left.
func (s *slab[T]) alloc() int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	return s.grow()
}

func (s *slab[T]) grow() int32 {
	s.used++
	if int(s.used>>chunkBits) >= len(s.chunks) {
		s.chunks = append(s.chunks, new([1 << chunkBits]T))
	}
	return s.used
}

func (s *slab[T]) release(i int32) { s.free = append(s.free, i) }

// live returns the number of slots in use.
func (s *slab[T]) live() int { return int(s.used) - len(s.free) }
