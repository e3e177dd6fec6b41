package replay

import (
	"cmp"
	"fmt"
	"slices"

	"tickhive/marketdata"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/input"
)

// rowAfter compares the levels that the file has after a message with the published book. It skips the first
// message, because the opening book is set from its levels.
func (c *checker) rowAfter(r *format.Record) (err error) {
	if c.fed == 1 {
		return nil
	}
	if c.bids, c.asks, err = c.pub.Book(r.Depth, c.bids[:0], c.asks[:0]); err != nil {
		return err
	}
	good := sameLevels(r.Levels[0], c.bids) && sameLevels(r.Levels[1], c.asks)
	if c.books.add(good); !good {
		ours, theirs := c.bookTexts(r.Levels, c.bids, c.asks)
		c.miss(c.books.Kind, r.At, ours, theirs)
	}
	return nil
}

func sameLevels(want []format.Level, got []marketdata.Level) bool {
	return slices.EqualFunc(want, got, func(w format.Level, g marketdata.Level) bool {
		return w.Price == g.Price && w.Amount == g.Amount
	})
}

// logAfter compares the public trades with the recorded trades, and recorded books with every published book
// within logLate.
func (c *checker) logAfter(r *format.Record, e *orderEntry) error {
	if r.Kind == format.Report {
		c.trades.All++
		c.match(format.Level{Price: r.Price, Amount: r.Amount}, 1)
	}
	if n := e.report.Trades - c.seen; n > 0 {
		c.seen = e.report.Trades
		got, err := c.pub.Trades(int(n))
		if err != nil {
			return err
		}
		c.ours += len(got)
		for _, t := range got {
			c.match(format.Level{Price: t.Price, Amount: t.Amount}, -1)
		}
	}
	var err error
	if c.bids, c.asks, err = c.pub.Book(c.s.Depth, c.bids[:0], c.asks[:0]); err != nil {
		return err
	}
	if r.Kind == format.Book && c.fed > 1 {
		c.books.All++
		w := recordedBook{bookState: bookState{e.now, hashLevels(r.Levels)}, at: r.At}
		for side, levels := range r.Levels {
			copy(w.touch[side:side+1], levels)
		}
		c.books1s.waiting = append(c.books1s.waiting, w)
	}
	good, late := c.books1s.take(bookState{e.now, hashLevels([2][]marketdata.Level{c.bids, c.asks})})
	c.books.Good += good
	c.missBooks(late)
	return nil
}

// missBooks reports recorded books that no published book equals.
func (c *checker) missBooks(books []recordedBook) {
	for i := range books {
		w := &books[i]
		theirs := ""
		for side, name := range [2]string{"bid", "ask"} {
			if l := w.touch[side]; l.Amount == 0 {
				theirs += ", no " + name
			} else {
				theirs += fmt.Sprintf(", %s 1: %s at %s", name, c.amount(l.Amount), c.price(l.Price))
			}
		}
		c.miss(c.books.Kind, w.at, "no such book within 1 s", "a book with"+theirs[1:])
	}
}

// endLog reports the comparisons of a log that wait for a counterpart at its end.
func (c *checker) endLog() {
	c.missBooks(c.books1s.waiting)
	type trade struct {
		level format.Level
		at    input.Position
	}
	var missed []trade
	for level, places := range c.logged {
		for _, at := range places {
			missed = append(missed, trade{level, at})
		}
	}
	slices.SortFunc(missed, func(a, b trade) int { return cmp.Compare(a.at.Line, b.at.Line) })
	for _, t := range missed[:min(len(missed), maxMisses)] {
		c.miss(c.trades.Kind, t.at, "no such trade", c.amount(t.level.Amount)+" at "+c.price(t.level.Price))
	}
}

// match counts the trades that occur both in the log (sign 1) and in the published trades (sign -1). It pairs
// each trade at most once.
func (c *checker) match(t format.Level, sign int) {
	switch paired := c.tally[t]*sign < 0; {
	case paired && sign < 0:
		if c.logged[t] = c.logged[t][1:]; len(c.logged[t]) == 0 {
			delete(c.logged, t)
		}
		c.trades.Good++
	case paired:
		c.trades.Good++
	case sign > 0:
		c.logged[t] = append(c.logged[t], c.at)
	}
	if c.tally[t] += sign; c.tally[t] == 0 {
		delete(c.tally, t)
	}
}

// bookState is the hash of a book at a time.
type bookState struct {
	ns   int64
	hash uint64
}

// recordedBook is a book of the log that waits for an equal published one.
type recordedBook struct {
	bookState
	touch touch
	at    input.Position
}

// lateBooks compares each recorded book with the published books up to logLate before and after it.
type lateBooks struct {
	states  []bookState
	waiting []recordedBook
}

// take adds the newest published book and returns the number of waiting recorded books that now agree with a
// published one. It drops recorded books that are more than logLate old and returns those that agree with none.
func (l *lateBooks) take(now bookState) (good int, late []recordedBook) {
	for len(l.states) > 1 && l.states[1].ns < now.ns-2*logLate {
		l.states = l.states[1:]
	}
	l.states = append(l.states, now)
	l.waiting = slices.DeleteFunc(l.waiting, func(w recordedBook) bool {
		switch {
		case l.agrees(w.bookState):
			good++
		case w.ns < now.ns-logLate:
			late = append(late, w)
		default:
			return false
		}
		return true
	})
	return good, late
}

// agrees reports whether a published book within logLate of w equals it. Each published book is valid until the
// next one.
func (l *lateBooks) agrees(w bookState) bool {
	for i, s := range l.states {
		ended := i+1 < len(l.states) && l.states[i+1].ns < w.ns-logLate
		if s.hash == w.hash && !ended && s.ns <= w.ns+logLate {
			return true
		}
	}
	return false
}

// hashLevels returns the FNV-1a hash of a book over 64-bit words. It is the same on every machine.
func hashLevels[L format.Level | marketdata.Level](book [2][]L) uint64 {
	h := uint64(14695981039346656037)
	add := func(v int64) {
		for range 8 {
			h = (h ^ uint64(v&0xff)) * 1099511628211
			v >>= 8
		}
	}
	for _, side := range book {
		for i := range side {
			l := format.Level(side[i])
			add(l.Price)
			add(l.Amount)
		}
		add(-1)
	}
	return h
}
