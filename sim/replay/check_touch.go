package replay

import (
	"tickhive/marketdata"
	"tickhive/sim/replay/format"
)

// maxRecent bounds the best bids and asks that wait for the book update with the same id. Updates come at most
// every 100 ms, so a few hundred usually wait.
const maxRecent = 65_536

// touch holds the best bid and the best ask.
type touch [2]format.Level

// recent holds the newest touches by update id.
type recent struct {
	by  map[uint64]touch
	ids []uint64 // keys of by, oldest first
}

func (r *recent) add(id uint64, t touch) {
	if r.by == nil {
		r.by = map[uint64]touch{}
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
		var t touch
		for side, levels := range r.Levels {
			copy(t[side:side+1], levels)
		}
		c.compareTouch(&c.ourTouches, &c.touches, r.Last, t)
	case (r.Kind == format.Update || r.Kind == format.Book) && c.changed:
		if c.bids, c.asks, err = c.pub.Book(1, c.bids[:0], c.asks[:0]); err != nil {
			return err
		}
		var t touch
		for side, levels := range [2][]marketdata.Level{c.bids, c.asks} {
			if len(levels) > 0 {
				t[side] = format.Level{Price: levels[0].Price, Amount: levels[0].Amount}
			}
		}
		// When several updates are entered at once, only the state after the last one is ever public.
		c.compareTouch(&c.touches, &c.ourTouches, c.applied, t)
	}
	return nil
}

// compareTouch compares t with the touch of the same id in other. If other does not have it yet, compareTouch
// stores t in own.
func (c *checker) compareTouch(other, own *recent, id uint64, t touch) {
	if o, ok := other.by[id]; ok {
		c.touch.add(o == t)
		return
	}
	own.add(id, t)
}
