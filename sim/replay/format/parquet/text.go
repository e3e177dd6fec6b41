package parquet

import (
	"fmt"
	"io"
	"strings"
)

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
