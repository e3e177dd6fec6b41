package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrShort reports data that end inside a field.
var ErrShort = errors.New("wire: data ends inside a field")

// ErrPadded reports a number with an empty last byte. A number has only one encoding, so that equal values have
// equal bytes.
var ErrPadded = errors.New("wire: a number ends with an empty byte")

// streamPart is the number of bytes that a stream collects before it writes them.
const streamPart = 64 << 10

// Coder encodes fields to a byte slice or decodes them from one, depending on its direction. It yields the
// processor during a large state (Turns). An encoding Coder only reads the fields, so other goroutines may read
// them at the same time.
type Coder struct {
	buf     []byte
	reading bool
	err     error
	turns   Turns
	sink    io.Writer // destination of a stream; nil: the bytes stay in buf
}

// Writer returns a Coder that appends to dst.
func Writer(dst []byte) *Coder { return &Coder{buf: dst} }

// Stream returns a Coder that writes to w in parts, so that a large state is never in memory as a whole, for
// example to hash it. End writes the last part.
func Stream(w io.Writer) *Coder { return &Coder{buf: make([]byte, 0, 2*streamPart), sink: w} }

// Reader returns a Coder that decodes b. The decoded values share no memory with b.
func Reader(b []byte) *Coder { return &Coder{buf: b, reading: true} }

// Append appends to dst the encoding that code makes.
func Append(dst []byte, code func(*Coder)) []byte {
	c := Writer(dst)
	code(c)
	return c.Bytes()
}

// Decode decodes b with code. Bytes left over are an error.
func Decode(b []byte, code func(*Coder)) error {
	c := Reader(b)
	code(c)
	return c.End()
}

// Reading reports whether the Coder decodes.
func (c *Coder) Reading() bool { return c.reading }

// Left returns the number of bytes that are not decoded yet.
func (c *Coder) Left() int {
	if !c.reading {
		return 0
	}
	return len(c.buf)
}

// Bytes returns the encoded bytes. For a stream it returns only the bytes that are not written yet.
func (c *Coder) Bytes() []byte { return c.buf }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail records an error of the caller (a value out of range), unless there is an error already.
func (c *Coder) Fail(format string, args ...any) {
	c.fail(fmt.Errorf("wire: "+format, args...))
}

// fail records the first error. After it, there are no more bytes to decode.
func (c *Coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	if c.reading {
		c.buf = nil
	}
}

// End returns Err, or an error when bytes are left over. A Coder with a sink writes to it what it has
// not written yet.
func (c *Coder) End() error {
	if c.sink != nil {
		c.pass()
	}
	if c.err == nil && c.reading && len(c.buf) > 0 {
		c.Fail("%d bytes left over", len(c.buf))
	}
	return c.err
}

// U64 encodes or decodes an unsigned varint.
func (c *Coder) U64(p *uint64) {
	c.turns.Turn()
	switch {
	case !c.reading:
		if c.sink != nil && len(c.buf) >= streamPart {
			c.pass()
		}
		c.buf = binary.AppendUvarint(c.buf, *p)
	case len(c.buf) > 0 && c.buf[0] < 0x80: // most numbers have one byte; after an error there are no bytes
		*p, c.buf = uint64(c.buf[0]), c.buf[1:]
	default:
		*p = c.long()
	}
}

// long decodes a number of several bytes.
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

// UpTo encodes or decodes an unsigned varint. Decoding a value above limit is an error.
func (c *Coder) UpTo(p *uint64, limit uint64) {
	c.U64(p)
	if c.reading && *p > limit {
		c.Fail("%d is above %d", *p, limit)
		*p = 0
	}
}

// I63 encodes or decodes a number that is never negative as an unsigned varint.
func (c *Coder) I63(p *int64) {
	u := uint64(*p)
	c.UpTo(&u, 1<<63-1)
	if c.reading {
		*p = int64(u)
	}
}

// I64 encodes or decodes a signed varint.
func (c *Coder) I64(p *int64) {
	u := uint64(*p)<<1 ^ uint64(*p>>63)
	c.U64(&u)
	if c.reading {
		*p = int64(u>>1) ^ -int64(u&1)
	}
}

// U32 encodes or decodes an unsigned varint of at most 32 bits.
func (c *Coder) U32(p *uint32) {
	u := uint64(*p)
	c.UpTo(&u, 1<<32-1)
	if c.reading {
		*p = uint32(u)
	}
}

// U8 encodes or decodes one byte. Decoding a value above limit is an error.
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

// Bool encodes or decodes one byte, 0 or 1.
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

// Fixed encodes or decodes len(p) bytes without a length.
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

// Fixed64 encodes or decodes a number as 8 bytes, the least significant first.
func (c *Coder) Fixed64(p *uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], *p)
	if c.Fixed(b[:]); c.reading {
		*p = binary.LittleEndian.Uint64(b[:])
	}
}

// Text encodes or decodes a string with its length. Decoding more than limit bytes is an error.
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

// Len encodes n, the length of a list, or decodes it, and returns the length. Each item must take at least one byte: a
// decoded length above the number of bytes left is ErrShort, and Len returns 0.
func (c *Coder) Len(n int) int {
	u := uint64(n)
	c.U64(&u)
	if c.reading && u > uint64(len(c.buf)) {
		c.fail(ErrShort)
		return 0
	}
	return int(u)
}

// pass writes the collected bytes to the stream.
func (c *Coder) pass() {
	if _, err := c.sink.Write(c.buf); err != nil && c.err == nil {
		c.err = err
	}
	c.buf = c.buf[:0]
}
