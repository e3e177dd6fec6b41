package format

import (
	"tickhive/engine"

	"tickhive/sim/replay/format/pairs"
)

// oneSymbol refuses a row of another symbol than the first row.
func (t *tardis) oneSymbol(f *tardisFile) error {
	c := f.cells[tardisSymbol]
	switch {
	case string(c.text) == t.symbol:
		return nil
	case t.symbol != "":
		return f.in.refuse(flawAt(c.at, remedySymbols, "symbol %q, the rows before are of %q", clip(c.text), t.symbol))
	}
	t.symbol = string(c.text)
	if t.s.learning() {
		t.s.Pair = pairs.Split(t.symbol)
	}
	return nil
}

// trade reads a row of trades.
func (t *tardis) trade(f *tardisFile) error {
	c := f.cells[tardisData:]
	f.next.Kind = Trade
	switch side := c[1]; string(side.text) {
	case "buy":
		f.next.Side, f.next.Sided = engine.Buy, true
	case "sell":
		f.next.Side, f.next.Sided = engine.Sell, true
	case "unknown":
	default:
		return flawAt(side.at, remedyValue, "side %q is neither buy, sell nor unknown", clip(side.text))
	}
	price, err := positive("price", c[2].text)
	if err != nil {
		return locate(c[2].at, err)
	}
	amount, err := positive("amount", c[3].text)
	if err != nil {
		return locate(c[3].at, err)
	}
	return t.s.trade(&f.next, price, amount)
}

// levelAt reads a level from two cells. An empty price is no level.
func levelAt(price, amount cell) (l level, ok bool, err error) {
	if len(price.text) == 0 {
		return l, false, nil
	}
	if l.price, err = positive("price", price.text); err != nil {
		return l, false, locate(price.at, err)
	}
	l.amount, err = notNegative("amount", amount.text)
	return l, err == nil, locate(amount.at, err)
}

// group reads the rows of one message: those of one time, or all of a complete book.
func (t *tardis) group(f *tardisFile) error {
	whole, ns, rows := f.isSnapshot(), f.ns, 0
	if !whole && !f.begun {
		return f.in.fail("give the file of the whole day, which begins with the complete book",
			"the first row is not one of a complete book (is_snapshot true)")
	}
	f.begun = true
	f.next.Kind, f.next.Replaces = Update, whole
	if whole {
		f.next.Kind = Book
	}
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for ; f.line != nil && f.isSnapshot() == whole && (whole || f.ns == ns); rows++ {
		if rows == maxTardisGroup {
			return f.in.fail("cut the file", "more than %d rows of one time", maxTardisGroup)
		}
		if err := t.change(f, sides); err != nil {
			return f.in.refuse(err)
		}
		if err := f.read(); err != nil {
			return err
		}
	}
	return t.s.book(&f.next, sides[0], sides[1])
}

func (f *tardisFile) isSnapshot() bool { return string(f.cells[tardisData].text) == "true" }

// change reads a row of incremental_book_L2.
func (t *tardis) change(f *tardisFile, sides *[2][]level) error {
	if err := t.oneSymbol(f); err != nil {
		return err
	}
	c := f.cells[tardisData:]
	if s := string(c[0].text); s != "true" && s != "false" {
		return flawAt(c[0].at, remedyValue, "is_snapshot %q is neither true nor false", clip(c[0].text))
	}
	side := engine.Buy
	switch string(c[1].text) {
	case "bid":
	case "ask":
		side = engine.Sell
	default:
		return flawAt(c[1].at, remedyValue, "side %q is neither bid nor ask", clip(c[1].text))
	}
	l, ok, err := levelAt(c[2], c[3])
	if err == nil && !ok {
		err = flawAt(c[2].at, remedyValue, "no price")
	}
	sides[side] = append(sides[side], l)
	return err
}

// snapshot reads a row of book_snapshot: ask and bid by turns, best first.
func (t *tardis) snapshot(f *tardisFile) error {
	c := f.cells[tardisData:f.width]
	if len(c)%4 != 0 {
		return flawAt(0, remedyTardis, "%d columns of levels, want price and amount of as many asks as bids", len(c))
	}
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for i := 0; i < len(c); i += 4 {
		for k, side := range [2]engine.Side{engine.Sell, engine.Buy} {
			l, ok, err := levelAt(c[i+2*k], c[i+2*k+1])
			if err != nil {
				return err
			}
			if ok && l.amount.V.Sign() > 0 {
				sides[side] = append(sides[side], l)
			}
		}
	}
	return t.wholeBook(f)
}

// quote reads a row of quotes.
func (t *tardis) quote(f *tardisFile) error {
	c := f.cells[tardisData:]
	sides := &f.update
	sides[0], sides[1] = sides[0][:0], sides[1][:0]
	for side, at := range [2][2]cell{{c[2], c[3]}, {c[1], c[0]}} {
		l, ok, err := levelAt(at[0], at[1])
		if err != nil {
			return err
		}
		if ok && l.amount.V.Sign() > 0 {
			sides[side] = append(sides[side], l)
		}
	}
	return t.wholeBook(f)
}

// wholeBook makes the levels of a row the book, or the best of them a comparison.
func (t *tardis) wholeBook(f *tardisFile) error {
	f.next.Kind, f.next.Replaces = Book, true
	bids, asks := f.update[0], f.update[1]
	if t.levels {
		f.next.Kind, f.next.Replaces = Touch, false
		bids, asks = bids[:min(1, len(bids))], asks[:min(1, len(asks))]
	}
	return t.s.book(&f.next, bids, asks)
}
