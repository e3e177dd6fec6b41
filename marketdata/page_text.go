package marketdata

// pageText holds the cached text of a page and the levels that it shows. The page that replaces this one
// usually differs in a level or two and copies the other rows from here. Frozen.
//
// Memory: 352 bytes and the text, for each page and form that was read. A page that was not read
// yet holds the text that it will patch, so there is at most one text for each page and form.
type pageText struct {
	gen    uint64 // generation of the page that this text shows
	n      int
	sum    uint64 // levelsSum of the levels
	text   []byte
	ends   [pageLevels]uint16 // end of each row in text; 16 rows have at most 5,000 bytes
	levels [pageLevels]Level
}

// RenderLevels appends the rows of levels to dst. A row must be a pure function of its level (the digits of a
// pair never change). Two readers that render at once then store equal bytes, and patch can copy rows.
type RenderLevels func(dst []byte, levels []Level) []byte

// inheritText copies the texts of from into p, which patch will update. p must not be published yet.
func (p *Page) inheritText(from *Page) {
	for k := range p.text {
		if t := from.text[k].Load(); t != nil {
			p.text[k].Store(t)
		}
	}
}

// textOf returns the rows of the first n levels of the page, or of all when it has fewer, and the levelsSum of
// these levels.
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

// levelText estimates the bytes of the longest row of one level.
const levelText = 160

// patch renders the text of t's levels. It copies the rows of levels that before shows too, and renders the
// others.
func (t *pageText) patch(before *pageText, render RenderLevels) {
	// room for one more row than before: growing would cost more than rendering
	b := make([]byte, 0, len(before.text)+levelText)
	from, to := 0, 0 // start and end of the old text that is not copied yet
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
