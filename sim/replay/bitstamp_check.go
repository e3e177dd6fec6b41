package replay

import (
	"fmt"

	"tickhive/engine"
	"tickhive/marketdata"
)

// enforce makes true what the log said bitstampLate ago and the engine did not find by
// itself: an order was filled, or has another amount open than ours.
func (b *bitstamp) enforce(d *desk) error {
	n := 0
	for ; n < len(b.due) && b.due[n].ns <= d.now; n++ {
		due := &b.due[n]
		if b.newest[due.id] != due.ns {
			continue
		}
		delete(b.newest, due.id)
		o := d.orders[b.orders[due.id]]
		if o == nil || o.open == due.amount {
			continue
		}
		b.lower(d, o, due.amount)
		b.counts.given.Good++
		if _, err := d.send(); err != nil {
			return err
		}
	}
	b.due = b.due[n:]
	return nil
}

// record remembers a trade of the log, whose floats are rounded to the pair's digits.
func (b *bitstamp) record() error {
	price, err := b.r.price.unitsRounded(b.digitsPrice)
	if err != nil {
		return b.in.fail(remedyValue, "price: %v", err)
	}
	amount, err := b.r.amount.unitsRounded(b.digitsAmount)
	if err != nil {
		return b.in.fail(remedyValue, "amount: %v", err)
	}
	b.counts.trades.All++
	b.match(intLevel{price, amount}, 1)
	return nil
}

// match counts the trades that ours and the log have in common, each once.
func (b *bitstamp) match(t intLevel, sign int) {
	if b.trades[t]*sign < 0 {
		b.counts.trades.Good++
	}
	if b.trades[t] += sign; b.trades[t] == 0 {
		delete(b.trades, t)
	}
}

// conform takes from a recorded book what the log cannot tell: the size of levels that
// hold an order without a name, and of prices that no recorded book had before.
func (b *bitstamp) conform(d *desk) error {
	if err := b.readBook(); err != nil {
		return err
	}
	for side := range b.book {
		if err := b.conformSide(d, engine.Side(side)); err != nil {
			return err
		}
	}
	return b.sendAnonymous(d)
}

func (b *bitstamp) conformSide(d *desk, side engine.Side) error {
	levels := b.book[side]
	recorded := make(map[int64]bool, len(levels))
	for _, l := range levels {
		recorded[l.price] = true
		b.counts.given.All++
		o := d.orders[b.anonymous[side][l.price]]
		if o == nil && b.seen[side][l.price] {
			continue
		}
		b.seen[side][l.price] = true
		have := int64(0)
		if at := d.at(side, l.price); at != nil {
			have = at.amount
		}
		if have == l.amount {
			continue
		}
		b.counts.given.Good++
		switch {
		case o != nil && o.open+l.amount-have <= 0:
			d.cancel(o.id)
		case o != nil:
			d.setOpen(o, o.open+l.amount-have)
		case l.amount > have:
			if err := b.prepend(d, side, l.price, l.amount-have); err != nil {
				return err
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	worst := levels[len(levels)-1].price
	for _, price := range sortedKeys(b.anonymous[side]) {
		o := d.orders[b.anonymous[side][price]]
		if o == nil {
			delete(b.anonymous[side], price)
		} else if !recorded[price] && worse(side, worst, price) {
			d.cancel(o.id)
			b.counts.given.Good++
		}
	}
	return nil
}

// prepend puts an order without a name before everything at a price: what the log never
// told of rested there before anything that it did.
func (b *bitstamp) prepend(d *desk, side engine.Side, price, amount int64) error {
	var behind []resting
	if at := d.at(side, price); at != nil {
		for _, o := range at.orders {
			behind = append(behind, *o)
			d.cancel(o.id)
		}
	}
	b.placeAnonymous(d, side, price, amount)
	if err := b.sendAnonymous(d); err != nil {
		return err
	}
	for _, o := range behind {
		if err := b.place(d, b.files[o.id], side, price, o.open, engine.FlagPostOnly); err != nil {
			return err
		}
		delete(b.files, o.id)
	}
	return nil
}

// placeAnonymous adds an order without a name. It is post-only: what the log did not
// tell must not make a trade.
func (b *bitstamp) placeAnonymous(d *desk, side engine.Side, price, amount int64) {
	i := d.limit(d.maker, side, price, amount, engine.GTC)
	d.batch.Commands[i].Flags = engine.FlagPostOnly
}

func (b *bitstamp) sendAnonymous(d *desk) error {
	results, err := d.send()
	if err != nil {
		return err
	}
	for i := range results {
		if o := d.orders[results[i].order]; o != nil {
			b.anonymous[o.side][o.price] = o.id
		}
	}
	return nil
}

// bookState is a book at a time, as a hash.
type bookState struct {
	ns   int64
	hash uint64
}

// check compares recorded books with the public book at any event within bitstampLate,
// and the public trades with the recorded ones.
func (b *bitstamp) check(d *desk, pub Public) (err error) {
	if n := d.trades - b.made; n > 0 {
		b.made = d.trades
		got, err := pub.Trades(int(n))
		if err != nil {
			return fmt.Errorf("replay: check: %w", err)
		}
		b.ours += len(got)
		for _, t := range got {
			b.match(intLevel{t.Price, t.Amount}, -1)
		}
	}
	if b.bids, b.asks, err = pub.Book(b.depth, b.bids[:0], b.asks[:0]); err != nil {
		return fmt.Errorf("replay: check: %w", err)
	}
	now := bookState{d.now, hashLevels(b.bids, b.asks)}
	if b.fresh {
		b.counts.books.All++
		b.waiting = append(b.waiting, bookState{d.now, b.hashBook()})
	}
	b.remember(now)
	return nil
}

// remember keeps the newest state and settles the recorded books that it, or an older
// one, agrees with.
func (b *bitstamp) remember(now bookState) {
	for len(b.states) > 1 && b.states[1].ns < now.ns-2*bitstampLate {
		b.states = b.states[1:]
	}
	b.states = append(b.states, now)
	kept := b.waiting[:0]
	for _, w := range b.waiting {
		switch {
		case b.agrees(w):
			b.counts.books.Good++
		case w.ns >= now.ns-bitstampLate:
			kept = append(kept, w)
		}
	}
	b.waiting = kept
}

// agrees reports whether our book was the recorded one at some moment within
// bitstampLate: each state is valid until the next.
func (b *bitstamp) agrees(w bookState) bool {
	for i, s := range b.states {
		ended := i+1 < len(b.states) && b.states[i+1].ns < w.ns-bitstampLate
		if s.hash == w.hash && !ended && s.ns <= w.ns+bitstampLate {
			return true
		}
	}
	return false
}

func (b *bitstamp) finish(*desk, Public) error { return nil }

func (b *bitstamp) results() []Check {
	trades := b.counts.trades
	trades.Note = fmt.Sprintf("%d made", b.ours)
	return []Check{b.counts.books, trades, b.counts.given}
}

// hash64 is FNV-1a over 64-bit words: enough to tell books apart, the same on every
// machine.
type hash64 uint64

func (h *hash64) add(v int64) {
	for range 8 {
		*h = (*h ^ hash64(v&0xff)) * 1099511628211
		v >>= 8
	}
}

const hashStart hash64 = 14695981039346656037

func hashLevels(bids, asks []marketdata.Level) uint64 {
	h := hashStart
	for _, side := range [2][]marketdata.Level{bids, asks} {
		for _, l := range side {
			h.add(l.Price)
			h.add(l.Amount)
		}
		h.add(-1)
	}
	return uint64(h)
}

func (b *bitstamp) hashBook() uint64 {
	h := hashStart
	for _, side := range b.book {
		for _, l := range side {
			h.add(l.price)
			h.add(l.amount)
		}
		h.add(-1)
	}
	return uint64(h)
}
