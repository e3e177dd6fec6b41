package marketdata

// pageText holds the cached text of a page and the levels that it was made of. The next page in
// its place differs in a level or two and copies the other rows from here. Frozen.
//
// Memory: 352 bytes and the text, for each page and form that was read. A page that was not read
// yet holds the text that it will patch: there is at most one text a page and form.
type pageText struct {
	gen    uint64 // of the page that the text belongs to
	n      int
	sum    uint64 // of the levels: levelsSum
	text   []byte
	ends   [pageLevels]uint16 // of the rows; 16 rows have at most 5,000 bytes
	levels [pageLevels]Level
}

// RenderLevels appends the rows of levels to dst. A row must be a pure function of its level
// (the digits of a pair never change): two readers that render at once then store equal bytes,
// and patch can copy rows.
type RenderLevels func(dst []byte, levels []Level) []byte

// inheritText takes over the text of from, to be patched; p was never published.
func (p *Page) inheritText(from *Page) {
	for k := range p.text {
		if t := from.text[k].Load(); t != nil {
			p.text[k].Store(t)
		}
	}
}

// textOf returns the part of the text that shows the first n levels, all when there are fewer,
// and the sum of those levels.
func (p *Page) textOf(kind PageText, n int, render RenderLevels) ([]byte, uint64) {
	t := p.pageText(kind, render)
	if n >= t.n {
		return t.text, t.sum
	}
	if n <= 0 {
		return nil, 0
	}
	return t.text[:t.ends[n-1]], levelsSum(t.levels[:n])
}

// pageText returns the cached text of the page; the first caller renders it. The result is
// frozen.
func (p *Page) pageText(kind PageText, render RenderLevels) *pageText {
	before := p.text[kind].Load()
	if before != nil && before.gen == p.gen {
		return before
	}
	t := &pageText{gen: p.gen, n: p.n, sum: levelsSum(p.levels[:p.n])}
	copy(t.levels[:], p.levels[:p.n])
	if before == nil {
		t.text = make([]byte, 0, p.n*levelText)
		for i := range t.n {
			t.text = render(t.text, t.levels[i:i+1])
			t.ends[i] = uint16(len(t.text))
		}
	} else {
		t.patch(before, render)
	}
	if p.text[kind].CompareAndSwap(before, t) {
		return t
	}
	return p.text[kind].Load() // another reader's text, with the same bytes
}

// levelText is about the length in bytes of the longest row of a level in a document.
const levelText = 160

// patch makes the text. It copies the rows of levels that before shows too.
func (t *pageText) patch(before *pageText, render RenderLevels) {
	b := make([]byte, 0, len(before.text)+levelText) // growing costs more than rendering
	from, to := 0, 0                                 // the run of old text that is not copied yet
	old := 0
	for i := range t.n {
		l := t.levels[i]
		k := old
		for k < before.n && before.levels[k].Price != l.Price {
			k++
		}
		same := k < before.n && before.levels[k].Amount == l.Amount
		if k < before.n {
			old = k + 1
		}
		if !same {
			b = append(b, before.text[from:to]...)
			from, to = 0, 0
			b = render(b, t.levels[i:i+1])
			t.ends[i] = uint16(len(b))
			continue
		}
		start := 0
		if k > 0 {
			start = int(before.ends[k-1])
		}
		if start != to {
			b = append(b, before.text[from:to]...)
			from = start
		}
		to = int(before.ends[k])
		t.ends[i] = uint16(len(b) + to - from)
	}
	t.text = append(b, before.text[from:to]...)
}
