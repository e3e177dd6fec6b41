package edge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"net"
	"slices"
	"unsafe"

	"github.com/valyala/fasthttp"

	"tickhive/marketdata"
	"tickhive/server/encode"
)

// Multipliers of TagHash: odd, with well-spread bits, taken from wyhash.
const (
	TagSeed0 = 0xa0761d6478bd642f
	tagSeed1 = 0xe7037ed1a0b428db
	tagSeed2 = 0x8ebc6af09c88c6e3
	tagSeed3 = 0x589965cc75374cc3
)

// TagHash returns the 64-bit hash of a body from which its ETag is made. Equal bodies have equal ETags, also
// after a restart: a book that changes only below the shown levels keeps its ETag.
//
// Cost: 20 ns for a ticker, once per rendering, never per request for a cached document.
func TagHash(body []byte) uint64 {
	a, b := uint64(TagSeed0), uint64(tagSeed1)^uint64(len(body))
	c, d := uint64(tagSeed2), uint64(tagSeed3)
	for len(body) >= 64 { // four lanes keep the multiplier busy
		a = fold(binary.LittleEndian.Uint64(body)^tagSeed1, binary.LittleEndian.Uint64(body[8:])^a)
		b = fold(binary.LittleEndian.Uint64(body[16:])^tagSeed2, binary.LittleEndian.Uint64(body[24:])^b)
		c = fold(binary.LittleEndian.Uint64(body[32:])^tagSeed3, binary.LittleEndian.Uint64(body[40:])^c)
		d = fold(binary.LittleEndian.Uint64(body[48:])^TagSeed0, binary.LittleEndian.Uint64(body[56:])^d)
		body = body[64:]
	}
	a, b = a^bits.RotateLeft64(c, 23), b^bits.RotateLeft64(d, 41)
	for len(body) >= 8 {
		a = fold(binary.LittleEndian.Uint64(body)^tagSeed2, a^tagSeed3)
		body = body[8:]
	}
	var last [8]byte
	copy(last[:], body)
	return fold(fold(binary.LittleEndian.Uint64(last[:])^tagSeed3, a), b^tagSeed1)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// JoinTag returns the hash of a document in parts after one more part.
func JoinTag(tag, part uint64) uint64 { return fold(tag^tagSeed2, part^tagSeed3) + 1 }

// tagLen is the length of an identity tag: 16 hex digits in quotes.
const tagLen = 18

// AppendTag appends the ETag of the uncompressed body.
func AppendTag(dst []byte, hash uint64) []byte {
	dst = append(dst, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, encode.HexDigits[hash>>shift&15])
	}
	return append(dst, '"')
}

// appendGzipTag appends the ETag of the gzip encoding of the body whose hash is tag.
func appendGzipTag(dst []byte, tag string) []byte {
	return append(append(dst, tag[:tagLen-1]...), `-g"`...)
}

// NotModified reports whether If-None-Match names any encoding of the body with this tag.
// `*`, lists, weak tags and the suffix of another encoding all match
// (docs/contract/market-data.md#http-behaviour).
func NotModified(ctx *fasthttp.RequestCtx, tag string) bool {
	sent := ctx.Request.Header.PeekCanonical(reqIfNoneMatch)
	if len(sent) == 0 {
		return false
	}
	if string(sent) == tag {
		return true
	}
	for len(sent) > 0 {
		var one []byte
		if i := bytes.IndexByte(sent, ','); i >= 0 {
			one, sent = sent[:i], sent[i+1:]
		} else {
			one, sent = sent, nil
		}
		one = bytes.TrimPrefix(bytes.TrimSpace(one), []byte("W/"))
		if string(one) == "*" || matchesTag(one, tag) {
			return true
		}
	}
	return false
}

// matchesTag reports whether one is the tag, or the tag of its gzip or brotli encoding.
func matchesTag(one []byte, tag string) bool {
	n := tagLen - 1
	if len(one) < tagLen || string(one[:n]) != tag[:n] {
		return false
	}
	switch string(one[n:]) {
	case `"`, `-g"`, `-b"`:
		return true
	}
	return false
}

// gatherMinBytes is the size from which a text in parts is written to the kernel with one call (writev),
// without the write buffer. For a full book of 2.5 MB this costs 750 us of CPU; through the buffer, 64 KB at a
// time, it costs 1,360 us.
const gatherMinBytes = 64 << 10

// textStream returns the reader through which fasthttp writes a text in parts to conn.
func textStream(conn net.Conn, t *marketdata.Text) io.Reader {
	if t.Size >= gatherMinBytes {
		if counted, ok := conn.(*CountedConn); ok {
			if _, ok := counted.Conn.(*net.TCPConn); ok {
				return &gatheredText{t, counted}
			}
		}
	}
	return t
}

// gatheredText writes a text directly to its connection, after the buffered bytes.
type gatheredText struct {
	*marketdata.Text
	conn *CountedConn
}

// WriteTo implements io.WriterTo. When w is not the connection's buffer, it writes the parts to w.
func (g *gatheredText) WriteTo(w io.Writer) (int64, error) {
	buffer, ok := w.(*bufio.Writer)
	if !ok {
		return g.Text.WriteTo(w)
	}
	if err := buffer.Flush(); err != nil {
		return 0, err
	}
	// clone the slice, because the connection changes it and the text is shared
	n, err := g.conn.writeParts(slices.Clone(g.Parts))
	if err != nil {
		return n, fmt.Errorf("edge: text in parts: %w", err)
	}
	return n, nil
}

// AppendQuotedDecimals appends body with every decimal as a string of the same text, for
// ?decimals=string (docs/contract/market-data.md#decimals). Decimals always have a point and
// integers never do, so the text alone distinguishes them.
func AppendQuotedDecimals(dst, body []byte) []byte {
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"':
			end := stringEnd(body, i)
			dst = append(dst, body[i:end]...)
			i = end
		case c == '-' || c-'0' <= 9:
			end := i + 1
			for end < len(body) && (body[end]-'0' <= 9 || body[end] == '.') {
				end++
			}
			if number := body[i:end]; bytes.IndexByte(number, '.') >= 0 {
				dst = append(append(append(dst, '"'), number...), '"')
			} else {
				dst = append(dst, number...)
			}
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// stringEnd returns the position after the JSON string that starts at i.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(body)
}

// BytesKey returns b as a string without a copy, for a map look-up that ends before b changes.
// The alternative, a conversion that escapes into Root.Lookup, allocates on every request.
func BytesKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// StringBytes returns s as bytes without a copy. The caller may write to them only while no one else has s.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
