package dbn

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

const (
	// maxMetadata bounds the metadata, in bytes. Its largest part is the dates of the symbols.
	maxMetadata = 64 << 20
	// fixedBytes is the length of the part of the metadata before the lists.
	fixedBytes = 100
	// newest is the newest version that is read.
	newest = 3
	// shortSymbol is the length of a symbol in version 1. Later versions state it.
	shortSymbol = 22
)

// Header holds the facts of the metadata that concern a reader.
type Header struct {
	Version int
	Dataset string
	Schema  string
	Symbols int // number of symbols that were resolved
}

// String returns "DBN version 3, dataset XNAS.ITCH, schema mbo, 1 symbols: the first bytes are 44 42 4e 03".
func (h *Header) String() string {
	return fmt.Sprintf("DBN version %d, dataset %s, schema %s, %d symbols: the first bytes are 44 42 4e %02x",
		h.Version, h.Dataset, h.Schema, h.Symbols, h.Version)
}

// span is a time in which an instrument id means a symbol.
type span struct {
	from, to uint32 // dates as 20240102; to is the first one after it
	symbol   string
}

// metadata is the part of a file before the records.
type metadata struct {
	Header
	schema *schema
	tsOut  bool // each record is followed by its time of sending
	names  map[uint32][]span
}

// problem is an error that says what to do about it.
type problem struct {
	error
	remedy string
}

// Remedy returns what to do.
func (p *problem) Remedy() string { return p.remedy }

// readMetadata reads the part of a file before the records. n is its number of bytes.
func readMetadata(in io.Reader) (m metadata, n int64, err error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return m, 0, errors.New("DBN: the file ends within its first 8 bytes")
	}
	m.Version = int(head[3])
	if string(head[:3]) != "DBN" || m.Version < 1 || m.Version > newest {
		return m, 0, &problem{
			fmt.Errorf("DBN: version %d, want 1 to %d", m.Version, newest),
			"convert the file to one of these, with Databento's tool dbn, or fetch the data as CSV",
		}
	}
	length := binary.LittleEndian.Uint32(head[4:])
	if length < fixedBytes || length > maxMetadata {
		return m, 0, fmt.Errorf("DBN: metadata of %d bytes, want %d to %d", length, fixedBytes, maxMetadata)
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(length)))
	if err != nil {
		return m, 0, fmt.Errorf("DBN: the metadata: %w", err)
	}
	if len(text) < int(length) {
		return m, 0, fmt.Errorf("DBN: the file ends within its metadata, %d bytes of %d", len(text), length)
	}
	c := cursor{rest: text}
	m.fixed(&c)
	if c.err != nil {
		return m, 0, fmt.Errorf("DBN: the metadata at byte %d: %w", len(head)+len(text)-len(c.rest), c.err)
	}
	if m.schema == nil {
		return m, 0, &problem{
			fmt.Errorf("DBN: the schema is %s, want mbo, mbp-1, mbp-10, tbbo, trades or ohlcv", m.Schema),
			"fetch the data in one of these",
		}
	}
	return m, int64(len(head)) + int64(length), nil
}

// fixed reads the fixed part, then the lists.
func (m *metadata) fixed(c *cursor) {
	m.Dataset = c.text(16)
	code := c.u16()
	m.Schema = schemaName(code)
	m.schema = schemas[m.Schema]
	c.take(3 * 8) // start, end and limit of the request
	if m.Version == 1 {
		c.take(8) // number of records, which may be unknown
	}
	c.take(2) // kinds of symbols; each list shows which of its sides is the number
	m.tsOut = c.take(1)[0] != 0
	width := shortSymbol
	if m.Version > 1 {
		if width = int(c.u16()); width < 2 {
			c.fail("symbols of %d bytes", width)
		}
		c.take(53)
	} else {
		c.take(47)
	}
	if n := c.u32(); n != 0 {
		c.fail("a definition of the schema of %d bytes, want 0", n)
	}
	for range 3 { // the symbols requested, resolved in part, not found
		for range c.list(width) {
			c.take(width)
		}
	}
	m.mappings(c, width)
}

// mappings reads which symbol has which instrument id on which dates.
func (m *metadata) mappings(c *cursor, width int) {
	m.names = map[uint32][]span{}
	for range c.list(width + 4) {
		symbol := c.text(width)
		for range c.list(8 + width) {
			s := span{from: c.u32(), to: c.u32(), symbol: symbol}
			other := c.text(width)
			id, err := strconv.ParseUint(other, 10, 32)
			if err != nil { // the request was by number: the other one is the symbol
				id, err = strconv.ParseUint(symbol, 10, 32)
				s.symbol = other
			}
			if err == nil && c.err == nil && s.symbol != "" {
				m.names[uint32(id)] = append(m.names[uint32(id)], s)
				m.Symbols++
			}
		}
	}
	for _, spans := range m.names {
		slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	}
}

// symbol returns the symbol of an instrument id at a time, or the id itself when the metadata does not name it.
func (m *metadata) symbol(id uint32, ns uint64) string {
	spans := m.names[id]
	switch len(spans) {
	case 0:
		return strconv.FormatUint(uint64(id), 10)
	case 1:
		return spans[0].symbol
	}
	y, month, d := time.Unix(0, int64(min(ns, 1<<62))).UTC().Date()
	date := uint32(y*10_000 + int(month)*100 + d)
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].from <= date && date < spans[i].to {
			return spans[i].symbol
		}
	}
	return strconv.FormatUint(uint64(id), 10)
}

// cursor reads the fields of the metadata. After the first error it returns zeros.
type cursor struct {
	rest []byte
	err  error
	zero [256]byte
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// take returns the next n bytes.
func (c *cursor) take(n int) []byte {
	if c.err == nil && n > len(c.rest) {
		c.fail("%d bytes are missing", n-len(c.rest))
	}
	if c.err != nil {
		return c.zero[:min(n, len(c.zero))]
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) u16() uint16 { return binary.LittleEndian.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }

// text returns a text of n bytes that a zero ends. Bytes that would break a row of CSV become underscores.
func (c *cursor) text(n int) string {
	b := c.take(n)
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(bytes.Map(func(r rune) rune {
		if r <= ' ' || r == ',' || r == '"' || r > '~' {
			return '_'
		}
		return r
	}, b))
}

// list returns the number of elements of a list whose elements have at least least bytes, 0 when they cannot be there.
func (c *cursor) list(least int) int {
	n := c.u32()
	if c.err == nil && uint64(n)*uint64(least) > uint64(len(c.rest)) {
		c.fail("a list of %d, and %d bytes are left", n, len(c.rest))
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}
