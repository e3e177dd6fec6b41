package engine

import "tickhive/internal/fixed"

// scan is the check of a fill-or-kill taker between two parts.
type scan struct {
	need  int64      // lots still to be found; 0: no check is unfinished
	earn  fixed.U128 // left of the taker's earn limit
	price int64      // of the level to go on with
	n     uint64     // of the order to go on with at this level, 0: its first
	// The lots of other accounts at this level before order n: shown, and with reserves.
	shown, whole int64
}

// fillable reports whether a fill-or-kill taker would be filled completely; it changes nothing. It counts hidden lots,
// but no lots that self-trade prevention or the taker's earn limit would keep from trading. An order of the taker's own
// account where the limit allows no lot ends it too, though lots behind may bring less. It counts whole levels by their
// sums and reads single orders only when the account has other orders. known is false when the part ends before the
// answer is found.
func (b *book) fillable(t *taker) (fills, known bool) {
	opp := &b.sides[t.side.Opposite()]
	at, left := b.scan, *t
	if at.need == 0 {
		at.need = t.left
	} else {
		left.earn = at.earn
	}
	own := t.stp != SelfTradeNone && b.orders.owners.At(t.owner).Open > 1 // it may have orders besides the taker
	known = true
	opp.downFrom(at.price, func(ls int32) bool {
		lv := b.orders.levels.At(ls)
		if opp.better(t.limit, lv.price) {
			return false
		}
		if known = !b.tape.spent(); !known {
			at.price = lv.price
			return false
		}
		b.tape.visit()
		lots, blocked, last := lv.shown+lv.hidden, false, false
		if own {
			if blocked, known = b.othersAt(t, lv, &at); !known {
				at.price = lv.price
				return false
			}
			lots = at.whole
			if blocked {
				lots = at.shown
			}
			last = b.orders.at(lv.tail).owner == t.owner && at.shown == at.whole
			at.n, at.shown, at.whole = 0, 0, 0
		}
		lots = min(lots, at.need)
		if left.bounded {
			must := lots
			if last && lots < at.need {
				must++ // it is to reach the order of its own behind the last lot
			}
			if left.earnable(lv.price, must) < must {
				return false
			}
			left.earned(lv.price, lots)
		}
		if at.need -= lots; at.need == 0 {
			fills = true
			return false
		}
		return !blocked
	})
	if known {
		b.scan = scan{}
	} else {
		at.earn = left.earn
		b.scan = at
	}
	return fills, known
}

// othersAt counts the lots of other accounts that a taker gets at a level. Unless its mode cancels
// the maker, an order of the same account ends the taker there (blocked): the taker cannot reach
// the orders behind it, nor the reserves that would queue behind it. The answer is not known yet
// when the part ends before.
func (b *book) othersAt(t *taker, lv *level, at *scan) (blocked, known bool) {
	s := lv.head
	if at.n != 0 {
		s = b.orders.ids.Get(at.n)
	}
	for s != 0 {
		o := b.orders.at(s)
		if b.tape.spent() {
			at.n = o.n
			return false, false
		}
		b.tape.visit()
		switch {
		case o.owner != t.owner:
			at.shown += o.shown
			at.whole += o.shown + b.orders.hidden(s, o)
		case t.stp != CancelMaker:
			return true, true
		}
		s = o.next
	}
	return false, true
}
