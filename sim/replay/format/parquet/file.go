package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

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
