package marketdata

import "io"

// Text is a document in parts: cached texts of pages and directories and the bytes between them.
// Joining a book of 11 KB for each change cost 5 to 9 us, in parts it costs 1.5 to 2.7. A
// response copies the parts into its connection's buffer; it had to copy the joined text too.
// The maker of a Text appends to it; it is frozen once it is in a Doc.
type Text struct {
	Parts [][]byte
	Size  int
	// Sum identifies the levels that the text shows. It does not depend on how they lie in
	// pages, so that a tag made of it survives a restart.
	Sum uint64
}

// Add appends a part. It retains part; the caller must not change it any more.
func (t *Text) Add(part []byte) {
	t.Parts = append(t.Parts, part)
	t.Size += len(part)
}

// Cut removes the last byte: the comma after the last row.
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

// WriteTo implements io.WriterTo. Responses write the text with it.
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

// Read always panics. It exists only to make Text an io.Reader: the text is shared and has no
// read position, so responses call WriteTo.
func (t *Text) Read([]byte) (int, error) { panic("BUG: a text in parts is written, not read") }

// dirText caches the joined text of the pages below one node of a ladder's tree, with the hash sum
// and the number of their levels.
type dirText struct {
	text   []byte
	sum    uint64
	levels int
}

// joinedPages is the number of pages from which a directory's text is joined and cached. A full
// book then has some hundred parts instead of thousands, and a change joins one of them again
// (16 KB). The few pages at the touch are not worth a second copy.
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

// joined returns the cached text of the directory; the first caller joins it.
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
	d.text[kind].CompareAndSwap(nil, dt) // another reader's text has the same bytes
	return dt
}

// levelsSum returns the sum of the levels' hashes: equal for equal levels, and additive over
// runs of levels. Each level occurs once, so their order carries no information.
func levelsSum(levels []Level) (sum uint64) {
	for i := range levels {
		sum += mix(mix(1, uint64(levels[i].Price)), uint64(levels[i].Amount))
	}
	return sum
}
