package parquet

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxPage bounds a page, in bytes. Writers make pages of about 1 MB.
	maxPage = 16 << 20
	// maxHeader bounds the header of a page, in bytes. Its statistics may hold long texts.
	maxHeader = 1 << 20
	// maxHeld bounds the pages and dictionaries in memory, in bytes.
	maxHeld = 256 << 20
)

// values returns one value after the other. It returns an error behind the last.
type values interface {
	next() (value, error)
}

// value is a stored value: the bits of a number, or a text.
type value struct {
	bits uint64
	text []byte
}

// chunk reads a column of a row group, page by page.
type chunk struct {
	f    *file
	c    *column
	meta *format.ColumnMetaData
	at   int64 // offset of the next page
	end  int64
	page int64 // offset of the open page

	left   int64   // values of the chunk that were not returned
	inPage int64   // values of the open page that were not returned
	levels *hybrid // 1: a value, 0: null; nil: no nulls
	values values
	dict   []value
	held   [2]int64 // bytes of the dictionary and of the page
}

// openChunk starts at the first page of a column.
func (f *file) openChunk(c *column, g *format.RowGroup) (*chunk, error) {
	part := &g.Columns[c.leaf]
	m := &part.MetaData
	k := &chunk{f: f, c: c, meta: m, at: m.DataPageOffset, left: g.NumRows}
	if m.DictionaryPageOffset > 0 {
		k.at = min(k.at, m.DictionaryPageOffset)
	}
	k.page, k.end = k.at, k.at+m.TotalCompressedSize
	switch {
	case part.FilePath != "":
		return nil, k.fail("its data is in another file, %q", part.FilePath)
	case k.at < int64(len(magic)) || m.TotalCompressedSize < 0 || k.end < k.at || k.end > f.size:
		return nil, k.fail("%d bytes, behind the end of the data", m.TotalCompressedSize)
	case m.NumValues != g.NumRows:
		return nil, k.fail("%d values, the row group has %d rows", m.NumValues, g.NumRows)
	}
	return k, nil
}

// close returns the memory of the chunk to the file's account.
func (k *chunk) close() { k.f.held -= k.held[0] + k.held[1] }

func (k *chunk) fail(format string, args ...any) error {
	return fmt.Errorf("parquet column %s, byte %d: %w", k.c.name, k.page,
		fmt.Errorf(format, args...))
}

// cell appends the text of the next value, nothing for a null.
func (k *chunk) cell(dst []byte) ([]byte, error) {
	if k.left == 0 {
		return dst, k.fail("more values than rows")
	}
	for k.inPage == 0 {
		if err := k.open(); err != nil {
			return dst, k.fail("%w", err)
		}
	}
	k.inPage--
	k.left--
	if k.levels != nil {
		level, err := k.levels.next()
		if err != nil {
			return dst, k.fail("%w", err)
		}
		if level.bits == 0 {
			return dst, nil
		}
	}
	v, err := k.values.next()
	if err != nil {
		return dst, k.fail("%w", err)
	}
	return k.c.cell.append(dst, v), nil
}
