package public

import (
	"slices"
	"strings"

	"tickhive/marketdata"
	"tickhive/server/edge"
)

// joinedRows holds the position and the tag of each row in the body of a document over all
// pairs, one row per pair in the order of the codes. The next document is patched by it.
// Immutable. It takes 12 bytes per pair and no pointer for the garbage collector to follow.
type joinedRows struct {
	ends []uint32 // end of row and following comma or bracket; an empty row ends where it begins
	tags []uint64 // of the rows
}

// start returns the position in the body at which row i begins.
func (j *joinedRows) start(i int) uint32 {
	if i == 0 {
		return 1
	}
	return j.ends[i-1]
}

// last returns the index of the last row that is not empty, -1 when all rows are empty.
func (j *joinedRows) last() int {
	i := len(j.ends) - 1
	for i >= 0 && j.ends[i] == j.start(i) {
		i--
	}
	return i
}

// tag returns the tag of the document, which is made of the tags of its rows.
func (j *joinedRows) tag() uint64 {
	tag, start := uint64(edge.TagSeed0), uint32(1)
	for i, end := range j.ends {
		if end != start {
			tag = edge.JoinTag(tag, j.tags[i])
		}
		start = end
	}
	return tag
}

// ofRows makes d a document over all pairs' tickers, joined from rows that are cached with the
// views; a row's tag is in its Seq. Empty rows are left out.
func (d *sharedDoc) ofRows(row func(v *marketdata.View) *marketdata.Doc) {
	d.version, d.floors = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64, before *madeDoc) *madeDoc {
		made := &madeDoc{}
		var body []byte
		if moved, ok := movedRows(r, before); ok {
			body = made.rows.patch(r, before, moved, row)
		} else {
			body = made.rows.join(r, row)
		}
		made.doc = &marketdata.Doc{
			Body: body, ETag: string(edge.AppendTag(nil, made.rows.tag())), Seq: r.TickersSeqSum, RenderedNs: nowNs,
		}
		return made
	}
}

// movedRows returns the rows, ascending, whose views have changed since before. It returns
// false when there is no before, or when so many rows changed (more than a quarter) that joining
// all rows is better.
func movedRows(r *marketdata.Root, before *madeDoc) ([]int, bool) {
	if before == nil {
		return nil, false
	}
	moved := make([]int, 0, 16)
	most := r.Len() / 4
	ok := r.Changed(before.root, func(place int) bool {
		moved = append(moved, place)
		return len(moved) <= most
	})
	slices.Sort(moved)
	return moved, ok
}

// join renders the body from all rows.
func (j *joinedRows) join(r *marketdata.Root, row func(v *marketdata.View) *marketdata.Doc) []byte {
	sorted := r.Sorted()
	j.ends, j.tags = make([]uint32, len(sorted)), make([]uint64, len(sorted))
	rows := make([]*marketdata.Doc, len(sorted))
	end := uint32(1)
	for i, id := range sorted {
		rows[i] = row(r.View(id))
		if n := len(rows[i].Body); n > 0 {
			end += uint32(n) + 1
		}
		j.ends[i], j.tags[i] = end, rows[i].Seq
	}
	var text strings.Builder // unlike make, it does not zero the memory first
	text.Grow(int(end) + 1)
	text.WriteByte('[')
	for _, one := range rows {
		writeRow(&text, one.Body)
	}
	return closeText(&text)
}

// patch renders the body by copying the runs of unchanged rows from the previous document: a
// few long copies instead of a thousand short ones from scattered memory.
func (j *joinedRows) patch(r *marketdata.Root, before *madeDoc, moved []int,
	row func(v *marketdata.View) *marketdata.Doc,
) []byte {
	old, body, sorted := &before.rows, before.doc.Body, r.Sorted()
	j.ends, j.tags = slices.Clone(old.ends), slices.Clone(old.tags)
	rows := make([]*marketdata.Doc, len(moved))
	var shift uint32 // wraps around when rows became shorter
	for k, i := range moved {
		rows[k] = row(r.View(sorted[i]))
		j.tags[i] = rows[k].Seq
		size := uint32(len(rows[k].Body))
		if size > 0 {
			size++
		}
		shift += size - (old.ends[i] - old.start(i))
		next := len(j.ends)
		if k+1 < len(moved) {
			next = moved[k+1]
		}
		if shift != 0 {
			for n := i; n < next; n++ {
				j.ends[n] = old.ends[n] + shift
			}
		}
	}
	var text strings.Builder
	text.Grow(len(body) + int(int32(shift)) + 1)
	from := uint32(0)
	for k, i := range moved {
		text.Write(body[from:old.start(i)])
		writeRow(&text, rows[k].Body)
		from = old.ends[i]
	}
	if last := old.last(); last >= 0 {
		text.Write(body[from:])
		out := closeText(&text)
		if at := int(j.ends[last]) - 1; j.ends[last] != j.start(last) && at < len(out)-1 {
			out[at] = ',' // it was the last row, followed by the bracket
		}
		return out
	}
	if from == 0 {
		text.WriteByte('[')
	}
	return closeText(&text)
}

func writeRow(text *strings.Builder, row []byte) {
	if len(row) > 0 {
		text.Write(row)
		text.WriteByte(',')
	}
}

// closeText ends the array; text holds '[' and the rows, each followed by a comma.
func closeText(text *strings.Builder) []byte {
	if text.Len() == 1 {
		text.WriteByte(']')
	}
	b := edge.StringBytes(text.String()) // no other goroutine has it yet
	b[len(b)-1] = ']'
	return b
}
