package format

import (
	"tickhive/engine"

	"tickhive/sim/replay/format/input"
	"tickhive/sim/replay/format/pairs"
)

// oneSymbol refuses a row of another symbol than the first row.
func (t *tardis) oneSymbol(f *tardisFile) error {
	c := f.cells[tardisSymbol]
	switch {
	case string(c.Text) == t.symbol:
		return nil
	case t.symbol != "":
		return f.in.Refuse(input.FlawAt(c.At, remedySymbols, "symbol %q, the rows before are of %q",
			input.Clip(c.Text), t.symbol))
	}
	t.symbol = string(c.Text)
	if t.s.learning() {
		t.s.Pair = pairs.Split(t.symbol)
	}
	return nil
}

// trade reads a row of trades.
func (t *tardis) trade(f *tardisFile) error {
	c := f.cells[tardisData:]
	f.next.Kind = Trade
	switch side := c[1]; string(side.Text) {
	case "buy":
		f.next.Side, f.next.Sided = engine.Buy, true
	case "sell":
		f.next.Side, f.next.Sided = engine.Sell, true
	case "unknown":
	default:
		return input.FlawAt(side.At, input.RemedyValue, "side %q is neither buy, sell nor unknown",
			input.Clip(side.Text))
	}
	price, err := input.Positive("price", c[2].Text)
	if err != nil {
		return input.Locate(c[2].At, err)
	}
	amount, err := input.Positive("amount", c[3].Text)
	if err != nil {
		return input.Locate(c[3].At, err)
	}
	return t.s.trade(&f.next, price, amount)
}

// levelAt reads a level from two cells. An empty price is no level.
func levelAt(price, amount input.Cell) (l level, ok bool, err error) {
	if len(price.Text) == 0 {
		return l, false, nil
	}
	if l.price, err = input.Positive("price", price.Text); err != nil {
		return l, false, input.Locate(price.At, err)
	}
	l.amount, err = input.NotNegative("amount", amount.Text)
	return l, err == nil, input.Locate(amount.At, err)
}

// group reads the rows of one message: those of one time, or all of a complete book.
func (t *tardis) group(f *tardisFile) error {
	whole, ns, rows := f.isSnapshot(), f.ns, 0
	if !whole && !f.begun {
		return f.in.Fail("give the file of the whole day, which begins with the complete book",
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
			return f.in.Fail("cut the file", "more than %d rows of one time", maxTardisGroup)
		}
		if err := t.change(f, sides); err != nil {
			return f.in.Refuse(err)
		}
		if err := f.read(); err != nil {
			return err
		}
	}
	return t.s.book(&f.next, sides[0], sides[1])
}

func (f *tardisFile) isSnapshot() bool { return string(f.cells[tardisData].Text) == "true" }

// change reads a row of incremental_book_L2.
func (t *tardis) change(f *tardisFile, sides *[2][]level) error {
	if err := t.oneSymbol(f); err != nil {
		return err
	}
	c := f.cells[tardisData:]
	if s := string(c[0].Text); s != "true" && s != "false" {
		return input.FlawAt(c[0].At, input.RemedyValue, "is_snapshot %q is neither true nor false",
			input.Clip(c[0].Text))
	}
	side := engine.Buy
	switch string(c[1].Text) {
	case "bid":
	case "ask":
		side = engine.Sell
	default:
		return input.FlawAt(c[1].At, input.RemedyValue, "side %q is neither bid nor ask", input.Clip(c[1].Text))
	}
	l, ok, err := levelAt(c[2], c[3])
	if err == nil && !ok {
		err = input.FlawAt(c[2].At, input.RemedyValue, "no price")
	}
	sides[side] = append(sides[side], l)
	return err
}

// snapshot reads a row of book_snapshot: ask and bid by turns, best first.
func (t *tardis) snapshot(f *tardisFile) error {
	c := f.cells[tardisData:f.width]
	if len(c)%4 != 0 {
		return input.FlawAt(0, remedyTardis, "%d columns of levels, want price and amount of as many asks as bids",
			len(c))
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
	for side, at := range [2][2]input.Cell{{c[2], c[3]}, {c[1], c[0]}} {
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
