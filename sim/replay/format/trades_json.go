package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"tickhive/sim/replay/format/input"
)

// remedyJSON is the remedy for a line that is no JSON object.
const remedyJSON = "write one whole JSON object a line"

// members reads the members of an NDJSON row. Null counts as missing.
func (r *tradeRows) members(line []byte) error {
	r.fields, r.event, r.maker = fields{}, false, false
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil { // skips the opening brace
		return flawJSON(dec, err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return flawJSON(dec, err)
		}
		name := token.(string) // the decoder guarantees a string before a colon
		nameAt := bytes.LastIndexByte(line[:dec.InputOffset()-1], '"')
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return flawJSON(dec, err)
		}
		v := field{name: name, nameAt: nameAt, text: unquote(value), at: int(dec.InputOffset()) - len(value)}
		if err := r.member(v, value[0]); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return flawJSON(dec, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return input.FlawAt(int(dec.InputOffset())-1, remedyJSON, "JSON: something follows the object")
	}
	if r.event {
		r.events++
		return nil
	}
	return r.fields.check()
}

// coinbaseEvents lists the types of the full channel's messages (Coinbase Exchange) that are no trades.
var coinbaseEvents = []string{
	"received", "open", "done", "change", "activate", "heartbeat", "subscriptions",
}

// member adds one member. start is the first byte of its value.
func (r *tradeRows) member(v field, start byte) error {
	c, rank := columnNamed(v.name)
	v.rank = rank
	switch {
	case v.name == "maker_order_id": // a match of Coinbase: its side is the side of the maker's order
		r.maker = true
	case v.name == "type" && slices.Contains(coinbaseEvents, string(v.text)):
		r.event = true
	case v.name == "type" && (string(v.text) == "match" || string(v.text) == "last_match"):
		return nil
	case v.name == "s": // S is the name of a side, s the name of a symbol
		c = colSymbol
	case c == colBook:
	case start == '{' || start == '[' || string(v.text) == "null":
		return nil
	}
	switch {
	case c != noColumn:
		return r.fields.add(c, v)
	case input.IsTimeOfDay(v.text):
		v.set = true
		r.fields.clock = v
	}
	return nil
}

// flawJSON returns err with the offset at which the decoder stopped.
func flawJSON(dec *json.Decoder, err error) error {
	at := int(dec.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(int(syntax.Offset)-1, 0)
	}
	return input.FlawAt(at, remedyJSON, "JSON: %v", err)
}
