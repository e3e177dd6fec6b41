package marketdata

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// open returns the record of an open order, and its slot.
func (r *rig) open(id engine.OrderID) (*orderRec, int32) {
	h := r.feed.History()
	i := int32(h.pairs[id.Pair()].orders.get(id) & placeMask)
	return h.open.At(i), i
}

// checkPinned checks which walks wait at which orders of ids, and that the orders' other bits are left alone.
func checkPinned(t *testing.T, r *rig, ids []engine.OrderID, bits uint8, want map[engine.OrderID][]*orderWalk) {
	t.Helper()
	h := r.feed.History()
	pinned := map[int32][]*orderWalk{}
	for _, id := range ids {
		o, at := r.open(id)
		walks := want[id]
		expect := bits
		if len(walks) > 0 {
			pinned[at] = walks
			expect |= bitPinned
		}
		if o.bits != expect {
			t.Errorf("order %d has bits %b, want %b", id, o.bits, expect)
		}
		for _, w := range walks {
			if w.open != at {
				t.Errorf("a walk that waits at place %d continues at %d", at, w.open)
			}
		}
	}
	if len(h.pinned) != len(pinned) {
		t.Errorf("walks wait at %d places, want %d", len(h.pinned), len(pinned))
	}
	for at, walks := range pinned {
		same(t, len(walks), len(h.pinned[at]))
		for i := range walks {
			if h.pinned[at][i] != walks[i] {
				t.Errorf("place %d: walk %d is another one", at, i)
			}
		}
	}
}

// Walks that wait at one order move on together when it ends, join those that wait at the next older one, and leave
// one by one.
func TestWalksThatWaitAtOneOrder(t *testing.T) {
	for _, bits := range []uint8{0, ^bitPinned} {
		r := newRig(Options{}, 1)
		var ids []engine.OrderID
		for range 4 {
			ids = append(ids, r.place(0, 1, engine.Buy, 100, 1))
		}
		r.fold()
		h := r.feed.History()
		h.endCommand()
		for _, id := range ids {
			o, _ := r.open(id)
			o.bits = bits
		}
		var w [4]orderWalk
		waits := func(k int, id engine.OrderID) {
			_, w[k].open = r.open(id)
			h.pin(&w[k])
		}
		ends := func(id engine.OrderID) {
			o, at := r.open(id)
			h.advancePinned(at, o)
		}
		type walks = map[engine.OrderID][]*orderWalk
		waits(0, ids[3])
		checkPinned(t, r, ids, bits, walks{ids[3]: {&w[0]}})
		waits(1, ids[3])
		waits(2, ids[3])
		waits(3, ids[2])
		checkPinned(t, r, ids, bits, walks{ids[3]: {&w[0], &w[1], &w[2]}, ids[2]: {&w[3]}})
		h.unpin(&w[1])
		checkPinned(t, r, ids, bits, walks{ids[3]: {&w[0], &w[2]}, ids[2]: {&w[3]}})
		ends(ids[3])
		checkPinned(t, r, ids, bits, walks{ids[2]: {&w[3], &w[0], &w[2]}})
		ends(ids[2])
		checkPinned(t, r, ids, bits, walks{ids[1]: {&w[3], &w[0], &w[2]}})
		h.unpin(&w[3])
		h.unpin(&w[2])
		checkPinned(t, r, ids, bits, walks{ids[1]: {&w[0]}})
		h.unpin(&w[0])
		checkPinned(t, r, ids, bits, nil)
		waits(0, ids[0]) // the oldest: nothing is left to read once it ends
		ends(ids[0])
		checkPinned(t, r, ids, bits, nil)
		if w[0].open != 0 {
			t.Errorf("behind the oldest order the walk continues at %d", w[0].open)
		}
		h.unpin(&w[0])
		checkPinned(t, r, ids, bits, nil)
	}
}

// mixed makes open and closed orders of account 1 in two pairs, from the oldest to the newest: closed ones in pair 0,
// an open order in pair 1, open ones in pair 0, another one in pair 1.
func mixed(closed, open int) (r *rig, oldest, newest engine.OrderID) {
	r = newRig(Options{}, 2)
	place := func(pair engine.PairID) engine.OrderID {
		r.now++
		return r.place(pair, 1, engine.Buy, 100, 1)
	}
	for range closed {
		r.end(place(0))
	}
	oldest = place(1)
	for range open {
		place(0)
	}
	newest = place(1)
	r.fold()
	return r, oldest, newest
}

// end cancels an order.
func (r *rig) end(id engine.OrderID) {
	r.apply(engine.Command{Kind: engine.Cancel, Pair: id.Pair(), Order: id, Flags: engine.FlagAllAccount})
}

// Orders of the page end between the first turn of a walk and the next one: one that the walk has read, and one that
// it has not. It shows the state at the end of each, once, and takes no turn more than the records need.
func TestOrdersThatEndBesideTheWalk(t *testing.T) {
	for _, c := range []struct {
		closed, open int
		ends         string
		turns        int
	}{
		{1500, 1500, "", 4},
		{1500, 1500, "oldest", 4}, // found in the third turn
		{1500, 1500, "newest", 4},
		{10, walkRecords + 10, "", 2},
		{10, walkRecords + 10, "oldest", 3}, // found in the last turn: the page is sorted behind it
		{10, walkRecords + 10, "both", 3},
		{walkRecords, walkRecords - 1, "both", 3}, // the oldest is the first one of the second turn
		{walkRecords, walkRecords - 2, "both", 3}, // the last one of the first turn
	} {
		r, oldest, newest := mixed(c.closed, c.open)
		q := everything(1, 10)
		q.Pair = 1
		u := &turns{tb: t, history: r.feed.History()}
		u.meanwhile = func() {
			if u.n > 1 {
				return
			}
			if c.ends == "oldest" || c.ends == "both" {
				r.end(oldest)
			}
			if c.ends == "newest" || c.ends == "both" {
				r.end(newest)
			}
			r.fold()
		}
		rows, err := r.feed.History().Orders(q, u.turn)
		if err != nil {
			t.Fatal(err)
		}
		same(t, simpleOrders(r.feed.History(), q), rows)
		if u.n != c.turns || len(rows) != 2 || rows[0].ID != newest || rows[1].ID != oldest {
			t.Errorf("%+v: %d turns, %+v", c, u.n, rows)
		}
	}
}
