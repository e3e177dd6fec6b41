package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/tickhive/tickhive/engine"
)

// bitstampKinds maps the second word of a line to the kind of record.
var bitstampKinds = map[string]Kind{
	"order_created": Place, "order_changed": Change, "order_deleted": Cancel,
	"trade": Report, "order_book": Book,
}

// bitstamp reads an order log: local time, kind and JSON on each line. Amounts are the open amounts after the
// event.
type bitstamp struct{ stream }

func newBitstamp(files []string) (Reader, error) {
	t, err := newStream("bitstamp", files, 1)
	return &bitstamp{t}, err
}

func (b *bitstamp) Open(s *Survey) error {
	if s.learning() {
		s.Shape = Log
		s.Pair = cmp.Or(pairInName(filepath.Base(b.paths[0])), "BTC_USD")
	}
	return b.open(s)
}

func (b *bitstamp) Next(r *Record) error {
	err := b.next(r, b.parse)
	switch start := b.s.StartNs; {
	case errors.Is(err, io.EOF) && b.s.Records == 0:
		return b.in.Fail("record the order_book channel beside the orders",
			"no order_book line: the opening book is unknown")
	case err != nil || !b.s.learning():
	case r.Kind == Book:
		b.s.count(r.NS)
	case b.s.Records > 0:
		b.s.count(r.NS)
		b.s.StartNs = start // a replay can start only at a book
	}
	return err
}

// remedyBitstamp is the remedy for a line that does not belong to the log.
const remedyBitstamp = "want lines of: time in ms, a blank, " +
	"order_created, order_changed, order_deleted, trade or order_book, a blank, JSON"

// parse reads a line `ms kind {json}`.
func (b *bitstamp) parse(line []byte, r *Record) (err error) {
	ms, rest, ok := bytes.Cut(line, []byte{' '})
	word, doc, ok2 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 {
		return flawAt(0, remedyBitstamp, "a line without time, kind and JSON")
	}
	if r.NS, err = readUnix(ms, timeMs); err != nil {
		return err
	}
	if r.Kind, ok = bitstampKinds[string(word)]; !ok {
		return flawAt(len(ms)+1, remedyBitstamp, "kind %q is unknown", clip(word))
	}
	if r.Kind == Book {
		err = b.parseBook(doc, r)
	} else {
		err = b.parseOrder(doc, r)
	}
	return locate(len(line)-len(doc), err)
}

func (b *bitstamp) parseBook(doc []byte, r *Record) error {
	var book struct {
		Bids []level `json:"bids"`
		Asks []level `json:"asks"`
	}
	if err := json.Unmarshal(doc, &book); err != nil {
		return locateJSON(err, remedyBitstamp)
	}
	if book.Bids == nil || book.Asks == nil {
		return errors.New("a book needs bids and asks")
	}
	b.s.Depth = max(b.s.Depth, len(book.Bids), len(book.Asks))
	return b.s.book(r, book.Bids, book.Asks)
}

func (b *bitstamp) parseOrder(doc []byte, r *Record) error {
	var o struct {
		ID     *uint64 `json:"id"`
		Type   *int    `json:"order_type"`
		Price  text    `json:"price"`
		Amount text    `json:"amount"`
	}
	if err := json.Unmarshal(doc, &o); err != nil {
		return locateJSON(err, remedyBitstamp)
	}
	if o.ID == nil {
		return errors.New("id is missing")
	}
	r.ID = *o.ID
	price, err := positive("price", o.Price)
	if err != nil {
		return locateMember(doc, "price", err)
	}
	amount, err := notNegative("amount", o.Amount)
	if err != nil {
		return locateMember(doc, "amount", err)
	}
	if r.Kind == Report { // the numbers are binary floats, so their digits carry no information
		if r.Price, err = b.s.Price.rounded(price, r.At); err == nil {
			r.Amount, err = b.s.Amount.rounded(amount, r.At)
		}
		return err
	}
	if o.Type == nil || *o.Type != 0 && *o.Type != 1 {
		return locateMember(doc, "order_type", errors.New("order_type is not 0 (buy) or 1 (sell)"))
	}
	r.Side = engine.Side(*o.Type)
	return b.s.trade(r, price, amount)
}
