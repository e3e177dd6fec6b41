package slots

import "unsafe"

// Slabs grow by chunks of 2^chunkBits values and copy nothing, so growth causes one allocation and no pause,
// whatever the size. Chunks are small, because every quiet pair has one of each kind: a thousand pairs with a
// few orders each take 46 MB.
const (
	chunkBits = 8
	chunkMask = 1<<chunkBits - 1
)

// Slab stores values under int32 slot numbers. Slot 0 is never used, so a zero link means none. The slot freed
// last is reused first, because it is the most likely one to be in the CPU cache.
type Slab[T any] struct {
	chunks []*[1 << chunkBits]T
	free   Stack[int32]
	used   int32 // number of slots ever used
}

// At returns the value of slot i. Its address does not change until the slot is released. Go's own indexing of the
// chunk would first read the head of the chunk, to see that its address is not nil: one more cache line a call.
func (s *Slab[T]) At(i int32) *T {
	chunk := unsafe.Pointer(s.chunks[uint32(i)>>chunkBits])
	return (*T)(unsafe.Add(chunk, uintptr(i&chunkMask)*unsafe.Sizeof(*new(T))))
}

// CacheLine returns the cache line of the value of slot i, which may be 0.
func (s *Slab[T]) CacheLine(i int32) CacheLine { return CacheLine(unsafe.Pointer(s.At(i))) }

// Alloc returns a free slot. Its value is whatever the previous user left.
func (s *Slab[T]) Alloc() int32 {
	if s.free.n > 0 {
		return s.free.Pop()
	}
	return s.Grow()
}

// Grow returns a slot that was never used.
func (s *Slab[T]) Grow() int32 {
	s.used++
	if int(s.used>>chunkBits) >= len(s.chunks) {
		s.chunks = append(s.chunks, new([1 << chunkBits]T))
	}
	return s.used
}

// Release makes slot i free.
func (s *Slab[T]) Release(i int32) { s.free.Push(i) }

// InUse returns the number of slots in use.
func (s *Slab[T]) InUse() int { return int(s.used) - s.free.n }

// Bytes returns the memory that the values take.
func (s *Slab[T]) Bytes() int64 {
	return int64(len(s.chunks)) * int64(unsafe.Sizeof([1 << chunkBits]T{}))
}

// Used returns the number of slots that were ever in use.
func (s *Slab[T]) Used() int32 { return s.used }
