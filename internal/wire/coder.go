package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrShort is data that ends inside a field.
var ErrShort = errors.New("wire: data ends inside a field")

// ErrPadded is a number with an empty last byte. A number has one encoding only, so that
// equal values have equal bytes.
var ErrPadded = errors.New("wire: a number ends with an empty byte")

// streamPart is the number of bytes that a stream gathers before it writes them.
const streamPart = 64 << 10

// Coder writes to or reads from a byte slice, field by field. With a large state it lets
// others run (Turns). A Coder that writes only reads the fields, so that other goroutines may
// read them meanwhile.
type Coder struct {
	buf     []byte
	reading bool
	err     error
	turns   Turns
	sink    io.Writer // of a stream
}

// Writer makes a Coder that appends to dst.
func Writer(dst []byte) *Coder { return &Coder{buf: dst} }

// Stream makes a Coder that writes to w in parts, so that it never holds a large state whole
// (a hash of it). End writes the last part.
func Stream(w io.Writer) *Coder { return &Coder{buf: make([]byte, 0, 2*streamPart), sink: w} }

// Reader makes a Coder that reads b. What it returns shares no memory with b.
func Reader(b []byte) *Coder { return &Coder{buf: b, reading: true} }

// Append appends what code writes to dst.
func Append(dst []byte, code func(*Coder)) []byte {
	c := Writer(dst)
	code(c)
	return c.Bytes()
}

// Decode reads the whole of b with code.
func Decode(b []byte, code func(*Coder)) error {
	c := Reader(b)
	code(c)
	return c.End()
}

// Reading tells the direction.
func (c *Coder) Reading() bool { return c.reading }

// Left returns the number of bytes that are not read yet.
func (c *Coder) Left() int {
	if !c.reading {
		return 0
	}
	return len(c.buf)
}

// Bytes returns the bytes written so far; a stream has passed them on.
func (c *Coder) Bytes() []byte { return c.buf }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail notes an error of the caller's own (a value out of range), unless one is noted.
func (c *Coder) Fail(format string, args ...any) {
	c.fail(fmt.Errorf("wire: "+format, args...))
}

// fail notes the first error. Nothing is left to read after it.
func (c *Coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.buf = nil
	}
}

// End returns Err, or an error when bytes are left over. For a stream it writes the last part.
func (c *Coder) End() error {
	if c.sink != nil {
		c.pass()
	}
	if c.err == nil && c.reading && len(c.buf) > 0 {
		c.Fail("%d bytes left over", len(c.buf))
	}
	return c.err
}

// U64 codes an unsigned varint.
func (c *Coder) U64(p *uint64) {
	c.turns.Turn()
	switch {
	case !c.reading:
		if c.sink != nil && len(c.buf) >= streamPart {
			c.pass()
		}
		c.buf = binary.AppendUvarint(c.buf, *p)
	case len(c.buf) > 0 && c.buf[0] < 0x80: // most numbers; after an error there are no bytes
		*p, c.buf = uint64(c.buf[0]), c.buf[1:]
	default:
		*p = c.long()
	}
}

// long reads a number of several bytes.
func (c *Coder) long() uint64 {
	v, n := binary.Uvarint(c.buf)
	switch {
	case n <= 0:
		c.fail(ErrShort)
		return 0
	case c.buf[n-1] == 0:
		c.fail(ErrPadded)
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

// UpTo codes an unsigned varint; a read above limit is an error.
func (c *Coder) UpTo(p *uint64, limit uint64) {
	c.U64(p)
	if c.reading && *p > limit {
		c.Fail("%d is above %d", *p, limit)
		*p = 0
	}
}

// I63 codes an unsigned varint for a number that is never negative.
func (c *Coder) I63(p *int64) {
	u := uint64(*p)
	c.UpTo(&u, 1<<63-1)
	if c.reading {
		*p = int64(u)
	}
}

// I64 codes a signed varint.
func (c *Coder) I64(p *int64) {
	u := uint64(*p)<<1 ^ uint64(*p>>63)
	c.U64(&u)
	if c.reading {
		*p = int64(u>>1) ^ -int64(u&1)
	}
}

// U32 codes an unsigned varint of at most 32 bits.
func (c *Coder) U32(p *uint32) {
	u := uint64(*p)
	c.UpTo(&u, 1<<32-1)
	if c.reading {
		*p = uint32(u)
	}
}

// U8 codes one byte; a read above limit is an error.
func (c *Coder) U8(p *uint8, limit uint8) {
	if !c.reading {
		c.buf = append(c.buf, *p)
		return
	}
	var b [1]byte
	if c.Fixed(b[:]); b[0] > limit {
		c.Fail("%d is above %d", b[0], limit)
		b[0] = 0
	}
	*p = b[0]
}

// Bool codes one byte, 0 or 1.
func (c *Coder) Bool(p *bool) {
	var b uint8
	if *p {
		b = 1
	}
	c.U8(&b, 1)
	if c.reading {
		*p = b == 1
	}
}

// Fixed codes len(p) bytes unchanged.
func (c *Coder) Fixed(p []byte) {
	if !c.reading {
		c.buf = append(c.buf, p...)
		return
	}
	if len(c.buf) < len(p) {
		clear(p)
		c.fail(ErrShort)
		return
	}
	copy(p, c.buf)
	c.buf = c.buf[len(p):]
}

// Text codes a length and that many bytes, at most limit.
func (c *Coder) Text(p *string, limit int) {
	n := uint64(len(*p))
	c.U64(&n)
	if !c.reading {
		c.buf = append(c.buf, *p...)
		return
	}
	*p = ""
	if n > uint64(limit) {
		c.Fail("text of %d bytes, at most %d", n, limit)
	}
	if n > uint64(len(c.buf)) {
		c.fail(ErrShort)
		return
	}
	*p, c.buf = string(c.buf[:n]), c.buf[n:]
}

// Len codes the length of a list whose items take at least one byte each.
func (c *Coder) Len(n int) int {
	u := uint64(n)
	c.U64(&u)
	if c.reading && u > uint64(len(c.buf)) {
		c.fail(ErrShort)
		return 0
	}
	return int(u)
}

// pass writes what a stream has gathered.
func (c *Coder) pass() {
	if _, err := c.sink.Write(c.buf); err != nil && c.err == nil {
		c.err = err
	}
	c.buf = c.buf[:0]
}
