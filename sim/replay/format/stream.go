package format

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// maxBack limits how far the time of a line may be before the time of the previous line. Several receivers
// write one log, so times may be out of order by some milliseconds.
const maxBack = int64(time.Second)

// maxStreams bounds the files of one replay of a stream.
const maxStreams = 64

// stream reads files of lines that several receivers may have written, merged by time. Readers of this kind embed it.
type stream struct {
	paths   []string
	s       *Survey
	sources []*source
	in      *lineReader // of the source that was read last
	index   int         // of that source
	order   *lineOrder  // of that source

	sorted bool    // lines whose time goes back by up to maxBack come at their time, and not at the time before
	serial bool    // the files are read one after the other, in order of their first times, and not merged
	file   *source // serial: the file that is being read
}

// source is one file of a stream and its next record.
type source struct {
	in    *lineReader
	order lineOrder
	next  Record
	read  bool  // next, or err, is the file's next line
	err   error // io.EOF at its end
	held  held  // the records of a sorted file that wait
}

// newStream returns the stream of at most most files.
func newStream(name string, files []string, most int) (stream, error) {
	switch n := len(files); {
	case most == 1 && n != 1:
		return stream{}, fmt.Errorf("replay: %s takes one file", name)
	case n == 0 || n > most:
		return stream{}, fmt.Errorf("replay: %s takes 1 to %d files", name, most)
	}
	return stream{paths: files}, nil
}

// open opens the files at their first lines.
func (t *stream) open(s *Survey) error {
	t.Close()
	t.s = s
	for _, path := range t.paths {
		in, err := openLines(path)
		if err != nil {
			return err
		}
		t.sources = append(t.sources, &source{in: in})
		t.in, t.order = in, &t.sources[0].order
	}
	t.file = nil
	return nil
}

// Close implements Reader.Close.
func (t *stream) Close() {
	for _, f := range t.sources {
		f.in.Close()
		f.in = nil
	}
	t.sources = nil
}

// Notes implements Reader.Notes.
func (t *stream) Notes() []string {
	back, early := 0, 0
	for _, f := range t.sources {
		back += f.order.back
		early += f.order.early
	}
	if t.sorted {
		return noted(nil, back, "%d lines whose time goes back by less than a second: sorted by time")
	}
	notes := noted(nil, early, "%d lines whose exchange time goes back: taken at the time before, in order of receipt")
	return noted(notes, back, "%d lines whose time goes back by less than a second: taken at the time before")
}

// next reads the earliest next line of all files into r with parse. Of lines with one time, the first file's comes
// first.
func (t *stream) next(r *Record, parse func(line []byte, r *Record) error) error {
	var first *source
	for i, f := range t.sources {
		if !f.read {
			t.index = i
			if t.sorted {
				t.sort(f, parse)
			} else {
				t.advance(f, parse)
			}
		}
		switch {
		case errors.Is(f.err, io.EOF):
		case f.err != nil:
			f.read = false
			return f.err
		case first == nil || f.next.NS < first.next.NS:
			first = f
		}
	}
	if first == nil {
		return io.EOF
	}
	if t.serial {
		var err error
		if first, err = t.follow(first); err != nil {
			return err
		}
	}
	*r, first.next = first.next, *r
	first.read = false
	return nil
}

// follow returns the file whose record is next when files are read one after the other. earliest has the earliest
// record of all. A file may begin up to a second before the end of the one before it.
func (t *stream) follow(earliest *source) (*source, error) {
	if t.file == earliest || t.file != nil && t.file.err == nil {
		return t.file, nil
	}
	if t.file != nil {
		f, last := earliest, t.file.order.last
		f.order.last = max(f.order.last, last)
		if f.next.NS < last-maxBack {
			return nil, f.next.At.Refuse("give each time once, in files that follow each other",
				"the file begins %d ms before the end of the one before it", (last-f.next.NS)/1e6)
		}
		if f.next.NS < last {
			f.next.NS = last
			f.order.back++
		}
	}
	t.file = earliest
	return t.file, nil
}

// advance reads the next line of a file.
func (t *stream) advance(f *source, parse func(line []byte, r *Record) error) {
	f.read = true
	f.next.reset()
	t.in, t.order = f.in, &f.order
	line, err := f.in.Next()
	if err != nil {
		f.err = err
		return
	}
	f.next.At = f.in.Here(0)
	if err = parse(line, &f.next); err == nil {
		at := f.next.NS
		if f.next.NS, err = f.order.take(at); t.sorted {
			f.next.NS = at
		}
	}
	f.err = f.in.Refuse(err)
}

// lineOrder makes the times of a log ascending.
type lineOrder struct {
	last  int64 // largest time so far, Unix ns
	back  int   // number of lines whose time was earlier
	early int   // number of lines whose exchange time was earlier, in order of receipt

	received     int64 // time of receipt of the line, which orders the lines; 0: ns orders them
	lastReceived int64
}

// take returns the time to use for a line with the time ns.
func (o *lineOrder) take(ns int64) (int64, error) {
	switch {
	case o.received == 0:
	case o.received < o.lastReceived-maxBack:
		return 0, flawAt(0, "sort the lines by time", "the time of receipt goes back by %d ms, at most %d may be",
			(o.lastReceived-o.received)/1e6, maxBack/1e6)
	case ns > o.received+maxBack: // the times behind it would all be taken at it
		return 0, flawAt(0, remedyValue, "the exchange's time is %d ms after the time of receipt, at most %d may be",
			(ns-o.received)/1e6, maxBack/1e6)
	case ns < o.last:
		o.lastReceived = max(o.lastReceived, o.received)
		o.early++
		return o.last, nil
	default:
		o.lastReceived = max(o.lastReceived, o.received)
	}
	if ns >= o.last {
		o.last = ns
		return ns, nil
	}
	if o.last-ns > maxBack {
		return 0, flawAt(0, "sort the lines by time", "time goes back by %d ms, at most %d may be",
			(o.last-ns)/1e6, maxBack/1e6)
	}
	o.back++
	return o.last, nil
}

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
