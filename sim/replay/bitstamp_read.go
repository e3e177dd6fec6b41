package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

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

// parseBitstamp reads `ms kind {json}`.
func parseBitstamp(line []byte) (r bitstampRecord, err error) {
	ms, rest, ok := bytes.Cut(line, []byte{' '})
	word, doc, ok2 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 {
		return r, errors.New("want: time in ms, kind, JSON")
	}
	n, err := parseNumber(ms)
	if err != nil {
		return r, fmt.Errorf("time %q: %w", clip(ms), err)
	}
	if r.ns, err = n.units(0); err != nil || r.ns < 0 || r.ns > maxTimeNs/1_000_000 {
		return r, fmt.Errorf("time %q is out of range", clip(ms))
	}
	r.ns *= 1e6
	if r.kind, ok = bitstampKinds[string(word)]; !ok {
		return r, fmt.Errorf("kind %q is unknown", clip(word))
	}
	if r.kind == bitstampBook {
		return r, r.parseBook(doc)
	}
	return r, r.parseOrder(doc)
}

func (r *bitstampRecord) parseBook(doc []byte) error {
	var book struct {
		Bids []priceLevel `json:"bids"`
		Asks []priceLevel `json:"asks"`
	}
	if err := json.Unmarshal(doc, &book); err != nil {
		return fmt.Errorf("JSON: %w", err)
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
		return fmt.Errorf("JSON: %w", err)
	}
	if o.ID == nil {
		return errors.New("id is missing")
	}
	r.id = *o.ID
	if r.price, err = o.Price.number("price"); err != nil {
		return err
	}
	if r.amount, err = o.Amount.number("amount"); err != nil {
		return err
	}
	if r.price.mantissa == 0 {
		return errors.New("price must be above zero")
	}
	if r.kind == bitstampTrade {
		return nil
	}
	if o.Type == nil || *o.Type != 0 && *o.Type != 1 {
		return errors.New("order_type is not 0 (buy) or 1 (sell)")
	}
	r.side = engine.Side(*o.Type)
	return nil
}
