package replay

import (
	"bytes"
	"encoding/json"
	"errors"

	"tickhive/engine"
)

// bitstampKind is the word of a log line.
type bitstampKind uint8

const (
	bitstampCreated bitstampKind = iota
	bitstampChanged
	bitstampDeleted
	bitstampTrade
	bitstampBook
)

var bitstampKinds = map[string]bitstampKind{
	"order_created": bitstampCreated, "order_changed": bitstampChanged, "order_deleted": bitstampDeleted,
	"trade": bitstampTrade, "order_book": bitstampBook,
}

// bitstampRecord is one line: local time, kind and what the JSON says.
type bitstampRecord struct {
	ns            int64
	kind          bitstampKind
	id            uint64
	side          engine.Side
	price, amount number // amount: still open after the event
	bids, asks    []priceLevel
}

// remedyBitstamp is the remedy of a line that is none of the log.
const remedyBitstamp = "want lines of: time in ms, a blank, order_created, order_changed, order_deleted, trade or order_book, a blank, JSON"

// parseBitstamp reads `ms kind {json}`.
func parseBitstamp(line []byte) (r bitstampRecord, err error) {
	ms, rest, ok := bytes.Cut(line, []byte{' '})
	word, doc, ok2 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 {
		return r, flawAt(0, remedyBitstamp, "a line without time, kind and JSON")
	}
	if r.ns, err = readUnix(ms, timeMs); err != nil {
		return r, err
	}
	if r.kind, ok = bitstampKinds[string(word)]; !ok {
		return r, flawAt(len(ms)+1, remedyBitstamp, "kind %q is unknown", clip(word))
	}
	if r.kind == bitstampBook {
		err = r.parseBook(doc)
	} else {
		err = r.parseOrder(doc)
	}
	return r, locate(len(line)-len(doc), err)
}

func (r *bitstampRecord) parseBook(doc []byte) error {
	var book struct {
		Bids []priceLevel `json:"bids"`
		Asks []priceLevel `json:"asks"`
	}
	if err := json.Unmarshal(doc, &book); err != nil {
		return locateJSON(err, remedyBitstamp)
	}
	if book.Bids == nil || book.Asks == nil {
		return errors.New("a book needs bids and asks")
	}
	r.bids, r.asks = book.Bids, book.Asks
	return nil
}

func (r *bitstampRecord) parseOrder(doc []byte) (err error) {
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
	r.id = *o.ID
	if r.price, err = positiveNumber("price", o.Price); err != nil {
		return locateMember(doc, "price", err)
	}
	if r.amount, err = o.Amount.number("amount"); err != nil {
		return locateMember(doc, "amount", err)
	}
	if r.kind == bitstampTrade {
		return nil
	}
	if o.Type == nil || *o.Type != 0 && *o.Type != 1 {
		return locateMember(doc, "order_type", errors.New("order_type is not 0 (buy) or 1 (sell)"))
	}
	r.side = engine.Side(*o.Type)
	return nil
}
