package stream

import "tickhive/marketdata"

// bookWalk iterates over the first depth levels of one side of a frozen book.
type bookWalk struct {
	pages []*marketdata.Page
	page  int
	level int
	left  int
}

// start positions the walk at the best level; depth 0 means the whole side. It reuses pages.
func (w *bookWalk) start(s *marketdata.Side, depth int) {
	w.pages, w.page, w.level = w.pages[:0], 0, 0
	w.left = s.Len()
	if depth > 0 {
		w.left = min(w.left, depth)
	}
	need := w.left
	s.Pages(func(p *marketdata.Page) bool {
		w.pages = append(w.pages, p)
		need -= len(p.Levels())
		return need > 0
	})
}

func (w *bookWalk) peek() (marketdata.Level, bool) {
	if w.left == 0 {
		return marketdata.Level{}, false
	}
	return w.pages[w.page].Levels()[w.level], true
}

func (w *bookWalk) step() {
	w.left--
	w.level++
	if w.level == len(w.pages[w.page].Levels()) {
		w.page, w.level = w.page+1, 0
	}
}

// samePage skips a page that both sides share and that is wholly within the depth of both. Pages are frozen, so
// equal pointers mean equal content.
func samePage(a, b *bookWalk) bool {
	if a.level != 0 || b.level != 0 || a.left == 0 || b.left == 0 || a.pages[a.page] != b.pages[b.page] {
		return false
	}
	n := len(a.pages[a.page].Levels())
	if n > a.left || n > b.left {
		return false
	}
	a.left, b.left = a.left-n, b.left-n
	a.page, b.page = a.page+1, b.page+1
	return true
}

// sideDiff lists the changes from the old side to the new one: changed levels with their new
// amount, 0 for levels that are gone or outside the depth.
type sideDiff struct {
	from, to bookWalk
	out      []marketdata.Level
}

func (d *sideDiff) run(from, to *marketdata.Side, depth int, bids bool) []marketdata.Level {
	d.from.start(from, depth)
	d.to.start(to, depth)
	d.out = d.out[:0]
	for {
		if samePage(&d.from, &d.to) {
			continue
		}
		a, okA := d.from.peek()
		b, okB := d.to.peek()
		switch {
		case !okA && !okB:
			return d.out
		case okA && okB && a.Price == b.Price:
			if a.Amount != b.Amount {
				d.out = append(d.out, b)
			}
			d.from.step()
			d.to.step()
		case !okB || (okA && (a.Price > b.Price) == bids):
			d.out = append(d.out, marketdata.Level{Price: a.Price})
			d.from.step()
		default:
			d.out = append(d.out, b)
			d.to.step()
		}
	}
}
