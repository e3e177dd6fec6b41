package engine

// fillable reports whether a fill-or-kill taker would be filled completely. It changes nothing. It counts
// hidden lots; it does not count lots that self-trade prevention or the taker's earn limit would exclude. It
// adds whole levels by their sums, and reads single orders only when the taker's account has other orders.
func (b *book) fillable(t *taker) bool {
	opp := &b.sides[t.side.Opposite()]
	need, left := t.left, *t
	own := t.stp != SelfTradeNone && b.ownsOther(t)
	ok := false
	opp.down(func(ls int32) bool {
		lv := b.orders.levels.at(ls)
		if !t.reaches(lv.price) {
			return false
		}
		lots, blocked := lv.shown+lv.hidden, false
		if own {
			lots, blocked = b.othersAt(t, lv)
		}
		lots = min(lots, need)
		if left.bounded {
			if left.earnable(lv.price, lots) < lots {
				return false
			}
			left.earned(lv.price, lots)
		}
		if need -= lots; need == 0 {
			ok = true
			return false
		}
		return !blocked
	})
	return ok
}

// ownsOther reports whether the taker's account may have orders besides the taker.
func (b *book) ownsOther(t *taker) bool { return b.orders.owners.slots.at(t.owner).open > 1 }

// othersAt returns the lots that a taker can get from other accounts at a level. An order of the taker's own
// account ends the taker there (blocked), unless the mode cancels the maker. The taker then reaches neither the
// orders behind that order nor the reserves that would queue behind it.
func (b *book) othersAt(t *taker, lv *level) (lots int64, blocked bool) {
	var shown, whole int64
	for s := lv.head; s != 0; {
		o := b.orders.at(s)
		switch {
		case o.owner != t.owner:
			shown += o.shown
			whole += o.shown + b.orders.hidden(s, o)
		case t.stp != CancelMaker:
			return shown, true
		}
		s = o.next
	}
	return whole, false
}
