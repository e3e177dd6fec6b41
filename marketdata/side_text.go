package marketdata

import "io"

// Text is a document in parts: the cached texts of pages and directories, and the bytes between them. A
// response copies the parts into its connection's buffer, as it would copy a joined text. Joining a book of 11
// KB at each change costs 5 to 9 us, parts cost 1.5 to 2.7 us. The maker of a Text appends to it; it is frozen
// once it is in a Doc.
type Text struct {
	Parts [][]byte
	Size  int
	// Sum identifies the levels that the text shows. It does not depend on the division into pages, so an ETag
	// made from it survives a restart.
	Sum uint64
}

// Add appends a part. It retains part; the caller must not change part afterwards.
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

// dirText caches the joined text of the pages of one directory, with the levelsSum and the number of their
// levels.
type dirText struct {
	text   []byte
	sum    uint64
	levels int
}

// joinedPages is the least number of pages of a directory whose text is joined and cached. A large book then has
// some hundred parts instead of thousands, and a change joins only its own directory again (16 KB). A smaller
// directory, such as the one at the touch, is not worth a second copy.
const joinedPages = 8

// AddText adds the rows of the first n levels of the side to t, or of all when there are fewer.
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

// joined returns the cached joined text of the directory. The first caller renders and joins it.
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

// levelsSum returns the sum of the levels' hashes. Equal levels have equal sums, and sums of parts of a side
// can be added. The sum ignores the order, which the prices determine anyway.
func levelsSum(levels []Level) (sum uint64) {
	for i := range levels {
		sum += mix(mix(1, uint64(levels[i].Price)), uint64(levels[i].Amount))
	}
	return sum
}
