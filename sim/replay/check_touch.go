package replay

import (
	"tickhive/marketdata"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/input"
)

// maxRecent bounds the best bids and asks that wait for the book update with the same id. Updates come at most
// every 100 ms, so a few hundred usually wait.
const maxRecent = 65_536

// touch holds the best bid and the best ask.
type touch [2]format.Level

// seen is a touch with the place of the recorded one, which ours has not.
type seen struct {
	touch
	at input.Position
}

// recent holds the newest touches by update id.
type recent struct {
	by  map[uint64]seen
	ids []uint64 // keys of by, oldest first
}

func (r *recent) add(id uint64, t seen) {
	if r.by == nil {
		r.by = map[uint64]seen{}
	}
	r.by[id] = t
	if r.ids = append(r.ids, id); len(r.ids) > maxRecent {
		delete(r.by, r.ids[0])
		r.ids = r.ids[1:]
	}
}

// bookIs records the update id that the book now has.
func (c *checker) bookIs(id uint64) { c.applied, c.changed = id, true }

// touchAfter compares the recorded best bid and ask of an update id with the published ones. The two may arrive
// in either order.
func (c *checker) touchAfter(r *format.Record) (err error) {
	switch {
	case r.Kind == format.Touch:
		t := seen{at: r.At}
		for side, levels := range r.Levels {
			copy(t.touch[side:side+1], levels)
		}
		c.compareTouch(&c.ourTouches, &c.touches, r.Last, t)
	case (r.Kind == format.Update || r.Kind == format.Book) && c.changed:
		if c.bids, c.asks, err = c.pub.Book(1, c.bids[:0], c.asks[:0]); err != nil {
			return err
		}
		var t seen
		for side, levels := range [2][]marketdata.Level{c.bids, c.asks} {
			if len(levels) > 0 {
				t.touch[side] = format.Level{Price: levels[0].Price, Amount: levels[0].Amount}
			}
		}
		// When several updates are entered at once, only the state after the last one is ever public.
		c.compareTouch(&c.touches, &c.ourTouches, c.applied, t)
	}
	return nil
}

// compareTouch compares t with the touch of the same id in other. If other does not have it yet, compareTouch
// stores t in own.
func (c *checker) compareTouch(other, own *recent, id uint64, t seen) {
	o, ok := other.by[id]
	if !ok {
		own.add(id, t)
		return
	}
	c.touch.add(o.touch == t.touch)
	if o.touch == t.touch {
		return
	}
	ours, theirs := o, t
	if t.at.Line == 0 {
		ours, theirs = t, o
	}
	c.miss(c.touch.Kind, theirs.at, c.touchText(&ours.touch), c.touchText(&theirs.touch))
}

// touchText returns "1.5 at 99 | 2 at 101"; an empty side is a dash.
func (c *checker) touchText(t *touch) string {
	text := [2]string{"-", "-"}
	for side, l := range t {
		if l.Amount != 0 {
			text[side] = c.amount(l.Amount) + " at " + c.price(l.Price)
		}
	}
	return text[0] + " | " + text[1]
}
