package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxFooter bounds the metadata, in bytes: 1,000 row groups of 20 columns have about 3 MB.
	maxFooter = 16 << 20
	// maxColumns bounds the flat columns of a file.
	maxColumns = 64
	// maxGroups bounds the row groups of a file.
	maxGroups = 1 << 16
)

const magic = "PAR1"

// file is an open file: its metadata and its flat columns.
type file struct {
	r       io.ReaderAt
	size    int64 // bytes before the metadata
	meta    format.FileMetaData
	columns []column
	held    int64 // bytes of pages and dictionaries that are in memory
}

// column is one flat column.
type column struct {
	name     string
	leaf     int // index among all leaves
	optional bool
	cell     cell
}

// open reads the metadata of a file.
func open(r io.ReaderAt, size int64) (*file, error) {
	const tail = 8 // length of the metadata and the magic bytes
	var head [len(magic)]byte
	var end [tail]byte
	if size < int64(len(magic))+tail {
		return nil, errors.New("parquet: the file is too short")
	}
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	if err := readAt(r, end[:], size-tail); err != nil {
		return nil, err
	}
	if string(head[:]) != magic || string(end[4:]) != magic {
		return nil, errors.New("parquet: the file does not end with PAR1: it is cut off, or encrypted")
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if most := min(size-int64(len(magic))-tail, maxFooter); n > most {
		return nil, fmt.Errorf("parquet: metadata of %d bytes, at most %d", n, most)
	}
	text := make([]byte, n)
	f := &file{r: r, size: size - tail - n}
	if err := readAt(r, text, f.size); err != nil {
		return nil, err
	}
	if _, err := decode(text, &f.meta); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	if err := f.flat(); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return f, nil
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("parquet, byte %d: %w", at, err)
	}
	return nil
}

// flat finds the columns that are neither repeated nor in a group.
func (f *file) flat() error {
	schema := f.meta.Schema
	if len(schema) == 0 || len(f.meta.RowGroups) > maxGroups {
		return fmt.Errorf("%d columns and %d row groups", len(schema), len(f.meta.RowGroups))
	}
	leaf := 0
	for i := 1; i < len(schema); {
		e := &schema[i]
		next, leaves, err := f.after(i, 0)
		if err != nil {
			return err
		}
		if !e.NumChildren.Valid && e.RepetitionType.V != format.Repeated {
			c := column{name: clean(e.Name), leaf: leaf, optional: e.RepetitionType.V == format.Optional}
			if c.cell, err = cellOf(e); err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
			f.columns = append(f.columns, c)
		}
		leaf += leaves
		i = next
	}
	if n := len(f.columns); n == 0 || n > maxColumns {
		return fmt.Errorf("%d flat columns, want 1 to %d", n, maxColumns)
	}
	if slices.ContainsFunc(f.columns, func(c column) bool { return c.name == "ts_init" }) {
		for i := range f.columns {
			f.columns[i].cell.asNautilus(f.columns[i].name)
		}
	}
	for i := range f.meta.RowGroups {
		if g := &f.meta.RowGroups[i]; len(g.Columns) != leaf || g.NumRows < 0 {
			return fmt.Errorf("row group %d: %d columns and %d rows, the schema has %d columns", i+1, len(g.Columns),
				g.NumRows, leaf)
		}
	}
	return f.packing()
}

// packing refuses a compression of a flat column that is not read, before a row is.
func (f *file) packing() error {
	for i := range f.meta.RowGroups {
		for _, c := range f.columns {
			if err := checkCodec(f.meta.RowGroups[i].Columns[c.leaf].MetaData.Codec); err != nil {
				return fmt.Errorf("row group %d: column %s: %w", i+1, c.name, err)
			}
		}
	}
	return nil
}

// after returns the index of the element behind element i and its children, and the number of leaves among them.
func (f *file) after(i, depth int) (next, leaves int, err error) {
	if i >= len(f.meta.Schema) || depth > maxDepth {
		return 0, 0, errThrift
	}
	e := &f.meta.Schema[i]
	if !e.NumChildren.Valid {
		return i + 1, 1, nil
	}
	next = i + 1
	for range max(e.NumChildren.V, 0) {
		n := 0
		if next, n, err = f.after(next, depth+1); err != nil {
			return 0, 0, err
		}
		leaves += n
	}
	return next, leaves, nil
}

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

// Reader returns the rows of a file as CSV.
type Reader struct {
	f      *file
	group  int      // number of row groups begun
	rows   int64    // rows of the group that were not returned
	chunks []*chunk // the columns of the group
	row    []byte
	out    []byte // the part of row that was not returned
	count  int64  // rows returned
	err    error  // what ended the rows, returned again by each later Read
}

// NewReader reads the metadata of a file of size bytes.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	f, err := open(r, size)
	if err != nil {
		return nil, err
	}
	t := &Reader{f: f}
	for i := range f.columns {
		t.row = append(append(t.row, f.columns[i].name...), ',')
	}
	t.row[len(t.row)-1] = '\n'
	t.out = t.row
	return t, nil
}

// String returns "Parquet, 1000 rows in 2 row groups, 5 of 7 columns are flat: the first bytes are 50 41 52 31".
func (t *Reader) String() string {
	leaves := 0
	for i := range t.f.meta.Schema {
		if !t.f.meta.Schema[i].NumChildren.Valid {
			leaves++
		}
	}
	writer, _, _ := strings.Cut(clean(t.f.meta.CreatedBy), "(")
	return fmt.Sprintf("Parquet by %s, %d rows in %d row groups, %d of %d columns are flat: the first bytes are % x",
		strings.TrimSpace(writer[:min(len(writer), maxText)]), t.f.meta.NumRows, len(t.f.meta.RowGroups),
		len(t.f.columns), leaves, magic)
}

// Read implements io.Reader.
func (t *Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(t.out) == 0 {
			if t.err == nil {
				t.err = t.next()
			}
			if t.err != nil {
				return n, t.err
			}
		}
		k := copy(p[n:], t.out)
		t.out = t.out[k:]
		n += k
	}
	return n, nil
}

// next makes the next row. It returns io.EOF after the last one.
func (t *Reader) next() error {
	for t.rows == 0 {
		if t.group == len(t.f.meta.RowGroups) {
			if t.count != t.f.meta.NumRows {
				return fmt.Errorf("parquet: %d rows, the metadata says %d", t.count,
					t.f.meta.NumRows)
			}
			return io.EOF
		}
		if err := t.begin(); err != nil {
			return fmt.Errorf("row group %d: %w", t.group, err)
		}
	}
	row := t.row[:0]
	for _, k := range t.chunks {
		var err error
		if row, err = k.cell(row); err != nil {
			return fmt.Errorf("row group %d: %w", t.group, err)
		}
		row = append(row, ',')
	}
	row[len(row)-1] = '\n'
	t.row, t.out = row, row
	t.rows--
	t.count++
	return nil
}

// begin starts the next row group.
func (t *Reader) begin() error {
	for _, k := range t.chunks {
		k.close()
	}
	t.chunks = t.chunks[:0]
	g := &t.f.meta.RowGroups[t.group]
	t.group++
	t.rows = g.NumRows
	for i := range t.f.columns {
		k, err := t.f.openChunk(&t.f.columns[i], g)
		if err != nil {
			return err
		}
		t.chunks = append(t.chunks, k)
	}
	return nil
}
