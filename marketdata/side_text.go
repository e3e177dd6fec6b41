package marketdata

import "io"

// Text is a document in the parts that it is made of: kept texts of pages and directories
// and what stands between them. A book of 11 KB that was joined for each change cost 5 to 9 us,
// in parts 1.5 to 2.7; an answer copies the parts into its connection's buffer, which it had
// to do with the joined text too.
// Its maker appends to it; frozen once it is in a Doc.
type Text struct {
	Parts [][]byte
	Size  int
	// Sum says which levels the text shows. It does not depend on how they lie in pages,
	// so that a tag made of it survives a restart.
	Sum uint64
}

// Add appends a part; it must not be changed any more.
func (t *Text) Add(part []byte) {
	t.Parts = append(t.Parts, part)
	t.Size += len(part)
}

// Cut takes the last byte off: the comma behind the last row.
func (t *Text) Cut() {
	last := &t.Parts[len(t.Parts)-1]
	*last = (*last)[:len(*last)-1]
	t.Size--
}

// AppendTo appends the whole text to dst.
func (t *Text) AppendTo(dst []byte) []byte {
	for _, part := range t.Parts {
		dst = append(dst, part...)
	}
	return dst
}

// WriteTo is io.WriterTo: how an answer takes the text.
func (t *Text) WriteTo(w io.Writer) (n int64, err error) {
	for _, part := range t.Parts {
		k, err := w.Write(part)
		n += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read is there for the type alone: the text is shared and has no place to read from, and
// whoever answers with it calls WriteTo.
func (t *Text) Read([]byte) (int, error) { panic("BUG: a text in parts is written, not read") }

// dirText is the kept text of a directory's pages, joined, with the sum of their levels.
type dirText struct {
	text   []byte
	sum    uint64
	levels int
}

// joinedPages is from how many pages a directory's text is joined and kept: a full book is
// then some hundred parts in place of thousands, of which a change joins one anew (16 KB).
// The few pages of a book's top are not worth a second copy.
const joinedPages = 8

// AddText adds the rows of the first n levels of the side to t, all when there are fewer.
func (s *Side) AddText(t *Text, kind PageText, n int, render RenderLevels) {
	for _, d := range s.dirs {
		if n <= 0 {
			return
		}
		if d.n >= joinedPages && n >= d.n*pageLevels {
			dt := d.joined(kind, render)
			t.Add(dt.text)
			t.Sum += dt.sum
			n -= dt.levels
			continue
		}
		for _, p := range d.pages[:d.n] {
			if n <= 0 {
				return
			}
			text, sum := p.textOf(kind, n, render)
			t.Add(text)
			t.Sum += sum
			n -= p.n
		}
	}
}

// joined is the kept text of the directory; the first caller joins it.
func (d *directory) joined(kind PageText, render RenderLevels) *dirText {
	if dt := d.text[kind].Load(); dt != nil {
		return dt
	}
	t, levels := Text{Parts: make([][]byte, 0, dirPages)}, 0
	for _, p := range d.pages[:d.n] {
		pt := p.pageText(kind, render)
		t.Add(pt.text)
		t.Sum += pt.sum
		levels += pt.n
	}
	dt := &dirText{text: t.AppendTo(make([]byte, 0, t.Size)), sum: t.Sum, levels: levels}
	d.text[kind].CompareAndSwap(nil, dt) // another reader's has the same bytes
	return dt
}

// levelsSum is a sum of the levels' hashes: equal for equal levels, and that of two runs is
// the sum of theirs. A level is there once, so their order says nothing more.
func levelsSum(levels []Level) (sum uint64) {
	for i := range levels {
		sum += mix(mix(1, uint64(levels[i].Price)), uint64(levels[i].Amount))
	}
	return sum
}
