package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tickhive/internal/fixed"
	"tickhive/internal/wire"
)

var errState = errors.New("the encoded state ends early or holds a number out of range")

// stateReader reads what stateWriter wrote. The first error sticks; what is read after it
// is zero.
type stateReader struct {
	buf   []byte
	err   error
	turns wire.Turns
}

func (r *stateReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *stateReader) uint(limit uint64) uint64 {
	r.turns.Turn()
	v, n := binary.Uvarint(r.buf)
	// A number has one encoding only: no empty last byte.
	if n <= 0 || v > limit || n > 1 && r.buf[n-1] == 0 {
		if r.err == nil {
			r.err = errState
		}
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

func (r *stateReader) int() int64 { return int64(r.uint(1<<63 - 1)) }

// any64 reads any 64 bits (times before 1970 among them).
func (r *stateReader) any64() int64 { return int64(r.uint(1<<64 - 1)) }

func (r *stateReader) u32() uint32 { return uint32(r.uint(1<<32 - 1)) }

func (r *stateReader) u128() fixed.U128 {
	return fixed.U128{Hi: r.uint(1<<64 - 1), Lo: r.uint(1<<64 - 1)}
}

func (r *stateReader) bool() bool { return r.uint(1) == 1 }

// count reads how many things follow that take at least one byte each.
func (r *stateReader) count() int { return int(r.uint(uint64(len(r.buf)))) }

func (r *stateReader) text() string {
	n := r.count()
	if n > len(r.buf) {
		r.err = errState
		return ""
	}
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

func (r *stateReader) hash() (h [2]uint64) {
	if len(r.buf) < 16 {
		if r.err == nil {
			r.err = errState
		}
		r.buf = nil
		return h
	}
	h[0] = binary.LittleEndian.Uint64(r.buf)
	h[1] = binary.LittleEndian.Uint64(r.buf[8:])
	r.buf = r.buf[16:]
	return h
}
