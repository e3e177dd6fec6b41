package dbn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// wordBytes is the unit of a record's length.
const wordBytes = 4

// Reader returns the records of a DBN file as CSV.
type Reader struct {
	Header Header

	in   *bufio.Reader
	meta metadata
	at   int64 // offset of the next record in the file
	n    int   // number of records read
	size int   // length of the record last read, in bytes
	row  []byte
	out  []byte // the part of row that was not returned
}

// NewReader reads the metadata of a file.
func NewReader(in *bufio.Reader) (*Reader, error) {
	m, at, err := readMetadata(in)
	if err != nil {
		return nil, err
	}
	r := &Reader{Header: m.Header, in: in, meta: m, at: at}
	r.row = append(r.row, m.schema.head...)
	r.out = r.row
	return r, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.out) == 0 {
			if err := r.next(); err != nil {
				return n, err
			}
		}
		k := copy(p[n:], r.out)
		r.out = r.out[k:]
		n += k
	}
	return n, nil
}

// next turns the next record into a row. It returns io.EOF after the last one.
func (r *Reader) next() error {
	for {
		record, err := r.record()
		if err != nil {
			return err
		}
		switch kind := record[1]; kind {
		case r.meta.schema.kind:
		case typeName, typeState:
			continue
		default:
			return r.fail("type 0x%02x in a file of %s", kind, r.meta.Schema)
		}
		want := r.meta.schema.bytes
		if r.meta.tsOut {
			want += sentBytes
		}
		if len(record) != want {
			return r.fail("%d bytes, want %d", len(record), want)
		}
		r.row = append(r.meta.schema.row(r.row[:0], record), ',')
		r.row = append(append(r.row, r.meta.symbol(u32(record[4:]), u64(record[8:]))...), '\n')
		r.out = r.row
		return nil
	}
}

// record returns the next record. It is valid until the next call.
func (r *Reader) record() ([]byte, error) {
	if _, err := r.in.Discard(r.size); err != nil {
		return nil, r.fail("%w", err)
	}
	r.at += int64(r.size)
	r.n, r.size = r.n+1, 0
	head, err := r.in.Peek(headerBytes)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, io.EOF
	case len(head) > 0 && int(head[0])*wordBytes < headerBytes:
		return nil, r.fail("%d bytes, at least %d", int(head[0])*wordBytes, headerBytes)
	case err != nil:
		return nil, r.cut(err)
	}
	size := int(head[0]) * wordBytes
	record, err := r.in.Peek(size)
	if err != nil {
		return nil, r.cut(err)
	}
	r.size = size
	return record, nil
}

// cut returns the error for a record that cannot be read to its end.
func (r *Reader) cut(err error) error {
	if errors.Is(err, io.EOF) {
		return r.fail("the file ends within it")
	}
	return r.fail("%w", err)
}

// fail returns an error with the place of the record.
func (r *Reader) fail(format string, args ...any) error {
	return fmt.Errorf("DBN record %d, byte %d: %w", r.n, r.at, fmt.Errorf(format, args...))
}
