package marketdata

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// bookOf returns both sides of a view, best first.
func bookOf(v *View) [2][]Level {
	var out [2][]Level
	for side, s := range []*Side{engine.Buy: &v.Bids, engine.Sell: &v.Asks} {
		for l := range s.All {
			out[side] = append(out[side], l)
		}
	}
	return out
}

// undone returns the book of v turned back to seq.
func undone(v *View, seq engine.Seq) [2][]Level {
	book := [2]map[int64]int64{{}, {}}
	for side, ls := range bookOf(v) {
		for _, l := range ls {
			book[side][l.Price] = l.Amount
		}
	}
	v.Changes.Undo(seq, func(side engine.Side, price, before int64) { book[side][price] = before })
	var out [2][]Level
	for side := range book {
		for price, amount := range book[side] {
			if amount != 0 {
				out[side] = append(out[side], Level{price, amount})
			}
		}
		slices.SortFunc(out[side], func(a, b Level) int {
			if side == int(engine.Buy) {
				a, b = b, a
			}
			return int(a.Price - b.Price)
		})
	}
	return out
}

// flow places and cancels at random around a price.
func (r *rig) flow(rnd interface{ Int64N(int64) int64 }, open *[]engine.OrderID) {
	r.now += rnd.Int64N(10_000_000)
	if n := int64(len(*open)); n > 0 && rnd.Int64N(3) == 0 {
		i := rnd.Int64N(n)
		r.apply(engine.Command{Kind: engine.Cancel, Account: 1, Order: (*open)[i]})
		*open = slices.Delete(*open, int(i), int(i)+1)
		return
	}
	side, off := engine.Side(rnd.Int64N(2)), rnd.Int64N(40)-4
	price := 1000 - off
	if side == engine.Sell {
		price = 1000 + off
	}
	*open = append(*open, r.place(0, 1, side, price, 1+rnd.Int64N(50)))
}

// bookUpdate is a command that changed the book, as the window counts updates.
type bookUpdate struct {
	seq    engine.Seq // of its newest change
	timeNs int64
}

// bookUpdates appends the book updates of the last command to all.
func (r *rig) bookUpdates(all []bookUpdate) []bookUpdate {
	last := bookUpdate{}
	for _, e := range r.events[r.mark:] {
		if e.Kind == engine.EventLevel {
			last = bookUpdate{e.Seq, e.TimeNs}
		}
	}
	if last.seq == 0 {
		return all
	}
	return append(all, last)
}

// From any published state, also from views that readers hold, the book turned back to an older
// seq equals the book that was published then. Base limits how far, and covers at least the
// window.
func TestLevelChangesUndo(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{}, 1)
	var open []engine.OrderID
	type shown struct {
		view *View
		book [2][]Level
	}
	var kept []shown
	var updates []bookUpdate
	for i := range soak(6_000, 20) {
		r.flow(rnd, &open)
		updates = r.bookUpdates(updates)
		if rnd.IntN(5) == 0 {
			r.publish()
			v := r.feed.Board().Load().View(0)
			if i%20 == 0 {
				kept = append(kept, shown{v, bookOf(v)})
			}
		}
	}
	compared := 0
	for compared < 300 {
		b := rnd.IntN(len(kept))
		from, at := kept[max(0, b-rnd.IntN(min(b, 100)+1))], kept[b].view
		if from.view.BookSeq < at.Changes.Base() {
			continue
		}
		same(t, from.book, undone(at, from.view.BookSeq))
		compared++
	}
	want := engine.Seq(0)
	for i, u := range updates {
		if len(updates)-i > retainedUpdates && r.now-u.timeNs > retainedSec*nanosecond {
			want = u.seq
		}
	}
	if base := kept[len(kept)-1].view.Changes.Base(); base > want {
		t.Errorf("base %d after %d updates, want %d at most", base, len(updates), want)
	}
}

// At least 10,000 updates are retained at any age, and all updates of the last minute; older
// ones are dropped, and the log never retains more than the limit.
func TestLevelChangesWindow(t *testing.T) {
	for _, c := range []struct {
		name      string
		stepNs    int64
		perUpdate int
		adds      int
		least     int
		most      int
	}{
		{"old ones beyond 10,000 updates go", 1_000_000_000, 1, 50_000, 10_000, 15_000},
		{"an update is a command, not a change", 1_000_000_000, 4, 100_000, 40_000, 50_000},
		{"a minute stays", 2_000_000, 1, 100_000, 30_000, 36_000},
		{"the bound holds", 1_000, 1, maxChanges + 50_000, maxChanges * 7 / 8, maxChanges},
	} {
		var l levelLog
		for i := range c.adds {
			if i%c.perUpdate == 0 {
				l.startCommand()
			}
			l.add(&engine.Event{Seq: engine.Seq(i + 1), TimeNs: int64(i) * c.stepNs, Price: 5}, 1)
		}
		v := &l.view
		if v.Len() < c.least || v.Len() > c.most {
			t.Errorf("%s: %d changes kept, want %d to %d", c.name, v.Len(), c.least, c.most)
		}
		n, want := 0, uint64(c.adds)
		v.Undo(v.Base(), func(engine.Side, int64, int64) { n, want = n+1, want-1 })
		if n != v.Len() || engine.Seq(want) != v.Base() {
			t.Errorf("%s: undid %d changes down to seq %d, want %d and %d", c.name, n, want, v.Len(), v.Base())
		}
	}
}

// A restored pair reaches back to its snapshot, and no further.
func TestLevelChangesAfterRestore(t *testing.T) {
	rnd := newRand(t)
	r := newRig(Options{}, 1)
	var open []engine.OrderID
	for range 500 {
		r.flow(rnd, &open)
	}
	r.publish()
	state := r.feed.AppendPairState(nil, 0)
	then := r.feed.Board().Load().View(0)
	feed := NewFeed(Options{NoOrders: true})
	if err := feed.DecodePairState(state); err != nil {
		t.Fatal(err)
	}
	mark := len(r.events)
	for range 500 {
		r.flow(rnd, &open)
	}
	feed.Fold(r.events[mark:])
	feed.Publish(r.now)
	now := feed.Board().Load().View(0)
	if now.Changes.Base() != then.BookSeq {
		t.Fatalf("base %d, want the seq of the snapshot, %d", now.Changes.Base(), then.BookSeq)
	}
	same(t, bookOf(then), undone(now, then.BookSeq))
}
