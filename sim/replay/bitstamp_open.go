package replay

import (
	"errors"
	"io"
	"maps"
	"slices"

	"tickhive/engine"
)

// learn reads the log once to find the first book at or after fromNs and the orders that
// rested then: those created before and not deleted, and those that change or are
// cancelled later, with an id older than any created after it. They rested with at least
// the amount that is first told of them; what they had above it has no name.
func (b *bitstamp) learn(fromNs int64) (err error) {
	if b.in, err = openLines(b.path); err != nil {
		return err
	}
	defer b.close()
	b.start, b.known, b.order = 0, map[uint64]knownOrder{}, lineOrder{}
	b.early = map[uint64]bool{}
	past := bitstampPast{
		gone: newGoneIDs(b.most), created: map[uint64]bool{}, later: map[uint64]knownOrder{}, firstID: ^uint64(0),
	}
	for {
		err := b.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case b.r.kind == bitstampBook && b.start == 0 && b.r.ns >= fromNs:
			b.start = b.in.n
		case b.r.kind < bitstampTrade:
			b.recall(&past)
		}
	}
	if b.start == 0 {
		return b.in.fail("start earlier", "no order_book line at or after the time to start from")
	}
	for id, o := range past.later {
		if id < past.firstID && !past.created[id] {
			b.known[id] = o
		}
	}
	return nil
}

// bitstampPast holds the state of learn while it reads.
type bitstampPast struct {
	gone    goneIDs
	created map[uint64]bool
	later   map[uint64]knownOrder // first told of after the start, and not created before that
	firstID uint64                // the lowest that is created after the start
}

// recall follows an order of the log.
func (b *bitstamp) recall(past *bitstampPast) {
	r := &b.r
	o := knownOrder{r.side, r.price, r.amount}
	late, again := past.gone.has(r.id), past.created[r.id]
	switch r.kind {
	case bitstampDeleted:
		past.gone.add(r.id, r.amount.mantissa == 0)
	case bitstampCreated:
		past.created[r.id] = true
		if b.start != 0 {
			past.firstID = min(past.firstID, r.id)
		}
		if late && len(b.early) < b.most {
			b.early[r.id] = true
		}
	default:
	}
	_, known := b.known[r.id]
	_, later := past.later[r.id]
	switch before := b.start == 0; {
	case late:
	case before && r.kind == bitstampCreated && !again, before && r.kind == bitstampChanged && known:
		b.known[r.id] = o
	case before && r.kind == bitstampDeleted:
		delete(b.known, r.id)
	case !before && r.kind != bitstampCreated && r.amount.mantissa != 0 && !again && !later:
		past.later[r.id] = o
	}
}

// seed makes the opening book: at each price first one order without a name for what no
// known order explains, then the known ones in order of their ids.
func (b *bitstamp) seed(d *desk) error {
	if err := b.readBook(); err != nil {
		return err
	}
	explained := map[bookPlace]int64{}
	ids := slices.Sorted(maps.Keys(b.known))
	for _, id := range ids {
		o := b.known[id]
		price, amount, err := b.units(o.price, o.amount)
		if err != nil {
			return err
		}
		explained[bookPlace{o.side, price}] += amount
	}
	for side, levels := range b.book {
		for _, l := range levels {
			b.seen[side][l.price] = true
			if rest := l.amount - explained[bookPlace{engine.Side(side), l.price}]; rest > 0 {
				b.placeAnonymous(d, engine.Side(side), l.price, rest)
			}
		}
	}
	if err := b.sendAnonymous(d); err != nil {
		return err
	}
	for _, id := range ids {
		o := b.known[id]
		price, amount, err := b.units(o.price, o.amount)
		if err != nil {
			return err
		}
		if err := b.place(d, id, o.side, price, amount, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}

type bookPlace struct {
	side  engine.Side
	price int64
}
