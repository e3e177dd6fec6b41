package format

import (
	"errors"
	"io"
)

// maxHeld bounds the records of a sorted file that wait for earlier ones: a second of a busy market has some thousands.
const maxHeld = 65_536

// held holds records of a file in order of time, until no earlier one can come.
type held struct {
	records []Record
	free    []Record
	last    int64 // time of the record that was taken last
	ended   bool  // the file has no more records
}

// sort reads lines of a file until the earliest record that waits is the next one: when a line is more than maxBack
// later, or when the file ends. Of records of one time, the one whose line comes first is first.
func (t *stream) sort(f *source, parse func(line []byte, r *Record) error) {
	h := &f.held
	for !h.ended && len(h.records) < maxHeld && (len(h.records) == 0 || f.order.last-h.records[0].NS <= maxBack) {
		t.advance(f, parse)
		switch {
		case errors.Is(f.err, io.EOF):
			h.ended = true
		case f.err != nil:
			return
		default:
			h.add(&f.next)
		}
	}
	f.read, f.err = true, nil
	if len(h.records) == 0 {
		f.err = io.EOF
		return
	}
	h.take(&f.next)
}

// add moves r to its place among the records.
func (h *held) add(r *Record) {
	r.NS = max(r.NS, h.last) // only when maxHeld records of a second did not suffice
	i := len(h.records)
	h.records = append(h.records, Record{})
	for ; i > 0 && h.records[i-1].NS > r.NS; i-- {
		h.records[i] = h.records[i-1]
	}
	h.records[i] = *r
	*r = Record{}
	if n := len(h.free); n > 0 {
		*r, h.free = h.free[n-1], h.free[:n-1]
	}
}

// take moves the earliest record to r.
func (h *held) take(r *Record) {
	h.free = append(h.free, *r)
	*r = h.records[0]
	h.records = h.records[:copy(h.records, h.records[1:])]
	h.last = r.NS
}
