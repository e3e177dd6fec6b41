package format

import (
	"fmt"
	"time"
)

// maxBack limits how far the time of a line may be before the time of the previous line. Several receivers
// write one log, so times may be out of order by some milliseconds.
const maxBack = int64(time.Second)

// stream reads a file of lines that several receivers may have written. Readers of this kind embed it.
type stream struct {
	path  string
	s     *Survey
	in    *lines
	order lineOrder
}

// newStream returns the stream of the only file.
func newStream(name string, files []string) (stream, error) {
	if len(files) != 1 {
		return stream{}, fmt.Errorf("replay: %s takes one file", name)
	}
	return stream{path: files[0]}, nil
}

// open opens the file at its first line.
func (t *stream) open(s *Survey) (err error) {
	t.Close()
	t.s, t.order = s, lineOrder{}
	t.in, err = openLines(t.path)
	return err
}

// Close implements Reader.Close.
func (t *stream) Close() {
	t.in.close()
	t.in = nil
}

// Notes implements Reader.Notes.
func (t *stream) Notes() []string {
	return noted(nil, t.order.back, "%d lines whose time goes back by less than a second: taken at the time before")
}

// next reads the next line into r with parse.
func (t *stream) next(r *Record, parse func(line []byte, r *Record) error) error {
	r.reset()
	line, err := t.in.next()
	if err != nil {
		return err
	}
	r.At = t.in.here(0)
	if err = parse(line, r); err == nil {
		r.NS, err = t.order.take(r.NS)
	}
	return t.in.refuse(err)
}

// lineOrder makes the times of a log ascending.
type lineOrder struct {
	last int64 // largest time so far, Unix ns
	back int   // number of lines whose time was earlier
}

// take returns the time to use for a line with the time ns.
func (o *lineOrder) take(ns int64) (int64, error) {
	if ns >= o.last {
		o.last = ns
		return ns, nil
	}
	if o.last-ns > maxBack {
		return 0, flawAt(0, "sort the lines by time", "time goes back by %d ms, at most %d may be", (o.last-ns)/1e6,
			maxBack/1e6)
	}
	o.back++
	return o.last, nil
}
